// status: fail timeout, out of memory, crash
// seconds: 10
// Page tables: a page that is read in each 2 MiB of memory that is never written. In one process it has as much address space as it can
// get, so that what is not bounded there ends at 1 GiB of them.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

enum { MIB = 1 << 20, MOST = 1 << 18 };

static void attack(void) {
  const size_t each = (size_t)1 << 30;
  volatile char sum = 0;
  int tables = 0;
  while (tables < MOST) {
    const char *part = mmap(NULL, each, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (part == MAP_FAILED)
      break;
    for (size_t at = 0; at < each; at += 2 * MIB, tables++)
      sum += part[at];
  }
  if (tables > 1 << 17)
    printf("got hold of %d MiB of page tables\n", tables >> 8);
}
