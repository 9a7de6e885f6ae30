// status: fail
// What is open when it begins: nothing but the output and the grader's channel.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  for (int d = 4; d < 4096; d++)
    if (fcntl(d, F_GETFD) >= 0)
      printf("got hold of descriptor %d\n", d);
  if (read(0, &(char){0}, 1) != 0)
    printf("got hold of the grader's input\n");
}
