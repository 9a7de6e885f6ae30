// SPDX-License-Identifier: MIT
// Runs a command that is not trusted: limits, no descriptors but its own, nothing of the machine in sight that it does not
// need, and its whole tree of processes gone afterwards. Which protections were in force is part of the result.
//
// How a command is shut in, its level, is chosen once for the grader and all that it starts. A start that fails after that is
// tried again, and then is SANDBOX_NOT_STARTED: nothing ever runs with less than the level that was chosen.
#ifndef GRADER_SANDBOX_H
#define GRADER_SANDBOX_H

#include "wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SANDBOX_PATHS = 48 };

typedef struct SandboxJob {
  const char *const *argv;             // argv[0] is a path
  const char *const *environment;      // all of it; NULL at the end
  const char *folder;                  // working directory, the only place to write; seen under its own path
  bool scratch;                        // nothing in the folder comes back: it may be one in memory, or read-only
  const char *readable[SANDBOX_PATHS]; // files and folders that are seen, read-only, besides the system's programs
  const uint8_t *request; // sent through descriptor 3, where a reply is then awaited; NULL: no descriptor 3
  size_t request_bytes;
  double seconds;           // wall clock; four times as much is the limit on processor time of a process
  double processor_seconds; // of all processes together; 0: as much as one process may have
  size_t memory;            // bytes, of all processes together
  size_t address_space;     // bytes, of one process, or 0: page tables take memory, too, that no process has
  size_t file_bytes;        // of one file written
  size_t folder_bytes;      // of everything in the folder, where that is on a disk (not `scratch`)
  size_t output_bytes;      // on stdout and stderr together
  int lines;                // of output kept at each end; 0: all of it
  bool gpu;                 // needs the devices of a real GPU
  void (*heard)(void *listener, const char *bytes, size_t count); // told of output as it comes, as it is; or NULL
  void *listener;
} SandboxJob;

typedef enum SandboxEnd {
  SANDBOX_EXITED,   // status
  SANDBOX_SIGNALED, // signal
  SANDBOX_TIMEOUT,
  SANDBOX_MEMORY,
  SANDBOX_OUTPUT,      // more output than allowed
  SANDBOX_FILES,       // more in its folder than allowed
  SANDBOX_NOT_STARTED, // the grader's trouble; `output` says why
} SandboxEnd;

// Ways of shutting a command in, from the strongest down. README.md says what each does.
typedef enum SandboxLevel {
  SANDBOX_NAMESPACES,
  SANDBOX_USER_NAMESPACE,
  SANDBOX_BUBBLEWRAP,
  SANDBOX_LANDLOCK,
  SANDBOX_NONE, // never chosen unless it is asked for
  SANDBOX_LEVELS,
} SandboxLevel;

enum { // what protected the run
  PROTECT_PID_NAMESPACE = 1,
  PROTECT_MOUNT_NAMESPACE = 2,
  PROTECT_NETWORK = 4, // in a namespace of its own, or refused by a filter
  PROTECT_USER_NAMESPACE = 8,
  PROTECT_OTHER_USER = 16,
  PROTECT_NO_NEW_PRIVS = 32,
  PROTECT_LIMITS = 64,     // setrlimit
  PROTECT_PROCESSES = 128, // a limit on their number that holds
  PROTECT_SUBREAPER = 256, // orphans come back to the grader, which kills them
  PROTECT_BUBBLEWRAP = 512,
  PROTECT_LANDLOCK = 1024,     // files that it does not need cannot be opened
  PROTECT_SIGNALS = 2048,      // nor can processes of others be signaled, whoever owns them
  PROTECT_CAPABILITIES = 4096, // it has none
  PROTECT_SYSTEM_CALLS = 8192, // those that it does not need and that lead out are refused
  PROTECT_FILES = 16384,       // a limit on all that it writes, not on a file alone
  PROTECT_CGROUP = 32768,      // processes are counted by a cgroup
};

typedef struct SandboxResult {
  SandboxEnd end;
  int status, signal;
  Ledger ledger;  // what came before the reply
  uint8_t *reply; // body of a whole reply with the request's nonce (malloc), NULL when there was none
  size_t reply_bytes;
  bool forged;  // something else came through descriptor 3
  char *output; // what it printed (malloc), with the middle left out where it is long, control characters shown as text
  double seconds;
  double processor_seconds; // of all its processes, as sampled
  size_t peak_memory;       // as sampled
  unsigned protections;
} SandboxResult;

SandboxResult sandbox_run(const SandboxJob *job);
// Whether it ended by its time limit, and had a processor for less than that: another program may have had it.
bool sandbox_starved(const SandboxResult *result);
void sandbox_result_free(SandboxResult *result);

// ---- the level ---------------------------------------------------------------------------------------------------------

const char *sandbox_level_name(SandboxLevel level); // "namespaces", "user", "bubblewrap", "landlock", "none"
bool sandbox_level_named(const char *name);         // whether there is one

// Chooses the level by trying: the strongest that this machine permits, or `wanted` and no other. Only a refusal (no right, no
// such thing in the kernel) goes on to the next; any other trouble is tried again and then is a failure, which the next call
// looks into anew. `gpu`: one at which a real GPU can be reached. False: `why` says what is in the way.
bool sandbox_choose(const char *wanted, bool gpu, char *why, size_t bytes);
const char *sandbox_chosen(void);  // its name, "" before the choice
const char *sandbox_refused(void); // the stronger levels that were refused, and why; "" when none was

// Keeps a folder out of a command's sight wherever it stands, but for what a job names in it; of the folder, its name stays.
void sandbox_hide(const char *path);

// Who commands run as: (uid_t)-1 when that is the grader's own user.
uid_t sandbox_other_user(void);
// Whether each command has a tree of processes for itself, so that several can run at the same time: no run sweeps up what is another's.
bool sandbox_side_by_side(void);
// Makes this process, which a grader has forked, run commands as that grader's, at the same time as that.
void sandbox_help(pid_t grader);

// The protections as the level's name and a list in words: "namespaces: own process tree, ...". And what is missing, "" when
// nothing is.
void sandbox_describe(unsigned protections, char *on, size_t on_bytes, char *off, size_t off_bytes);

// The same for a run at another level, and back: what `on` tells of. 0 where it is no such text.
void sandbox_describe_at(const char *level, unsigned protections, char *on, size_t on_bytes, char *off,
                         size_t off_bytes);
unsigned sandbox_described(const char *on, char *level, size_t level_bytes);

// Ends the tree of processes below `root` (itself not), until nothing is left of it.
void sandbox_tree_kill(pid_t root);

// ---- folders -----------------------------------------------------------------------------------------------------------

// A new folder, writable by whoever the sandbox runs commands as; and its removal with all that is in it. Nothing here follows
// a link, or a path that somebody may have changed since: it works on descriptors, on files of the grader's and its commands'
// users alone.
bool sandbox_folder(char *path, size_t bytes);
bool sandbox_folder_own(char *path, size_t bytes); // the same, but readable by all and writable by the grader alone
void sandbox_folder_remove(const char *path);
void sandbox_folders_remove(pid_t grader); // all that this process made

// Makes `folder` and the file `name` in it the grader's, to be read and executed by all and written by nobody else. False when
// it is anything but a plain file with one name, made by a command in the sandbox.
bool sandbox_take(const char *folder, const char *name);

#endif
