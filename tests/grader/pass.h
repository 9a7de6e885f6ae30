// The ways in which an answer is run: what the simulator is told. What one of them hides another shows, and the same seed gives
// the same.
#ifndef GRADER_PASS_H
#define GRADER_PASS_H

#include "exercise.h"

enum { PASS_SETTINGS = 6, PASS_SETTING_BYTES = 400 };

typedef struct Pass {
  CasePass is;
  const char *says;                    // for the report: "with the blocks run in descending order"; NULL: as it comes
  const char *settings[PASS_SETTINGS]; // "FERRY_SIM_BLOCKS=descending"; behind "=random:" and "=seed:" the seed is put
} Pass;

typedef struct PassList {
  const Pass *passes;
  int count;
} PassList;

// In which passes a test's answer is run, one after the other up to the first that fails.
PassList passes_of(const Exercise *e, const Test *test, bool real_gpu);
extern const Pass inspected_passes[2]; // where the inspector looks at it

// Whose inputs the call before has, in PASS_AGAIN.
const Test *pass_first_test(const Exercise *e, const Test *test);

// What the simulator is told, as answer_run wants it.
typedef struct PassSettings {
  char text[PASS_SETTINGS][PASS_SETTING_BYTES];
  const char *list[PASS_SETTINGS + 1];
} PassSettings;

void pass_settings(PassSettings *s, const Pass *pass, uint64_t seed);
// The same of a scored test; `mix` is a file for the inspector, or "".
void pass_scored_settings(PassSettings *s, const Scored *scored, const char *mix);

#endif
