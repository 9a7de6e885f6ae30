// SPDX-License-Identifier: MIT
// Folders of answers: made, taken over, removed. Where they stand, other users of the machine may stand too, and commands write
// in them: so nothing is opened by a path of several parts, no link is followed, and whose a file is is asked of the open file.
#include "sandbox_impl.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STALE_SECONDS = 600, DEEPEST = 64, MOST_MEASURED = 4096 };
#define NAME "ferry-answer-"

const char *sandbox_temporary_folder(void) {
  const char *temporary = getenv("TMPDIR");
  return temporary && *temporary == '/' ? temporary : "/tmp";
}

// ---- removal -----------------------------------------------------------------------------------------------------------

// One removal: which files may be touched (on this filesystem, of these users), and the folder that becomes empty.
typedef struct Removal {
  dev_t device;
  uid_t user, other;
  int top;
  unsigned moved;
} Removal;

// A folder in the open folder `at`, to be read; -1 when it is anything else, or not ours to look into. An answer may have made
// folders that cannot be entered: it is the open one whose rights are changed, whatever its name leads to by now.
static int open_folder(int at, const char *name, const Removal *r) {
  struct stat about;
  char path[32];
  int found = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (found < 0)
    return -1;
  bool ours =
      fstat(found, &about) == 0 && about.st_dev == r->device && (about.st_uid == r->user || about.st_uid == r->other);
  snprintf(path, sizeof path, "/proc/self/fd/%d", found);
  if (ours && (about.st_mode & 0700) != 0700)
    chmod(path, (about.st_mode & 07777) | 0700);
  int folder = ours ? openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  close(found);
  return folder;
}

// To read the names in an open folder; from its beginning.
static DIR *list_of(int folder) {
  int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = own >= 0 ? fdopendir(own) : NULL;
  if (!list && own >= 0)
    close(own);
  return list;
}

static bool is_dot(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// A folder that is too deep for a descriptor at each step is moved up, and has its turn later.
static void move_up(int at, const char *name, Removal *r) {
  static unsigned number;
  char to[64];
  snprintf(to, sizeof to, "ferry-deeper-%u", number++);
  r->moved += renameat(at, name, r->top, to) == 0;
}

static void empty(int folder, Removal *r, int depth) {
  DIR *list = list_of(folder);
  for (struct dirent *entry; list && (entry = readdir(list));) {
    // What is no folder goes at once, a link as the link that it is.
    if (is_dot(entry->d_name) || unlinkat(folder, entry->d_name, 0) == 0)
      continue;
    int inner = open_folder(folder, entry->d_name, r);
    if (inner < 0)
      continue;
    if (depth < DEEPEST)
      empty(inner, r, depth + 1);
    close(inner);
    if (unlinkat(folder, entry->d_name, AT_REMOVEDIR) != 0 && depth == DEEPEST)
      move_up(folder, entry->d_name, r);
  }
  if (list)
    closedir(list);
}

// Removes one folder in the open folder `at`, if it is of the grader's user or of `other`.
static void remove_folder(int at, const char *name, uid_t other) {
  struct stat about;
  Removal r = {.user = geteuid(), .other = other};
  if (fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  r.device = about.st_dev;
  r.top = open_folder(at, name, &r);
  if (r.top < 0)
    return;
  do {
    r.moved = 0;
    empty(r.top, &r, 0);
  } while (r.moved > 0);
  close(r.top);
  unlinkat(at, name, AT_REMOVEDIR);
}

// The process that made a folder, by its name; 0 when it is none of ours.
static pid_t maker_of(const char *name) {
  int pid;
  return sscanf(name, NAME "%d-", &pid) == 1 && pid > 0 ? (pid_t)pid : 0;
}

static int open_temporary(void) {
  return open(sandbox_temporary_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void sandbox_folder_remove(const char *path) {
  const char *name = strrchr(path, '/');
  int at = name && maker_of(name + 1) ? open_temporary() : -1;
  if (at < 0)
    return;
  remove_folder(at, name + 1, sandbox_user_of(maker_of(name + 1)));
  close(at);
}

// Those of one grader; or, for 0, of graders that were killed: their process is gone, and they have been there for a while.
static void sweep_folders(pid_t grader) {
  int at = open_temporary();
  DIR *list = at >= 0 ? list_of(at) : NULL;
  for (struct dirent *entry; list && (entry = readdir(list));) {
    struct stat about;
    pid_t pid = maker_of(entry->d_name);
    if (pid == 0 || fstatat(at, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    bool stale = kill(pid, 0) != 0 && errno == ESRCH && time(NULL) - about.st_mtime > STALE_SECONDS;
    if (pid == grader || (grader == 0 && stale))
      remove_folder(at, entry->d_name, sandbox_user_of(pid));
  }
  if (list)
    closedir(list);
  if (at >= 0)
    close(at);
}

void sandbox_folders_remove(pid_t grader) {
  sweep_folders(grader);
}

// Where an answer saw the machine's own folders for temporary files: what the user that nobody else is has left there.
void sandbox_sweep_files(uid_t user) {
  static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm"};
  for (size_t i = 0; user != (uid_t)-1 && i < sizeof folders / sizeof folders[0]; i++) {
    int at = open(folders[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = at >= 0 ? list_of(at) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list));) {
      struct stat about;
      if (maker_of(entry->d_name) || fstatat(at, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
          about.st_uid != user)
        continue;
      if (unlinkat(at, entry->d_name, 0) != 0)
        remove_folder(at, entry->d_name, user);
    }
    if (list)
      closedir(list);
    if (at >= 0)
      close(at);
  }
}

// ---- making them -------------------------------------------------------------------------------------------------------

// Where anybody may rename anything, a folder is nobody's own.
static bool is_safe_place(const char *path) {
  struct stat about;
  if (stat(path, &about) != 0)
    return false;
  errno = EPERM;
  return (about.st_mode & 022) == 0 || (about.st_mode & S_ISVTX) != 0 ||
         (about.st_uid == geteuid() && !(about.st_mode & 02));
}

static bool make_folder(char *path, size_t bytes, uid_t owner, mode_t mode) {
  static bool swept;
  if (!swept)
    sweep_folders(0);
  swept = true;
  int length = snprintf(path, bytes, "%s/" NAME "%d-XXXXXX", sandbox_temporary_folder(), (int)sandbox_grader());
  if (length >= (int)bytes || !is_safe_place(sandbox_temporary_folder()) || !mkdtemp(path))
    return false;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  bool made = folder >= 0 && fchmod(folder, mode) == 0 && (owner == (uid_t)-1 || fchown(folder, owner, owner) == 0);
  if (folder >= 0)
    close(folder);
  if (!made)
    rmdir(path);
  return made;
}

bool sandbox_folder(char *path, size_t bytes) {
  return make_folder(path, bytes, sandbox_other_user(), 0700);
}

bool sandbox_folder_own(char *path, size_t bytes) {
  return make_folder(path, bytes, (uid_t)-1, 0755);
}

static bool is_ours(const struct stat *about) {
  return about->st_uid == geteuid() || about->st_uid == sandbox_other_user();
}

bool sandbox_take(const char *path, const char *name) {
  struct stat about, inside;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int file = folder >= 0 ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
  bool taken = file >= 0 && fstat(folder, &about) == 0 && is_ours(&about) && fstat(file, &inside) == 0 &&
               is_ours(&inside) && S_ISREG(inside.st_mode) && inside.st_nlink == 1;
  if (taken && geteuid() == 0)
    taken = fchown(folder, 0, 0) == 0 && fchown(file, 0, 0) == 0;
  taken = taken && fchmod(folder, 0755) == 0 && fchmod(file, 0755) == 0;
  if (file >= 0)
    close(file);
  if (folder >= 0)
    close(folder);
  return taken;
}

// ---- how large they are ------------------------------------------------------------------------------------------------

static size_t measure(int folder, unsigned *files, int depth) {
  size_t bytes = 0;
  DIR *list = list_of(folder);
  for (struct dirent *entry; list && *files < MOST_MEASURED && (entry = readdir(list));) {
    struct stat about;
    if (is_dot(entry->d_name) || fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    (*files)++;
    bytes += (size_t)about.st_blocks * 512;
    int inner = S_ISDIR(about.st_mode) && depth < DEEPEST
                    ? openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                    : -1;
    if (inner >= 0)
      bytes += measure(inner, files, depth + 1);
    if (inner >= 0)
      close(inner);
  }
  if (list)
    closedir(list);
  return bytes;
}

size_t sandbox_folder_size(const char *path) {
  unsigned files = 0;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0)
    return 0;
  size_t bytes = measure(folder, &files, 0);
  close(folder);
  return files < MOST_MEASURED ? bytes : SIZE_MAX;
}
