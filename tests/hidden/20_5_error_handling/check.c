// SPDX-License-Identifier: MIT
// Exercise 20.5: errors of a launch, of a kernel, and of an earlier call.
#include "exercise.h"

#define LESSON "docs/20_the_first_kernel.md#launch-errors-and-asynchronous-errors"

static const Mistake BLAMED = {"earlier error blamed on the launch",
                               "An error was pending before the call. Call cudaGetLastError, which returns and clears "
                               "it, before the launch as well.",
                               LESSON};
static const Mistake PEEKED = {"error not cleared",
                               "After your function, cudaGetLastError still returns an error. cudaPeekAtLastError does "
                               "not clear it, but cudaGetLastError does.",
                               LESSON};
static const Mistake NOT_ASKED = {"missing error check after the launch",
                                  "A launch returns no error code. Call cudaGetLastError() after it.", LESSON};
static const Mistake STOPPED = {
    "no launch after an earlier error",
    "An error of an earlier call does not prevent the next launch. Report it in *before, and launch the kernel.",
    LESSON};
static const Mistake NOT_AWAITED = {
    "missing synchronization",
    "A launch returns before the kernel has run. cudaDeviceSynchronize waits for the kernel, and returns its error.",
    LESSON};
static const Mistake ASKED_EARLY = {
    "polling instead of synchronization",
    "cudaErrorNotReady only means that the kernel has not finished. Wait for it with a synchronizing call.", LESSON};
static const Mistake MIXED = {
    "launch error reported as kernel error",
    "After an invalid launch, no kernel runs: *launch is the error, and *kernel is cudaSuccess.", LESSON};
static const Mistake EARLIER_LOST = {"earlier error lost",
                                     "Store the error that was pending before the call in *before.", LESSON};
static const Mistake BY_HAND = {
    "hard-coded launch limits",
    "You reported an error for a launch that is valid. Try the launch, and get the error from the runtime.", LESSON};

enum { INVALID_CONFIGURATION = 9, INVALID_DEVICE = 101, NOT_READY = 600, ILLEGAL_ADDRESS = 700 };

static void ask(Case *c, int64_t blocks, int64_t threads, int stale, bool null) {
  give_array(c, "size", new_array(c, FY_INT32, shape(blocks * (threads > 1024 || threads < 1 ? 1 : threads))),
             (Give){.device = "cpu"});
  give_number(c, "blocks", (double)blocks);
  give_number(c, "threads", (double)threads);
  give_number(c, "stale", stale);
  give_number(c, "null", null);
  give_number(c, "value", (double)draw_int(c, 100, 999));
}
static void ask_good(Case *c) {
  ask(c, draw_int(c, 3, 9), 32 * draw_int(c, 2, 9), 0, false);
}
static void ask_large(Case *c) {
  ask(c, draw_int(c, 3, 9), 1024, 0, false);
}
// More than a grid may have along y or z.
static void ask_many_blocks(Case *c) {
  ask(c, draw_int(c, 65537, 69999), 1, 0, false);
}
static void ask_too_many(Case *c) {
  ask(c, draw_int(c, 3, 9), draw_int(c, 1025, 1999), 0, false);
}
static void ask_no_threads(Case *c) {
  ask(c, draw_int(c, 3, 9), 0, 0, false);
}
static void ask_no_blocks(Case *c) {
  ask(c, 0, 32 * draw_int(c, 2, 9), 0, false);
}
// Another error than those of launches.
static void ask_other(Case *c) {
  ask(c, draw_int(c, 3, 9), 64, INVALID_DEVICE, false);
}
static void ask_other_and_bad(Case *c) {
  ask(c, draw_int(c, 3, 9), draw_int(c, 1025, 1999), INVALID_DEVICE, false);
}
static void ask_stale(Case *c) {
  ask(c, draw_int(c, 3, 9), 64, INVALID_CONFIGURATION, false);
}
static void ask_stale_and_bad(Case *c) {
  ask(c, draw_int(c, 3, 9), draw_int(c, 1025, 1999), INVALID_CONFIGURATION, false);
}
static void ask_wild(Case *c) {
  ask(c, 1, 32, 0, true);
}
static void ask_stale_and_wild(Case *c) {
  ask(c, 1, 32, INVALID_CONFIGURATION, true);
}

static bool is_bad(const Case *c) {
  return given_number(c, "threads") > 1024 || given_number(c, "threads") < 1 || given_number(c, "blocks") < 1;
}

static bool expect_before(Case *c, int64_t stale, int64_t launch) {
  const int64_t before = got_count(c, "before");
  return expect_exactly(c, "*before", before, stale,
                        stale == 0 || before != 0 ? NULL
                        : launch == stale         ? &BLAMED
                                                  : &EARLIER_LOST);
}

static void judge(Case *c) {
  const bool null = given_number(c, "null") != 0, bad = is_bad(c);
  const int64_t stale = (int64_t)given_number(c, "stale"), want = bad ? INVALID_CONFIGURATION : 0;
  const int64_t launch = got_count(c, "launch"), kernel = got_count(c, "kernel"), left = got_count(c, "left behind");
  // After the driver's own refused launch, another refused one is not seen.
  const bool unseen = bad && stale == INVALID_CONFIGURATION;
  const bool launched = counts(c)->launches > 0 || (refused_shape(c) && stale != INVALID_CONFIGURATION);
  const bool by_hand = !bad && !launched && launch == INVALID_CONFIGURATION && stale != launch;
  // It gave up without a launch, so nothing can be said of what it would do after one.
  if (stale && !launched && !unseen && launch == 0) {
    expect_before(c, stale, launch);
    expect_that(c, false, &STOPPED, "the kernel was not launched after error %lld of an earlier call",
                (long long)stale);
    return;
  }
  if (null)
    expect_error(c, "illegal", NULL); // sticky: the driver finds it as well
  if (!expect_before(c, stale, launch) ||
      !expect_exactly(c, "*launch", launch, want,
                      by_hand                                ? &BY_HAND
                      : stale && launch == stale             ? &BLAMED
                      : bad && launch == 0 && kernel == want ? &MIXED
                      : bad && launch == 0 && !unseen        ? &NOT_ASKED
                                                             : NULL) ||
      !expect_exactly(c, "*kernel", kernel, null ? ILLEGAL_ADDRESS : 0,
                      kernel == NOT_READY                                       ? &ASKED_EARLY
                      : null && kernel == 0 && counts(c)->synchronizations == 0 ? &NOT_AWAITED
                      : bad && kernel == want                                   ? &MIXED
                                                                                : NULL))
    return;
  if (null || !expect_exactly(c, "cudaGetLastError() after the call", left, 0, left == launch ? &PEEKED : NULL) || bad)
    return;
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  Array *all = new_array(c, FY_INT32, given(c, "size")->shape);
  for (int64_t i = 0; i < all->count; i++)
    all->i32[i] = (int32_t)given_number(c, "value");
  if (expect_array(c, "out", all, 0))
    expect_by_kernel(c);
}

EXERCISE = {
    .id = "20_5_error_handling",
    .title = "Which call failed?",
    .after_pass =
        "Launch errors are reported by cudaGetLastError after the launch, kernel errors by a later synchronization.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .lesson = LESSON,
    .hints = {"cudaGetLastError returns the last error and clears it. Call it more than once.",
              "If the launch was valid, wait for the kernel. cudaDeviceSynchronize returns its error.",
              "Before the launch: *before = cudaGetLastError(). After it: *launch = cudaGetLastError(). If that is "
              "cudaSuccess: *kernel = cudaDeviceSynchronize()."},
    .functions = {"mark_on_device"},
    // After a failed kernel the device accepts no second call: five schedules, not six.
    .tests = {{.name = "no error", .ask = ask_good, .judge = judge, .may_refuse = true},
              {.name = "1024 threads per block", .ask = ask_large, .judge = judge, .may_refuse = true},
              {.name = "many blocks", .ask = ask_many_blocks, .judge = judge, .schedules = 1, .may_refuse = true},
              {.name = "too many threads", .ask = ask_too_many, .judge = judge, .may_refuse = true},
              {.name = "no threads", .ask = ask_no_threads, .judge = judge, .may_refuse = true},
              {.name = "no blocks", .ask = ask_no_blocks, .judge = judge, .may_refuse = true},
              {.name = "an earlier launch failed", .ask = ask_stale, .judge = judge, .may_refuse = true},
              {.name = "an earlier launch failed, and this one does",
               .ask = ask_stale_and_bad,
               .judge = judge,
               .may_refuse = true},
              {.name = "an earlier call failed", .ask = ask_other, .judge = judge, .may_refuse = true},
              {.name = "an earlier call failed, and the launch does",
               .ask = ask_other_and_bad,
               .judge = judge,
               .may_refuse = true},
              {.name = "the kernel fails", .ask = ask_wild, .judge = judge, .may_refuse = true, .schedules = 5},
              {.name = "an earlier launch failed, and the kernel does",
               .ask = ask_stale_and_wild,
               .judge = judge,
               .may_refuse = true,
               .schedules = 5}},
};
