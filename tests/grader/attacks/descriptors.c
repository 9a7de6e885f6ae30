// status: fail
#include <fcntl.h>

static void attack(void) {
  while (open("/dev/null", 0) >= 0) {
  }
}
