// status: timeout
// seconds: 1
#include <signal.h>
#include <unistd.h>

static void attack(void) {
  for (int s = 1; s < 65; s++)
    signal(s, SIG_IGN);
  for (;;)
    pause();
}
