// SPDX-License-Identifier: MIT
// Where compiler and linker find what they need of the repository.
#ifndef GRADER_TOOLS_ROOT_H
#define GRADER_TOOLS_ROOT_H

#include <stdbool.h>
#include <stddef.h>

// Sees to it that commands in the sandbox can read headers, library and drivers. They run as another user where the grader is
// root; of a clone that others cannot read, what is needed is then copied, once, to a folder that goes when this process ends.
// The sandbox's level has to be chosen before. False: `why` says what is in the way.
bool tools_root_prepare(bool gpu, char *why, size_t bytes);

// Of the repository, what each command sees besides the files of its exercise: the i-th path, NULL after the last.
const char *tools_seen(int i);

// `text` with each path in the repository as commands in the sandbox find it.
void tools_path(char *path, size_t bytes, const char *text);

#endif
