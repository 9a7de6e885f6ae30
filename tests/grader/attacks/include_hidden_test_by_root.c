// status: fail compile error
#include <stdio.h>

static void attack(void) {
#if __has_include("@ROOT@/tests/hidden/10_made_there/check.c")
  printf("got hold of the hidden test\n");
#endif
}
