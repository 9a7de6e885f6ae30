// SPDX-License-Identifier: MIT
// Exercise 32.2, find the bug: a loop over chunks whose later iterations have no barriers.
#include "exercise.h"

#define LESSON "docs/32_debugging_kernels.md#missing-barrier-data-race"

static const Mistake NO_BARRIER = {"missing barrier",
                                   "Two threads access the same element of shared memory, and no barrier orders the "
                                   "accesses. Each iteration needs two barriers: one between its writes and its reads, "
                                   "and one between its reads and the writes of the next iteration.",
                                   LESSON};
static const Mistake DIVERGENT = {
    "divergent barrier", "Some threads of the block skip the barrier. Let every thread reach it in every iteration.",
    "docs/32_debugging_kernels.md#divergent-barrier"};
static const Mistake NOT_REVERSED = {"chunk not reversed",
                                     "Element t of a chunk goes to index 255 - t of the same chunk.", LESSON};
static const Mistake LEFT_OUT = {
    "chunks left out",
    "Let each block loop over its chunks, from blockIdx.x to the last chunk, with a stride of gridDim.x.", LESSON};
static const Mistake ALL_REVERSED = {"whole array reversed", "Reverse each chunk of 256 elements by itself.", LESSON};
static const Mistake SEVERAL = {"several launches", "Use one launch, and let its blocks loop over the chunks.", LESSON};
static const Mistake MORE_BLOCKS = {
    "too many blocks", "With a block per chunk, no block has a second iteration. Launch at most 4 blocks.", LESSON};
static const Mistake EMPTY_GRID = {"empty grid", "You launch 0 blocks for one chunk. Launch at least one block.",
                                   LESSON};
static const Mistake NOT_SHARED = {
    "shared memory not used", "Write the elements to shared memory in the order of x, and read them in reverse order.",
    LESSON};

static void ask(Case *c, int64_t chunks) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(256 * chunks), -9, 9), (Give){.device = "cuda:0"});
  give_number(c, "chunks", (double)chunks);
}
static void ask_several(Case *c) {
  ask(c, draw_int(c, 9, 15));
}
static void ask_two(Case *c) {
  ask(c, 8);
}
static void ask_many(Case *c) {
  ask(c, draw_odd(c, 21, 33));
}

// More chunks than a fixed limit may allow.
static void ask_very_many(Case *c) {
  ask(c, draw_odd(c, 261, 399));
}

static Array *reversed(Case *c, int64_t count, bool all, bool not_at_all) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_FLOAT32, shape(count));
  for (int64_t i = 0; i < count; i++)
    out->f32[i] = x->f32[not_at_all ? i : all ? count - 1 - i : i / 256 * 256 + 255 - i % 256];
  return out;
}

static void judge(Case *c) {
  const int64_t n = given(c, "x")->count;
  const Array *out = got_shaped(c, "out", given(c, "x")->shape), *want = reversed(c, n, false, false);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_sure(c, refused_empty_grid(c), &EMPTY_GRID);
  const int64_t written = columns_written(out);
  suspect_that(c, written > 0 && written < out->count && written % 256 == 0, &LEFT_OUT);
  suspect_array(c, "out", reversed(c, n, false, true), &NOT_REVERSED);
  suspect_array(c, "out", reversed(c, n, true, false), &ALL_REVERSED);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_error(c, "divergent", &DIVERGENT);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  if (!expect_array(c, "out", want, 0) || !expect_array(c, "one chunk", reversed(c, 256, false, false), 0) ||
      !expect_by_kernel(c))
    return;
  const int64_t *launch = launch_shape(c, 0);
  if (!expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL) ||
      !expect_at_most(c, "blocks", launch ? launch[0] * launch[1] * launch[2] : 1, 4, &MORE_BLOCKS) ||
      !expect_no_finding(c))
    return;
  expect_that(c, !case_inspected(c) || inspected(c, SHARED_LOADS, (Where){.in_all = true}) * 4 >= (double)out->count,
              &NOT_SHARED, "fewer elements were read from shared memory than a quarter of x");
}

EXERCISE = {
    .id = "32_2_reverse_chunks",
    .title = "Find the bug: reverse chunks",
    .after_pass = "If a loop reuses shared memory, each iteration also needs a barrier after its reads.",
    .kind = "kernel",
    .chapter = 32,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .essential = true,
    .bug = true,
    .lesson = LESSON,
    .stars = {{"the elements go through shared memory", {&NOT_SHARED}}},
    .hints = {"The first chunk of each block is correct. What is different in the second iteration?",
              "./ferry inspect work/32_2_reverse_chunks.cu shows pairs of accesses that no barrier orders. In which "
              "iterations are they?",
              "Each iteration needs four steps: write, barrier, read, barrier. All threads must reach both barriers."},
    .functions = {"reverse_on_device"},
    .tests = {{.name = "8 chunks", .ask = ask_two, .judge = judge, .inspect = true},
              {.name = "several chunks", .ask = ask_several, .judge = judge, .inspect = true},
              {.name = "many chunks", .ask = ask_many, .judge = judge, .inspect = true},
              {.name = "very many chunks", .ask = ask_very_many, .judge = judge, .schedules = 1}},
};
