// SPDX-License-Identifier: MIT
// A cgroup bounds the processes of one run together, whoever they run as; a limit of the user's bounds all that the user runs. Where the
// machine has the controllers for it, it also bounds memory that is no process's own (page tables, what is in sockets), tells how long all
// processes have computed, and gives each run the same share of the processors, however many processes it has.
// It takes the right to make one (root has it where the hierarchy can be written to). Versions 1 and 2 are looked for.
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

enum { PATH_BYTES = 384 };
#define NAME "ferry-answer-"

static const char *const controllers[CGROUP_CONTROLLERS] = {
    [CGROUP_PIDS] = "pids", [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu", [CGROUP_CPUACCT] = "cpuacct"};

// The folder of the hierarchy with a controller: where it is mounted, and which part of it this process is in.
typedef struct Hierarchy {
  char mount[PATH_BYTES], own[PATH_BYTES];
  bool second; // of version 2, which has them all
} Hierarchy;

// Whether a list such as "cpu,pids" has the word.
static bool has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ',' || at[-1] == ' ') && strchr(", \n", at[length]))
      return true;
  return false;
}

// "... / /sys/fs/cgroup/pids rw,... - cgroup cgroup rw,pids"
static bool find_mount(const char *controller, char *mount, bool *second) {
  char line[4096], where[PATH_BYTES], kind[32], options[512];
  bool found = false;
  FILE *file = fopen("/proc/self/mountinfo", "re");
  while (file && !found && fgets(line, sizeof line, file)) {
    const char *after = strstr(line, " - ");
    if (!after || sscanf(line, "%*s %*s %*s %*s %383s", where) != 1 ||
        sscanf(after, " - %31s %*s %511s", kind, options) != 2)
      continue;
    *second = strcmp(kind, "cgroup2") == 0;
    char path[PATH_BYTES + 32], text[512] = "";
    snprintf(path, sizeof path, "%s/cgroup.controllers", where);
    FILE *list = *second ? fopen(path, "re") : NULL;
    if (list && !fgets(text, sizeof text, list))
      text[0] = '\0';
    if (list)
      fclose(list);
    found = *second ? has_word(text, controller) : strcmp(kind, "cgroup") == 0 && has_word(options, controller);
  }
  if (file)
    fclose(file);
  if (found)
    snprintf(mount, PATH_BYTES, "%s", where);
  return found;
}

// "8:pids:/some/where" of version 1, "0::/some/where" of version 2.
static bool find_hierarchy(const char *controller, Hierarchy *h) {
  char line[1024];
  bool found = false;
  if (!find_mount(controller, h->mount, &h->second))
    return false;
  FILE *file = fopen("/proc/self/cgroup", "re");
  while (file && !found && fgets(line, sizeof line, file)) {
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
    if (!path)
      continue;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    found = h->second ? names[1] == '\0' : has_word(names + 1, controller);
    if (found)
      snprintf(h->own, sizeof h->own, "%s", strcmp(path, "/") == 0 ? "" : path);
  }
  if (file)
    fclose(file);
  return found && !strstr(h->own, "..");
}

static bool write_number(const char *folder, const char *name, unsigned long long number) {
  char path[PATH_BYTES + 200], text[24];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int length = snprintf(text, sizeof text, "%llu", number), file = open(path, O_WRONLY | O_CLOEXEC);
  bool written = file >= 0 && write(file, text, (size_t)length) == length;
  if (file >= 0)
    close(file);
  return written;
}

// The number behind `key` in a file of a cgroup's; without a key the file's first. -1: there is none.
static double read_number(const char *folder, const char *name, const char *key) {
  char path[PATH_BYTES + 200], line[256];
  double number = -1;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = *folder ? fopen(path, "re") : NULL;
  const size_t length = strlen(key);
  while (file && number < 0 && fgets(line, sizeof line, file))
    if (strncmp(line, key, length) == 0 && (length == 0 || line[length] == ' '))
      number = strtod(line + length, NULL);
  if (file)
    fclose(file);
  return number;
}

// ---- making one ------------------------------------------------------------------------------------------------------------

static bool bound_processes(const char *path, unsigned processes) {
  return write_number(path, "pids.max", processes);
}

// Swapped out, memory would not be counted: of version 2 it can be told to stay.
static void bound_memory(const char *path, size_t bytes) {
  if (bytes == 0)
    return;
  if (!write_number(path, "memory.max", bytes))
    write_number(path, "memory.limit_in_bytes", bytes);
  write_number(path, "memory.swap.max", 0);
}

// Below `parent`, if such a cgroup can be entered, and bound its processes where that is what it is for.
static bool make_below(const char *parent, unsigned processes, char *path, int *entry) {
  static unsigned made;
  char procs[CGROUP_PATH + 32];
  if (snprintf(path, CGROUP_PATH, "%s/" NAME "%d-%u", parent, (int)getpid(), made++) >= CGROUP_PATH ||
      mkdir(path, 0755) != 0) {
    path[0] = '\0';
    return false;
  }
  snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
  *entry = processes == 0 || bound_processes(path, processes) ? open(procs, O_WRONLY | O_CLOEXEC) : -1;
  if (*entry >= 0)
    return true;
  rmdir(path);
  path[0] = '\0';
  return false;
}

// In the grader's own part of the hierarchy, or else, of version 2, further up: what has processes may have no such parts there.
static bool make_in(Hierarchy *h, unsigned processes, char *path, int *entry) {
  char parent[2 * PATH_BYTES];
  for (;; *strrchr(h->own, '/') = '\0') {
    snprintf(parent, sizeof parent, "%s%s", h->mount, h->own);
    if (strlen(parent) < PATH_BYTES && make_below(parent, processes, path, entry))
      return true;
    if (!strchr(h->own, '/'))
      return false;
  }
}

// Of version 1 each controller has a hierarchy, which another one may share.
static bool has_one_at(const Cgroup *c, const char *mount) {
  const size_t length = strlen(mount);
  for (int i = 0; i < CGROUP_CONTROLLERS; i++)
    if (strncmp(c->path[i], mount, length) == 0 && c->path[i][length] == '/')
      return true;
  return false;
}

bool sandbox_cgroup_make(unsigned processes, size_t memory, Cgroup *c) {
  *c = (Cgroup){.entry = {-1, -1, -1, -1}};
  for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
    Hierarchy h;
    if (!find_hierarchy(controllers[i], &h) || has_one_at(c, h.mount) ||
        make_in(&h, i == CGROUP_PIDS ? processes : 0, c->path[i], &c->entry[i]))
      continue;
    if (i == CGROUP_PIDS)
      break;
  }
  if (c->path[CGROUP_PIDS][0]) {
    bound_memory(c->path[CGROUP_MEMORY][0] ? c->path[CGROUP_MEMORY] : c->path[CGROUP_PIDS], memory);
    return true;
  }
  int error = errno;
  sandbox_cgroup_close(c);
  sandbox_cgroup_remove(c);
  errno = error == EMFILE || error == ENFILE || error == ENOMEM
              ? error
              : EPERM; // read-only, or missing, or somebody else's: none can be had
  return false;
}

bool sandbox_cgroup_enter(const Cgroup *c) {
  for (int i = 0; i < CGROUP_CONTROLLERS; i++)
    if (c->entry[i] >= 0 && write(c->entry[i], "0", 1) != 1) {
      if (errno != EAGAIN && errno != ENOMEM)
        errno = EPERM;
      return false;
    }
  return true;
}

void sandbox_cgroup_close(Cgroup *c) {
  for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
    if (c->entry[i] >= 0)
      close(c->entry[i]);
    c->entry[i] = -1;
  }
}

// ---- what it tells -----------------------------------------------------------------------------------------------------------

double sandbox_cgroup_seconds(const Cgroup *c) {
  const double microseconds = read_number(c->path[CGROUP_PIDS], "cpu.stat", "usage_usec");
  if (microseconds >= 0)
    return 1e-6 * microseconds;
  for (int i = CGROUP_CPU; i <= CGROUP_CPUACCT; i++) {
    const double nanoseconds = read_number(c->path[i], "cpuacct.usage", "");
    if (nanoseconds >= 0)
      return 1e-9 * nanoseconds;
  }
  return -1;
}

bool sandbox_cgroup_ran_out(const Cgroup *c) {
  const char *first = c->path[CGROUP_MEMORY][0] ? c->path[CGROUP_MEMORY] : c->path[CGROUP_PIDS];
  return read_number(first, "memory.events", "oom_kill") > 0 ||
         read_number(first, "memory.oom_control", "oom_kill") > 0;
}

// ---- its end -----------------------------------------------------------------------------------------------------------------

// Its processes are dead, but the last of them may still be on the way out.
void sandbox_cgroup_remove(Cgroup *c) {
  for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
    for (int n = 0; c->path[i][0] && n < 200 && rmdir(c->path[i]) != 0 && errno == EBUSY; n++)
      nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    c->path[i][0] = '\0';
  }
}

static void sweep(const char *parent) {
  DIR *folder = opendir(parent);
  int grader;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[2 * PATH_BYTES + 300];
    snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
    if (sscanf(entry->d_name, NAME "%d-", &grader) == 1 && grader > 0 && kill(grader, 0) != 0 && errno == ESRCH)
      rmdir(path); // succeeds only where nothing is in it
  }
  if (folder)
    closedir(folder);
}

void sandbox_cgroup_sweep(void) {
  for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
    Hierarchy h;
    bool found = find_hierarchy(controllers[i], &h);
    for (; found; *strrchr(h.own, '/') = '\0') {
      char parent[2 * PATH_BYTES];
      snprintf(parent, sizeof parent, "%s%s", h.mount, h.own);
      sweep(parent);
      found = strchr(h.own, '/') != NULL;
      if (!found)
        break;
    }
  }
}
