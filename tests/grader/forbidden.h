// SPDX-License-Identifier: MIT
// What an answer to a performance challenge must not contain, because the inspector, which scores it, could not see its effects.
#ifndef GRADER_FORBIDDEN_H
#define GRADER_FORBIDDEN_H

#include "exercise.h"

// In the answer's source: inline assembly, attributes that take the compiler's calls away, builtins. NULL: nothing; else what, for the
// learner (malloc).
char *forbidden_in_source(const char *source);

// In its kernels: arrays of a thread's own with an index that the compiler does not know (forbidden_arrays.c). NULL or as above.
char *forbidden_in_registers(const char *source);

// What g++ -fstack-usage wrote of the inspected answer: variables of a thread's own that no GPU has registers for. The exercise's own
// functions are the host's, whose launches take some. NULL or as above.
char *forbidden_on_stack(const Exercise *e, const char *usage);

#endif
