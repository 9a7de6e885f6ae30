// SPDX-License-Identifier: MIT
// Exercise 23.2: interleaved channels to planes through dynamic shared memory, judged by values and by the inspector's counts.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/23_shared_memory.md"

static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "Neighboring threads read or write words that are `channels` apart. Copy the block's words to shared memory in the "
    "order of in, and write each plane from there.",
    LESSON "#matrix-transpose-step-by-step"};
static const Mistake BANKS = {"bank conflicts",
                              "With 4, 8 or 16 channels, the words that a warp reads are in only a few banks. Insert a "
                              "padding word after every 32 words: store word i at index i + i / 32.",
                              LESSON "#banks-and-bank-conflicts"};
static const Mistake NO_BARRIER = {
    "missing barrier",
    "A thread reads words of the tile before other threads have written them. Put a __syncthreads() between the two "
    "loops. If a block handles several tiles, put another one before it writes the next tile.",
    LESSON "#shared-memory-and-barriers"};
static const Mistake DIVERGENT = {"divergent barrier",
                                  "Threads without a pixel returned before __syncthreads(), or skipped it in a branch. "
                                  "Put the bounds check around the accesses, not around the barrier.",
                                  LESSON "#shared-memory-and-barriers"};
static const Mistake NOT_SEPARATED = {"channels not separated",
                                      "out is a copy of in. Channel k of pixel i belongs at index k * n + i.",
                                      LESSON "#matrix-transpose-step-by-step"};
static const Mistake PLANE_STRIDE = {"wrong plane stride",
                                     "Each block wrote planes of its own pixels only. A plane has all n pixels: "
                                     "channel k of pixel i belongs at index k * n + i.",
                                     LESSON "#matrix-transpose-step-by-step"};
static const Mistake TOO_SMALL = {
    "dynamic shared memory too small",
    "The tile needs more shared memory than the launch requests. The third launch argument is a number of bytes. It "
    "must cover all pixels and channels of a block, including the padding.",
    LESSON "#dynamic-shared-memory"};
static const Mistake FIXED_SIZE = {
    "shared memory of a fixed size",
    "With few channels, a block reserves much more shared memory than it needs, so fewer blocks fit on a "
    "multiprocessor. Use dynamic shared memory, and compute the third launch argument from channels.",
    LESSON "#dynamic-shared-memory"};
static const Mistake HARD_CODED = {"number of channels hard-coded",
                                   "The result is correct for only one number of channels. Use the channels parameter.",
                                   LESSON "#dynamic-shared-memory"};
static const Mistake ROUNDED_DOWN = {
    "grid size rounded down",
    "n / threads rounds down, so the last pixels have no thread. Round up, and check the "
    "bounds.",
    LESSON "#shared-memory-and-barriers"};
static const Mistake OUTSIDE = {"out-of-bounds access",
                                "The last block may have more threads than pixels. Compare the index of the pixel with "
                                "n before you read in or write out.",
                                LESSON "#shared-memory-and-barriers"};
static const Mistake EMPTY_GRID = {
    "empty grid", "For n = 0, the grid has 0 blocks, which is an invalid configuration. Launch nothing.",
    LESSON "#shared-memory-and-barriers"};

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
static void ask_gray(Case *c) {
  ask(c, draw_odd(c, 301, 499), 1);
}
static void ask_many(Case *c) {
  ask(c, 1024 * draw_int(c, 10, 11) + 1, 16); // one pixel more than whole blocks have
}
// More pixels than a limited number of blocks has threads: 256 of 256, 1024 of 64.
static void ask_most(Case *c) {
  ask(c, draw_odd(c, 125001, 131071), 2);
}
static void ask_one(Case *c) {
  ask(c, 1, 6);
}
static void ask_none_first(Case *c) {
  ask(c, 37, 4);
  give_number(c, "none first", 1);
}

// The planes of every `chunk` pixels, one chunk after the other.
static Array *separated(Case *c, int64_t chunk) {
  const Array *in = given(c, "in");
  int64_t n = in->shape.size[0], channels = in->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, shape(channels, n));
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < channels; k++) {
      int64_t first = i - i % chunk, pixels = n - first < chunk ? n - first : chunk;
      out->f32[first * channels + k * pixels + i % chunk] = in->f32[i * channels + k];
    }
  return out;
}

// Are the pixels of some whole warps right, in all planes, and those after them unwritten?
static bool rounded_down(Case *c) {
  const Array *want = separated(c, given(c, "in")->shape.size[0]), *out = got_shaped(c, "out", want->shape);
  const int64_t n = want->shape.size[1];
  int64_t end = 0;
  while (out && end < n && out->f32[end] == want->f32[end])
    end++;
  for (int64_t i = 0; out && i < out->count; i++)
    if (i % n < end ? out->f32[i] != want->f32[i] : !array_is_filling(out, i))
      return false;
  return out && end > 0 && end < n && end % 32 == 0;
}

// Is plane k the k-th of every `fixed` words? Planes from `fixed` on, and pixels past the end, are not compared.
static bool as_if_fixed(const Case *c, int64_t fixed) {
  const Array *in = given(c, "in");
  int64_t n = in->shape.size[0], channels = in->shape.size[1], compared = 0;
  const Array *out = got_shaped(c, "out", shape(channels, n));
  for (int64_t k = 0; out && k < channels && k < fixed; k++)
    for (int64_t i = 0; i < n && i < 256 && i * fixed + k < n * channels; i++, compared++)
      if (out->f32[k * n + i] != in->f32[i * fixed + k])
        return false;
  return compared > 1;
}

static void judge_size(Case *c, int64_t channels) {
  const int64_t *launch = launch_shape(c, 0);
  if (!launch)
    return;
  const int64_t threads = launch[3] * launch[4] * launch[5];
  expect_exactly(c, "bytes of static shared memory per block", inspected_shared(c, false), 0, &FIXED_SIZE);
  expect_at_most(c, "bytes of dynamic shared memory per block", inspected_shared(c, true),
                 4 * threads * channels * (int64_t)sizeof(float), &FIXED_SIZE);
}

static bool given_none(const Case *c) {
  return strcmp(case_test(c), "no pixels, then some") == 0;
}

static bool judge_all(Case *c) {
  const Array *in = given(c, "in");
  int64_t n = in->shape.size[0], channels = in->shape.size[1];
  Array *same = new_array(c, FY_FLOAT32, shape(channels, n));
  memcpy(same->f32, in->f32, (size_t)in->count * sizeof(float));
  suspect_sure(c, refused_empty_grid(c) && !given_none(c), &ROUNDED_DOWN);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && n > 0, &NO_KERNEL);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  suspect_finding(c, "bounds-dynamic", &TOO_SMALL);
  for (int64_t fixed = 3; fixed <= 4 && n > 0; fixed++)
    suspect_that(c, channels != fixed && as_if_fixed(c, fixed), &HARD_CODED);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  if (channels > 1 && n > 1)
    suspect_array(c, "out", same, &NOT_SEPARATED);
  for (int64_t chunk = 32; chunk <= 1024 && n > chunk; chunk *= 2)
    suspect_array(c, "out", separated(c, chunk), &PLANE_STRIDE);
  suspect_that(c, n % 32 != 0 && rounded_down(c), &ROUNDED_DOWN);
  const bool by_order = case_schedule(c) == SCHEDULE_THREADS_DOWN || case_schedule(c) == SCHEDULE_WITHIN_BLOCKS;
  suspect_that(c, by_order && is_of_another_turn(c, got_shaped(c, "out", shape(channels, n)), in), &NO_BARRIER);
  if (!expect_array(c, "out", separated(c, n > 0 ? n : 1), 0))
    return false;
  if (n > 0 && !expect_by_kernel(c))
    return false;
  return expect_no_finding(c);
}

static void judge(Case *c) {
  judge_all(c);
}

// With n a multiple of 32: elsewhere a plane begins in the middle of a sector.
static void judge_traffic(Case *c) {
  if (!judge_all(c) || !expect_sectors(c, 1.5, &UNCOALESCED))
    return;
  expect_wavefronts(c, 2, &BANKS);
  if (case_inspected(c))
    judge_size(c, given(c, "in")->shape.size[1]);
}

EXERCISE = {
    .id = "23_2_any_channels_to_planes",
    .title = "Planes of any number of channels",
    .after_pass = "Dynamic shared memory lets the size of the tile depend on the arguments; both the loads and the "
                  "stores are coalesced.",
    .kind = "kernel",
    .chapter = 23,
    .level = LEVEL_HARD,
    .minutes = 50,
    .lesson = LESSON "#matrix-transpose-step-by-step",
    .stars = {{"shared memory: at most 2 x the ideal wavefronts per request", {&BANKS}},
              {"dynamic shared memory, at most 4 words per thread and channel", {&FIXED_SIZE}}},
    .hints = {"Let a block copy its pixels to shared memory in the order of in. After a barrier, let it write each "
              "plane from there.",
              "The THREADS * channels words of a block are contiguous. A loop that starts at threadIdx.x and advances "
              "by THREADS loads them coalesced. After the barrier, thread t finds channel k of its pixel in word t * "
              "channels + k.",
              "Declare extern __shared__ float tile[]; the third launch argument is its size in bytes. To avoid bank "
              "conflicts, store word i at index i + i / 32, and request space for the padding as well.",
              "The last block may have fewer pixels than threads, but no thread may return before __syncthreads(). For "
              "n = 0, launch nothing."},
    .functions = {"planes_on_device"},
    .tests = {{.name = "four channels: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "eight channels: values and traffic", .ask = ask_eight, .judge = judge_traffic, .inspect = true},
              {.name = "one pixel", .ask = ask_one, .judge = judge},
              {.name = "less than a warp", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "three channels, odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "7 to 15 channels", .ask = ask_any, .judge = judge, .inspect = true},
              {.name = "one channel", .ask = ask_gray, .judge = judge},
              {.name = "sixteen channels, odd", .ask = ask_many, .judge = judge},
              {.name = "very many pixels", .ask = ask_most, .judge = judge, .schedules = 3},
              {.name = "no pixels, then some", .ask = ask_none_first, .judge = judge}},
};
