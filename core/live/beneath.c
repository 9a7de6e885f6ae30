// SPDX-License-Identifier: MIT
// Files of one folder. A path is walked from descriptor to descriptor and no link is followed, so nothing outside of the folder is reached,
// whatever happens to the folder meanwhile.
#include "live/live.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int beneath_open_folder(const char *folder, const char *path, const char **name) {
  int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
    char part[256];
    const size_t length = (size_t)(slash - path);
    int next = -1;
    errno = ENOENT;
    if (length > 0 && length < sizeof part && path[0] != '.') {
      snprintf(part, sizeof part, "%.*s", (int)length, path);
      next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    const int error = errno;
    close(at);
    errno = error;
    at = next;
  }
  *name = path;
  if (at >= 0 && (!*path || *path == '.' || strlen(path) > 255)) {
    close(at);
    errno = ENOENT;
    return -1;
  }
  return at;
}

int beneath_open(const char *folder, const char *path) {
  const char *name;
  struct stat about;
  const int at = beneath_open_folder(folder, path, &name);
  if (at < 0)
    return -1;
  int file = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), error = errno;
  close(at);
  if (file >= 0 && (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))) {
    error = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
    close(file);
    file = -1;
  }
  errno = error;
  return file;
}

char *beneath_read(int file, size_t most, size_t *bytes) {
  struct stat about;
  char *text = fstat(file, &about) == 0 && (size_t)about.st_size <= most ? malloc((size_t)about.st_size + 2) : NULL;
  const size_t room = text ? (size_t)about.st_size + 1 : 0;
  size_t used = 0;
  for (ssize_t n; used < room && (n = read(file, text + used, room - used)) > 0;)
    used += (size_t)n;
  if (text)
    text[used] = '\0';
  if (used > most) {
    free(text);
    text = NULL;
  }
  close(file);
  *bytes = used;
  return text;
}
