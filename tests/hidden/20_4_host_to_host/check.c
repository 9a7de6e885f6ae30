// SPDX-License-Identifier: MIT
// Exercise 20.4: everything from cudaMalloc to cudaFree.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define WHOLE "docs/20_the_first_kernel.md#host-and-device"
#define ERRORS "docs/20_the_first_kernel.md#errors-at-once-and-later"

static const Mistake NOT_FETCHED = {
    "the result was not copied back",
    "y is the host's array. The kernel's result is in the device's memory, until cudaMemcpy with "
    "cudaMemcpyDeviceToHost copies it.",
    WHOLE};
static const Mistake NOT_BROUGHT = {
    "the input was not copied there",
    "cudaMalloc gives memory with nothing in it. x has to be copied to the device first.", WHOLE};
static const Mistake IN_ELEMENTS = {"bytes counted in elements",
                                    "cudaMalloc and cudaMemcpy count bytes: n * sizeof(float) of them, not n.", WHOLE};
static const Mistake KEPT = {"memory not given back", "What cudaMalloc gave, cudaFree takes back, in every call.",
                             WHOLE};
static const Mistake IGNORED = {"an error was ignored",
                                "A call returned an error, as cudaMalloc does where the device has no memory left. "
                                "Look at what each call returns, and at "
                                "cudaGetLastError after the launch, say it in *error, and do not go on.",
                                ERRORS};
static const Mistake NOT_SAID = {"the first error not reported",
                                 "*error has to be what the call returned that failed, and is something else: it was "
                                 "never put there, or what a later call "
                                 "returned, cudaFree for one, took its place.",
                                 ERRORS};
static const Mistake FREE_SAID = {
    "an error of cudaFree reported",
    "*error is that of the copies and the launch. What cudaFree returns is no part of the "
    "result, and often an error of something before: it takes nobody's place.",
    ERRORS};
static const Mistake INVENTED = {"an error where there was none",
                                 "*error is cudaSuccess, 0, where all calls have succeeded.", ERRORS};
static const Mistake ERROR_NOT_WRITTEN = {"*error not written", "*error is 0 where there was no error, also for n = 0.",
                                          ERRORS};
static const Mistake EARLIER = {
    "an earlier error taken for this one's",
    "Somebody's error from before the call was still there, and cudaGetLastError found it. Ask for it once before the "
    "launch, and what is found after it is the launch's.",
    ERRORS};
static const Mistake EMPTY_GRID = {
    "a grid of no blocks", "For n = 0 there is nothing to launch: a grid of 0 blocks is an invalid configuration.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake ROUNDED_DOWN = {
    "blocks rounded down", "n / threads leaves the last, partial block out. Round up: (n + threads - 1) / threads.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake HOST_POINTER = {
    "host memory given to a kernel",
    "x and y are addresses of the host: a kernel can use what cudaMalloc gave, and nothing else.", WHOLE};
static const Mistake TOO_MANY = {"more copies than needed", "x goes to the device once, y comes back once.", WHOLE};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n > 0 ? n : 5), 1, 4), (Give){.device = "cpu"});
  give_number(c, "n", (double)n);
  give_number(c, "a", (double)draw_int(c, 2, 9) + 0.25);
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 3001, 3999));
}
static void ask_after_error(Case *c) {
  ask_odd(c);
  give_number(c, "error before", 101); // cudaErrorInvalidDevice
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 100001, 120001));
}
static void ask_by_one(Case *c) {
  const int64_t n = draw_odd(c, 33, 99);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), 1, 4), (Give){.device = "cpu"});
  give_number(c, "n", (double)n);
  give_number(c, "a", 1);
}
static void ask_none(Case *c) {
  ask(c, 0);
}

static Array *right(Case *c, int64_t count) {
  const Array *x = given(c, "x");
  Array *y = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < y->count; i++)
    y->f32[i] = i < count ? (float)given_number(c, "a") * x->f32[i] : NAN;
  return y;
}

// Nothing of y was written.
static bool untouched(const Case *c) {
  const Array *y = got(c, "y");
  for (int64_t i = 0; y && i < y->count; i++)
    if (!isnan(y->f32[i]))
      return false;
  return y != NULL;
}

// Some elements at the begin are right, the others are as they were, or what new memory holds.
static bool only_a_begin(const Case *c, int64_t *done) {
  const Array *y = got(c, "y"), *x = given(c, "x");
  *done = 0;
  while (y && *done < y->count && y->f32[*done] == (float)given_number(c, "a") * x->f32[*done])
    ++*done;
  return y && *done < y->count;
}

static void suspect_values(Case *c) {
  const int64_t n = (int64_t)given_number(c, "n");
  int64_t done = 0;
  suspect_that(c, n > 0 && got_count(c, "error") == 9, &ROUNDED_DOWN); // to no block at all
  if (n > 0 && counts(c)->host_to_device == 0)
    suspect_error(c, "illegal", &HOST_POINTER);
  suspect_that(c, n > 0 && counts(c)->launches == 0 && got_number(c, "last error") > 0, &HOST_POINTER);
  suspect_that(c, n > 0 && counts(c)->launches == 0 && counts(c)->host_to_device == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->device_to_host == 0 && n > 0 && got_count(c, "error") == 0, &NOT_FETCHED);
  suspect_that(c, counts(c)->host_to_device == 0 && n > 0, &NOT_BROUGHT);
  if (n > 0 && only_a_begin(c, &done)) {
    const int64_t bytes = counts(c)->device_to_host_bytes, there = counts(c)->host_to_device_bytes;
    suspect_that(c, bytes == n || there == n, &IN_ELEMENTS);
    for (int64_t threads = 32; threads <= 1024; threads *= 2)
      suspect_that(c, done == n / threads * threads, &ROUNDED_DOWN);
  }
}

static double given_before(const Case *c) {
  return strcmp(case_test(c), "after somebody else's error") == 0 ? given_number(c, "error before") : -1;
}

static bool judge_call(Case *c) {
  const int64_t n = (int64_t)given_number(c, "n");
  const int64_t error = got_count(c, "error");
  suspect_that(c, n > 0 && error > 0 && error == (int64_t)given_before(c), &EARLIER);
  suspect_values(c);
  suspect_error(c, "illegal", &PAST_THE_END);
  if (n == 0) {
    suspect_that(c, error == 9, &EMPTY_GRID);
    return expect_exactly(c, "*error", error, 0,
                          error == 9    ? &EMPTY_GRID
                          : error == -1 ? &ERROR_NOT_WRITTEN
                                        : &INVENTED) &&
           expect_exactly(c, "launches", counts(c)->launches, 0, &EMPTY_GRID) &&
           expect_that(c, untouched(c), &PAST_THE_END, "y was written, although n is 0");
  }
  if (!expect_array(c, "y", right(c, n), 1e-6))
    return false;
  // y is right: by whom?
  return expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL) &&
         expect_at_least(c, "bytes copied to the device", counts(c)->host_to_device_bytes, n * 4, &COMPUTED_ON_HOST) &&
         expect_at_least(c, "bytes copied to the host", counts(c)->device_to_host_bytes, n * 4, &COMPUTED_ON_HOST) &&
         expect_at_most(c, "bytes copied to the device", counts(c)->host_to_device_bytes, n * 4, &TOO_MANY) &&
         expect_at_most(c, "bytes copied to the host", counts(c)->device_to_host_bytes, n * 4, &TOO_MANY) &&
         expect_exactly(c, "*error", error, 0, error == -1 ? &ERROR_NOT_WRITTEN : &INVENTED);
}

static void judge(Case *c) {
  if (judge_call(c))
    expect_exactly(c, "bytes of the device not given back", got_count(c, "bytes kept"), 0, &KEPT);
}

// A second call, for n elements, shows that an answer for 0 works at all.
static void judge_too_large(Case *c) {
  suspect_error(c, "illegal", &IGNORED);
  suspect_values(c);
  if (got_number(c, "memory taken") == 1 &&
      !expect_exactly(c, "*error where the device has no memory left", got_count(c, "error of too much"), 2,
                      got_count(c, "done after too much") == 0 ? &NOT_SAID : &IGNORED))
    return;
  if (got_number(c, "memory taken") == 1) {
    const int64_t error = got_count(c, "error of half");
    expect_that(c, error == 2 || (error == 0 && got_number(c, "right of half") == 1), &IGNORED,
                "with room on the device for one of the arrays and not for two, *error is %lld%s", (long long)error,
                error ? "" : ", and y is not right");
    if (!expect_exactly(c, "bytes not given back after a call with room for one array of two",
                        got_count(c, "kept of half"), 0, &KEPT))
      return;
  }
  judge(c);
}

// Each of the first three operations failed once: which they are is the answer's to choose.
static void judge_refused(Case *c) {
  const Array *said = got_shaped(c, "errors of what failed", shape(3)),
              *kept = got_shaped(c, "kept after what failed", shape(3)),
              *after = got_shaped(c, "done after what failed", shape(3));
  const bool whole =
      said && kept && after && said->dtype == FY_INT64 && kept->dtype == FY_INT64 && after->dtype == FY_INT64;
  static const int refused = 701, free_said = 101; // cudaErrorLaunchOutOfResources, cudaErrorInvalidDevice
  for (int i = 0; whole && i < 3; i++) {
    static const char *const name[] = {"first", "second", "third"};
    if (after->i64[i] < 0) // there were not so many
      continue;
    const bool ignored = after->i64[i] > 0;
    if (!expect_that(c, said->i64[i] == refused, ignored ? &IGNORED : &NOT_SAID,
                     "the %s copy or launch on the device returned error %d, and *error is %lld", name[i], refused,
                     (long long)said->i64[i]) ||
        !expect_that(c, !ignored, &IGNORED, "the %s copy or launch on the device failed, and %lld more followed",
                     name[i], (long long)after->i64[i]) ||
        !expect_that(c, kept->i64[i] <= 0, &KEPT,
                     "the %s copy or launch on the device failed, and %lld bytes of it were not given back", name[i],
                     (long long)kept->i64[i]))
      return;
  }
  const int64_t good = got_count(c, "error where cudaFree fails"), bad = got_count(c, "error before cudaFree fails");
  if (whole &&
      (!expect_exactly(c, "*error where cudaFree alone returns one", good, 0, good == free_said ? &FREE_SAID : NULL) ||
       !expect_exactly(c, "*error where the first copy returns one, and cudaFree another", bad, refused,
                       bad == free_said ? &FREE_SAID : NULL) ||
       !expect_that(c, got_number(c, "kept where cudaFree fails") <= 0, &KEPT,
                    "bytes were not given back where cudaFree returned an error")))
    return;
  judge(c);
}

static void judge_inspected(Case *c) {
  suspect_finding(c, "leak", &KEPT);
  suspect_finding(c, "bounds", &OUT_OF_BOUNDS);
  suspect_finding(c, "uninitialised", &NOT_BROUGHT);
  if (judge_call(c) && expect_no_finding(c) && case_inspected(c))
    expect_sectors(c, 1.3, NULL);
}

EXERCISE = {
    .id = "20_4_host_to_host",
    .title = "Allocate, copy, launch, copy back",
    .after_pass = "Every call can fail; the error is handed on, and what was allocated is freed all the same.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = WHOLE,
    .hints = {"Six steps: cudaMalloc, cudaMemcpy there, the launch, cudaGetLastError, cudaMemcpy back, cudaFree.",
              "What if cudaMalloc fails? Nothing may be launched or copied then, and *error has to say it.",
              "One function that does the steps and returns at the first error, and one that calls it and frees what "
              "there is: "
              "cudaFree(NULL) does nothing."},
    .functions = {"scale_on_device"},
    .tests = {{.name = "small and odd", .ask = ask_small, .judge = judge},
              {.name = "several blocks, odd", .ask = ask_odd, .judge = judge},
              {.name = "times 1", .ask = ask_by_one, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "no elements", .ask = ask_none, .judge = judge},
              {.name = "too large, then small",
               .ask = ask_small,
               .judge = judge_too_large,
               .schedules = 1,
               .crash = &IGNORED},
              {.name = "after somebody else's error", .ask = ask_after_error, .judge = judge},
              {.name = "one operation fails", .ask = ask_small, .judge = judge_refused, .schedules = 1},
              {.name = "looked at", .inspect = true, .ask = ask_odd, .judge = judge_inspected}},
};
