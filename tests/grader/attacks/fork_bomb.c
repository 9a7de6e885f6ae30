// status: timeout crash
#include <unistd.h>

static void attack(void) {
  for (;;)
    fork();
}
