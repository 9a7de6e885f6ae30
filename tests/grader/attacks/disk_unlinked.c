// status: fail crash
// Files that have no name any more, and so are in no folder.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  static const char block[1 << 20];
  int written = 0;
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 24; i++) {
    int file = open("ferry-attack", O_CREAT | O_RDWR, 0644);
    if (file < 0)
      break;
    unlink("ferry-attack");
    for (int j = 0; j < 15 && write(file, block, sizeof block) == sizeof block; j++)
      written++;
  }
  if (written > 80)
    printf("got hold of %d MiB of the disk\n", written);
}
