// status: fail
#include <fcntl.h>
#include <unistd.h>

static void attack(void) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      for (int d = 0; d < 64; d++)
        close(d);
      for (;;) {
        close(open("/tmp/ferry-attack-daemon", O_CREAT | O_WRONLY, 0644));
        usleep(10000);
      }
    }
    _exit(0);
  }
}
