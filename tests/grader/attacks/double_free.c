// status: crash
#include <stdlib.h>

static void attack(void) {
  void *volatile twice = malloc(32);
  free(twice);
  void *volatile again = twice;
  free(again);
}
