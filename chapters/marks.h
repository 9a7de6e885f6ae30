// Events around copies and steps, and the order in which they came: what a prefetcher is for, made visible.
#ifndef CHAPTERS_MARKS_H
#define CHAPTERS_MARKS_H

#include "common.h"

enum { STEPS = 6 };

// Events before and after each copy and each step.
typedef struct Marks {
  FyEvent *origin, *copy_begin[STEPS], *copy_end[STEPS], *step_begin[STEPS], *step_end[STEPS];
} Marks;

// Makes an event, of the scope, and records it on the device's current stream.
void mark(FyEvent **event, FyDevice device);

// Waits for the device, then draws what was going on between each event and the next, and says how many copies began
// before the step ahead of them had ended.
void print_order(const Marks *marks, FyDevice device);

#endif
