// Whole files, and where the repository's are.
#ifndef GRADER_FILES_H
#define GRADER_FILES_H

#include <stdbool.h>
#include <stddef.h>

// In exercises/, and copied beside the learner's answers: what some of them include.
#define COUNTED_HEADER "counted.cuh"

// A whole file (malloc, NUL-terminated), NULL when it cannot be read. And one written through a temporary file and a rename:
// at every moment the old or the new one is there, whole.
char *file_read(const char *path, size_t *bytes);
bool file_write(const char *path, const char *text, size_t bytes);

#endif
