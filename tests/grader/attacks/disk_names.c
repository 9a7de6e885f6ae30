// status: fail timeout
// Empty files: a name and an inode each.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  int made = 0;
  for (int i = 0; i < 30000; i++) {
    char path[64];
    snprintf(path, sizeof path, "ferry-attack-%d", i);
    int file = open(path, O_CREAT | O_WRONLY, 0644);
    made += file >= 0;
    close(file);
  }
  if (made > 10000)
    printf("got hold of %d inodes\n", made);
}
