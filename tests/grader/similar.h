// SPDX-License-Identifier: MIT
// Answers of different learners that have unusual passages in common. A hint for a person who then reads both, never a proof.
#ifndef GRADER_SIMILAR_H
#define GRADER_SIMILAR_H

#include "grade.h"

typedef struct Similar {
  int exercise, a, b; // of the grading; two learners
  int shared, of;     // fingerprints in common, and of the answer that has fewer
} Similar;

// The most similar first, at most `most`; how many. Answers are read from the learners' folders.
int similar_answers(const Grading *g, Similar *found, int most);

#endif
