// SPDX-License-Identifier: MIT
// Exercise 20.2: a grid-stride loop, under launch shapes that the learner does not choose.
#include "exercise.h"

#define LESSON "docs/20_the_first_kernel.md"

static const Mistake ONE_PASS = {"missing grid-stride loop",
                                 "Each thread computed one element, so the elements beyond the grid are unchanged. "
                                 "Replace the if with a loop whose step is the number of threads in the grid.",
                                 LESSON "#five-versions-of-saxpy"};
static const Mistake BLOCK_STRIDE = {
    "block stride instead of grid stride",
    "With a step of blockDim.x, several blocks compute the same elements. Use a step of gridDim.x * blockDim.x.",
    LESSON "#five-versions-of-saxpy"};
static const Mistake BLOCK_INDEX = {"block index missing",
                                    "threadIdx.x starts again at 0 in every block, so all blocks compute the same "
                                    "elements. Start at blockIdx.x * blockDim.x + threadIdx.x.",
                                    LESSON "#grid-block-guard"};
static const Mistake CHUNKS = {"contiguous chunk per thread",
                               "Each thread computes neighboring elements, so the threads of a warp access memory far "
                               "apart. Let thread t take the elements t, t + T, t + 2 T, ...",
                               "docs/22_global_memory.md#strided-access"};
static const Mistake OWN_SHAPE = {"launch configuration ignored",
                                  "Launch `blocks` blocks of `threads` threads. If the grid is smaller than n, the "
                                  "loop in the kernel computes the other elements.",
                                  LESSON "#five-versions-of-saxpy"};
static const Mistake LAUNCHES = {"several launches",
                                 "The host launched the kernel more than once. One launch is enough if the kernel has "
                                 "the loop.",
                                 LESSON "#five-versions-of-saxpy"};
static const Mistake REMAINDER = {"remainder left out",
                                  "n divided by the number of threads is rounded down, so the last elements are "
                                  "unchanged. Loop while the index is less than n.",
                                  LESSON "#five-versions-of-saxpy"};
static const Mistake EXCHANGED = {"grid and block size swapped",
                                  "In kernel<<<blocks, threads>>>, the number of blocks comes first.",
                                  LESSON "#host-and-device"};
static const Mistake WHOLE_NUMBERS = {
    "float truncated to int",
    "a and b are floats, but your code converts one of them to an int, so its fraction is lost.",
    LESSON "#five-versions-of-saxpy"};
static const Mistake INDEX_FOR_THREAD = {"element index instead of thread index",
                                         "who[i] is the index of the thread that computed element i. It is the same in "
                                         "all iterations of a thread's loop.",
                                         LESSON "#five-versions-of-saxpy"};
static const Mistake LOCAL_NUMBER = {"thread index local to the block",
                                     "who[i] is the thread's index in the grid: blockIdx.x * blockDim.x + threadIdx.x.",
                                     LESSON "#grid-block-guard"};
static const Mistake TWICE = {
    "element computed twice",
    "Some elements were updated twice, by two threads or by the same thread. Check where the loop starts and its step.",
    LESSON "#grid-block-guard"};

static void ask(Case *c, int64_t n, int64_t blocks, int64_t threads) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), -4, 4), (Give){.device = "cuda:0"});
  give_number(c, "a", (double)draw_odd(c, 9, 17) / 4);
  give_number(c, "b", (double)draw_odd(c, 21, 37) / 4);
  give_number(c, "blocks", (double)blocks);
  give_number(c, "threads", (double)threads);
}
static void ask_small_grid(Case *c) {
  ask(c, draw_odd(c, 1025, 1999), draw_int(c, 3, 5), 64);
}
static void ask_large_grid(Case *c) {
  ask(c, 4 * draw_odd(c, 75, 99), 7, 96);
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
  const int64_t n = given(c, "x")->count;
  return n < grid_of(c) || i < n / grid_of(c) * grid_of(c);
}
static int64_t by_each_block_before(const Case *c, int64_t i) {
  int64_t blocks = (int64_t)given_number(c, "blocks"), own = i / (int64_t)given_number(c, "threads");
  return own < blocks ? own + 1 : blocks;
}
static int64_t same_in_every_block(const Case *c, int64_t i) {
  return i % grid_of(c) < (int64_t)given_number(c, "threads") ? (int64_t)given_number(c, "blocks") : 0;
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

// Is who[i] = i / chunk, where a chunk is n / threads, rounded up or down?
static bool in_chunks(const Case *c) {
  const Array *who = got(c, "who");
  if (!who || grid_of(c) < 2 || grid_of(c) >= who->count)
    return false;
  const int64_t up = (who->count + grid_of(c) - 1) / grid_of(c), down = who->count / grid_of(c);
  bool is_up = true, is_down = true;
  for (int64_t i = 0; i < who->count; i++) {
    is_up &= who->i32[i] == i / up;
    is_down &= who->i32[i] == i / down || i / down >= grid_of(c);
  }
  return is_up || is_down;
}

static bool is_shape(const int64_t *s, int64_t blocks, int64_t threads) {
  return s && s[0] == blocks && s[1] * s[2] == 1 && s[3] == threads && s[4] * s[5] == 1;
}

// As given, or with fewer blocks that have a thread for each element.
static bool has_given_shape(const Case *c) {
  const int64_t *s = launch_shape(c, 0), n = given(c, "x")->count;
  const int64_t blocks = (int64_t)given_number(c, "blocks"), threads = (int64_t)given_number(c, "threads");
  return !s || is_shape(s, blocks, threads) || (s[0] < blocks && s[0] * threads >= n && is_shape(s, s[0], threads));
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
  suspect_sure(c, exchanged(c), &EXCHANGED);
  suspect_faults(c);
  suspect_that(c, n > 0 && counts(c)->launches == 0 && !*got_error(c), &NO_KERNEL);
  suspect_sure(c, counts(c)->launches > 1, &LAUNCHES);
  suspect_loop(c, first_pass, &ONE_PASS);
  suspect_loop(c, whole_passes, &REMAINDER);
  suspect_loop(c, by_each_block_before, &BLOCK_STRIDE);
  suspect_loop(c, same_in_every_block, &BLOCK_INDEX);
  suspect_loop(c, all_in_every_block, &BLOCK_INDEX);
  suspect_array(c, "x", in_whole_numbers(c, true, true), &WHOLE_NUMBERS);
  suspect_array(c, "x", in_whole_numbers(c, true, false), &WHOLE_NUMBERS);
  suspect_array(c, "x", in_whole_numbers(c, false, true), &WHOLE_NUMBERS);
  suspect_that(c, some_twice(c), &TWICE);
  suspect_sure(c, counts(c)->launches == 1 && !has_given_shape(c), &OWN_SHAPE);
  suspect_that(c, untouched(got(c, "who")), &NOT_WRITTEN);
  suspect_that(c, grid_of(c) < n && who_is(c, n), &INDEX_FOR_THREAD);
  suspect_that(c, who_is(c, (int64_t)given_number(c, "threads")), &LOCAL_NUMBER);
  suspect_that(c, in_chunks(c), &CHUNKS);
}

static void judge(Case *c) {
  int64_t n = given(c, "x")->count;
  Array *want = new_array(c, FY_INT32, shape(n));
  for (int64_t i = 0; i < n; i++)
    want->i32[i] = (int32_t)(i % grid_of(c));
  suspect_mistakes(c, n);
  if (!expect_array(c, "x", after(c, once), 1e-6) || !expect_by_kernel(c) ||
      !expect_at_most(c, "launches", counts(c)->launches, 1, &LAUNCHES))
    return;
  const int64_t *s = launch_shape(c, 0);
  if (!expect_that(c, has_given_shape(c), exchanged(c) ? &EXCHANGED : &OWN_SHAPE,
                   "the launch: expected %.0f blocks of %.0f threads, got %lld blocks of %lld",
                   given_number(c, "blocks"), given_number(c, "threads"), s ? (long long)(s[0] * s[1] * s[2]) : 0,
                   s ? (long long)(s[3] * s[4] * s[5]) : 0))
    return;
  expect_array(c, "who", want, 0);
}

EXERCISE = {
    .id = "20_2_grid_stride_loop",
    .title = "Grid-stride loop",
    .after_pass = "A grid-stride loop works for any number of blocks and threads.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = "docs/20_the_first_kernel.md#five-versions-of-saxpy",
    .hints = {"After a thread has computed one element, it continues with another one. How far away must that be, so "
              "that no two threads compute the same element?",
              "The step is the number of threads in the grid, gridDim.x * blockDim.x. The loop starts at the thread's "
              "index in the grid.",
              "Write for (int i = thread; i < n; i += stride). The loop's condition is also the bounds check."},
    .functions = {"affine_on_device"},
    .tests = {{.name = "one block", .ask = ask_one_block, .judge = judge},
              {.name = "fewer threads than elements", .ask = ask_small_grid, .judge = judge},
              {.name = "more threads than elements", .ask = ask_large_grid, .judge = judge},
              {.name = "one thread", .ask = ask_one_thread, .judge = judge},
              {.name = "odd number of threads", .ask = ask_odd_threads, .judge = judge},
              {.name = "four whole passes", .ask = ask_whole_passes, .judge = judge},
              {.name = "many passes", .ask = ask_many, .judge = judge},
              {.name = "no elements, then some", .ask = ask_none_first, .judge = judge}},
};
