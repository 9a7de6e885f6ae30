// SPDX-License-Identifier: MIT
// Exercise 23.2: interleaved numbers taken apart through dynamic shared memory, judged by values and by the inspector's counts.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/23_shared_memory.md"

static const Mistake NO_TILE = {
    "no shared tile",
    "A warp's request touched several times the sectors that its bytes need: neighbouring threads read (or write) "
    "words that are "
    "`channels` apart. Read the block's words in the order in which they lie, into shared memory.",
    LESSON "#a-transpose-step-by-step"};
static const Mistake BANKS = {
    "bank conflicts",
    "Words of shared memory that are 32 apart are in one bank, and with 4, 8 or 16 channels a warp's words "
    "fall into few banks. Leave a word out after every 32: place i + i / 32.",
    LESSON "#banks"};
static const Mistake NO_BARRIER = {"no barrier",
                                   "A thread reads words of the tile that other threads write. __syncthreads() belongs "
                                   "between the two loops, and behind "
                                   "them where the block goes on to another tile.",
                                   LESSON "#a-blocks-own-memory"};
static const Mistake DIVERGENT = {
    "a barrier that some threads do not reach",
    "Threads beyond the last pixel returned before __syncthreads(), or skipped it in a branch. Every "
    "thread of the block must reach it: guard the accesses instead.",
    LESSON "#a-blocks-own-memory"};
static const Mistake NOT_TAKEN_APART = {
    "pixels copied as they were",
    "The numbers arrived, but pixel after pixel, as they were before: number k of pixel i "
    "belongs at k * n + i.",
    LESSON "#a-transpose-step-by-step"};
static const Mistake LOCAL = {
    "planes within each block",
    "Each block wrote planes of its own pixels, one block behind the other. A plane holds all n pixels: "
    "number k of pixel i belongs at k * n + i.",
    LESSON "#a-transpose-step-by-step"};
static const Mistake ROOM = {
    "too little shared memory",
    "The block has more words to keep than it has shared memory. With `extern __shared__` the launch's "
    "third argument says how much: for all its pixels, all channels and the gaps, in bytes.",
    LESSON "#the-launch-says-how-much"};
static const Mistake FIXED_ROOM = {
    "shared memory of a fixed size",
    "A block has as much shared memory for few channels as for many, and fewer blocks find room beside each other. "
    "The launch's third argument says how much it is: by the number of channels.",
    LESSON "#the-launch-says-how-much"};
static const Mistake FIXED = {"a number of channels taken for granted",
                              "The right numbers are there for one number of channels alone. It is an argument.",
                              LESSON "#the-launch-says-how-much"};
static const Mistake ROUNDED_DOWN = {
    "blocks rounded down", "n / threads is rounded down, so the last pixels were left out. Round up, and guard.",
    LESSON "#a-blocks-own-memory"};
static const Mistake EMPTY_GRID = {"a grid of no blocks", "For n = 0 a grid of no blocks is an invalid configuration.",
                                   LESSON "#a-blocks-own-memory"};
static const Mistake SEVERAL = {"a launch per plane", "One launch takes all planes out of a tile that was read once.",
                                "docs/23_shared_memory.md#a-transpose-step-by-step"};

static void ask(Case *c, int64_t n, int64_t channels) {
  give_array(c, "in", draw_array(c, FY_FLOAT32, shape(n, channels), -90, 90), (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
  give_number(c, "channels", (double)channels);
}
static void ask_whole(Case *c) {
  ask(c, 512 * draw_int(c, 1, 2), 4);
}
static void ask_eight(Case *c) {
  ask(c, 512, 8);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 601, 999), 3);
}
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 3, 29), 5);
}
static void ask_any(Case *c) {
  ask(c, draw_odd(c, 301, 399), draw_int(c, 7, 15));
}
static void ask_grey(Case *c) {
  ask(c, draw_odd(c, 301, 499), 1);
}
static void ask_many(Case *c) {
  ask(c, 1024 * draw_int(c, 10, 11) + 1, 16); // one pixel more than whole blocks have
}
// More than blocks may have taken in one turn: 256 of 256 threads, 1024 of 64.
static void ask_turns(Case *c) {
  ask(c, draw_odd(c, 125001, 131071), 2);
}
static void ask_one(Case *c) {
  ask(c, 1, 6);
}
static void ask_none_first(Case *c) {
  ask(c, 37, 4);
  give_number(c, "none first", 1);
}

// Right are the pixels below `end`, with planes for every `piece` pixels.
static Array *taken_apart(Case *c, int64_t piece) {
  const Array *in = given(c, "in");
  int64_t n = in->shape.size[0], channels = in->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, shape(channels, n));
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < channels; k++) {
      int64_t first = i - i % piece, pixels = n - first < piece ? n - first : piece;
      out->f32[first * channels + k * pixels + i % piece] = in->f32[i * channels + k];
    }
  return out;
}

// Are some whole warps' pixels right, in all planes, and those behind them unwritten?
static bool rounded_down(Case *c) {
  const Array *want = taken_apart(c, given(c, "in")->shape.size[0]), *out = got_shaped(c, "out", want->shape);
  const int64_t n = want->shape.size[1];
  int64_t end = 0;
  while (out && end < n && out->f32[end] == want->f32[end])
    end++;
  for (int64_t i = 0; out && i < out->count; i++)
    if (i % n < end ? out->f32[i] != want->f32[i] : !array_is_filling(out, i))
      return false;
  return out && end > 0 && end < n && end % 32 == 0;
}

// The planes' numbers where pixels have `fixed` numbers each: plane k has number k of what would be pixel i then. Planes that would
// not be there, and pixels beyond the array, are not looked at.
static bool as_if_fixed(const Case *c, int64_t fixed) {
  const Array *in = given(c, "in");
  int64_t n = in->shape.size[0], channels = in->shape.size[1], looked = 0;
  const Array *out = got_shaped(c, "out", shape(channels, n));
  for (int64_t k = 0; out && k < channels && k < fixed; k++)
    for (int64_t i = 0; i < n && i < 256 && i * fixed + k < n * channels; i++, looked++)
      if (out->f32[k * n + i] != in->f32[i * fixed + k])
        return false;
  return looked > 1;
}

static void judge_room(Case *c, int64_t channels) {
  const int64_t *launch = launch_shape(c, 0);
  if (!launch)
    return;
  const int64_t threads = launch[3] * launch[4] * launch[5];
  expect_exactly(c, "bytes of shared memory that the launch does not ask for", inspected_shared(c, false), 0,
                 &FIXED_ROOM);
  expect_at_most(c, "bytes of shared memory that the launch asks for", inspected_shared(c, true),
                 4 * threads * channels * (int64_t)sizeof(float), &FIXED_ROOM);
}

static bool given_none(const Case *c) {
  return strcmp(case_test(c), "no pixels, then some") == 0;
}

static bool judge_all(Case *c) {
  const Array *in = given(c, "in");
  int64_t n = in->shape.size[0], channels = in->shape.size[1];
  Array *same = new_array(c, FY_FLOAT32, shape(channels, n));
  memcpy(same->f32, in->f32, (size_t)in->count * sizeof(float));
  suspect_that(c, refused_empty_grid(c) && !given_none(c), &ROUNDED_DOWN);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && n > 0, &NO_KERNEL);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  suspect_that(c, has_finding(c, "bounds-dynamic"), &ROOM);
  suspect_finding(c, "bounds", &OUT_OF_BOUNDS);
  if (channels > 1 && n > 1)
    suspect_array(c, "out", same, &NOT_TAKEN_APART);
  for (int64_t piece = 32; piece <= 1024 && n > piece; piece *= 2)
    suspect_array(c, "out", taken_apart(c, piece), &LOCAL);
  for (int64_t fixed = 3; fixed <= 4 && n > 0; fixed++)
    suspect_that(c, channels != fixed && as_if_fixed(c, fixed), &FIXED);
  suspect_that(c, n % 32 != 0 && rounded_down(c), &ROUNDED_DOWN);
  suspect_that(c, is_of_another_turn(c, got_shaped(c, "out", shape(channels, n)), in), &NO_BARRIER);
  if (!expect_array(c, "out", taken_apart(c, n > 0 ? n : 1), 0))
    return false;
  if (n > 0 && !expect_by_kernel(c))
    return false;
  expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
  if (!expect_no_finding(c))
    return false;
  if (n > 0 && case_inspected(c))
    judge_room(c, channels);
  return true;
}

static void judge(Case *c) {
  judge_all(c);
}

// Sizes are multiples of 32 here: every request of a warp can be as good as there are.
static void judge_traffic(Case *c) {
  if (!judge_all(c))
    return;
  expect_sectors(c, 1.3, &NO_TILE);
  expect_that(c, !case_inspected(c) || inspected(c, WAVEFRONTS, (Where){0}) > 0, &NO_TILE,
              "shared memory was not used");
  expect_wavefronts(c, 1.3, &BANKS);
}

EXERCISE = {
    .id = "23_2_any_channels_to_planes",
    .title = "Planes of any number of channels",
    .after_pass = "A tile in shared memory lets reads and writes both be of neighbours, for any number of channels.",
    .kind = "kernel",
    .chapter = 23,
    .level = LEVEL_HARD,
    .minutes = 50,
    .lesson = LESSON "#a-transpose-step-by-step",
    .hints =
        {"A block's THREADS * channels words lie in one piece, from in + blockIdx.x * THREADS * channels on: a loop "
         "from "
         "threadIdx.x in steps of THREADS reads them as they lie.",
         "extern __shared__ float tile[]; and the launch's third argument is the number of bytes, gaps included.",
         "Behind the barrier thread t writes number k of its pixel from word t * channels + k, for every k.",
         "The last block has fewer pixels; no thread returns before __syncthreads(). For n = 0 there is no launch."},
    .functions = {"planes_on_device"},
    .tests = {{.name = "four channels: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "eight channels: values and traffic", .ask = ask_eight, .judge = judge_traffic, .inspect = true},
              {.name = "three channels, odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "less than a warp", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "any number of channels", .ask = ask_any, .judge = judge, .inspect = true},
              {.name = "one channel", .ask = ask_grey, .judge = judge},
              {.name = "sixteen channels, odd", .ask = ask_many, .judge = judge},
              {.name = "very many pixels", .ask = ask_turns, .judge = judge, .schedules = 3},
              {.name = "one pixel", .ask = ask_one, .judge = judge},
              {.name = "no pixels, then some", .ask = ask_none_first, .judge = judge}},
};
