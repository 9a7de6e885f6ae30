// SPDX-License-Identifier: MIT
#ifndef CU2CPP_STEP_HOOKS_H
#define CU2CPP_STEP_HOOKS_H

#include "sim/compile/cu2cpp.h"

// Copies the text with a call before each statement, and writes the table of statements to the file `table`.
void write_step_hooks(const struct text *in, struct text *out, const char *table);

struct tokens;
// The list of members of the struct whose definition begins at the token. Returns where in the text it belongs, counted from the first
// token; 0: no definition begins there, or its members are not plain.
size_t step_struct_members(const struct tokens *t, int i, struct text *list);

#endif
