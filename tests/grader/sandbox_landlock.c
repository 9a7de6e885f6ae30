// SPDX-License-Identifier: MIT
// Landlock: a process gives up the rights to files that it does not need, and all it starts has given them up too. It takes no
// privileges, so it is there where namespaces are refused. Files stay visible by name, but they cannot be opened.
//
// The system's header is not included: it may be older than the kernel, or missing.
#include "sandbox_impl.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The numbers are the same on every architecture.
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, QUERY_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum { // rights to files
  EXECUTE = 1 << 0,
  WRITE_FILE = 1 << 1,
  READ_FILE = 1 << 2,
  READ_DIR = 1 << 3,
  ALL_OF_VERSION_1 = (1 << 13) - 1,
  REFER = 1 << 13,    // version 2: link or rename into another folder
  TRUNCATE = 1 << 14, // version 3
  OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
};
enum { BIND_TCP = 1, CONNECT_TCP = 2 };     // version 4
enum { ABSTRACT_SOCKETS = 1, SIGNALS = 2 }; // version 6: not to processes that have not given up the same

typedef struct Ruleset {
  uint64_t files, network, scope;
} Ruleset;

typedef struct PathRule {
  uint64_t rights;
  int32_t folder;
} __attribute__((packed)) PathRule;

int sandbox_landlock_version(void) {
  long version = syscall(CREATE_RULESET, NULL, 0, QUERY_VERSION);
  return version > 0 ? (int)version : 0;
}

bool sandbox_landlock_holds_signals(void) {
  return sandbox_landlock_version() >= 6;
}

static uint64_t all_rights(int version) {
  return ALL_OF_VERSION_1 | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
}

// A path that is not there is left out: a system without /lib32 has nothing to open in it.
static bool allow(int ruleset, const char *path, uint64_t rights) {
  struct stat about;
  int file = open(path, O_PATH | O_CLOEXEC);
  if (file < 0)
    return errno == ENOENT || errno == EACCES;
  bool folder = fstat(file, &about) == 0 && S_ISDIR(about.st_mode);
  PathRule rule = {folder ? rights : rights & OF_FILES, file};
  bool added = syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) == 0;
  close(file);
  return added;
}

// Of a folder that has a hidden one in it, everything but that: a right to a folder is one to all that is below it.
static bool allow_around(int ruleset, const char *real, uint64_t rights) {
  bool within = false;
  for (int i = 0; sandbox_hidden[i]; i++) {
    if (sandbox_is_below(real, sandbox_hidden[i]))
      return true;
    within |= sandbox_is_below(sandbox_hidden[i], real);
  }
  if (!within)
    return allow(ruleset, real, rights);
  DIR *list = opendir(real);
  bool allowed = list != NULL;
  for (struct dirent *entry; allowed && (entry = readdir(list));) {
    char path[4096];
    bool fits = snprintf(path, sizeof path, "%s/%s", real, entry->d_name) < (int)sizeof path;
    struct stat about;
    // A link needs no right of its own; what it leads to has its own, or none.
    if (fits && lstat(path, &about) == 0 && !S_ISLNK(about.st_mode) && strcmp(entry->d_name, ".") != 0 &&
        strcmp(entry->d_name, "..") != 0)
      allowed = allow_around(ruleset, path, rights);
  }
  if (list)
    closedir(list);
  return allowed;
}

static bool allow_system(int ruleset, uint64_t rights) {
  bool allowed = true;
  for (int i = 0; allowed && sandbox_system_paths[i]; i++) {
    char *real = realpath(sandbox_system_paths[i], NULL);
    allowed = !real || allow_around(ruleset, real, rights);
    free(real);
  }
  return allowed;
}

static bool allow_all(int ruleset, const char *const *paths, uint64_t rights) {
  for (; *paths; paths++)
    if (!allow(ruleset, *paths, rights))
      return false;
  return true;
}

bool sandbox_enter_landlock(const SandboxJob *job) {
  const uint64_t read = EXECUTE | READ_FILE | READ_DIR;
  int version = sandbox_landlock_version();
  uint64_t all = all_rights(version);
  Ruleset wanted = {.files = all,
                    .network = version >= 4 ? BIND_TCP | CONNECT_TCP : 0,
                    .scope = sandbox_landlock_holds_signals() ? ABSTRACT_SOCKETS | SIGNALS : 0};
  // An older kernel refuses a struct that is longer than its own, even where the rest is 0.
  size_t bytes = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  if (version == 0)
    return false;
  int ruleset = (int)syscall(CREATE_RULESET, &wanted, bytes, 0);
  if (ruleset < 0)
    return false;
  bool set = allow_system(ruleset, read) && allow(ruleset, job->folder, job->scratch ? read : all);
  set = set && allow_all(ruleset, sandbox_device_paths, (READ_FILE | WRITE_FILE | TRUNCATE) & all);
  for (int i = 0; set && i < SANDBOX_PATHS && job->readable[i]; i++)
    set = allow(ruleset, job->readable[i], read);
  set = set && (!job->gpu || allow_all(ruleset, sandbox_gpu_paths, all));
  set = set && syscall(RESTRICT_SELF, ruleset, 0) == 0;
  close(ruleset);
  return set;
}
