// status: fail timeout, out of memory, crash
// seconds: 10
// What is in sockets and in no process: pairs of them, filled, in one process after another that keeps its own.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_MIB = 1200 };

static void fill(long *all) {
  static const char block[65536];
  for (int pair[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;)
    for (int i = 0; i < 2; i++) {
      const int large = 64 << 20;
      setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &large, sizeof large);
      fcntl(pair[i], F_SETFL, O_NONBLOCK);
      for (ssize_t n; (n = write(pair[i], block, sizeof block)) > 0;)
        if (__atomic_add_fetch(all, n, __ATOMIC_SEQ_CST) >> 20 > MOST_MIB) {
          printf("got hold of %d MiB in sockets\n", MOST_MIB);
          fflush(stdout);
          return;
        }
    }
}

static void attack(void) {
  long *all = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 60; i++)
    if (fork() == 0) {
      fill(all);
      pause();
    }
  sleep(8);
}
