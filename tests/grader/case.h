// SPDX-License-Identifier: MIT
// A case is one run of one test: its random numbers, what is asked, what came back and what was found. For the grader only.
#ifndef GRADER_CASE_H
#define GRADER_CASE_H

#include "exercise.h"
#include "tool/print/usage.h"

enum { MAX_SUSPECTS = 96, MAX_OWNED = 512, MAX_REFUSED = 32, FINDING_BYTES = 4096 };

typedef struct Suspect {
  const char *name, *error; // a result or an error's text
  const Array *wrong;
  bool holds, sure;
  const Mistake *mistake;
} Suspect;

struct Inspection;

// Why an answer that passes does not have a star: the first reason. `finding` is empty where it has it.
typedef struct LostStar {
  char finding[512];
  const Mistake *mistake;
} LostStar;

// The result of an answer to a performance challenge.
typedef struct Score {
  double seconds; // modeled; 0: it was not scored
  char limit[32]; // of the kernel that takes the longest
  int stars;
} Score;

struct Case {
  const Exercise *exercise;
  const Test *test;
  uint64_t seed, random; // where this case's numbers begin, and where they are now
  int devices;
  CaseSchedule schedule;
  Message request, reply;
  const struct Inspection *inspection; // of a test with `inspect`; NULL: nobody looked
  Score score;
  LostStar lost[EXTRA_STARS];
  bool symptoms; // findings without their remedies: JudgeOptions.symptoms
  bool replied;
  bool failed, error_expected;
  char finding[FINDING_BYTES]; // what did not hold, for the learner
  char map[FINDING_BYTES];     // where a 2-D result is wrong
  char step[300];              // options of ./ferry step for the first of what was found within one block; "": none
  const Mistake *mistake;
  bool likely; // the mistake was suspected of values, which other mistakes may give as well
  const Mistake
      *later; // of an expectation that failed after the first: named when no suspicion fits, and no values were wrong
  const Mistake *fallback; // named when no other is
  Suspect suspects[MAX_SUSPECTS];
  int suspect_count;
  const char *refused[MAX_REFUSED]; // results whose values were not what expect_array expected
  int refused_count;
  void *owned[MAX_OWNED];
  int owned_count;
};

void case_begin(Case *c, const Exercise *exercise, const Test *test, uint64_t seed, int devices);
void case_free(Case *c);
void *case_own(Case *c, void *memory); // until case_free; ends the program if memory is NULL. Returns it

void case_ask(Case *c);   // fills the request
void case_judge(Case *c); // looks at the reply; sets failed, finding and mistake

bool case_counted(const Case *c); // there are counts in the reply

void case_add_finding(Case *c); // after what did not hold, what the inspector found, if that has not been said

void case_step_to_fault(Case *c); // c->step, from what the simulator says of the kernel that failed first

// False; true where `mistake` costs a star and not the pass.
bool case_fail(Case *c, const Mistake *mistake, const char *format, ...) __attribute__((format(printf, 3, 4)));
int star_of(const Exercise *e, const Mistake *mistake); // index in Exercise.stars; -1: it costs the pass

bool mistake_is_evident(const Case *c, const Mistake *mistake);
void name_suspect(Case *c); // the first suspected mistake that fits

// "x (33, 3) float32 on cuda:0, with gaps; n 5": what was asked, without its values.
void case_describe(const Case *c, char *text, size_t bytes);

uint64_t mix64(uint64_t x); // splitmix64's finalizer
uint64_t hash_text(uint64_t seed, const char *text);

double array_at(const Array *a, int64_t i); // as a double, whatever the dtype
void array_set(Array *a, int64_t i, double value);
// Equal, or within `tolerance` times |want| where that is above 1, else within `tolerance`; NaN is NaN.
bool array_is_close(double x, double want, double tolerance);
// How many elements of `a` are not close to those of `want`, of the same shape; *first: the first of them, or -1.
int64_t array_mismatches(const Array *a, const Array *want, double tolerance, int64_t *first);
void array_describe(const Array *a, char *text, size_t bytes); // "(33, 3) float32"

#endif
