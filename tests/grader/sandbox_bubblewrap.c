// SPDX-License-Identifier: MIT
// bubblewrap in place of namespaces of our own: where those are refused to us, an installed bwrap may be allowed them.
#include "sandbox_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS = 512 };

static const char *arguments[ARGUMENTS];
static int used;

static void add(const char *word) {
  if (used < ARGUMENTS - 1)
    arguments[used++] = word;
}

static void show(const char *how, const char *path) {
  add(how);
  add(path);
  add(path);
}

// The first bwrap on PATH.
static const char *program(void) {
  static char path[512];
  const char *search = getenv("PATH");
  for (search = search && *search ? search : "/usr/bin:/bin"; search; search = strchr(search, ':')) {
    search += *search == ':';
    snprintf(path, sizeof path, "%.*s/bwrap", (int)strcspn(search, ":"), search);
    if (path[0] == '/' && access(path, X_OK) == 0)
      return path;
  }
  return NULL;
}

// Whether something that every command may read has this folder in it.
static bool is_shown(const char *folder) {
  bool shown = false;
  for (int i = 0; sandbox_system_paths[i] && !shown; i++) {
    char *real = realpath(sandbox_system_paths[i], NULL);
    shown = real && sandbox_is_below(folder, real);
    free(real);
  }
  return shown;
}

static void in_memory(const char *path) {
  add("--tmpfs");
  add(path);
}

static void read_only(const char *path) {
  add("--remount-ro");
  add(path);
}

// What bubblewrap makes in memory knows no bounds, neither of bytes (before version 0.7) nor of files: nothing is written there.
static void close_up(const SandboxJob *job) {
  for (int i = 0; sandbox_hidden[i]; i++)
    if (is_shown(sandbox_hidden[i]))
      read_only(sandbox_hidden[i]);
  read_only("/tmp");
  if (job->scratch)
    read_only(job->folder);
  read_only("/");
}

const char *const *sandbox_bubblewrap(const SandboxJob *job) {
  used = 0;
  if (!program() || job->gpu)
    return NULL;
  add(program());
  add("--unshare-all");
  add("--unshare-user");
  add("--die-with-parent");
  add("--seccomp");
  add(BUBBLEWRAP_FILTER);
  add("--json-status-fd");
  add(BUBBLEWRAP_STATUS);
  for (int i = 0; sandbox_system_paths[i]; i++)
    show("--ro-bind-try", sandbox_system_paths[i]);
  for (int i = 0; sandbox_device_paths[i]; i++)
    show("--dev-bind-try", sandbox_device_paths[i]);
  in_memory("/tmp");
  for (int i = 0; sandbox_hidden[i]; i++)
    if (is_shown(sandbox_hidden[i]))
      in_memory(sandbox_hidden[i]);
  for (int i = 0; i < SANDBOX_PATHS && job->readable[i]; i++)
    show("--ro-bind-try", job->readable[i]);
  if (job->scratch)
    in_memory(job->folder);
  else
    show("--bind", job->folder);
  close_up(job);
  add("--chdir");
  add(job->folder);
  add("--");
  for (int i = 0; job->argv[i]; i++)
    add(job->argv[i]);
  arguments[used] = NULL;
  return arguments;
}
