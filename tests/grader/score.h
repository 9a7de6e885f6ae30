// SPDX-License-Identifier: MIT
// Open exercises ("make it faster"): what an answer's kernels would take on a modeled GPU, how that is shown, and the best so far.
#ifndef GRADER_SCORE_H
#define GRADER_SCORE_H

#include "case.h"
#include <stdbool.h>

// Of an exercise the test whose score is shown; NULL: it is none of the open ones.
const Scored *exercise_scored(const Exercise *e);

// "11.5 us", "0.35 us"
void score_time(char *text, size_t bytes, double seconds);
// "***." for three stars of four
void score_stars(char *text, size_t bytes, const Scored *scored, int stars);
int score_stars_of(const Scored *scored, double seconds);
int score_most_stars(const Scored *scored);
const char *score_gpu(const Scored *scored); // "V100"

// Some lines on stdout: the time, beside that of what was handed out and the reference's, what limits it, the stars.
void score_print(const Scored *scored, const Score *score);

// ---- the best so far, in the workspace -----------------------------------------------------------------------------------

enum { BEST_KEPT = 8 };

typedef struct BestTry {
  int number; // of all tries of the exercise that passed, from 1 on
  long long when;
  Score score;
} BestTry;

typedef struct Best {
  int tries; // that passed
  int count; // of those that were faster than all before; the latest BEST_KEPT are kept
  BestTry kept[BEST_KEPT];
} Best;

// What the workspace knows of an exercise, without what was scored by another model, size or kernel handed out.
Best best_of(const Exercise *e);
// One more try that passed. True: it is the best so far. What cannot be written is said on stderr.
bool best_add(const Exercise *e, const Score *score, long long when);

#endif
