// status: fail
#include <unistd.h>

static void attack(void) {
  _exit(0);
}
