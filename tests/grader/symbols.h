// SPDX-License-Identifier: MIT
// What an answer's object may define and use.
#ifndef GRADER_SYMBOLS_H
#define GRADER_SYMBOLS_H

#include "exercise.h"

// Reads what `readelf -SsW` printed of the object. NULL when nothing is wrong with it; else what is, for the learner
// (malloc): a function that is missing, code that would run before main, the library's own functions. `inspected`: the object is
// compiled for the inspector, and what runs before main will be taken out.
char *symbols_refused(const Exercise *exercise, const char *listing, bool inspected);

#endif
