// SPDX-License-Identifier: MIT
// The ways in which an answer is run: what the simulator is told. What one of them hides another shows, and the same seed gives
// the same.
#ifndef GRADER_SCHEDULE_H
#define GRADER_SCHEDULE_H

#include "exercise.h"

enum { SCHEDULE_SETTINGS = 6, SCHEDULE_SETTING_BYTES = 400 };

typedef struct Schedule {
  CaseSchedule is;
  const char *says; // for the report: "with the blocks run in descending order"; NULL: as it comes
  const char
      *settings[SCHEDULE_SETTINGS]; // "FERRY_SIM_BLOCKS=descending"; the seed is appended to "=random:" and "=seed:"
} Schedule;

typedef struct ScheduleList {
  const Schedule *schedules;
  int count;
} ScheduleList;

// In which passes a test's answer is run, one after the other up to the first that fails.
ScheduleList schedules_of(const Exercise *e, const Test *test, bool real_gpu);
extern const Schedule inspected_schedules[2]; // where the inspector looks at it

// Whose inputs the call before has, in SCHEDULE_AGAIN.
const Test *schedule_first_test(const Exercise *e, const Test *test);

// What the simulator is told, as answer_run wants it.
typedef struct ScheduleSettings {
  char text[SCHEDULE_SETTINGS][SCHEDULE_SETTING_BYTES];
  const char *list[SCHEDULE_SETTINGS + 1];
} ScheduleSettings;

void schedule_settings(ScheduleSettings *s, const Schedule *schedule, uint64_t seed);
// The same of a scored test; `mix` is a file for the inspector, or "".
void schedule_scored_settings(ScheduleSettings *s, const Scored *scored, const char *mix);

#endif
