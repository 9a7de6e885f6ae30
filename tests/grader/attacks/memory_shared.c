// status: out of memory, crash
// seconds: 10
#include <string.h>
#include <sys/mman.h>

static void attack(void) {
  for (;;) {
    char *more = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(more, 1, 64 << 20);
  }
}
