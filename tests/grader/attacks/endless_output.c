// status: output limit
#include <stdio.h>

static void attack(void) {
  for (;;)
    puts("the same line, again and again, until nobody can bear to read it any more");
}
