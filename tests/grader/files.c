// Files and paths.
#include "commands.h"
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void in_root(char *path, size_t bytes, const char *format, ...) {
  size_t used = (size_t)snprintf(path, bytes, "%s/", CONFIG_ROOT);
  va_list arguments;
  va_start(arguments, format);
  if (used < bytes)
    vsnprintf(path + used, bytes - used, format, arguments);
  va_end(arguments);
}

char *file_read(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rbe");
  char *text = NULL;
  size_t used = 0, room = 0;
  if (!file)
    return NULL;
  for (;;) {
    if (used + 4096 > room) {
      room = 2 * room + 8192;
      char *grown = realloc(text, room);
      if (!grown)
        break;
      text = grown;
    }
    size_t n = fread(text + used, 1, room - used - 1, file);
    used += n;
    if (n == 0)
      break;
  }
  if (text)
    text[used] = '\0';
  fclose(file);
  if (bytes)
    *bytes = used;
  return text;
}

bool file_write(const char *path, const char *text, size_t bytes) {
  char temporary[4096 + 16];
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  int file = mkostemp(temporary, O_CLOEXEC);
  if (file < 0)
    return false;
  bool written = fchmod(file, 0644) == 0;
  for (size_t done = 0; written && done < bytes;) {
    ssize_t n = write(file, text + done, bytes - done);
    written = n >= 0 || errno == EINTR;
    done += n > 0 ? (size_t)n : 0;
  }
  written = fsync(file) == 0 && written;
  written = close(file) == 0 && written && rename(temporary, path) == 0;
  if (!written)
    unlink(temporary);
  return written;
}
