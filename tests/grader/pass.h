// The ways in which an answer is run: what the simulator is told. What one of them hides the other shows, and the same seed gives
// the same.
#ifndef GRADER_PASS_H
#define GRADER_PASS_H

#include "exercise.h"

typedef struct Pass {
  KernelPass is;
  const char *says; // for the report: "with the blocks run in descending order"; NULL: nothing is special about it
  const char *threads, *blocks; // in which order they begin; "random" has the seed added
  const char *edge;             // on which side of an array even a read is an error
  const char *weak;             // to whom a write is shown no sooner than they can rely on it
} Pass;

enum { PASS_SETTINGS = 8, PASS_SETTING_BYTES = 64 };

// What the simulator is told, as answer_run wants it.
typedef struct PassSettings {
  char text[PASS_SETTINGS][PASS_SETTING_BYTES];
  const char *list[PASS_SETTINGS + 1];
} PassSettings;

void pass_settings(PassSettings *s, const Pass *pass, uint64_t seed);

extern const Pass pass_once;           // of what is no kernel, and of all on a real GPU
extern const Pass kernel_passes[];     // in the order of KernelPass
extern const Pass inspected_passes[2]; // of what the inspector looks at
enum { KERNEL_PASSES = 5 };

#endif
