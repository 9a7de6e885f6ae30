// status: compile error
#include <unistd.h>

__attribute__((constructor)) static void early(void) {
  _exit(0);
}

static void attack(void) {
}
