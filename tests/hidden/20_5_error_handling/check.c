// SPDX-License-Identifier: MIT
// Exercise 20.5: errors of a launch, errors of a kernel, and errors of somebody before.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/20_the_first_kernel.md#errors-at-once-and-later"

static const Mistake BLAMED = {
    "an earlier error taken for this launch's",
    "An error was there before the call. cudaGetLastError returns and clears it: ask before the launch, too.", LESSON};
static const Mistake PEEKED = {
    "the error was left behind",
    "cudaPeekAtLastError looks and leaves the error for the next who asks. cudaGetLastError clears it.", LESSON};
static const Mistake NOT_ASKED = {"the launch was not asked for its error",
                                  "A launch returns nothing. cudaGetLastError() behind it says whether it could begin.",
                                  LESSON};
static const Mistake STOPPED = {"stopped by an earlier error",
                                "An error of a call, or of a launch that could not begin, stops nobody who comes after "
                                "it: note it, and launch the kernel all the same.",
                                LESSON};
static const Mistake NOT_AWAITED = {
    "the kernel was not waited for",
    "When the launch returns, the kernel may not have begun. cudaDeviceSynchronize waits, and returns "
    "what went wrong.",
    LESSON};
static const Mistake ASKED_EARLY = {"asked whether the kernel is done",
                                    "cudaErrorNotReady is no error of the kernel: it has not come to its end. Wait for "
                                    "it, and then see what became of it.",
                                    LESSON};
static const Mistake MIXED = {
    "the launch's error reported as the kernel's",
    "A launch that could not begin has no kernel that ran: *launch has the error, *kernel is cudaSuccess.", LESSON};
static const Mistake EARLIER_LOST = {"the earlier error was lost",
                                     "*before is to have the error that was there before the call.", LESSON};
static const Mistake BY_HAND = {"errors guessed from the arguments",
                                "Which launches fail is for the runtime to say: other GPUs have other limits.", LESSON};

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
// More than the second and the third size of a grid can be.
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

// The answer may not look at the number of threads: 1024 is this GPU's limit.
static bool launch_told(const Case *c) {
  return got_number(c, "simulated") == 1; // a GPU does not tell which launches it refused
}

static void judge(Case *c) {
  const bool null = given_number(c, "null") != 0, bad = is_bad(c);
  const int64_t stale = (int64_t)given_number(c, "stale");
  const int64_t before = got_count(c, "before"), launch = got_count(c, "launch"), kernel = got_count(c, "kernel");
  const int64_t want = bad ? INVALID_CONFIGURATION : 0;
  const bool refused = got_count(c, "refused") > (stale == INVALID_CONFIGURATION);
  const bool stopped = stale && before == stale && !(bad ? refused : counts(c)->launches > 0);
  const bool guessed = launch == INVALID_CONFIGURATION && stale != launch && launch_told(c) && !refused;
  suspect_that(c, !bad && counts(c)->launches == 0, stopped ? &STOPPED : guessed ? &BY_HAND : &NO_KERNEL);
  if (null)
    expect_error(c, "illegal", NULL); // it stays
  if (stale)
    expect_exactly(c, "*before", before, stale, launch == stale ? &BLAMED : &EARLIER_LOST);
  else
    expect_exactly(c, "*before", before, 0, NULL);
  expect_exactly(c, "*launch", launch, want,
                 stopped && launch == 0     ? &STOPPED
                 : stale && launch == stale ? &BLAMED
                 : bad                      ? (kernel == INVALID_CONFIGURATION ? &MIXED : &NOT_ASKED)
                 : guessed                  ? &BY_HAND
                                            : NULL);
  expect_exactly(c, "*kernel", kernel, null ? ILLEGAL_ADDRESS : 0,
                 kernel == NOT_READY     ? &ASKED_EARLY
                 : null                  ? &NOT_AWAITED
                 : kernel == want && bad ? &MIXED
                                         : NULL);
  if (!null)
    expect_exactly(c, "the error that the next one finds", got_count(c, "left behind"), 0, &PEEKED);
  if (null || bad)
    return;
  Array *all = new_array(c, FY_INT32, given(c, "size")->shape);
  for (int64_t i = 0; i < all->count; i++)
    all->i32[i] = (int32_t)given_number(c, "value");
  if (expect_array(c, "out", all, 0))
    expect_by_kernel(c);
}

static void judge_bad(Case *c) {
  judge(c);
  expect_that(c, !launch_told(c) || got_count(c, "refused") > (given_number(c, "stale") == INVALID_CONFIGURATION),
              &BY_HAND, "*launch is right, but there was no launch that the runtime refused");
}

EXERCISE = {
    .id = "20_5_error_handling",
    .title = "Which call failed?",
    .after_pass = "A launch's own errors come at once, the kernel's come with the wait.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .lesson = LESSON,
    .hints = {"cudaGetLastError returns the last error and clears it: call it at two places.",
              "cudaDeviceSynchronize waits for the kernel and returns its error.",
              "If the launch could not begin there is nothing to wait for: *kernel is cudaSuccess."},
    .functions = {"mark_on_device"},
    // A device on which a kernel went wrong takes no second call: five ways, not six.
    .tests = {{.name = "a launch without a fault", .ask = ask_good, .judge = judge, .may_refuse = true},
              {.name = "the largest block", .ask = ask_large, .judge = judge, .may_refuse = true},
              {.name = "many blocks", .ask = ask_many_blocks, .judge = judge, .schedules = 1, .may_refuse = true},
              {.name = "too many threads", .ask = ask_too_many, .judge = judge_bad, .may_refuse = true},
              {.name = "no threads", .ask = ask_no_threads, .judge = judge_bad, .may_refuse = true},
              {.name = "no blocks", .ask = ask_no_blocks, .judge = judge_bad, .may_refuse = true},
              {.name = "an error from before", .ask = ask_stale, .judge = judge, .may_refuse = true},
              {.name = "an error from before, and one of the launch",
               .ask = ask_stale_and_bad,
               .judge = judge_bad,
               .may_refuse = true},
              {.name = "an error of another call from before", .ask = ask_other, .judge = judge, .may_refuse = true},
              {.name = "an error of another call from before, and one of the launch",
               .ask = ask_other_and_bad,
               .judge = judge_bad,
               .may_refuse = true},
              {.name = "a kernel that goes wrong", .ask = ask_wild, .judge = judge, .may_refuse = true, .schedules = 5},
              {.name = "an error from before, and a kernel that goes wrong",
               .ask = ask_stale_and_wild,
               .judge = judge,
               .may_refuse = true,
               .schedules = 5}},
};
