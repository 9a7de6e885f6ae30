// What the files of the sandbox share.
#ifndef GRADER_SANDBOX_IMPL_H
#define GRADER_SANDBOX_IMPL_H

#include "sandbox.h"
#include <sys/types.h>

// A started command: the process to kill (its tree hangs below), and the parent's ends of the pipes.
typedef struct Started {
  pid_t supervisor; // reports the command's wait status on `status` and ends; 0: could not start
  int status;       // read end: an int from waitpid, then end of file
  int output;       // read end of stdout and stderr
  int socket;       // -1 without a request
  unsigned protections;
} Started;

// Starts the job. On failure supervisor is 0 and `why` says what went wrong.
Started sandbox_start(const SandboxJob *job, char *why, size_t bytes);

// The mount namespace that the calling process is in; 0 when it cannot be told.
uint64_t sandbox_mount_namespace(void);

// In the new process, before the command: its own view of the files. It changes the root of everything in its mount namespace,
// so it refuses to do so unless that is another one than `outside`, the grader's. False also where it is not permitted.
bool sandbox_enter_files(const SandboxJob *job, uint64_t outside);

// What every command may read, and the devices it may use; those of a real GPU. Ended by NULL.
extern const char *const sandbox_system_paths[], *const sandbox_device_paths[], *const sandbox_gpu_paths[];

// In the new process, with no new privileges: files other than the job's and the system's can no longer be opened. False where
// the kernel has no Landlock.
bool sandbox_enter_landlock(const SandboxJob *job);
int sandbox_landlock_version(void);        // 0: there is none
bool sandbox_landlock_holds_signals(void); // ... to processes outside

// Removes what `user` left in the machine's folders for temporary files; for a user that exists for this run alone.
void sandbox_sweep_files(uid_t user);

// The identity that commands get: a user of nobody's when the grader is root, else the grader's own.
uid_t sandbox_user(void);

// The job's command line, run by bubblewrap; NULL where that is not installed. The result is overwritten by the next call.
const char *const *sandbox_bubblewrap(const SandboxJob *job);

// Threads that run as `user` on this machine now: RLIMIT_NPROC counts them all.
unsigned sandbox_processes_of(uid_t user);

size_t sandbox_tree_memory(pid_t root); // in bytes, of the tree below `root`, itself not counted

// Output with its middle left out: keeps the first and the last lines.
typedef struct Excerpt {
  char *head, *tail; // tail is a ring
  size_t head_used, tail_used, tail_at, total;
  int lines, head_lines;
  bool cut;
} Excerpt;
void excerpt_begin(Excerpt *e, int lines);
void excerpt_add(Excerpt *e, const char *bytes, size_t count);
char *excerpt_end(Excerpt *e); // malloc; frees the rest

#endif
