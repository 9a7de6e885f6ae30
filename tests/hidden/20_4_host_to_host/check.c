// SPDX-License-Identifier: MIT
// Exercise 20.4: everything from cudaMalloc to cudaFree.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define WHOLE "docs/20_the_first_kernel.md#host-and-device"
#define ERRORS "docs/20_the_first_kernel.md#launch-errors-and-asynchronous-errors"

static const Mistake NOT_FETCHED = {"result not copied back",
                                    "The kernel's result is in device memory. Copy it to y with cudaMemcpy and "
                                    "cudaMemcpyDeviceToHost.",
                                    WHOLE};
static const Mistake NOT_BROUGHT = {"input not copied to the device",
                                    "Memory from cudaMalloc is uninitialized. Copy x to the device first.", WHOLE};
static const Mistake IN_ELEMENTS = {"size in elements instead of bytes",
                                    "cudaMalloc and cudaMemcpy take sizes in bytes: n * sizeof(float), not n.", WHOLE};
static const Mistake KEPT = {"device memory leak",
                             "Free everything that cudaMalloc returned, in every call and even after an error.", WHOLE};
static const Mistake IGNORED = {"unchecked CUDA error",
                                "A call or the launch failed, but the function continued. Check what each call "
                                "returns, and call cudaGetLastError() after the launch.",
                                ERRORS};
static const Mistake NOT_SAID = {"first error not reported",
                                 "*error is not the error of the call that failed. Store the first error, because "
                                 "later calls such as cudaFree may succeed.",
                                 ERRORS};
static const Mistake INVENTED = {"error reported after success", "If all calls succeed, set *error to cudaSuccess.",
                                 ERRORS};
static const Mistake ERROR_NOT_WRITTEN = {"error code not written", "Set *error in every call, even for n = 0.",
                                          ERRORS};
static const Mistake EMPTY_GRID = {"empty grid",
                                   "For n = 0, a grid of 0 blocks is an invalid configuration. Launch nothing.",
                                   "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "n / threads rounds down, so the last elements have no thread. Round up: (n + "
                                     "threads - 1) / threads.",
                                     "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake HOST_POINTER = {
    "host pointer passed to a kernel",
    "x and y are host addresses, which a kernel cannot use. Pass memory from cudaMalloc to the kernel.", WHOLE};
static const Mistake NOT_COPIED = {"data not copied with cudaMemcpy",
                                   "This exercise requires explicit copies. With cudaMemcpy, copy x to memory from "
                                   "cudaMalloc, and copy the result back to y.",
                                   WHOLE};
static const Mistake TOO_MANY = {"redundant copies",
                                 "Copy x to the device once, and copy y back once, with n floats each.", WHOLE};

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
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 100001, 120001));
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

// Only the first elements are right: how many?
static bool only_the_first(const Case *c, int64_t *done) {
  const Array *y = got(c, "y"), *x = given(c, "x");
  *done = 0;
  while (y && *done < y->count && y->f32[*done] == (float)given_number(c, "a") * x->f32[*done])
    ++*done;
  return y && *done < y->count;
}

static void suspect_values(Case *c) {
  const int64_t n = (int64_t)given_number(c, "n");
  int64_t done = 0;
  const int64_t *s = launch_shape(c, 0);
  suspect_sure(c, n > 0 && refused_empty_grid(c), &ROUNDED_DOWN);
  if (n > 0 && counts(c)->host_to_device == 0)
    suspect_error(c, "illegal", &HOST_POINTER);
  suspect_that(c, n > 0 && counts(c)->launches == 0 && got_number(c, "last error") > 0 && !refused_shape(c),
               &HOST_POINTER);
  suspect_that(c, n > 0 && counts(c)->launches == 0 && counts(c)->host_to_device == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->device_to_host == 0 && n > 0 && got_count(c, "error") == 0, &NOT_FETCHED);
  suspect_that(c, counts(c)->host_to_device == 0 && counts(c)->launches > 0, &NOT_BROUGHT);
  if (n > 0 && only_the_first(c, &done)) {
    const int64_t bytes = counts(c)->device_to_host_bytes, there = counts(c)->host_to_device_bytes;
    suspect_that(c, bytes == n || there == n, &IN_ELEMENTS);
    suspect_that(c, s && done > 0 && done == s[0] * s[3], &ROUNDED_DOWN);
  }
}

static bool judge_call(Case *c) {
  const int64_t n = (int64_t)given_number(c, "n"), error = got_count(c, "error");
  const Mistake *wrong_code = error == -1 ? &ERROR_NOT_WRITTEN : &INVENTED;
  suspect_values(c);
  if (n == 0)
    return expect_exactly(c, "*error for n = 0", error, 0, refused_empty_grid(c) ? &EMPTY_GRID : wrong_code) &&
           expect_that(c, untouched(c), NULL, "y was written, although n is 0");
  if (!expect_array(c, "y", right(c, n), 1e-6))
    return false;
  const int64_t there = counts(c)->host_to_device_bytes, back = counts(c)->device_to_host_bytes;
  if (!expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL) ||
      !expect_at_least(c, "bytes copied to the device", there, n * 4, &NOT_COPIED) ||
      !expect_at_least(c, "bytes copied to the host", back, n * 4, &NOT_COPIED) ||
      !expect_exactly(c, "*error", error, 0, wrong_code))
    return false;
  expect_at_most(c, "bytes copied to the device", there, n * 6, &TOO_MANY);
  expect_at_most(c, "bytes copied to the host", back, n * 6, &TOO_MANY);
  return true;
}

static void judge(Case *c) {
  if (judge_call(c))
    expect_exactly(c, "device bytes not freed", got_count(c, "bytes kept"), 0, &KEPT);
}

// A call that needs more memory than there is, one that needs twice as much as there is for one array, and a usual one.
static void judge_too_large(Case *c) {
  suspect_error(c, "illegal", &IGNORED);
  suspect_values(c);
  const int64_t too_much = got_count(c, "error of too much");
  const bool in_chunks = too_much == 0 && got_number(c, "right of too much") == 1; // through a buffer that fits
  if (got_number(c, "memory taken") == 1 && !in_chunks &&
      !expect_exactly(c, "*error when the device has no memory left", too_much, 2,
                      got_count(c, "done after too much") == 0 ? &NOT_SAID : &IGNORED))
    return;
  if (got_number(c, "memory taken") == 1) {
    const int64_t error = got_count(c, "error of half");
    expect_that(c, error == 2 || (error == 0 && got_number(c, "right of half") == 1), &IGNORED,
                "with device memory for only one array, *error is %lld%s", (long long)error,
                error ? "" : ", but y is not correct");
    if (!expect_exactly(c, "bytes not freed after a call with device memory for only one array",
                        got_count(c, "kept of half"), 0, &KEPT))
      return;
  }
  judge(c);
}

// Each of the first three copies and launches failed once.
static void judge_refused(Case *c) {
  const Array *said = got_shaped(c, "errors of what failed", shape(3)),
              *kept = got_shaped(c, "kept after what failed", shape(3)),
              *after = got_shaped(c, "done after what failed", shape(3));
  const bool whole =
      said && kept && after && said->dtype == FY_INT64 && kept->dtype == FY_INT64 && after->dtype == FY_INT64;
  static const int refused = 701; // cudaErrorLaunchOutOfResources
  for (int i = 0; whole && i < 3; i++) {
    static const char *const name[] = {"first", "second", "third"};
    if (after->i64[i] < 0) // there were not so many
      continue;
    const bool ignored = after->i64[i] > 0;
    if (!expect_that(c, said->i64[i] == refused, ignored ? &IGNORED : &NOT_SAID,
                     "the %s copy or launch returned error %d, but *error is %lld", name[i], refused,
                     (long long)said->i64[i]) ||
        !expect_that(c, !ignored, &IGNORED, "the %s copy or launch failed, and %lld more followed", name[i],
                     (long long)after->i64[i]) ||
        !expect_that(c, kept->i64[i] <= 0, &KEPT,
                     "the %s copy or launch failed, and %lld bytes were not freed afterward", name[i],
                     (long long)kept->i64[i]))
      return;
  }
  judge(c);
}

static void judge_inspected(Case *c) {
  suspect_finding(c, "leak", &KEPT);
  suspect_finding(c, "bounds", &OUT_OF_BOUNDS);
  suspect_finding(c, "uninitialized", &NOT_BROUGHT);
  if (judge_call(c))
    expect_no_finding(c);
}

EXERCISE = {
    .id = "20_4_host_to_host",
    .title = "Allocate, copy, launch, copy back",
    .after_pass = "Every CUDA call can fail. Check each one, report the first error, and free the memory in any case.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = WHOLE,
    .stars = {{"n floats are copied in each direction, and no more", {&TOO_MANY}}},
    .hints =
        {"The steps are cudaMalloc, cudaMemcpy to the device, the launch, cudaGetLastError, cudaMemcpy back, "
         "cudaFree.",
         "If a step fails, skip the remaining steps, but free the memory. *error must be the error of the failed step.",
         "Write one function that runs the steps and returns at the first error, and a second one that calls it and "
         "then frees the memory. cudaFree(NULL) does nothing."},
    .functions = {"scale_on_device"},
    .tests = {{.name = "less than a block", .ask = ask_small, .judge = judge},
              {.name = "several blocks, odd", .ask = ask_odd, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "no elements", .ask = ask_none, .judge = judge},
              {.name = "not enough device memory",
               .ask = ask_small,
               .judge = judge_too_large,
               .schedules = 1,
               .crash = &IGNORED},
              {.name = "a copy or the launch fails", .ask = ask_small, .judge = judge_refused, .schedules = 1},
              {.name = "inspected", .inspect = true, .ask = ask_odd, .judge = judge_inspected}},
};
