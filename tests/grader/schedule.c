// SPDX-License-Identifier: MIT
#include "schedule.h"
#include "registry.h"

#include <stdio.h>
#include <string.h>

#define LAZY "FERRY_SIM_MODE=lazy"

// The settings of a pass in order, and drive() is run once before (buffers_cuda.cu), with the inputs of the test that schedule_first_test says.
#define AGAIN "FERRY_ANSWER_AGAIN=1"
#define SECOND_TIME "called a second time in the same program"

static const Schedule once[] = {{SCHEDULE_IN_ORDER, NULL, {LAZY}}};
// To ask whether work is done is not to get it done.
#define ASKED "FERRY_SIM_POLLS=1048576"
static const Schedule asked[] = {{SCHEDULE_IN_ORDER, NULL, {LAZY, ASKED}}};

// FERRY_SIM_GUARD_PAGE: on which side of an array even a read is an error.
static const Schedule kernel_schedules[] = {
    {SCHEDULE_IN_ORDER, NULL, {LAZY, "FERRY_SIM_GUARD_PAGE=before", "FERRY_SIM_POLLS=1000"}},
    {SCHEDULE_THREADS_DOWN,
     "with the threads of each block run in descending order",
     {LAZY, "FERRY_SIM_ORDER=descending", "FERRY_SIM_GUARD_PAGE=after"}},
    {SCHEDULE_WITHIN_BLOCKS,
     "with the threads of each block in random order; a store to shared memory is visible to other threads only after "
     "a barrier",
     {LAZY, "FERRY_SIM_ORDER=random:", "FERRY_SIM_GUARD_PAGE=after", "FERRY_SIM_STORE_BUFFER=shared"}},
    {SCHEDULE_BLOCKS_DOWN,
     "with the blocks run in descending order",
     {LAZY, "FERRY_SIM_BLOCKS=descending", "FERRY_SIM_GUARD_PAGE=before"}},
    {SCHEDULE_BETWEEN_BLOCKS,
     "with the blocks run concurrently; a store is visible to other blocks only after a fence or the end of the kernel",
     {LAZY, "FERRY_SIM_BLOCKS=random:", "FERRY_SIM_GUARD_PAGE=after", "FERRY_SIM_STORE_BUFFER=global"}},
    {SCHEDULE_AGAIN, SECOND_TIME, {LAZY, "FERRY_SIM_GUARD_PAGE=before", "FERRY_SIM_POLLS=1000", AGAIN}}};

// Of work in streams. In the first nothing runs before somebody waits for it, which shows what came too late; the others show
// what came too early.
#define OTHERS_AHEAD                                                                                                   \
  SCHEDULE_OTHERS_AHEAD,                                                                                               \
      "with the other streams run as far as they can before each operation; a query does not start any work", {        \
    LAZY, "FERRY_SIM_AHEAD=1", "FERRY_SIM_POLLS=1000"                                                                  \
  }
#define DELAYED                                                                                                        \
  SCHEDULE_DELAYED, "with the streams run concurrently, and random delays", {                                          \
    "FERRY_SIM_MODE=threads", "FERRY_SIM_DELAYS=seed:"                                                                 \
  }
static const Schedule stream_schedules[] = {{SCHEDULE_IN_ORDER, NULL, {LAZY, "FERRY_SIM_GUARD_PAGE=after"}},
                                            {OTHERS_AHEAD},
                                            {DELAYED},
                                            {SCHEDULE_AGAIN, SECOND_TIME, {LAZY, "FERRY_SIM_GUARD_PAGE=after", AGAIN}}};
static const Schedule asked_stream_schedules[] = {
    {SCHEDULE_IN_ORDER, NULL, {LAZY, "FERRY_SIM_GUARD_PAGE=after", ASKED}},
    {OTHERS_AHEAD},
    {DELAYED},
    {SCHEDULE_AGAIN, SECOND_TIME, {LAZY, "FERRY_SIM_GUARD_PAGE=after", ASKED, AGAIN}}};

const Schedule inspected_schedules[2] = {{SCHEDULE_IN_ORDER, NULL, {LAZY}},
                                         {SCHEDULE_THREADS_DOWN,
                                          "with the threads of each block run in descending order",
                                          {LAZY, "FERRY_SIM_ORDER=descending"}}};

#define LIST(schedules) ((ScheduleList){schedules, (int)(sizeof(schedules) / sizeof(schedules)[0])})

ScheduleList schedules_of(const Exercise *e, const Test *test, bool real_gpu) {
  ScheduleList list = e->streams && e->asked                     ? LIST(asked_stream_schedules)
                      : e->streams                               ? LIST(stream_schedules)
                      : strcmp(exercise_extension(e), "cu") == 0 ? LIST(kernel_schedules)
                      : e->asked                                 ? LIST(asked)
                                                                 : LIST(once);
  if (e->streams && strcmp(exercise_extension(e), "cu") != 0)
    list.count--; // tensors keep their gradients from one drive() to the next: such a driver calls twice itself
  if (real_gpu || test->no_cuda)
    list = LIST(once);
  if (test->schedules > 0 && test->schedules < list.count)
    list.count = test->schedules;
  return list;
}

// An earlier one of the same kind, whose inputs are mostly smaller: what an answer has measured or made for them is too small for these.
// Not one of few passes, which takes long. Without one, the test itself.
const Test *schedule_first_test(const Exercise *e, const Test *test) {
  for (const Test *t = test - 1; t >= e->tests; t--)
    if (t->judge == test->judge && t->devices == test->devices && t->at_most == test->at_most &&
        t->no_cuda == test->no_cuda && t->may_refuse == test->may_refuse && !t->scored && t->schedules == 0)
      return t;
  return test;
}

void schedule_settings(ScheduleSettings *s, const Schedule *schedule, uint64_t seed) {
  int count = 0;
  for (; count < SCHEDULE_SETTINGS && schedule->settings[count]; count++) {
    char *text = s->text[count];
    int drawn = 1 + (int)((seed >> 8 * count) & 0x7fff); // another for each setting, and never 0
    snprintf(text, SCHEDULE_SETTING_BYTES, "%s", schedule->settings[count]);
    char *last = text + strlen(text) - 1;
    char *place = strstr(text, "=seed:");
    if (place)
      snprintf(place + 1, SCHEDULE_SETTING_BYTES - (size_t)(place + 1 - text), "%d", drawn);
    else if (*last == ':')
      snprintf(last + 1, SCHEDULE_SETTING_BYTES - (size_t)(last + 1 - text), "%d", drawn);
    s->list[count] = text;
  }
  s->list[count] = NULL;
}

void schedule_scored_settings(ScheduleSettings *s, const Scored *scored, const char *mix) {
  int count = 0;
#define ADD(...) s->list[count] = s->text[count], snprintf(s->text[count++], SCHEDULE_SETTING_BYTES, __VA_ARGS__)
  ADD(LAZY);
  ADD("FERRY_INSPECT_SCORED=1");
  ADD("FERRY_SIM_GPU=%s", scored->gpu);
  if (scored->blocks > 0)
    ADD("FERRY_INSPECT_BLOCKS=%d", scored->blocks);
  if (*mix)
    ADD("FERRY_INSPECT_MIX=%s", mix);
#undef ADD
  s->list[count] = NULL;
}
