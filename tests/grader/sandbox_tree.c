// SPDX-License-Identifier: MIT
// A tree of processes: its memory, and its end. Found through /proc, by parents or children; orphans of the tree hang below its supervisor
// (the first process of a PID namespace, or a subreaper), so that none gets away by forking twice.
#include "sandbox_impl.h"
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PROCESSES = 8192 };

typedef struct Process {
  pid_t pid, parent;
  bool below;
} Process;

// False for what is gone, and for what is dead and only waited for. A process whose first thread has ended may live on.
static bool read_parent(const char *pid, pid_t *parent) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file)
    return false;
  bool found = fgets(line, sizeof line, file) != NULL;
  fclose(file);
  const char *after = found ? strrchr(line, ')') : NULL; // a process may have parentheses in its name
  char state;
  long threads;
  if (!after || sscanf(after + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state,
                       parent, &threads) != 3)
    return false;
  return state != 'Z' || threads > 1;
}

static int all_processes(Process *list) {
  int count = 0;
  DIR *proc = opendir("/proc");
  if (!proc)
    return 0;
  for (struct dirent *entry; (entry = readdir(proc)) && count < MAX_PROCESSES;) {
    if (!isdigit((unsigned char)entry->d_name[0]))
      continue;
    Process p = {.pid = (pid_t)atoi(entry->d_name)};
    if (read_parent(entry->d_name, &p.parent))
      list[count++] = p;
  }
  closedir(proc);
  return count;
}

// Marks everything below root; returns how many there are.
static int mark(Process *list, int count, pid_t root) {
  int marked = 0;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < count; i++) {
      bool below = list[i].parent == root;
      for (int j = 0; !below && j < count; j++)
        below = list[j].below && list[j].pid == list[i].parent;
      if (below && !list[i].below) {
        list[i].below = true;
        marked++;
        more = true;
      }
    }
  }
  return marked;
}

static void add_use(pid_t pid, bool memory, TreeUse *use) {
  char path[64], line[1024];
  unsigned long long ticks[4], pages;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  const char *after = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  if (file)
    fclose(file);
  if (!after ||
      sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %*d %*d %*u %*u %llu",
             &ticks[0], &ticks[1], &ticks[2], &ticks[3], &pages) != 5)
    return;
  use->memory += memory ? (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
  use->seconds += (double)(ticks[0] + ticks[1] + ticks[2] + ticks[3]) / (double)sysconf(_SC_CLK_TCK);
}

// The children of one thread, behind the `count` in the list; false where the kernel does not tell.
static bool add_children(const char *pid, const char *thread, Process *list, int *count) {
  char path[96];
  snprintf(path, sizeof path, "/proc/%.16s/task/%.16s/children", pid, thread);
  FILE *file = fopen(path, "r");
  if (!file)
    return false;
  for (int child; *count < MAX_PROCESSES && fscanf(file, "%d", &child) == 1;)
    list[(*count)++] = (Process){.pid = child, .below = true};
  fclose(file);
  return true;
}

// What is below `root`, asked of each process: a machine with hundreds of others is not searched. One that ends meanwhile may
// hide the next one, once: good enough for what is asked again in some milliseconds, not for who has to end all. -1: not told here.
static int descendants(pid_t root, Process *list) {
  int count = 0;
  char pid[24], path[64];
  snprintf(pid, sizeof pid, "%d", (int)root);
  if (!add_children(pid, pid, list, &count))
    return -1;
  for (int i = 0; i < count; i++) {
    snprintf(pid, sizeof pid, "%d", (int)list[i].pid);
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));)
      if (isdigit((unsigned char)entry->d_name[0]))
        add_children(pid, entry->d_name, list, &count);
    if (threads)
      closedir(threads);
  }
  return count;
}

TreeUse sandbox_tree_use(pid_t root) {
  static Process list[MAX_PROCESSES];
  TreeUse use = {0};
  int count = descendants(root, list);
  if (count < 0) {
    count = all_processes(list);
    mark(list, count, root);
  }
  add_use(root, false, &use);
  for (int i = 0; i < count; i++)
    if (list[i].below)
      add_use(list[i].pid, true, &use);
  return use;
}

void sandbox_tree_kill(pid_t root) {
  static Process list[MAX_PROCESSES];
  for (int round = 0; round < 200; round++) {
    int count = all_processes(list);
    int below = mark(list, count, root);
    for (int i = 0; i < count; i++)
      if (list[i].below)
        kill(list[i].pid, SIGSTOP); // so that none forks while the others die
    for (int i = 0; i < count; i++)
      if (list[i].below)
        kill(list[i].pid, SIGKILL);
    while (root == getpid() && waitpid(-1, NULL, WNOHANG) > 0) {
    }
    if (below == 0)
      return;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
}

unsigned sandbox_processes_of(uid_t user) {
  static Process list[MAX_PROCESSES];
  unsigned threads = 0;
  int count = all_processes(list);
  for (int i = 0; i < count; i++) {
    char path[64], line[512];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)list[i].pid);
    FILE *file = stat(path, &about) == 0 && about.st_uid == user ? fopen(path, "r") : NULL;
    if (!file)
      continue;
    unsigned n = 1;
    const char *after = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (after && sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u", &n) != 1)
      n = 1;
    threads += n;
    fclose(file);
  }
  return threads;
}
