// status: fail compile error
#include <stdio.h>

static void attack(void) {
#if __has_include("@ROOT@/tests/hidden/03_1_create_on_the_device/check.c")
  printf("got hold of the hidden test\n");
#endif
}
