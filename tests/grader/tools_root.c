// SPDX-License-Identifier: MIT
// A private copy of what compiler and linker read, for a clone that only root can read.
#include "tools_root.h"
#include "tool/compile/config.h"
#include "inspect/instrument/instrument.h"
#include "sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Folders or files, and how the names of what is needed in them end. Nothing of a check or a solution is among them. The last are
// of one exercise each: only that exercise's commands see them.
static const struct {
  const char *path, *endings[3];
  bool of_one_exercise;
} needed[] = {{CONFIG_ROOT "/core", {".h", ".cuh"}, false},
              {CONFIG_ROOT "/build/include", {""}, false},
              {CONFIG_ROOT "/build/cu2cpp", {""}, false},
              {CONFIG_ROOT "/build/bundle", {""}, false},
              {CONFIG_ROOT "/tests/grader", {".h", ".cu"}, false},
              {CONFIG_LIBRARY, {""}, false},
              {INSPECT_LIBRARY, {""}, false},
              {CONFIG_OBJECTS "/tests/grader", {".o"}, false},
              {CONFIG_OBJECTS "/sim/tests/grader", {".o"}, false},
              {CONFIG_PRECOMPILED, {".h"}, false}, // the compiled header takes longer to copy than to do without
              {CONFIG_ROOT "/tests/hidden", {"/answer.h", "/driver.cu"}, true},
              {CONFIG_OBJECTS "/tests/hidden", {"/driver.o"}, true},
              {CONFIG_OBJECTS "/sim/tests/hidden", {"/driver.o"}, true}};
enum { NEEDED = sizeof needed / sizeof needed[0], OPEN_FOLDERS = 16 };

const char *tools_seen(int i) {
  return i < NEEDED && !needed[i].of_one_exercise ? rooted(needed[i].path) : NULL;
}

static char copy[256]; // "": the clone itself is read
static pid_t copier;
static int at; // in `needed`

static bool is_needed(const char *path) {
  for (int i = 0; i < 3 && needed[at].endings[i]; i++) {
    size_t length = strlen(path), end = strlen(needed[at].endings[i]);
    if (end <= length && strcmp(path + length - end, needed[at].endings[i]) == 0)
      return true;
  }
  return false;
}

// ---- can it be read? -----------------------------------------------------------------------------------------------------

static int check_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  (void)where;
  if (kind == FTW_DNR || kind == FTW_NS)
    return 1;
  return kind == FTW_F && is_needed(path) && access(path, R_OK) != 0;
}

// As the user of commands. Where the grader shows them its files by binding them, how they are reached does not matter.
static bool can_read_all(bool bound) {
  uid_t user = sandbox_other_user();
  if ((bound && chdir(root_folder()) != 0) || setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0)
    return false;
  for (at = 0; at < NEEDED; at++) {
    const char *path = rooted(needed[at].path) + (bound ? strlen(root_folder()) + 1 : 0);
    if (nftw(path, check_one, OPEN_FOLDERS, FTW_PHYS) != 0 && errno != ENOENT)
      return false;
    errno = 0;
  }
  return true;
}

static bool others_can_read(void) {
  int status = -1;
  if (sandbox_other_user() == (uid_t)-1)
    return true;
  bool bound = strcmp(sandbox_chosen(), sandbox_level_name(SANDBOX_NAMESPACES)) == 0;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0)
    _exit(can_read_all(bound) ? 0 : 1);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0; // else the copy is made, which is never wrong
}

// ---- the copy ------------------------------------------------------------------------------------------------------------

static bool write_all(int to, const char *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(to, data + done, bytes - done);
    if (n < 0 && errno != EINTR)
      return false;
    done += n > 0 ? (size_t)n : 0;
  }
  return true;
}

static bool copy_file(const char *from, const char *to, mode_t mode) {
  static char buffer[1 << 16];
  int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool copied = in >= 0 && out >= 0;
  for (ssize_t n = 1; copied && n > 0;) {
    n = read(in, buffer, sizeof buffer);
    copied = n >= 0 && write_all(out, buffer, (size_t)n);
  }
  copied = copied && fchmod(out, mode & 0100 ? 0755 : 0644) == 0;
  if (in >= 0)
    close(in);
  if (out >= 0)
    close(out);
  return copied;
}

static bool copy_link(const char *from, const char *to) {
  char target[4096];
  ssize_t length = readlink(from, target, sizeof target - 1);
  if (length < 0)
    return false;
  target[length] = '\0';
  return symlink(target, to) == 0;
}

static bool make_parents(char *path) {
  for (char *slash = strchr(path + strlen(copy) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool made = mkdir(path, 0755) == 0 || errno == EEXIST;
    *slash = '/';
    if (!made)
      return false;
  }
  return true;
}

static int copy_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  char to[4096];
  (void)where;
  if ((kind != FTW_F && kind != FTW_SL) || !is_needed(path))
    return 0;
  if (snprintf(to, sizeof to, "%s%s", copy, path + strlen(root_folder())) >= (int)sizeof to || !make_parents(to))
    return 1;
  return !(kind == FTW_SL ? copy_link(path, to) : copy_file(path, to, about->st_mode));
}

static void remove_copy(void) {
  if (getpid() == copier)
    sandbox_folder_remove(copy);
}

static bool make_copy(void) {
  bool made = sandbox_folder_own(copy, sizeof copy);
  copier = getpid();
  if (made)
    atexit(remove_copy);
  for (at = 0; made && at < NEEDED; at++)
    made = nftw(rooted(needed[at].path), copy_one, OPEN_FOLDERS, FTW_PHYS) == 0 || errno == ENOENT;
  return made;
}

bool tools_root_prepare(bool gpu, char *why, size_t bytes) {
  if (*copy || others_can_read())
    return true;
  if (gpu) {
    snprintf(why, bytes,
             "answers run as a different user, who cannot read %s; make it readable, because the backend for real GPUs "
             "is there",
             root_folder());
    return false;
  }
  if (make_copy())
    return true;
  snprintf(why, bytes, "what the compiler needs could not be copied for another user: %s", strerror(errno));
  remove_copy();
  copy[0] = '\0';
  return false;
}

void tools_path(char *path, size_t bytes, const char *text) {
  char whole[8192];
  root_expand(whole, sizeof whole, text);
  const size_t root = strlen(root_folder());
  size_t used = 0;
  for (text = whole; *text && used + 1 < bytes;) {
    bool inside = *copy && strncmp(text, root_folder(), root) == 0 && (text[root] == '/' || text[root] == '\0');
    int n = inside ? snprintf(path + used, bytes - used, "%s", copy) : 0;
    if (inside) {
      used += (size_t)n;
      text += root;
    } else {
      path[used++] = *text++;
    }
  }
  path[used < bytes ? used : bytes - 1] = '\0';
}
