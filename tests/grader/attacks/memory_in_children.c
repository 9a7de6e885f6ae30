// status: out of memory, crash
// seconds: 10
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void attack(void) {
  for (int i = 0; i < 8; i++)
    if (fork() == 0) {
      for (int j = 0; j < 64; j++)
        memset(malloc(16 << 20), 1, 16 << 20);
      for (;;)
        pause();
    }
  for (;;)
    pause();
}
