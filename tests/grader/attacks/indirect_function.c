// status: compile error
#include <unistd.h>

static void nothing(void) {
}

static void (*resolve(void))(void) {
  _exit(0);
  return nothing;
}

void early(void) __attribute__((ifunc("resolve")));

static void attack(void) {
  early();
}
