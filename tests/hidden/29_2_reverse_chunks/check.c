// SPDX-License-Identifier: MIT
// Exercise 29.2, find the bug: a loop over chunks whose later iterations have no barriers.
#include "exercise.h"

#define LESSON "docs/29_debugging_kernels.md#a-barrier-that-is-missing"

static const Mistake HALF = {"missing barrier in the loop",
                             "Each iteration needs two barriers: all threads must write before any thread reads, and "
                             "read before the next iteration writes.",
                             LESSON};
static const Mistake DIVERGENT = {
    "divergent barrier", "Some threads of the block skip the barrier. Every thread of the block must reach it.",
    "docs/29_debugging_kernels.md#a-barrier-that-not-all-reach"};
static const Mistake NOT_TURNED = {"chunk not reversed",
                                   "Element t of a chunk goes to position 255 - t of the same chunk.", LESSON};
static const Mistake FIRST_ROUND = {"only the first iteration",
                                    "Each block continues with further chunks: c += gridDim.x.", LESSON};
static const Mistake ALL_TURNED = {"whole array reversed", "Each chunk of 256 elements is reversed on its own.",
                                   LESSON};

static const Mistake MORE_BLOCKS = {"one block per chunk",
                                    "With one block per chunk there is no loop. Launch at most 4 blocks.", LESSON};
static const Mistake PAST_SHARED = {
    "shared memory not used",
    "The elements go through shared memory: store them in order, and load them from the other end.", LESSON};

static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "Neighboring threads load and store elements that are far apart. Reverse in shared "
                                    "memory, so that both global accesses run forward.",
                                    "docs/22_global_memory.md#a-ladder-of-strides"};

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
  const int64_t *launch;
  for (int i = 0; (launch = launch_shape(c, i)); i++)
    expect_at_most(c, "blocks", launch[0] * launch[1] * launch[2], 4, &MORE_BLOCKS);
  expect_no_finding(c);
  expect_sectors(c, 1.5, &UNCOALESCED);
  expect_that(c, !case_inspected(c) || inspected(c, SHARED_LOADS, (Where){.in_all = true}) * 4 >= (double)out->count,
              &PAST_SHARED, "fewer numbers were read from shared memory than there are");
}

EXERCISE = {
    .id = "29_2_reverse_chunks",
    .title = "Find the bug: reverse chunks",
    .after_pass = "A loop that reuses shared memory needs a second barrier, after the reads.",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .essential = true,
    .bug = true,
    .lesson = LESSON,
    .stars = {{"coalesced: at most 1.5 x the ideal sectors per request", {&UNCOALESCED}}},
    .hints = {"Run it with FERRY_SIM_ORDER=descending: if the order of the threads changes the result, there is a data "
              "race.",
              "The first iteration has a barrier. Which accesses of the second iteration are ordered by nothing?",
              "Write, barrier, read, barrier: in every iteration, for all threads."},
    .functions = {"reverse_on_device"},
    .tests = {{.name = "several rounds", .ask = ask_rounds, .judge = judge, .inspect = true},
              {.name = "two rounds", .ask = ask_two, .judge = judge, .inspect = true},
              {.name = "many rounds", .ask = ask_many, .judge = judge, .inspect = true},
              {.name = "very many", .ask = ask_very_many, .judge = judge, .schedules = 1}},
};
