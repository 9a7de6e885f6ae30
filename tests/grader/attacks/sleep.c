// status: timeout
// seconds: 1
#include <unistd.h>

static void attack(void) {
  sleep(1000);
}
