// status: crash
#include <stdlib.h>

static void attack(void) {
  abort();
}
