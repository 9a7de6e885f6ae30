// SPDX-License-Identifier: MIT
// Whole files, and where the repository's are.
#ifndef TOOL_FILES_H
#define TOOL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// In exercises/, and copied beside the learner's answers: what some of them include.
#define COUNTED_HEADER "counted.cuh"

// The path of a file of the repository: exercises/, solutions/, docs/ and work/ are below its root.
void in_root(char *path, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

// A whole file (malloc, NUL-terminated), NULL when it cannot be read.
char *file_read(const char *path, size_t *bytes);

// Writes a whole file through a temporary file and a rename: at every moment the old or the new one is there, whole. A new file has
// the mode that the user's umask gives it, a replaced one keeps its mode. A link stays, and the file that it leads to is replaced.
// A device, a pipe or standard output ("-", /dev/stdout) is written to as it is. False: file_problem says why.
bool file_write(const char *path, const char *text, size_t bytes);
const char *file_problem(void);

// Whether what is written to `path` cannot be replaced afterwards: standard output, a device, a pipe.
bool file_is_stream(const char *path);

// Where `path` (or NULL) is standard output, it is for that file alone from now on: what is printed goes to stderr.
void file_claim_stdout(const char *path);

// The umask that the command was started with. To be called once before the sandbox sets its own.
mode_t file_mask(void);

#endif
