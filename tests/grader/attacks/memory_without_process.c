// status: fail out of memory, crash
// seconds: 10
// Memory that belongs to no process: files in memory, filesystems in memory, segments that outlive who made them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <unistd.h>

static const char block[1 << 20];
static int taken;

static void fill(int file) {
  for (int j = 0; j < 15 && write(file, block, sizeof block) == sizeof block; j++)
    taken++;
}

static void attack(void) {
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 24; i++) {
    int file = memfd_create("ferry-attack", 0);
    if (file >= 0)
      fill(file);
    int segment = shmget(IPC_PRIVATE, 15 << 20, IPC_CREAT | 0600);
    char *memory = segment >= 0 ? shmat(segment, NULL, 0) : (char *)-1;
    if (memory != (char *)-1) {
      memset(memory, 1, 15 << 20);
      shmdt(memory);
      shmctl(segment, IPC_RMID, NULL);
      taken += 15;
    }
  }
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) {
    printf("got hold of a mount namespace\n");
    if (mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0)
      printf("got hold of a filesystem in memory\n");
  }
  if (taken > 80)
    printf("got hold of %d MiB\n", taken);
}
