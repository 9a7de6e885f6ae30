// status: fail compile error
// The hidden test and the solution, from beside the headers that every answer may include.
#include <stdio.h>

static void attack(void) {
#if __has_include("../tests/hidden/03_1_create_on_the_device/check.c") ||                                              \
                  __has_include("../../tests/hidden/03_1_create_on_the_device/check.c")
  printf("got hold of the hidden test\n");
#endif
#if __has_include("../solutions/03_1_create_on_the_device.c")
  printf("got hold of the solution\n");
#endif
}
