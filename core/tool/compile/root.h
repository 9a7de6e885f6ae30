// SPDX-License-Identifier: MIT
// Where Ferry is. A clone may be moved and an installed Ferry may be anywhere, so paths are made when the program runs: in constants
// CONFIG_ROOT stands for the root folder, and what uses them replaces it. Command lines do so by themselves (words_add, command_word).
#ifndef TOOL_COMPILE_ROOT_H
#define TOOL_COMPILE_ROOT_H

#include <stddef.h>

#define CONFIG_ROOT "@FERRY_ROOT@"

// The folder itself, without a / at its end: it has core/, exercises/, docs/ and the build.
const char *root_folder(void);

// `text` with the folder in place of CONFIG_ROOT. The result of rooted() lives as long as the program; it is for constants, each of
// which is kept once.
void root_expand(char *to, size_t bytes, const char *text);
const char *rooted(const char *text);

#endif
