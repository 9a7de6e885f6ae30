// status: fail crash timeout
#include <signal.h>
#include <unistd.h>

static void attack(void) {
  kill(getppid(), SIGKILL);
  kill(1, SIGKILL);
  kill(-1, SIGKILL);
  for (int i = 2; i < 100000; i++)
    if (i != getpid())
      kill(i, SIGKILL);
}
