// status: fail crash
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  static const char block[1 << 20];
  static const char *const folders[] = {"/dev/shm", "/tmp", "."};
  for (int i = 0; i < 3000; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/ferry-attack-%d", folders[i % 3], i / 192);
    int file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0644);
    if (file < 0 || write(file, block, sizeof block) < 0)
      break;
    close(file);
  }
}
