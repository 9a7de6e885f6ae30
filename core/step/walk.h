// SPDX-License-Identifier: MIT
// A walk through a record by keys, without the screen that shows it.
#ifndef STEP_WALK_H
#define STEP_WALK_H

#include "step/page.h"

typedef struct StepWalk {
  const Record *r;
  int step;
  StepView view;
  char chosen[120];  // what view.chosen points to
  char message[200]; // about the last key; "": nothing to say
  int asked;         // what was asked for last: '/', 'w', ':' or 0
  StepQuery query;   // '/' and 'w'
  int line;          // ':'
} StepWalk;

void step_walk_begin(StepWalk *w, const Record *r, int step);
// A key of the list in terminal.c that needs no answer ('j' and 'k' are down and up). False: it does nothing.
bool step_walk_key(StepWalk *w, int key);
// The answer to the question of a key: one of "/w:@lv".
void step_walk_answer(StepWalk *w, int key, const char *answer);

#endif
