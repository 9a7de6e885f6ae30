// SPDX-License-Identifier: MIT
// Compilers and other tools as child processes: their command lines, and their runs.
#ifndef TOOL_COMPILE_PROCESS_H
#define TOOL_COMPILE_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

typedef struct Words {
  const char **items; // ends with a NULL
  size_t count, room;
} Words;

// Each copies the text, which lives as long as the program, with the root folder in place of CONFIG_ROOT.
void words_add(Words *w, const char *word);
void words_addf(Words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void words_split(Words *w, const char *list); // the words between spaces
void words_add_all(Words *w, const Words *more);

// Runs argv in `folder` and waits. stdin is the file `in` or /dev/null; stdout and stderr go to the files `out` and `err`, or stay as
// they are (NULL). Returns the exit status as a shell does; 126: it could not be started, 127: there is no such tool.
int run_tool(const char *const argv[], const char *folder, const char *in, const char *out, const char *err);

// In a child before exec: opens `path` as descriptor `to`; where that fails the child exits with 126.
void redirect_to(const char *path, int flags, int to);

// Waits for the child. The exit status as above.
int wait_for_tool(pid_t pid);

// What waitpid has said of a process, as a shell's exit status.
int exit_status(int status);

// Replaces this process by a command that a person has configured ($BROWSER, $EDITOR), which may have options, with one more word. Returns
// only where there is no shell.
void run_instead(const char *command, const char *word);

#endif
