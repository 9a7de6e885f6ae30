// SPDX-License-Identifier: MIT
// Exercise 14.1: a profile of some steps. The driver's step records its order and whether a profiler is on. Step i makes i + 2
// additions, so their number tells which steps were recorded.
#include "exercise.h"
#include <string.h>

#define SCHEDULE "docs/14_profiling.md#profiling-schedules"

static const Mistake NOTHING = {"no result returned", "Return the result of fy_key_averages.", SCHEDULE};
static const Mistake OTHER_STEPS = {
    "steps skipped or repeated",
    "Run every step exactly once and in order, including the steps after the recorded ones.", SCHEDULE};
static const Mistake ALL = {"missing profiler schedule",
                            "The profiler was on in all steps. Give it a schedule: .schedule = {.wait = 1, ...}.",
                            SCHEDULE};
static const Mistake NO_STEP = {
    "missing profiler step",
    "The profiler was never on. Call fy_profile_step after each step, because it advances the schedule.", SCHEDULE};
static const Mistake NO_WAIT = {"missing wait step", "The profiler was already on in step 0. Use .wait = 1.", SCHEDULE};
static const Mistake NO_WARMUP = {
    "missing warm-up step",
    "Step 1 was recorded, or ran without the profiler. Use .warmup = 1, which runs the profiler but discards its data.",
    SCHEDULE};
static const Mistake AGAIN = {"schedule repeated",
                              "The profiler started again after the recorded steps. Use .repeat = 1, because otherwise "
                              "the schedule repeats until the loop ends.",
                              SCHEDULE};
static const Mistake NO_RANGE = {"missing record_function range",
                                 "No recorded step has a range \"training_step\". Put "
                                 "fy_record_function(\"training_step\") around each call of step.",
                                 "docs/14_profiling.md#warm-up-the-first-steps"};
static const Mistake ONE_ROW = {
    "not grouped by input shape",
    "Additions with different input sizes are in one row. Call fy_key_averages with .group_by_input_shape = true.",
    "docs/14_profiling.md#a-first-profile"};
static const Mistake NO_SIZES = {"input shapes not recorded",
                                 ".group_by_input_shape needs .record_shapes = true in the options of fy_profile.",
                                 "docs/14_profiling.md#a-first-profile"};
static const Mistake GONE = {
    "result freed with its scope",
    "The averages belong to an fy_scope that ended in your function. Return fy_keep(averages), or use no scope.",
    "docs/11_memory.md#tensor-lifetime"};
static const Mistake OPEN = {"profile not ended",
                             "Your function did not end its profile, so no other profile can begin. Call "
                             "fy_profile_end, or use the block fy_profile(...) { ... }.",
                             "docs/14_profiling.md#warm-up-the-first-steps"};

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
    return expect_that(c, false, NULL, "the number of steps is wrong");
  int64_t on = 0, later = 0;
  for (int64_t i = 0; i < steps; i++) {
    on += watched->i64[i] != 0;
    later += i > active + 1 && watched->i64[i];
  }
  if (!expect_that(c, on < steps, &ALL, "the profiler was on in all %lld steps", (long long)steps))
    return false;
  suspect_that(c, on == 0, &NO_STEP);
  if (!expect_that(c, on > 0, NULL, "the profiler was on in no step"))
    return false;
  if (!expect_that(c, !watched->i64[0], &NO_WAIT, "the profiler was on in step 0"))
    return false;
  if (!expect_that(c, watched->i64[1], &NO_WARMUP, "the profiler was off in step 1"))
    return false;
  if (!expect_exactly(c, "steps with the profiler on after the recorded ones", later, 0,
                      watched->i64[active + 2] ? NULL : &AGAIN))
    return false;
  return expect_exactly(c, "steps with the profiler on", on, active + 1, NULL);
}

static void judge(Case *c) {
  const int64_t steps = (int64_t)given_number(c, "steps"), active = (int64_t)given_number(c, "active");
  suspect_error(c, ".record_shapes = true", &NO_SIZES);
  if (!expect_that(c, got_count(c, "returned") == 1, &NOTHING, "nothing was returned"))
    return;
  if (!expect_that(c, ran_in_order(c, steps), &OTHER_STEPS, "the steps did not each run once, in order"))
    return;
  if (!judge_when(c, steps, active))
    return;
  const int64_t rows = got_count(c, "rows");
  if (!expect_that(c, rows >= 0 && rows < 1000, &GONE, "the returned averages have been freed"))
    return;
  const int64_t adds = got_count(c, "additions");
  if (!expect_exactly(c, "recorded additions", adds, additions(2, active + 1),
                      adds == additions(1, active) || adds == additions(1, active + 1) ? &NO_WARMUP : NULL))
    return;
  const int64_t ranges = got_count(c, "ranges");
  if (!expect_exactly(c, "recorded ranges \"training_step\"", ranges, active, ranges == 0 ? &NO_RANGE : NULL))
    return;
  expect_exactly(c, "rows of additions", got_count(c, "rows of additions"), 2, &ONE_ROW);
  expect_exactly(c, "profiles not ended", got_count(c, "left open"), 0, &OPEN);
}

EXERCISE = {
    .id = "14_1_profile_a_loop",
    .title = "Profile a training loop",
    .after_pass =
        "A profiler schedule waits, warms up and then records a few steps, so the profile shows the steady state.",
    .kind = "write",
    .chapter = 14,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .essential = true,
    .lesson = SCHEDULE,
    .stars = {{"one row per operation and input shape", {&ONE_ROW}}},
    .hints = {"Put the whole loop into fy_profile(prof, FY_PROFILE_CPU, .schedule = {...}) { ... }.",
              "In the loop, call step inside fy_record_function(\"training_step\") { ... }, and call "
              "fy_profile_step(prof) after that block.",
              "The schedule is {.wait = 1, .warmup = 1, .active = active, .repeat = 1}. After the block, return "
              "fy_key_averages(prof, .group_by_input_shape = true), which needs .record_shapes = true."},
    .functions = {"profile_loop"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
