// SPDX-License-Identifier: MIT
// What the files of the sandbox share.
#ifndef GRADER_SANDBOX_IMPL_H
#define GRADER_SANDBOX_IMPL_H

#include "sandbox.h"
#include <sys/resource.h>
#include <sys/types.h>

// How one attempt to start goes about it.
typedef struct Plan {
  SandboxLevel level;
  unsigned protections; // reported when all of it is in force
  bool namespaces;      // of our own making: the supervisor is cloned into them
  uint64_t outside;     // the grader's own mount namespace
  uid_t user;           // who the command becomes, with PROTECT_OTHER_USER
  rlim_t process_limit;
} Plan;

enum { CGROUP_PATH = 512 };
enum { CGROUP_PIDS, CGROUP_MEMORY, CGROUP_CPU, CGROUP_CPUACCT, CGROUP_CONTROLLERS };

// A cgroup: its folder for each controller ("": it has none, or shares another's), and while a process is started the files to write it to.
typedef struct Cgroup {
  char path[CGROUP_CONTROLLERS][CGROUP_PATH];
  int entry[CGROUP_CONTROLLERS]; // -1: none
} Cgroup;

// A started command: the process to kill (its tree hangs below), and the parent's ends of the pipes.
typedef struct Started {
  pid_t supervisor; // reports the command's wait status on `status` and ends; 0: could not start
  int error;        // why not (errno); 0 where the process to run it in ended without a word
  int status;       // read end: an int from waitpid, then end of file
  int output;       // read end of stdout and stderr
  int socket;       // -1 without a request
  int bubblewrap;   // read end of what bubblewrap has to say of itself, -1 without it
  unsigned protections;
  Cgroup cgroup; // to be removed afterwards
} Started;

// The command's and the supervisor's ends of the pipes.
typedef struct Ends {
  int status, start, output, socket, bubblewrap;
} Ends;

// Starts the job at the level that was chosen. On failure supervisor is 0 and `why` says what went wrong.
Started sandbox_start(const SandboxJob *job, char *why, size_t bytes);

// Watches over a started command until all of it is gone.
SandboxResult sandbox_watch(const SandboxJob *job, Started started);

// Whether the grader's own limits leave enough for right answers, soft ones being raised to that; if not, `why` says what is needed.
bool sandbox_limits_suffice(char *why, size_t bytes);

// The most processor time, in seconds, of one process and of all together.
double sandbox_processor_seconds(const SandboxJob *job);

// One attempt with one plan: it starts with all of the plan in force, or not at all.
Started sandbox_attempt(const SandboxJob *job, const Plan *plan, char *why, size_t bytes);

// In the new process: says why it could not go on (errno), and ends.
_Noreturn void sandbox_give_up(const Ends *ends, const char *what);

// In the new process: becomes the job's command, with all that the plan takes away taken away. Tells the grader that it started.
_Noreturn void sandbox_be_command(const SandboxJob *job, const Ends *ends, const Plan *plan);

// The mount namespace that the calling process is in; 0 when it cannot be told.
uint64_t sandbox_mount_namespace(void);

// In the new process, before the command: its own view of the files. It changes the root of everything in its mount namespace,
// so it refuses to do so unless that is another one than `outside`, the grader's. False also where it is not permitted.
bool sandbox_enter_files(const SandboxJob *job, const Plan *plan);

// What every command may read, and the devices it may use; those of a real GPU. Ended by NULL.
extern const char *const sandbox_system_paths[], *const sandbox_device_paths[], *const sandbox_gpu_paths[];

enum { SCRATCH_BYTES = 64 << 20, SCRATCH_FILES = 8192 }; // in memory, of all that a command may write

enum { FIRST_USER = 0x40000000, END_OF_USERS = 0x48000000 }; // of commands, where all numbers can be had

uid_t sandbox_user_of(pid_t grader); // who the commands of another grader run as
pid_t sandbox_grader(void);          // whose commands this process runs: its own number, or that of the one it helps

// The folders that are kept out of sight, as they are really called. Ended by NULL.
extern const char *sandbox_hidden[];
bool sandbox_is_below(const char *path, const char *folder); // or the same

// In the new process, with no new privileges: files other than the job's and the system's can no longer be opened. False where
// the kernel has no Landlock.
bool sandbox_enter_landlock(const SandboxJob *job);
int sandbox_landlock_version(void);        // 0: there is none
bool sandbox_landlock_holds_signals(void); // ... to processes outside

// The filter of system calls; false where this processor has none here. With no new privileges it can be entered by anyone. `apart`: for
// commands that see no processes and files of others.
typedef struct SystemCallFilter {
  const void *program;
  size_t bytes;
} SystemCallFilter;
bool sandbox_filter(bool gpu, bool apart, SystemCallFilter *filter);
bool sandbox_enter_filter(const SystemCallFilter *filter);

// A cgroup of the run's own that bounds its processes; false where none can be had. Memory, in bytes (0: as much as there is), is
// bounded where the machine can.
bool sandbox_cgroup_make(unsigned processes, size_t memory, Cgroup *cgroup);
bool sandbox_cgroup_enter(const Cgroup *cgroup);
void sandbox_cgroup_close(Cgroup *cgroup);           // the files to write oneself to
double sandbox_cgroup_seconds(const Cgroup *cgroup); // how long all its processes have computed; -1: not told here
bool sandbox_cgroup_ran_out(const Cgroup *cgroup);   // a process of it was ended because memory was used up
void sandbox_cgroup_remove(Cgroup *cgroup);
void sandbox_cgroup_sweep(void); // of graders that were killed

// Removes what `user` left in the machine's folders for temporary files; for a user that exists for this run alone.
void sandbox_sweep_files(uid_t user);

const char *sandbox_temporary_folder(void);   // $TMPDIR, or /tmp
size_t sandbox_folder_size(const char *path); // bytes on the disk, of at most a few thousand files

// The job's command line, run by bubblewrap; NULL where that is not installed. The result is overwritten by the next call.
// It reads the filter of system calls from one descriptor, and writes about itself to another.
#define BUBBLEWRAP_FILTER "4"
#define BUBBLEWRAP_STATUS "5"
const char *const *sandbox_bubblewrap(const SandboxJob *job);

// Threads that run as `user` on this machine now: RLIMIT_NPROC counts them all.
unsigned sandbox_processes_of(uid_t user);

// What the tree below `root` uses.
typedef struct TreeUse {
  size_t memory;  // in bytes, without `root` itself
  double seconds; // of processor time, of those that have ended and been waited for too
} TreeUse;
TreeUse sandbox_tree_use(pid_t root);

// Output with its middle left out: keeps the first and the last lines.
typedef struct Excerpt {
  char *head, *tail; // tail is a ring
  size_t head_used, tail_used, tail_at, total;
  int lines, head_lines;
  bool cut;
} Excerpt;
void excerpt_begin(Excerpt *e, int lines);
void excerpt_add(Excerpt *e, const char *bytes, size_t count);
char *excerpt_end(Excerpt *e); // malloc; frees the rest. Control characters are shown as text.

#endif
