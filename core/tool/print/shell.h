// SPDX-License-Identifier: MIT
// Words of commands that a message tells the user to type.
#ifndef TOOL_SHELL_H
#define TOOL_SHELL_H

#include <stddef.h>

// The word as a shell reads it back: in single quotes where it needs them. It is cut to `bytes`. Returns `text`.
const char *shell_word(const char *word, char *text, size_t bytes);

#endif
