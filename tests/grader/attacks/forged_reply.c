// status: fail
#include <stdint.h>
#include <unistd.h>

static void attack(void) {
  // a well-formed, empty reply: magic, no bytes, and a nonce that has to be guessed
  const uint32_t message[4] = {0x31595246, 0, 0, 0};
  if (write(3, message, sizeof message) < 0)
    _exit(1);
  _exit(0);
}
