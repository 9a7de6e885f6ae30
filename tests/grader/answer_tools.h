// SPDX-License-Identifier: MIT
// The tools that answers are built with: a command line, and a run of it in the sandbox. For what builds answers and reads them.
#ifndef GRADER_ANSWER_TOOLS_H
#define GRADER_ANSWER_TOOLS_H

#include "answer.h"

enum { COMMAND_ARGUMENTS = 96, COMPILE_SECONDS = 10, UNROLLED_SECONDS = 40, NVCC_SECONDS = 60 };

typedef struct Command {
  const char *argv[COMMAND_ARGUMENTS];
  char text[8192];
  size_t used;
  int count;
} Command;

// What FERRY_ANSWER_SECONDS gives a test on a slow machine; 0: nothing, or no such time.
double answer_seconds_wanted(void);

// Panics when the line is too long.
void command_word(Command *c, const char *format, const char *value); // one word: `format` has one %s
void command_words(Command *c, const char *list);                     // those between spaces
// A program by its name: the path of the first on PATH, since the sandbox searches nothing. Panics when there is none.
void command_program(Command *c, const char *name);

// Runs one tool in the answer's folder; what it printed goes to `output` (malloc) where that is asked for. `readable`: up to two
// more files that it may read. On failure the answer's status and diagnostics say what happened.
bool answer_run_tool(Answer *a, const Command *command, const char *readable[2], double seconds, char **output);
// The compiler itself. What it says of the answer is made fit to read.
bool answer_run_compiler(Answer *a, const Command *command, const char *readable[2]);
bool answer_refuse(Answer *a, Status status, const char *why); // false
// Gives the answer a folder of its own with a copy of its source. On failure the answer says why.
bool answer_make_folder(Answer *a, const char *source);

#endif
