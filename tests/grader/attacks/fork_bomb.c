// status: timeout crash
// seconds: 1
#include <unistd.h>

static void attack(void) {
  for (;;)
    fork();
}
