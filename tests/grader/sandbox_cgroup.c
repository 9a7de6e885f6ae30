// A cgroup bounds the processes of one run together, whoever they run as; a limit of the user's bounds all that the user runs.
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

// The folder of the hierarchy that counts processes: where it is mounted, and which part of it this process is in.
typedef struct Hierarchy {
  char mount[PATH_BYTES], own[PATH_BYTES];
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
static bool find_mount(char *mount, bool *second) {
  char line[4096], where[PATH_BYTES], kind[32], options[512];
  bool found = false;
  FILE *file = fopen("/proc/self/mountinfo", "re");
  while (file && !found && fgets(line, sizeof line, file)) {
    const char *after = strstr(line, " - ");
    if (!after || sscanf(line, "%*s %*s %*s %*s %383s", where) != 1 ||
        sscanf(after, " - %31s %*s %511s", kind, options) != 2)
      continue;
    *second = strcmp(kind, "cgroup2") == 0;
    char controllers[PATH_BYTES + 32], text[512] = "";
    snprintf(controllers, sizeof controllers, "%s/cgroup.controllers", where);
    FILE *list = *second ? fopen(controllers, "re") : NULL;
    if (list && !fgets(text, sizeof text, list))
      text[0] = '\0';
    if (list)
      fclose(list);
    found = *second ? has_word(text, "pids") : strcmp(kind, "cgroup") == 0 && has_word(options, "pids");
  }
  if (file)
    fclose(file);
  if (found)
    snprintf(mount, PATH_BYTES, "%s", where);
  return found;
}

// "8:pids:/some/where" of version 1, "0::/some/where" of version 2.
static bool find_hierarchy(Hierarchy *h) {
  char line[1024];
  bool second = false, found = false;
  if (!find_mount(h->mount, &second))
    return false;
  FILE *file = fopen("/proc/self/cgroup", "re");
  while (file && !found && fgets(line, sizeof line, file)) {
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
      continue;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    found = second ? controllers[1] == '\0' : has_word(controllers + 1, "pids");
    if (found)
      snprintf(h->own, sizeof h->own, "%s", strcmp(path, "/") == 0 ? "" : path);
  }
  if (file)
    fclose(file);
  return found && !strstr(h->own, "..");
}

static bool write_number(const char *folder, const char *name, unsigned number) {
  char path[PATH_BYTES + 200], text[16];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int length = snprintf(text, sizeof text, "%u", number), file = open(path, O_WRONLY | O_CLOEXEC);
  bool written = file >= 0 && write(file, text, (size_t)length) == length;
  if (file >= 0)
    close(file);
  return written;
}

// Below `parent`, if such a cgroup can bound its processes there.
static bool make_below(const char *parent, unsigned processes, char *path, size_t bytes, int *entry) {
  static unsigned made;
  char procs[PATH_BYTES + 200];
  if (snprintf(path, bytes, "%s/" NAME "%d-%u", parent, (int)getpid(), made++) >= (int)bytes || mkdir(path, 0755) != 0)
    return false;
  snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
  *entry = write_number(path, "pids.max", processes) ? open(procs, O_WRONLY | O_CLOEXEC) : -1;
  if (*entry < 0)
    rmdir(path);
  return *entry >= 0;
}

// In the grader's own part of the hierarchy, or else, of version 2, further up: what has processes may have no such parts there.
bool sandbox_cgroup_make(unsigned processes, char *path, size_t bytes, int *entry) {
  Hierarchy h;
  bool found = find_hierarchy(&h);
  char parent[2 * PATH_BYTES];
  for (; found; *strrchr(h.own, '/') = '\0') {
    snprintf(parent, sizeof parent, "%s%s", h.mount, h.own);
    if (strlen(parent) < PATH_BYTES && make_below(parent, processes, path, bytes, entry))
      return true;
    if (!strchr(h.own, '/'))
      break;
  }
  path[0] = '\0';
  if (errno != EMFILE && errno != ENFILE && errno != ENOMEM)
    errno = EPERM; // read-only, or missing, or somebody else's: none can be had
  return false;
}

bool sandbox_cgroup_enter(int entry) {
  if (write(entry, "0", 1) == 1)
    return true;
  if (errno != EAGAIN && errno != ENOMEM)
    errno = EPERM;
  return false;
}

// Its processes are dead, but the last of them may still be on the way out.
void sandbox_cgroup_remove(const char *path) {
  for (int i = 0; *path && i < 200 && rmdir(path) != 0 && errno == EBUSY; i++)
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

void sandbox_cgroup_sweep(void) {
  Hierarchy h;
  bool found = find_hierarchy(&h);
  for (; found; *strrchr(h.own, '/') = '\0') {
    char parent[2 * PATH_BYTES], path[2 * PATH_BYTES + 300];
    snprintf(parent, sizeof parent, "%s%s", h.mount, h.own);
    DIR *folder = opendir(parent);
    int grader;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
      snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
      if (sscanf(entry->d_name, NAME "%d-", &grader) == 1 && grader > 0 && kill(grader, 0) != 0 && errno == ESRCH)
        rmdir(path); // succeeds only where nothing is in it
    }
    if (folder)
      closedir(folder);
    if (!strchr(h.own, '/'))
      return;
  }
}
