// SPDX-License-Identifier: MIT
// Exercise 25.3: out = x - mean(x) in one cooperative launch. The elements are odd numbers of quarters: no value is whole, and each order of adding
// up to 900000 of them gives the same sum.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/25_warps.md"
#define GRID LESSON "#grid-groups-and-cooperative-launches"

static const Mistake BETWEEN_BLOCKS = {
    "missing grid barrier",
    "A block reads a value that another block writes in the same launch, and nothing orders the two. Let every block "
    "reach grid.sync() between the write and the read. __syncthreads() is a barrier of one block only.",
    GRID};
static const Mistake ORDINARY = {
    "ordinary launch",
    "grid.sync() works only in a cooperative launch. Use cudaLaunchCooperativeKernel instead of <<<...>>>.", GRID};
static const Mistake TOO_LARGE = {
    "grid too large",
    "All blocks of a cooperative launch must be resident at the same time. Limit their number to the multiprocessors "
    "times cudaOccupancyMaxActiveBlocksPerMultiprocessor, and let each thread loop over several elements.",
    GRID};
static const Mistake MISSED = {
    "divergent grid barrier",
    "Some threads returned before grid.sync(), or skipped it. Every thread of the grid must reach it, also a thread "
    "without an element.",
    GRID};
static const Mistake SEVERAL = {"several launches",
                                "The function launches more than one kernel. Separate the two parts of one kernel "
                                "by grid.sync().",
                                GRID};
static const Mistake OWN_BLOCK = {"only the block's own sum",
                                  "Each block subtracted the mean of its own elements. Add the sums of all blocks "
                                  "after grid.sync().",
                                  GRID};
static const Mistake SUM = {"sum instead of mean", "Divide the sum by n before you subtract it.", GRID};
static const Mistake FIRST_SUMS = {"partial sums left out",
                                   "There may be more partial sums than threads in a block. Let the threads loop over "
                                   "the partial sums of all gridDim.x blocks.",
                                   GRID};
static const Mistake NO_LOOP = {"missing grid-stride loop",
                                "The last elements have no thread, because the grid of a cooperative launch is "
                                "limited. Let each thread loop in steps of the grid's size.",
                                "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake NO_BARRIER = {
    "missing barrier",
    "Threads of a block use shared memory that other threads of the block still read or have not written yet. Put a "
    "__syncthreads() between the accesses, also between two reductions that use the same array.",
    "docs/23_shared_memory.md#shared-memory-and-barriers"};
static const Mistake NOT_ZEROED = {"sum not zeroed",
                                   "scratch is uninitialized. Zero the sum in the kernel, and let every block reach "
                                   "grid.sync() before the first addition to it.",
                                   GRID};
static const Mistake EMPTY_GRID = {"empty grid", "If n is 0, launch nothing: a grid of 0 blocks is invalid.", GRID};
static const Mistake OVERFLOW = {"scratch buffer overflow",
                                 "scratch has 1024 elements. Limit the number of blocks to 1024.", GRID};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "Neighboring lanes access elements that are far apart. Let thread t of the grid "
                                    "begin with element t, and continue in steps of the grid's size.",
                                    "docs/22_global_memory.md#sectors-and-coalescing"};
static const Mistake TRAFFIC = {
    "partial sums read too often",
    "If B blocks each read B partial sums, they load B * B values. Use fewer blocks with more elements per thread, or "
    "let one block add the partial sums, and wait at a second grid.sync().",
    GRID};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask(Case *c, int64_t n) {
  Array *x = draw_steps(c, shape(n), 0, 4, 0.5);
  for (int64_t i = 0; i < n; i++)
    x->f32[i] += 0.25f;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 4097, 5999));
}
static void ask_traffic(Case *c) {
  ask(c, draw_odd(c, 20001, 21999));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
static void ask_less_than_a_warp(Case *c) {
  ask(c, draw_odd(c, 3, 29));
}
static void ask_one(Case *c) {
  ask(c, 1);
}
// More than the threads that fit on the device, and more than 1024 blocks of 256 threads.
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 600001, 699999));
}
static void ask_none_first(Case *c) {
  ask(c, draw_odd(c, 301, 399));
  give_number(c, "none first", 1);
}

// ---- judging ---------------------------------------------------------------------------------------------------------

// x minus a value, which is the sum of the first `of` elements divided by `by`.
static Array *minus(Case *c, int64_t of, double by) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  double sum = 0;
  for (int64_t i = 0; i < of; i++)
    sum += x->f32[i];
  for (int64_t i = 0; i < x->count; i++)
    out->f32[i] = (float)(x->f32[i] - sum / by);
  return out;
}

// The right result up to some element, and what has not been written from there on.
static bool ends_early(const Case *c, const Array *want) {
  const Array *out = got_shaped(c, "out", want->shape);
  int64_t i = 0;
  while (out && i < out->count && !array_is_filling(out, i))
    i++;
  if (!out || i == 0 || i == out->count)
    return false;
  for (; i < out->count; i++)
    if (!array_is_filling(out, i))
      return false;
  return true;
}

// The least and the greatest value that was subtracted. False: some element is a NaN, or was not written.
static bool find_subtracted(const Case *c, const Array *want, double *least, double *greatest) {
  const Array *out = got_shaped(c, "out", want->shape), *x = given(c, "x");
  *least = INFINITY;
  *greatest = -INFINITY;
  for (int64_t i = 0; out && i < out->count; i++) {
    const double value = x->f32[i] - out->f32[i];
    if (isnan(value))
      return false;
    *least = value < *least ? value : *least;
    *greatest = value > *greatest ? value : *greatest;
  }
  return out && out->count > 1024; // more than a block has threads
}

// All blocks have subtracted the same value, which is too small.
static bool subtracts_too_little(const Case *c, const Array *want) {
  double least, greatest;
  return find_subtracted(c, want, &least, &greatest) && greatest - least < 1e-4 && least > 0 &&
         least < given(c, "x")->f32[0] - want->f32[0] - 1e-3;
}

// All blocks have subtracted a mean that comes from a whole number, by less than a fraction of each element too small. With more elements,
// float32 is too coarse to tell.
static bool subtracts_whole_sum(const Case *c, const Array *want) {
  double least, greatest;
  if (want->count > 9999 || !find_subtracted(c, want, &least, &greatest) || greatest - least >= 1e-4)
    return false;
  const double n = (double)want->count, sum = least * n, right = n * (given(c, "x")->f32[0] - (double)want->f32[0]);
  return fabs(sum - round(sum)) < 0.02 && sum < right && right - sum <= 0.75 * n;
}

// Not all blocks have the same sum.
static bool subtracts_several(const Case *c, const Array *want) {
  double least, greatest;
  return find_subtracted(c, want, &least, &greatest) && greatest - least > 1e-3;
}

static bool broken_guard(const Case *c, const char *name) {
  const Array *a = got(c, name);
  return a && a->flags & ARRAY_GUARD_BROKEN;
}

// A launch was refused, although its blocks have no more than 1024 threads.
static bool is_refused(const Case *c) {
  const int64_t *n = refused_shape(c);
  return n && !refused_empty_grid(c) && n[3] >= 1 && n[3] <= 1024 && n[4] == 1 && n[5] == 1;
}

static void suspect_mistakes(Case *c, const Array *want) {
  const int64_t n = want->count;
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_error(c, "too many blocks", &TOO_LARGE);
  suspect_that(c, is_refused(c), &TOO_LARGE);
  suspect_error(c, "a launch that is not cooperative", &ORDINARY);
  suspect_error(c, "divergent grid.sync", &MISSED);
  suspect_finding(c, "divergent", &MISSED);
  suspect_sure(c, broken_guard(c, "scratch"), &OVERFLOW);
  suspect_that(c, counts(c)->launches == 0 && n > 0, &NO_KERNEL);
  suspect_that(c, has_shared_race(c), &NO_BARRIER);
  suspect_that(c, has_finding(c, "race-grid"), &BETWEEN_BLOCKS);
  suspect_finding(c, "uninitialized-global", &NOT_ZEROED);
  suspect_faults(c);
  if (*got_error(c))
    return;
  suspect_array(c, "out", minus(c, n, 1), &SUM);
  suspect_that(c, ends_early(c, want), &NO_LOOP);
  const CaseSchedule schedule = case_schedule(c);
  suspect_that(c, schedule == SCHEDULE_BLOCKS_DOWN || schedule == SCHEDULE_BETWEEN_BLOCKS, &BETWEEN_BLOCKS);
  suspect_that(c, subtracts_several(c, want), &OWN_BLOCK);
  suspect_that(c, subtracts_whole_sum(c, want), &TRUNCATED);
  suspect_that(c, subtracts_too_little(c, want), &FIRST_SUMS);
}

static bool judge_values(Case *c) {
  const Array *want = minus(c, given(c, "x")->count, (double)given(c, "x")->count);
  suspect_mistakes(c, want);
  return expect_array(c, "out", want, 1e-5) && expect_by_kernel(c) &&
         expect_at_most(c, "kernel launches", counts(c)->launches, 1, &SEVERAL) && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_values(c);
}

static void judge_traffic(Case *c) {
  if (judge_values(c) && expect_sectors(c, 1.2, &UNCOALESCED))
    expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, 2.2 * (double)given(c, "x")->count / 8, &TRAFFIC);
}

EXERCISE = {
    .id = "25_3_grid_sum",
    .title = "Grid-wide sum: subtract the mean",
    .after_pass = "One launch did the work of two: the grid barrier separates them, and x may still be in the cache. "
                  "Normalization layers for large inputs are written in this way.",
    .kind = "kernel",
    .chapter = 25,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .lesson = GRID,
    .stars = {{"coalesced: at most 1.2 x the ideal sectors", {&UNCOALESCED}},
              {"with 20,000 elements, all loads together access at most 2.2 x the sectors of x", {&TRAFFIC}}},
    .hints =
        {"The kernel has two parts. In the first, each thread adds elements of x in a grid-stride loop, and each "
         "block writes its sum to scratch[blockIdx.x].",
         "Put grid.sync() between the parts. Every thread must reach it, so no thread may return before it.",
         "In the second part, each block adds all gridDim.x partial sums itself, so that each of its threads knows "
         "the mean. If the same shared array is used again, grid.sync() is also a barrier of the block.",
         "On the host: the number of blocks is at most cudaDevAttrMultiProcessorCount times the result of "
         "cudaOccupancyMaxActiveBlocksPerMultiprocessor, at most 1024, and not more than there is work for. "
         "cudaLaunchCooperativeKernel takes an array with a pointer to each argument."},
    .functions = {"subtract_mean_on_device"},
    .tests =
        {{.name = "odd", .ask = ask_odd, .judge = judge, .may_refuse = true, .inspect = true},
         {.name = "traffic", .ask = ask_traffic, .judge = judge_traffic, .may_refuse = true, .inspect = true},
         {.name = "one block", .ask = ask_small, .judge = judge, .may_refuse = true, .inspect = true},
         {.name = "less than a warp", .ask = ask_less_than_a_warp, .judge = judge, .may_refuse = true, .inspect = true},
         {.name = "more elements than threads", .ask = ask_large, .judge = judge, .may_refuse = true, .schedules = 2},
         {.name = "one element", .ask = ask_one, .judge = judge, .may_refuse = true},
         {.name = "no elements, then some", .ask = ask_none_first, .judge = judge, .may_refuse = true}},
};
