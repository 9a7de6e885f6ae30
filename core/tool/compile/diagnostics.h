// SPDX-License-Identifier: MIT
// What a compiler says of an answer, as its writer wants it.
#ifndef TOOL_DIAGNOSTICS_H
#define TOOL_DIAGNOSTICS_H

#include <stddef.h>

// Bytes of the text's first line, with its newline where it has one.
size_t diagnostics_line(const char *text);

// g++'s messages (malloc) without the names that the translation of CUDA to C++ brings in.
char *diagnostics_in_cuda(const char *said);

// Of gcc's, clang's or g++'s messages those that are errors (malloc): the first few, those of the learner's own file, `title`, first;
// without macro expansions, headers and template arguments, and a launch's in the words of its kernel. Messages that are in no
// form known here come as they are, shortened.
char *diagnostics_errors(const char *said, const char *title);

// The first warning about `title` in the same form, and how many there are; NULL: there is none.
char *diagnostics_warning(const char *said, const char *title);

#endif
