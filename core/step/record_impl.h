// SPDX-License-Identifier: MIT
// What the files that make a Record share.
#ifndef STEP_RECORD_IMPL_H
#define STEP_RECORD_IMPL_H

#include "step/record.h"

// Memory that is freed with the record. Exits when there is none.
void *step_allocate(Record *r, size_t bytes);
void *step_kept(Record *r, void *items, int count, size_t bytes); // moves malloc'ed items there
void step_arena_free(Record *r);
void *step_resize(void *memory, size_t bytes); // realloc; not freed with the record
// Room for one more item behind `count` of them.
void *step_grown(void *items, int count, size_t bytes);

// The lists by which states are found. False: something in the record refers to what is not there; `why` says what.
bool step_check(const Record *r, char *why, size_t why_bytes);
void step_index(Record *r);
void step_index_free(Record *r);

#endif
