// SPDX-License-Identifier: MIT
// Files and paths.
#include "tool/compile/files.h"
#include "tool/compile/config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void in_root(char *path, size_t bytes, const char *format, ...) {
  size_t used = (size_t)snprintf(path, bytes, "%s/", root_folder());
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

// ---- writing -------------------------------------------------------------------------------------------------------------

static const char *problem; // of the last file_write that failed; NULL: what errno says

const char *file_problem(void) {
  return problem ? problem : strerror(errno);
}

mode_t file_mask(void) {
  static mode_t mask;
  static bool known;
  if (!known) {
    mask = umask(0);
    umask(mask);
  }
  known = true;
  return mask;
}

static int claimed = STDOUT_FILENO; // where a file called "-" goes

static bool is_stdout(const char *path) {
  static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(path, names[i]) == 0)
      return true;
  return false;
}

void file_claim_stdout(const char *path) {
  if (!path || !is_stdout(path) || claimed != STDOUT_FILENO)
    return;
  fflush(stdout);
  const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
    claimed = own;
}

bool file_is_stream(const char *path) {
  struct stat about;
  return is_stdout(path) || (stat(path, &about) == 0 && !S_ISREG(about.st_mode));
}

static bool write_all(int file, const char *text, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(file, text + done, bytes - done);
    if (n < 0 && errno != EINTR)
      return false;
    done += n > 0 ? (size_t)n : 0;
  }
  return true;
}

static bool write_in_place(const char *path, const char *text, size_t bytes) {
  int file = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool written = write_all(file, text, bytes);
  int error = errno;
  written = close(file) == 0 && written;
  errno = written ? errno : error;
  return written;
}

// `old`: the file that is replaced, whose mode and owner the new one takes over, or NULL.
static bool replace(const char *path, const struct stat *old, const char *text, size_t bytes) {
  char temporary[PATH_MAX + 16];
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  int file = mkostemp(temporary, O_CLOEXEC);
  if (file < 0)
    return false;
  if (old && fchown(file, old->st_uid, old->st_gid) != 0)
    errno = 0; // a user's file among another's: it stays the user's
  bool written = fchmod(file, old ? old->st_mode & 0777 : 0666 & ~file_mask()) == 0 && write_all(file, text, bytes);
  written = fsync(file) == 0 && written;
  written = close(file) == 0 && written && rename(temporary, path) == 0;
  int error = errno;
  if (!written)
    unlink(temporary);
  errno = error;
  return written;
}

// The file that a link leads to. A link that another user has made may lead to any file of ours.
static bool follow(const char *path, const struct stat *link, char target[PATH_MAX]) {
  if (link->st_uid != geteuid() && link->st_uid != 0)
    problem = "it is a link that belongs to another user";
  else if (!realpath(path, target))
    problem = "it is a link to a file that does not exist";
  return !problem;
}

bool file_write(const char *path, const char *text, size_t bytes) {
  char target[PATH_MAX];
  struct stat link, about;
  problem = NULL;
  if (is_stdout(path))
    return write_all(claimed, text, bytes);
  if (lstat(path, &link) != 0)
    return replace(path, NULL, text, bytes);
  const bool linked = S_ISLNK(link.st_mode);
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
    return write_in_place(path, text, bytes);
  if (linked && !follow(path, &link, target))
    return false;
  return replace(linked ? target : path, &about, text, bytes);
}
