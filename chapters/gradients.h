// How large the gradients of a real step are, and which of them float16 turns into zero: for chapter 12.
#ifndef CHAPTERS_GRADIENTS_H
#define CHAPTERS_GRADIENTS_H

#include "common.h"

// Prints the counts by powers of two, and writes them to `path` too, unless it is NULL, for plots/gradients.gp.
void look_at_gradients(const Chapter *chapter, FyDevice device, const char *path);

#endif
