// status: fail crash
#include <unistd.h>

static void attack(void) {
  for (int d = 0; d < 1024; d++)
    close(d);
}
