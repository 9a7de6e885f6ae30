// Runs a command that is not trusted: limits, no descriptors but its own, nothing of the machine in sight that it does not
// need, and its whole tree of processes gone afterwards. Which of these could be had is part of the result.
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
  const char *readable[SANDBOX_PATHS]; // files and folders that are seen, read-only, besides the system's programs
  const uint8_t *request; // sent through descriptor 3, where a reply is then awaited; NULL: no descriptor 3
  size_t request_bytes;
  double seconds;      // wall clock; also the limit on processor time of a process
  size_t memory;       // bytes, of all processes together
  size_t file_bytes;   // of one file written
  size_t output_bytes; // on stdout and stderr together
  int lines;           // of output kept at each end; 0: all of it
  bool gpu;            // needs the devices of a real GPU
} SandboxJob;

typedef enum SandboxEnd {
  SANDBOX_EXITED,    // status
  SANDBOX_SIGNALLED, // signal
  SANDBOX_TIMEOUT,
  SANDBOX_MEMORY,
  SANDBOX_OUTPUT,      // more output than allowed
  SANDBOX_NOT_STARTED, // the grader's trouble; `output` says why
} SandboxEnd;

enum { // what protected the run
  PROTECT_PID_NAMESPACE = 1,
  PROTECT_MOUNT_NAMESPACE = 2,
  PROTECT_NETWORK_NAMESPACE = 4,
  PROTECT_USER_NAMESPACE = 8,
  PROTECT_OTHER_USER = 16,
  PROTECT_NO_NEW_PRIVS = 32,
  PROTECT_LIMITS = 64,     // setrlimit
  PROTECT_PROCESSES = 128, // a limit on their number that holds
  PROTECT_SUBREAPER = 256, // orphans come back to the grader, which kills them
  PROTECT_BUBBLEWRAP = 512,
  PROTECT_LANDLOCK = 1024, // files that it does not need cannot be opened
  PROTECT_SIGNALS = 2048,  // nor can processes of others be signalled, whoever owns them
};

typedef struct SandboxResult {
  SandboxEnd end;
  int status, signal;
  Ledger ledger;  // what came before the reply
  uint8_t *reply; // body of a whole reply with the request's nonce (malloc), NULL when there was none
  size_t reply_bytes;
  bool forged;  // something else came through descriptor 3
  char *output; // what it printed (malloc), with the middle left out where it is long
  double seconds;
  size_t peak_memory; // as sampled
  unsigned protections;
} SandboxResult;

SandboxResult sandbox_run(const SandboxJob *job);
void sandbox_result_free(SandboxResult *result);

// The protections as a list in words: "own process tree, own files, ...". And what is missing, "" when nothing is.
void sandbox_describe(unsigned protections, char *on, size_t on_bytes, char *off, size_t off_bytes);

// Ends the tree of processes below `root` (itself not), until nothing is left of it.
void sandbox_tree_kill(pid_t root);

// A new folder, writable by whoever the sandbox runs commands as; and its removal with all that is in it.
bool sandbox_folder(char *path, size_t bytes);
void sandbox_folder_remove(const char *path);
void sandbox_folders_remove(pid_t grader); // all that this process made

#endif
