// status: timeout
#include <unistd.h>

static void attack(void) {
  sleep(1000);
}
