// status: out of memory, crash
// seconds: 10
#include <stdlib.h>
#include <string.h>

static void attack(void) {
  for (;;) {
    char *more = malloc(16 << 20);
    memset(more, 1, 16 << 20);
  }
}
