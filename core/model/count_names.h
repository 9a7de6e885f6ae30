// SPDX-License-Identifier: MIT
// The names of the members of struct model_counts, for reports and programs that read them.
#ifndef FERRY_MODEL_COUNT_NAMES_H
#define FERRY_MODEL_COUNT_NAMES_H

#include "model/counts.h"

enum { MODEL_COUNTS = sizeof(struct model_counts) / sizeof(double) }; // every member is a double

extern const char *const model_count_names[MODEL_COUNTS]; // in the order of the members

// NULL: there is no such member.
double *model_count_named(struct model_counts *counts, const char *name);

#endif
