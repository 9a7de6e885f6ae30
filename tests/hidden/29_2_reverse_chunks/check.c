// SPDX-License-Identifier: MIT
// Exercise 29.2, find the bug: a loop over pieces whose later rounds have no barriers.
#include "exercise.h"

#define LESSON "docs/29_debugging_kernels.md#a-barrier-that-is-missing"

static const Mistake HALF = {"a barrier is missing",
                             "Two accesses to shared memory have nothing between them. Within a round all write before "
                             "anyone reads; and all have read before "
                             "the next round writes: two barriers in each round.",
                             LESSON};
static const Mistake DIVERGENT = {"a barrier in a branch",
                                  "Some threads of the block skip the barrier, so the kernel may hang or compute "
                                  "something wrong. Every thread of the block must reach it.",
                                  "docs/29_debugging_kernels.md#a-barrier-that-not-all-reach"};
static const Mistake NOT_TURNED = {"the piece was not turned round", "Element t goes to place 255 - t of its piece.",
                                   LESSON};
static const Mistake FIRST_ROUND = {"only the first round", "Each block goes on to further pieces: p += gridDim.x.",
                                    LESSON};
static const Mistake ALL_TURNED = {"all of x turned round", "Each piece of 256 is turned round for itself.", LESSON};
static const Mistake SEVERAL = {"more than one launch", "One launch does it, for all pieces.", LESSON};

static const Mistake MORE_BLOCKS = {
    "as many blocks as pieces",
    "With a block for each piece there is no second round. At most 4 blocks are to be launched.", LESSON};
static const Mistake PAST_SHARED = {
    "not through shared memory",
    "Numbers are to go through shared memory still: written there as they lie, and read from its "
    "other end.",
    LESSON};

static void ask(Case *c, int64_t pieces) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(256 * pieces), -9, 9), (Give){.device = "cuda:0"});
  give_number(c, "pieces", (double)pieces);
}
static void ask_rounds(Case *c) {
  ask(c, draw_int(c, 9, 15));
}
static void ask_two(Case *c) {
  ask(c, 8);
}
static void ask_many(Case *c) {
  ask(c, draw_odd(c, 21, 33));
}

// More than somebody may have had in mind, and more rounds.
static void ask_very_many(Case *c) {
  ask(c, draw_odd(c, 261, 399));
}

static Array *turned(Case *c, int64_t count, bool all, bool not_at_all) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_FLOAT32, shape(count));
  for (int64_t i = 0; i < count; i++)
    out->f32[i] = x->f32[not_at_all ? i : all ? count - 1 - i : i / 256 * 256 + 255 - i % 256];
  return out;
}

static void judge(Case *c) {
  const int64_t n = given(c, "x")->count;
  const Array *out = got_shaped(c, "out", given(c, "x")->shape), *want = turned(c, n, false, false);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  const int64_t written = columns_written(out);
  suspect_that(c, written > 0 && written < out->count && written % 256 == 0, &FIRST_ROUND);
  suspect_array(c, "out", turned(c, n, false, true), &NOT_TURNED);
  suspect_array(c, "out", turned(c, n, true, false), &ALL_TURNED);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_error(c, "divergent", &DIVERGENT);
  suspect_finding(c, "race", &HALF);
  if (!expect_array(c, "out", want, 0) || !expect_array(c, "one piece", turned(c, 256, false, false), 0) ||
      !expect_by_kernel(c))
    return;
  expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
  const int64_t *launch = launch_shape(c, 0);
  expect_at_most(c, "blocks", launch ? launch[0] * launch[1] * launch[2] : 1, 4, &MORE_BLOCKS);
  expect_no_finding(c);
  expect_sectors(c, 1.1, NULL);
  expect_that(c, !case_inspected(c) || inspected(c, SHARED_LOADS, (Where){.in_all = true}) * 4 >= (double)out->count,
              &PAST_SHARED, "fewer numbers were read from shared memory than there are");
}

EXERCISE = {
    .id = "29_2_reverse_chunks",
    .title = "Find the bug: reverse chunks",
    .after_pass = "A loop that uses shared memory again needs a barrier after the reads as well.",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .essential = true,
    .bug = true,
    .lesson = LESSON,
    .hints = {"FERRY_SIM_ORDER=descending makes other results wrong: there is a race.",
              "The first round has its barrier. Which accesses of the second round have nothing between them?",
              "Write, barrier, read, barrier: in every round, for all threads."},
    .functions = {"reverse_on_device"},
    .tests = {{.name = "several rounds", .ask = ask_rounds, .judge = judge, .inspect = true},
              {.name = "two rounds", .ask = ask_two, .judge = judge, .inspect = true},
              {.name = "many rounds", .ask = ask_many, .judge = judge, .inspect = true},
              {.name = "very many", .ask = ask_very_many, .judge = judge, .schedules = 1}},
};
