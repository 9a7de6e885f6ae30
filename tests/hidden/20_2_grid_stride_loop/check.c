// SPDX-License-Identifier: MIT
// Exercise 20.2: a grid-stride loop, under launch shapes that the learner does not choose.
#include "exercise.h"
#include <string.h>

static const Mistake ONE_PASS = {"only the first pass",
                                 "Each thread did one element, so the elements beyond the grid were left. Turn the if "
                                 "into a loop that goes on by the "
                                 "number of threads in the grid.",
                                 "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake BLOCK_STRIDE = {
    "stride of one block",
    "With a step of blockDim.x every block walks over what the next block does as well. The step is the whole grid: "
    "gridDim.x * blockDim.x.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake BLOCK_INDEX = {"index local to the block",
                                    "threadIdx.x begins at 0 again in every block, so all blocks did the same "
                                    "elements. A thread's number in the grid is "
                                    "blockIdx.x * blockDim.x + threadIdx.x.",
                                    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake PIECES = {
    "a piece of its own for each thread",
    "Each thread walked through a run of neighbours. Then the threads of a warp are far apart at every step, and each "
    "needs a memory transaction of its own; let neighbouring threads take neighbouring elements.",
    "docs/22_global_memory.md#a-ladder-of-strides"};
static const Mistake OWN_SHAPE = {"another launch shape",
                                  "The launch has to have the blocks and threads that were given. A loop in the kernel "
                                  "makes up for a grid that is too "
                                  "small.",
                                  "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake SCHEDULE_BY_PASS = {
    "a launch per pass",
    "The host launched the kernel again for every part of the work. One launch does "
    "all of it when the kernel has the loop.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake WHOLE_PASSES = {
    "the last, partial pass left out",
    "n divided by the number of threads is rounded down, so the rest of n elements was left. Compare the index with n.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};

static const Mistake EXCHANGED = {"blocks and threads exchanged",
                                  "kernel<<<blocks, threads>>>: the number of blocks comes first.",
                                  "docs/20_the_first_kernel.md#host-and-device"};
static const Mistake WHOLE_NUMBERS = {
    "factors rounded to whole numbers",
    "a and b are floats, and somewhere an int took their place: what is behind the point was lost.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake INDEX_FOR_THREAD = {
    "the index in place of the thread's number",
    "who[i] is the number of the thread that did element i: it stays the same in all turns of that thread's loop.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake LOCAL_NUMBER = {
    "the number within the block",
    "Threads are numbered through the whole grid: the threads of all blocks before count, too.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake SIXTEEN_BITS = {
    "the thread's number in 16 bits",
    "A grid may have more than 65536 threads, and a short holds no more numbers: threads met at the same elements, and "
    "nobody did those behind. An int holds the number.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake TWICE = {
    "elements done twice",
    "Each element is one thread's, and is done once. Somewhere two threads met at one, or a thread "
    "came by twice.",
    "docs/20_the_first_kernel.md#grid-block-guard"};

static void ask_factors(Case *c, int64_t n, int64_t blocks, int64_t threads, double a, double b) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), -4, 4), (Give){.device = "cuda:0"});
  give_number(c, "a", a);
  give_number(c, "b", b);
  give_number(c, "blocks", (double)blocks);
  give_number(c, "threads", (double)threads);
}
static void ask(Case *c, int64_t n, int64_t blocks, int64_t threads) {
  const double a = (double)draw_odd(c, 9, 17) / 4;
  ask_factors(c, n, blocks, threads, a, (double)draw_odd(c, 21, 37) / 4);
}
static void ask_small_grid(Case *c) {
  ask(c, draw_odd(c, 1025, 1999), draw_int(c, 3, 5), 64);
}
static void ask_large_grid(Case *c) {
  ask(c, 4 * draw_odd(c, 75, 99), 7, 96);
}
// x stays what it is, and who is to be written all the same.
static void ask_nothing_changes(Case *c) {
  ask_factors(c, draw_odd(c, 1025, 1999), draw_int(c, 3, 5), 64, 1, 0);
}
static void ask_one_block(Case *c) {
  ask(c, draw_odd(c, 501, 599), 1, 32 * draw_int(c, 1, 4));
}
static void ask_one_thread(Case *c) {
  ask(c, draw_odd(c, 33, 99), 1, 1);
}
static void ask_odd_threads(Case *c) {
  ask(c, draw_odd(c, 1025, 1999), draw_odd(c, 3, 7), draw_odd(c, 33, 99));
}
static void ask_whole_passes(Case *c) {
  ask(c, 4 * 3 * 128, 3, 128);
}
static void ask_many(Case *c) {
  ask(c, draw_odd(c, 50001, 60001), 13, 256);
}
// More threads than 16 bits have numbers for.
static void ask_very_large_grid(Case *c) {
  ask(c, draw_odd(c, 70001, 75999), 300, 256);
}
// So many passes that pieces lie sectors apart, and every request is whole.
static void ask_inspected(Case *c) {
  ask(c, 16 * 192, 3, 64);
}
static void ask_none_first(Case *c) {
  ask(c, draw_odd(c, 101, 199), 2, 32);
  give_number(c, "none first", 1);
}

static int64_t grid_of(const Case *c) {
  return (int64_t)(given_number(c, "blocks") * given_number(c, "threads"));
}

// How often a wrong loop treats element i.
typedef int64_t Times(const Case *c, int64_t i);

static int64_t once(const Case *c, int64_t i) {
  (void)c;
  (void)i;
  return 1;
}
static int64_t first_pass(const Case *c, int64_t i) {
  return i < grid_of(c);
}
static int64_t whole_passes(const Case *c, int64_t i) {
  return i < given(c, "x")->count / grid_of(c) * grid_of(c);
}
static int64_t by_each_block_before(const Case *c, int64_t i) {
  int64_t blocks = (int64_t)given_number(c, "blocks"), own = i / (int64_t)given_number(c, "threads");
  return own < blocks ? own + 1 : blocks;
}
static int64_t same_in_every_block(const Case *c, int64_t i) {
  return i % grid_of(c) < (int64_t)given_number(c, "threads") ? (int64_t)given_number(c, "blocks") : 0;
}
static int64_t by_sixteen_bits(const Case *c, int64_t i) {
  const int64_t first = i % grid_of(c); // the thread of that number, and those that take theirs for the same
  return first < 65536 ? 1 + (grid_of(c) - 1 - first) / 65536 : 0;
}
static int64_t all_in_every_block(const Case *c, int64_t i) {
  (void)i;
  return (int64_t)given_number(c, "blocks");
}

static Array *after(Case *c, Times *times) {
  Array *x = array_cast(c, given(c, "x"), FY_FLOAT32);
  float a = (float)given_number(c, "a"), b = (float)given_number(c, "b");
  for (int64_t i = 0; i < x->count; i++)
    for (int64_t k = times(c, i); k > 0; k--)
      x->f32[i] = a * x->f32[i] + b;
  return x;
}

// Names the mistake only where it shows: with a grid of n threads one pass is enough.
static void suspect_loop(Case *c, Times *times, const Mistake *mistake) {
  const Array *wrong = after(c, times), *right = after(c, once);
  for (int64_t i = 0; i < right->count; i++)
    if (wrong->f32[i] != right->f32[i]) {
      suspect_array(c, "x", wrong, mistake);
      return;
    }
}

static bool untouched(const Array *who) {
  int64_t left = 0;
  for (int64_t i = 0; who && i < who->count; i++)
    left += who->i32[i] == -1; // the filling of fresh memory
  return left > 0;
}

// Is who[i] = i / piece for some piece? Whatever the rounding, neighbours share a thread and numbers only grow.
static bool in_pieces(const Case *c) {
  const Array *who = got(c, "who");
  int64_t same = 0;
  for (int64_t i = 1; who && i < who->count; i++) {
    if (who->i32[i] < who->i32[i - 1])
      return false;
    same += who->i32[i] == who->i32[i - 1];
  }
  return who && grid_of(c) > 1 && grid_of(c) < who->count && 2 * same >= who->count - 1;
}

static bool is_shape(const int64_t *s, int64_t blocks, int64_t threads) {
  return s && s[0] == blocks && s[1] * s[2] == 1 && s[3] == threads && s[4] * s[5] == 1;
}

static bool has_given_shape(const Case *c) {
  const int64_t *s = launch_shape(c, 0);
  return !s || is_shape(s, (int64_t)given_number(c, "blocks"), (int64_t)given_number(c, "threads"));
}

static bool exchanged(const Case *c) {
  int64_t blocks = (int64_t)given_number(c, "blocks"), threads = (int64_t)given_number(c, "threads");
  return blocks != threads &&
         (is_shape(launch_shape(c, 0), threads, blocks) || is_shape(refused_shape(c), threads, blocks));
}

// Is who[i] = i modulo `period`, somewhere not what is wanted?
static bool who_is(const Case *c, int64_t period) {
  const Array *who = got(c, "who");
  bool differs = false;
  for (int64_t i = 0; who && i < who->count; i++) {
    if (who->i32[i] != i % period)
      return false;
    differs = differs || i % period != i % grid_of(c);
  }
  return who && differs;
}

static Array *in_whole_numbers(Case *c, bool of_a, bool of_b) {
  Array *x = array_cast(c, given(c, "x"), FY_FLOAT32);
  float a = (float)given_number(c, "a"), b = (float)given_number(c, "b");
  for (int64_t i = 0; i < x->count; i++)
    x->f32[i] = (of_a ? (float)(int)a : a) * x->f32[i] + (of_b ? (float)(int)b : b);
  return x;
}

// Some elements were treated more than once, all others once.
static bool some_twice(Case *c) {
  const Array *x = got(c, "x"), *right = after(c, once);
  float a = (float)given_number(c, "a"), b = (float)given_number(c, "b");
  int64_t twice = 0;
  for (int64_t i = 0; x && i < x->count; i++) {
    if (x->f32[i] == right->f32[i])
      continue;
    if (x->f32[i] != a * right->f32[i] + b)
      return false;
    twice++;
  }
  return x && twice > 0;
}

static void suspect_mistakes(Case *c, int64_t n) {
  suspect_that(c, exchanged(c), &EXCHANGED);
  suspect_faults(c);
  suspect_that(c, refused_shape(c) != NULL, &OWN_SHAPE);
  suspect_that(c, n > 0 && counts(c)->launches == 0 && !*got_error(c), &NO_KERNEL);
  suspect_that(c, counts(c)->launches > 1, &SCHEDULE_BY_PASS);
  suspect_loop(c, first_pass, &ONE_PASS);
  suspect_loop(c, whole_passes, &WHOLE_PASSES);
  suspect_loop(c, by_sixteen_bits, &SIXTEEN_BITS);
  suspect_loop(c, by_each_block_before, &BLOCK_STRIDE);
  suspect_loop(c, same_in_every_block, &BLOCK_INDEX);
  suspect_loop(c, all_in_every_block, &BLOCK_INDEX);
  suspect_array(c, "x", in_whole_numbers(c, true, true), &WHOLE_NUMBERS);
  suspect_array(c, "x", in_whole_numbers(c, true, false), &WHOLE_NUMBERS);
  suspect_array(c, "x", in_whole_numbers(c, false, true), &WHOLE_NUMBERS);
  // What a call for no elements did to the first ones lies past its end.
  suspect_that(c, some_twice(c), strcmp(case_test(c), "no elements, then some") == 0 ? &PAST_THE_END : &TWICE);
  suspect_that(c, !has_given_shape(c), &OWN_SHAPE);
  suspect_that(c, untouched(got(c, "who")), &NOT_WRITTEN);
  suspect_that(c, grid_of(c) < n && who_is(c, n), &INDEX_FOR_THREAD);
  suspect_that(c, who_is(c, (int64_t)given_number(c, "threads")), &LOCAL_NUMBER);
  suspect_that(c, in_pieces(c), &PIECES);
}

static void judge(Case *c) {
  int64_t n = given(c, "x")->count;
  Array *want = new_array(c, FY_INT32, shape(n));
  for (int64_t i = 0; i < n; i++)
    want->i32[i] = (int32_t)(i % grid_of(c));
  suspect_mistakes(c, n);
  if (!expect_array(c, "x", after(c, once), 1e-6) || !expect_by_kernel(c) ||
      !expect_at_most(c, "launches", counts(c)->launches, 1, &SCHEDULE_BY_PASS))
    return;
  const int64_t *s = launch_shape(c, 0);
  if (!expect_that(c, has_given_shape(c), exchanged(c) ? &EXCHANGED : &OWN_SHAPE,
                   "the launch: expected %.0f blocks of %.0f threads, got %lld blocks of %lld",
                   given_number(c, "blocks"), given_number(c, "threads"), s ? (long long)(s[0] * s[1] * s[2]) : 0,
                   s ? (long long)(s[3] * s[4] * s[5]) : 0))
    return;
  expect_array(c, "who", want, 0);
}

// Whatever the kernel writes as `who`: neighbouring lanes that access memory far apart do not have neighbouring elements.
static void judge_inspected(Case *c) {
  judge(c);
  expect_sectors(c, 1.5, &PIECES);
}

EXERCISE = {
    .id = "20_2_grid_stride_loop",
    .title = "Grid-stride loop",
    .after_pass = "With a stride of the whole grid, a grid of any size does all elements.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = "docs/20_the_first_kernel.md#five-versions-of-saxpy",
    .hints = {"A thread that has done one element goes on to another. To which, so that no two threads meet?",
              "The grid has gridDim.x * blockDim.x threads. That is the step; the thread's number is where it begins.",
              "for (int i = thread; i < n; i += stride): the condition is the guard, too."},
    .functions = {"affine_on_device"},
    .tests = {{.name = "a grid smaller than the work", .ask = ask_small_grid, .judge = judge},
              {.name = "a grid larger than the work", .ask = ask_large_grid, .judge = judge},
              {.name = "a = 1 and b = 0", .ask = ask_nothing_changes, .judge = judge},
              {.name = "one block", .ask = ask_one_block, .judge = judge},
              {.name = "one thread", .ask = ask_one_thread, .judge = judge},
              {.name = "an odd number of threads", .ask = ask_odd_threads, .judge = judge},
              {.name = "four whole passes", .ask = ask_whole_passes, .judge = judge},
              {.name = "many passes", .ask = ask_many, .judge = judge},
              {.name = "more threads than 65536", .ask = ask_very_large_grid, .judge = judge, .schedules = 1},
              {.name = "what its warps ask for", .ask = ask_inspected, .judge = judge_inspected, .inspect = true},
              {.name = "no elements, then some", .ask = ask_none_first, .judge = judge}},
};
