// status: fail compile error
// The hidden test and the solution, from beside the headers that every answer may include.
#include <stdio.h>

static void attack(void) {
#if __has_include("../tests/hidden/10_made_there/check.c") || __has_include("../../tests/hidden/10_made_there/check.c")
  printf("got hold of the hidden test\n");
#endif
#if __has_include("../solutions/10_made_there.c")
  printf("got hold of the solution\n");
#endif
}
