// SPDX-License-Identifier: MIT
// The learner's workspace: answers, and how far they are. Nothing here ever writes over an answer.
#include "tool/commands.h"
#include "tool/compile/config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void work_path(char *path, size_t bytes, const char *format, ...) {
  const char *elsewhere = getenv("FERRY_WORK"), *home = getenv("HOME");
  va_list arguments;
  if (elsewhere && *elsewhere)
    snprintf(path, bytes, "%s/", elsewhere);
  else if (CONFIG_INSTALLED)
    snprintf(path, bytes, "%s/ferry/work/", home && *home ? home : ".");
  else
    in_root(path, bytes, "work/");
  size_t used = strlen(path);
  va_start(arguments, format);
  vsnprintf(path + used, bytes - used, format, arguments);
  va_end(arguments);
}

void work_file(const Exercise *e, char *path, size_t bytes) {
  work_path(path, bytes, "%s.%s", e->id, exercise_extension(e));
}

void work_shown(const Exercise *e, char *path, size_t bytes) {
  char here[4096], whole[4096];
  work_file(e, whole, sizeof whole);
  size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
  bool below = length > 0 && strncmp(whole, here, length) == 0 && whole[length] == '/';
  snprintf(path, bytes, "%s", below ? whole + length + 1 : whole);
}

bool work_exists(void) {
  char path[4096];
  struct stat about;
  work_path(path, sizeof path, "%s", "");
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

// 1: copied, 0: it is there already, or there is nothing to copy, -1 after an error message.
static int copy_in(const char *from, const char *to) {
  size_t bytes = 0;
  if (access(to, F_OK) == 0)
    return 0;
  char *text = file_read(from, &bytes);
  if (!text) {
    fprintf(stderr, "ferry: %s is missing (./ferry cut creates it from the solution)\n", from);
    return 0;
  }
  bool written = file_write(to, text, bytes);
  free(text);
  if (!written)
    fprintf(stderr, "ferry: %s could not be copied to %s: %s\n", from, to, strerror(errno));
  return written ? 1 : -1;
}

static int copy_stub(const Exercise *e) {
  char from[4096], to[4096];
  in_root(from, sizeof from, "exercises/%s.%s", e->id, exercise_extension(e));
  work_file(e, to, sizeof to);
  return copy_in(from, to);
}

// For editors and nvcc: the header, and clangd's flags, which are right wherever the workspace is.
static bool copy_beside(void) {
  char from[4096], to[4096];
  in_root(from, sizeof from, "exercises/" COUNTED_HEADER);
  work_path(to, sizeof to, COUNTED_HEADER);
  if (copy_in(from, to) < 0)
    return false;
  in_root(from, sizeof from, ".clangd");
  work_path(to, sizeof to, ".clangd");
  if (copy_in(from, to) < 0)
    return false;
  char flags[8192], root[4096];
  in_root(root, sizeof root, "%s", "");
  size_t length = strlen(root);
  root[length > 0 && root[length - 1] == '/' ? length - 1 : length] = '\0';
  int bytes = snprintf(flags, sizeof flags,
                       "-D_GNU_SOURCE\n-Wall\n-Wextra\n-I%s/core\n-I%s/core/sim/include\n"
                       "-I%s/build/include\n",
                       root, root, root);
  work_path(to, sizeof to, "compile_flags.txt");
  return access(to, F_OK) == 0 || file_write(to, flags, (size_t)bytes);
}

// Without comments and white space, in place.
static char *code_of(char *text) {
  char *to = text;
  for (const char *at = text; at && *at;) {
    if (strncmp(at, "//", 2) == 0)
      at += strcspn(at, "\n");
    else if (strncmp(at, "/*", 2) == 0)
      at = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : at + strlen(at);
    else if (strchr(" \t\r\n", *at))
      at++;
    else
      *to++ = *at++;
  }
  if (text)
    *to = '\0';
  return text;
}

bool work_is_untouched(const Exercise *e) {
  char path[4096];
  in_root(path, sizeof path, "exercises/%s.%s", e->id, exercise_extension(e));
  char *stub = code_of(file_read(path, NULL));
  work_file(e, path, sizeof path);
  char *own = code_of(file_read(path, NULL));
  bool same = stub && own && strcmp(stub, own) == 0;
  free(stub);
  free(own);
  return same;
}

// Answers by the names of the release before get their new ones, if these are free.
static void rename_answers(void) {
  const char *id, *old;
  for (int i = 0; (old = exercise_old_id(i, &id)); i++) {
    const Exercise *e = exercise_find(id);
    char from[4096], to[4096];
    work_path(from, sizeof from, "%s.%s", old, e ? exercise_extension(e) : "");
    if (!e || access(from, F_OK) != 0)
      continue;
    work_file(e, to, sizeof to);
    if (access(to, F_OK) == 0 || rename(from, to) != 0)
      fprintf(stderr, "ferry: %s is exercise %s now. Its answer belongs in %s\n", from, exercise_number(e), to);
    else
      printf("%s is now %s (exercise %s)\n", from, to, exercise_number(e));
  }
}

// The folder and those above it: an installed Ferry's is ~/ferry/work.
static bool make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
    *slash = '/';
    if (!made)
      return false;
  }
  return true;
}

int work_start(void) {
  char path[4096];
  int copied = 0;
  work_path(path, sizeof path, "%s", "");
  if (!make_folders(path)) {
    fprintf(stderr, "ferry: the folder %s could not be made: %s\n", path, strerror(errno));
    return -1;
  }
  if (!copy_beside())
    return -1;
  rename_answers();
  for (int i = 0; i < exercise_count(); i++) {
    int one = copy_stub(exercise_at(i));
    if (one < 0)
      return -1;
    copied += one;
  }
  return copied;
}

// ---- files that several commands write -------------------------------------------------------------------------------------------

int work_lock(void) {
  char path[4096];
  work_path(path, sizeof path, "%s", "");
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (folder >= 0 && flock(folder, LOCK_EX) != 0 && errno == EINTR) {
  }
  return folder; // a filesystem that has no locks does without
}

void work_unlock(int lock) {
  if (lock >= 0)
    close(lock);
}

char *work_read(const char *name, bool *damaged) {
  char path[4096];
  struct stat about;
  size_t bytes = 0;
  work_path(path, sizeof path, "%s", name);
  *damaged = false;
  if (lstat(path, &about) != 0)
    return NULL;
  char *text = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? file_read(path, &bytes) : NULL;
  *damaged = !text || strlen(text) != bytes || (bytes > 0 && text[bytes - 1] != '\n');
  return text;
}

void work_set_aside(const char *name) {
  char path[4096], aside[4200];
  work_path(path, sizeof path, "%s", name);
  snprintf(aside, sizeof aside, "%s.damaged", path);
  for (int n = 2; access(aside, F_OK) == 0 && n < 100; n++)
    snprintf(aside, sizeof aside, "%s.damaged.%d", path, n);
  if (rename(path, aside) == 0)
    fprintf(stderr, "ferry: %s was damaged. It is kept as %s; what could be read of it still counts.\n", path, aside);
  else
    fprintf(stderr, "ferry: %s is damaged, and cannot be renamed: %s\n", path, strerror(errno));
}

// ---- progress: a line per exercise, "03_1_create_on_the_device passed=1 gpu=0 hints=2" ---------------------------------------------------

enum { MAX_PROGRESS = 200 };
#define PROGRESS ".progress"

static Progress known[MAX_PROGRESS]; // by the order of the registry
static struct stat known_of;         // the file that it was read from

static int index_of(const Exercise *e) {
  for (int i = 0; i < exercise_count() && i < MAX_PROGRESS; i++)
    if (exercise_at(i) == e)
      return i;
  return 0;
}

static const char *new_id(const char *id) {
  const char *is, *old;
  for (int i = 0; (old = exercise_old_id(i, &is)); i++)
    if (strcmp(old, id) == 0)
      return is;
  return id;
}

// False: it is no such line.
static bool take_line(const char *line) {
  char id[128];
  int passed, gpu, hints, stars = 0, end = 0;
  unsigned long long answer = 0;
  if (sscanf(line, "%127s passed=%d gpu=%d hints=%d%n", id, &passed, &gpu, &hints, &end) != 4)
    return false;
  if (sscanf(line + end, " stars=%d answer=%llx", &stars, &answer) >= 1) // earlier releases wrote fewer
    end += (int)strcspn(line + end, "\n");
  if (line[end] != '\n')
    return false;
  for (int i = 0; i < exercise_count() && i < MAX_PROGRESS; i++)
    if (strcmp(exercise_at(i)->id, new_id(id)) == 0)
      known[i] = (Progress){passed != 0, gpu != 0, hints, stars, answer};
  return true;
}

static void find_file(struct stat *about) {
  char path[4096];
  work_path(path, sizeof path, PROGRESS);
  if (stat(path, about) != 0)
    *about = (struct stat){0};
}

static void write_progress(void) {
  char path[4096], text[MAX_PROGRESS * 128];
  size_t used = 0;
  for (int i = 0; i < exercise_count() && i < MAX_PROGRESS && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%.64s passed=%d gpu=%d hints=%d stars=%d answer=%llx\n",
                             exercise_at(i)->id, known[i].passed, known[i].on_gpu, known[i].hints, known[i].stars,
                             (unsigned long long)known[i].answer);
  work_path(path, sizeof path, PROGRESS);
  if (used >= sizeof text || (work_exists() && !file_write(path, text, used)))
    fprintf(stderr, "ferry: the progress could not be written to %s: %s\n", path, file_problem());
  find_file(&known_of);
}

// With the lock. What of a damaged file could be read is written at once: nothing else has it.
static void read_progress(void) {
  bool damaged;
  find_file(&known_of);
  memset(known, 0, sizeof known);
  char *text = work_read(PROGRESS, &damaged);
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    damaged |= !take_line(line);
  free(text);
  if (!damaged)
    return;
  work_set_aside(PROGRESS);
  write_progress();
}

// Another ./ferry may have written it, so it is read again when it is another file than the one that is known.
Progress progress_of(const Exercise *e) {
  struct stat now;
  find_file(&now);
  if (now.st_ino != known_of.st_ino || now.st_dev != known_of.st_dev || now.st_size != known_of.st_size ||
      now.st_mtim.tv_sec != known_of.st_mtim.tv_sec || now.st_mtim.tv_nsec != known_of.st_mtim.tv_nsec) {
    const int lock = work_lock();
    read_progress();
    work_unlock(lock);
  }
  return known[index_of(e)];
}

void progress_set(const Exercise *e, Progress p) {
  const int lock = work_lock();
  read_progress();
  known[index_of(e)] = p;
  write_progress();
  work_unlock(lock);
}
