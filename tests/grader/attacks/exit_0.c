// status: fail
#include <stdlib.h>

static void attack(void) {
  exit(0);
}
