// status: fail crash
#include <unistd.h>

static void attack(void) {
  static const char block[1 << 16];
  while (write(3, block, sizeof block) > 0) {
  }
}
