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

const char *const *sandbox_bubblewrap(const SandboxJob *job) {
  used = 0;
  if (!program() || job->gpu)
    return NULL;
  add(program());
  add("--unshare-all");
  add("--die-with-parent");
  for (int i = 0; sandbox_system_paths[i]; i++)
    show("--ro-bind-try", sandbox_system_paths[i]);
  for (int i = 0; sandbox_device_paths[i]; i++)
    show("--dev-bind-try", sandbox_device_paths[i]);
  add("--tmpfs");
  add("/tmp");
  for (int i = 0; i < SANDBOX_PATHS && job->readable[i]; i++)
    show("--ro-bind-try", job->readable[i]);
  show("--bind", job->folder);
  add("--chdir");
  add(job->folder);
  add("--");
  for (int i = 0; job->argv[i]; i++)
    add(job->argv[i]);
  arguments[used] = NULL;
  return arguments;
}
