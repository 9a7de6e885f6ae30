// SPDX-License-Identifier: MIT
// Milestones of the course. Each is derived from what the learner has done: from records of the workspace, or from a note that the
// command which did it made. work/.milestones keeps when; a line in it stays, whatever changes later.
#ifndef TOOL_MILESTONES_H
#define TOOL_MILESTONES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum MilestoneName {
  MILESTONE_TENSOR,
  MILESTONE_KERNEL,
  MILESTONE_RACE,
  MILESTONE_FAST,
  MILESTONE_NETWORK,
  MILESTONE_GPT,
  MILESTONES
} MilestoneName;

typedef struct Milestone {
  const char *id, *title, *how; // how: what reaches it
  bool reached;
  bool by;        // not later than `when`: it had been reached when Ferry looked for the first time
  long long when; // seconds since 1970
  char with[96];  // an exercise, a file, a lesson
} Milestone;

// All, in their order. It writes nothing.
void milestones_read(Milestone all[MILESTONES]);
// Only those that are written down.
void milestones_logged(Milestone all[MILESTONES]);
// The same after writing down what is new. now: a command of the learner has just done it.
void milestones_look(Milestone all[MILESTONES], bool now);
// A command has just reached one that no record shows.
void milestone_note(MilestoneName which, const char *with);
// The latest and the next, as a line or two on stdout.
void milestones_print_line(void);
// "2026-11-29", or "by 2026-11-29".
void milestone_day(const Milestone *m, char *day, size_t bytes);

#endif
