// SPDX-License-Identifier: MIT
// The exercises that are linked in.
#ifndef GRADER_REGISTRY_H
#define GRADER_REGISTRY_H

#include "exercise.h"

enum { MAX_EXERCISES = 400 };

// All exercises, in the order of their ids.
int exercise_count(void);
const Exercise *exercise_at(int i);
const Exercise *exercise_find(const char *name); // by id, its number, or a part of the id that no other has; else NULL
const Exercise *exercise_by_old_number(const char *name); // "76", "76_scan": what 26.2 was called; else NULL
const char *exercise_old_id(int i, const char **id); // the i-th of all old ids, and the new one; NULL after the last
const char *
exercise_number(const Exercise *e);    // "26.1": the first exercise of lesson 26; valid until the fourth call after
int exercise_tests(const Exercise *e); // how many it has
const char *exercise_extension(const Exercise *e); // "c" or "cu"

#endif
