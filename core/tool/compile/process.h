// SPDX-License-Identifier: MIT
// Compilers and other tools as child processes.
#ifndef TOOL_COMPILE_PROCESS_H
#define TOOL_COMPILE_PROCESS_H

#include <sys/types.h>

// Runs argv in `folder` and waits. stdin is the file `in` or /dev/null; stdout and stderr go to the files `out` and `err`, or stay as
// they are (NULL). Returns the exit status as a shell does; 126: it could not be started, 127: there is no such tool.
int run_tool(const char *const argv[], const char *folder, const char *in, const char *out, const char *err);

// In a child before exec: opens `path` as descriptor `to`; where that fails the child exits with 126.
void redirect_to(const char *path, int flags, int to);

// Waits for the child. The exit status as above.
int wait_for_tool(pid_t pid);

#endif
