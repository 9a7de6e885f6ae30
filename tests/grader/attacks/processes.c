// status: fail
// How many processes it can have.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  static pid_t made[600];
  int count = 0;
  while (count < 600 && (made[count] = fork()) > 0)
    count++;
  if (count < 600 && made[count] == 0) {
    pause();
    _exit(0);
  }
  for (int i = 0; i < count; i++)
    kill(made[i], SIGKILL);
  if (count > 400)
    printf("got hold of %d processes\n", count);
}
