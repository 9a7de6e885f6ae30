// status: fail
// What executing a program could give it.
#include <stdio.h>
#include <sys/prctl.h>

static void attack(void) {
  for (int c = 0; c < 64; c++)
    if (prctl(PR_CAPBSET_READ, c) == 1)
      printf("got hold of the capability %d, if a program has it\n", c);
}
