// SPDX-License-Identifier: MIT
// The learner's editor: which it is, and how it is started.
#ifndef TOOL_EDITOR_H
#define TOOL_EDITOR_H

#include "tool/commands.h"

// An editor that works beside ./ferry. A process that is not below ./ferry starts it: the sandbox ends all that are.
typedef struct Editor {
  const char *command;
  int socket; // readable when the editor failed
} Editor;

// Takes --edit-cmd CMD out of the command line. False after a message.
bool editor_take_option(int *argc, char **argv, const char **command);
// The editor that shows a file beside ./ferry: the one given, or VS Code in its own terminal; NULL: none.
const char *editor_with_window(const char *given);
// The editor of ./ferry edit: the one given, $VISUAL, $EDITOR, or VS Code in its own terminal; NULL: none.
const char *editor_command(const char *given);
// Replaces this process. Returns only after an error message.
void editor_become(const char *command, const char *file);

bool editor_begin(Editor *e, const char *command); // before the sandbox begins
void editor_open(const Editor *e, const char *file);
void editor_tell_failure(Editor *e);

#endif
