// status: fail crash
// Many files of the size that one may have.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  static const char block[1 << 20];
  static const char *const folders[] = {".", "/tmp", "/dev/shm", "/var/tmp"};
  int written = 0;
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 4 * 20; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/ferry-attack-%d", folders[i % 4], i);
    int file = open(path, O_CREAT | O_WRONLY, 0644);
    if (file < 0)
      continue;
    for (int j = 0; j < 15 && write(file, block, sizeof block) == sizeof block; j++)
      written++;
    close(file);
  }
  if (written > 80)
    printf("got hold of %d MiB of the disk\n", written);
}
