// The subcommands of ./ferry and what they share.
#ifndef GRADER_COMMANDS_H
#define GRADER_COMMANDS_H

#include "judge.h"
#include "registry.h"

typedef struct Command {
  const char *name, *arguments, *summary, *help; // help: options and what they do, several lines
  int (*run)(int argc, char **argv);             // argv[0] is the command's name; returns the exit status
  bool hidden;                                   // for those who make exercises
} Command;

extern const Command commands[]; // ends with a NULL name

// Exit statuses: 0 all is well, 1 an answer does not pass, 2 a wrong command line, 3 the grader's trouble.
enum { EXIT_PASS = 0, EXIT_ANSWER = 1, EXIT_USAGE = 2, EXIT_GRADER = 3 };

int cmd_cut(int argc, char **argv);

// "ferry COMMAND: ..." on stderr, and EXIT_USAGE.
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The exercise that a person named, or NULL after an error message that lists what is near.
const Exercise *exercise_named(const char *command, const char *name);

// Root of the repository: where solutions/, exercises/, docs/ and work/ are.
void in_root(char *path, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

// A whole file (malloc, NUL-terminated), NULL when it cannot be read. And one written through a temporary file and a rename:
// at every moment the old or the new one is there, whole.
char *file_read(const char *path, size_t *bytes);
bool file_write(const char *path, const char *text, size_t bytes);

#endif
