// SPDX-License-Identifier: MIT
// Exercise 14.1: a profile of some steps. The driver's step notes when it runs and whether a profiler is on, and adds as often as
// its number says.
#include "exercise.h"
#include <string.h>

#define SCHEDULE "docs/14_profiling.md#a-schedule"

static const Mistake NOTHING = {"nothing returned", "The function has to return what fy_key_averages gives.", SCHEDULE};
static const Mistake OTHER_STEPS = {"steps left out or repeated",
                                    "Each of the steps has to run once, in order: the schedule decides which are "
                                    "recorded, the loop goes on all the same.",
                                    SCHEDULE};
static const Mistake ALL = {"no schedule", "The profiler was on in all steps: it needs a schedule.", SCHEDULE};
static const Mistake NO_STEP = {
    "the schedule stands still",
    "The profiler was on in no step: nobody told it that a step was over. fy_profile_step does, after each.", SCHEDULE};
static const Mistake NO_WAIT = {"no wait", "The profiler was on in step 0 already, which is to run without it.",
                                SCHEDULE};
static const Mistake NO_WARMUP = {
    "no warm-up", "The profiler was off in step 1, or recorded it: that step is to warm it up, and to be thrown away.",
    SCHEDULE};
static const Mistake AGAIN = {"a second cycle",
                              "After the recorded steps the profiler came on again: a schedule repeats until the loop "
                              "ends, unless .repeat says how often.",
                              SCHEDULE};
static const Mistake NO_RANGE = {"no range in the steps",
                                 "No recorded step is a range \"training_step\". A range has to begin and end within "
                                 "the step: one around the loop begins "
                                 "when nothing is recorded yet.",
                                 "docs/14_profiling.md#the-first-steps"};
static const Mistake ONE_ROW = {"all sizes in one row",
                                "Additions of two sizes are one row: .record_shapes notes the sizes, and "
                                ".group_by_input_shape makes rows of them.",
                                "docs/14_profiling.md#a-first-profile"};
static const Mistake NO_SIZES = {"sizes that were not recorded",
                                 ".group_by_input_shape makes rows of sizes that .record_shapes has to have noted when "
                                 "the profile began.",
                                 "docs/14_profiling.md#a-first-profile"};
static const Mistake GONE = {
    "the averages are gone",
    "What was returned belonged to a scope that closed within the function: fy_keep hands it out.",
    "docs/11_memory.md#when-a-tensor-dies"};
static const Mistake OPEN = {
    "the profile has not ended",
    "After the function no other profile can begin: fy_profile_begin needs its fy_profile_end.",
    "docs/14_profiling.md#the-first-steps"};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask_on(Case *c, const char *device) {
  const int64_t active = draw_int(c, 2, 4), narrow = draw_int(c, 3, 9);
  give_array(c, "narrow", draw_array(c, FY_FLOAT32, shape(narrow, 3), -1, 1), (Give){.device = device});
  give_array(c, "wide", draw_array(c, FY_FLOAT32, shape(narrow, 5), -1, 1), (Give){.device = device});
  give_number(c, "active", (double)active);
  give_number(c, "steps", (double)(2 * active + draw_int(c, 5, 9)));
}

static void ask_cpu(Case *c) {
  ask_on(c, "cpu");
}
static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0");
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static bool ran_in_order(const Case *c, int64_t steps) {
  const Array *order = got(c, "order");
  if (!order || order->dtype != FY_INT64 || order->count != steps)
    return false;
  for (int64_t i = 0; i < steps; i++)
    if (order->i64[i] != i)
      return false;
  return true;
}

// Additions of steps `first` to `last`.
static int64_t additions(int64_t first, int64_t last) {
  int64_t sum = 0;
  for (int64_t i = first; i <= last; i++)
    sum += i + 2;
  return sum;
}

static bool judge_when(Case *c, int64_t steps, int64_t active) {
  const Array *watched = got(c, "watched");
  if (!watched || watched->dtype != FY_INT64 || watched->count != steps)
    return expect_that(c, false, NULL, "the steps did not run as they should");
  int64_t on = 0, later = 0;
  for (int64_t i = 0; i < steps; i++) {
    on += watched->i64[i] != 0;
    later += i > active + 1 && watched->i64[i];
  }
  if (!expect_that(c, on < steps, &ALL, "the profiler was on in all %lld steps", (long long)steps))
    return false;
  if (!expect_that(c, on > 0, &NO_STEP, "the profiler was on in no step"))
    return false;
  if (!expect_that(c, !watched->i64[0], &NO_WAIT, "the profiler was on in step 0"))
    return false;
  if (!expect_that(c, watched->i64[1], &NO_WARMUP, "the profiler was off in step 1"))
    return false;
  if (!expect_exactly(c, "steps with the profiler on, after those to be recorded", later, 0,
                      watched->i64[active + 2] ? NULL : &AGAIN))
    return false;
  return expect_exactly(c, "steps with the profiler on", on, active + 1, NULL);
}

static void judge(Case *c) {
  const int64_t steps = (int64_t)given_number(c, "steps"), active = (int64_t)given_number(c, "active");
  suspect_error(c, ".record_shapes = true", &NO_SIZES);
  if (!expect_that(c, got_count(c, "returned") == 1, &NOTHING, "nothing was returned"))
    return;
  if (!expect_that(c, ran_in_order(c, steps), &OTHER_STEPS, "the steps did not run once each, in order"))
    return;
  if (!judge_when(c, steps, active))
    return;
  const int64_t rows = got_count(c, "rows");
  if (!expect_that(c, rows >= 0 && rows < 1000, &GONE, "what was returned are no averages any more"))
    return;
  const int64_t adds = got_count(c, "additions");
  if (!expect_exactly(c, "additions in the record", adds, additions(2, active + 1),
                      adds == additions(1, active) || adds == additions(1, active + 1) ? &NO_WARMUP : NULL))
    return;
  const int64_t ranges = got_count(c, "ranges");
  if (!expect_exactly(c, "ranges \"training_step\" in the record", ranges, active, ranges == 0 ? &NO_RANGE : NULL))
    return;
  if (!expect_exactly(c, "rows of additions", got_count(c, "rows of additions"), 2, &ONE_ROW))
    return;
  expect_exactly(c, "profiles left open", got_count(c, "left open"), 0, &OPEN);
}

EXERCISE = {
    .id = "14_1_profile_a_loop",
    .title = "Profile a training loop",
    .after_pass = "A schedule leaves warm-up out and records some steps, so that a profile is of the steady state.",
    .kind = "write",
    .chapter = 14,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .essential = true,
    .lesson = SCHEDULE,
    .hints =
        {"fy_profile(prof, FY_PROFILE_CPU, .schedule = {...}) { the whole loop }.",
         "Within the loop: fy_record_function(\"training_step\") { the step }, and after it fy_profile_step(prof).",
         "The schedule is {.wait = 1, .warmup = 1, .active = active, .repeat = 1}; after the block "
         "fy_key_averages(prof, .group_by_input_shape = true)."},
    .functions = {"profile_loop"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
