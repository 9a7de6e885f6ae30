// bubblewrap in place of namespaces of our own: where those are refused to us, an installed bwrap may be allowed them.
#include "sandbox_impl.h"
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

static const char *program(void) {
  static const char *const places[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    if (access(places[i], X_OK) == 0)
      return places[i];
  return NULL;
}

const char *const *sandbox_bubblewrap(const SandboxJob *job) {
  static const char *const system_paths[] = {"/usr",
                                             "/bin",
                                             "/sbin",
                                             "/lib",
                                             "/lib32",
                                             "/lib64",
                                             "/opt",
                                             "/nix",
                                             "/etc/alternatives",
                                             "/etc/ld.so.cache",
                                             "/etc/ld.so.conf"};
  used = 0;
  if (!program() || job->gpu)
    return NULL;
  add(program());
  add("--unshare-all");
  add("--die-with-parent");
  for (size_t i = 0; i < sizeof system_paths / sizeof system_paths[0]; i++)
    show("--ro-bind-try", system_paths[i]);
  show("--dev-bind-try", "/dev/null");
  show("--dev-bind-try", "/dev/urandom");
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
