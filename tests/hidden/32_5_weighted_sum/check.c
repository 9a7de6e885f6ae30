// SPDX-License-Identifier: MIT
// Exercise 32.5, find the bug: a host pointer in a kernel, memory that is freed before its last use, and a misaligned vector load.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/32_debugging_kernels.md#use-after-free"

static const Mistake FREED = {
    "use after free",
    "A kernel reads memory that was already freed. Call cudaFree after the last launch that uses the memory.", LESSON};
static const Mistake OF_THE_HOST = {
    "host pointer in a kernel",
    "The weights are in host memory, which a kernel cannot read. Copy them to the device, or pass them by value.",
    "docs/20_the_first_kernel.md#host-and-device"};
static const Mistake MISALIGNED = {
    "misaligned vector access",
    "The address of a float4 must be a multiple of 16 bytes, but x may be a view that begins at any element. Load "
    "single floats, or use vectors only from the first 16-byte aligned address on.",
    "docs/22_global_memory.md#vectorized-loads-float4"};
static const Mistake LEAK = {"memory leak", "In every call, use cudaFree to free all memory that the call allocates.",
                             LESSON};
static const Mistake ONE_WEIGHT = {"one weight for all elements", "Element x[i] has the weight weights[i % 4].",
                                   LESSON};
static const Mistake EARLIER = {"weights of an earlier call",
                                "Each call passes its own weights. Copy the weights in each call.", LESSON};
static const Mistake REST = {
    "remaining elements left out",
    "n need not be a multiple of 4. Up to three elements remain after the last group of four. Add them as well.",
    "docs/22_global_memory.md#vectorized-loads-float4"};
static const Mistake SHIFTED = {"weights shifted",
                                "Element x[0] has the weight weights[0], wherever x begins in memory.", LESSON};

static void ask_between(Case *c, int64_t n, int64_t begin, int64_t after) {
  Array *whole = draw_steps(c, shape(begin + n + after), 1, 9, 0.25);
  give_array(c, "whole", whole, (Give){.device = "cuda:0"});
  Array *weights = new_array(c, FY_FLOAT32, shape(4));
  for (int64_t i = 0; i < 4; i++)
    weights->f32[i] = (float)(10 * i + draw_int(c, 1, 8)); // all different
  give_array(c, "weights", weights, (Give){.device = "cpu"});
  give_number(c, "begin", (double)begin);
  give_number(c, "n", (double)n);
}
static void ask(Case *c, int64_t n, int64_t begin) {
  ask_between(c, n, begin, 0);
}
static void ask_inside(Case *c) {
  ask_between(c, 4 * draw_int(c, 40, 60) + draw_int(c, 1, 3), draw_int(c, 5, 7), 8);
}
static void ask_view(Case *c) {
  ask(c, 4 * draw_int(c, 400, 600) + 3, draw_int(c, 1, 3));
}
static void ask_more(Case *c) { // more elements than 8 blocks of 128 threads take at once
  ask(c, 4 * draw_int(c, 1200, 1500) + draw_int(c, 1, 3), 4 * draw_int(c, 1, 3) + 1);
}
static void ask_few(Case *c) {
  ask(c, draw_int(c, 5, 7), 2);
}
static void ask_short(Case *c) { // it ends before the first float4 begins
  ask(c, draw_int(c, 1, 2), 1);
}
static void ask_one(Case *c) {
  ask(c, 1, 3);
}

typedef struct Sum {
  int64_t shift, modulus, rest; // of the weights; rest: so many elements are left out
  bool earlier;                 // with the weights of the earlier call: these in reverse order
} Sum;

static Array *sum_of(Case *c, Sum how) {
  const Array *x = given(c, "whole"), *weights = given(c, "weights");
  const int64_t begin = (int64_t)given_number(c, "begin"), n = (int64_t)given_number(c, "n");
  double sum = 0;
  for (int64_t i = 0; i < n - how.rest; i++) {
    int64_t w = (i + how.shift) % how.modulus;
    sum += (double)x->f32[begin + i] * (double)weights->f32[how.earlier ? 3 - w : w];
  }
  Array *out = new_array(c, FY_FLOAT32, shape(1));
  out->f32[0] = (float)sum;
  return out;
}

// The sum when the weights start again with the first element whose address is a multiple of 16 bytes.
static Array *sum_from_fours(Case *c) {
  const Array *x = given(c, "whole"), *weights = given(c, "weights");
  const int64_t begin = (int64_t)given_number(c, "begin"), n = (int64_t)given_number(c, "n"),
                head = (4 - begin % 4) % 4;
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += (double)x->f32[begin + i] * (double)weights->f32[(i < head ? i : i - head) % 4];
  Array *out = new_array(c, FY_FLOAT32, shape(1));
  out->f32[0] = (float)sum;
  return out;
}

static void suspect_mistakes(Case *c) {
  const int64_t n = (int64_t)given_number(c, "n"), begin = (int64_t)given_number(c, "begin");
  suspect_finding(c, "freed", &FREED);
  suspect_finding(c, "argument", &OF_THE_HOST);
  suspect_finding(c, "misaligned", &MISALIGNED);
  suspect_that(c, counts(c)->launches == 0 && counts(c)->device_to_host == 0 && !has_finding(c, "argument"),
               &NO_KERNEL);
  if (n <= 4) // different mistakes may have the same sum
    return;
  if (n % 4)
    suspect_array(c, "out", sum_of(c, (Sum){.modulus = 4, .rest = n % 4}), &REST);
  suspect_array(c, "out", sum_of(c, (Sum){.modulus = 4, .earlier = true}), &EARLIER);
  suspect_array(c, "out", sum_of(c, (Sum){.modulus = 1}), &ONE_WEIGHT);
  suspect_array(c, "out", sum_of(c, (Sum){.modulus = 4, .shift = begin % 4}), &SHIFTED);
  suspect_array(c, "out", sum_from_fours(c), &SHIFTED);
}

static void judge(Case *c) {
  suspect_mistakes(c);
  if (!expect_array(c, "out", sum_of(c, (Sum){.modulus = 4}), 1e-6) || !expect_by_kernel(c))
    return;
  expect_exactly(c, "bytes of device memory not freed", got_count(c, "bytes kept"), 0, &LEAK);
  expect_no_finding(c);
}

EXERCISE = {
    .id = "32_5_weighted_sum",
    .title = "Find the bug: a weighted sum",
    .after_pass =
        "A pointer in a kernel must be valid on the device, still allocated, and aligned for the type that you load.",
    .kind = "kernel",
    .chapter = 32,
    .level = LEVEL_HARD,
    .minutes = 30,
    .bug = true,
    .lesson = LESSON,
    .hints = {"Run ./ferry inspect work/32_5_weighted_sum.cu. Fix its first finding, and run it again.",
              "For each array: is it in host or device memory? Between which lines is it allocated?",
              "Which addresses can x have? Which alignment does each load in the kernel need?",
              "Copy the weights to the device, free partial after the second launch, and load the elements of x as "
              "single floats."},
    .functions = {"weighted_on_device"},
    .tests = {{.name = "one element", .ask = ask_one, .judge = judge, .inspect = true},
              {.name = "few elements", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "a view", .ask = ask_view, .judge = judge, .inspect = true},
              {.name = "more elements than the grid has threads", .ask = ask_more, .judge = judge, .inspect = true},
              {.name = "a short view", .ask = ask_short, .judge = judge, .inspect = true},
              {.name = "a view in the middle of an array", .ask = ask_inside, .judge = judge, .inspect = true}},
};
