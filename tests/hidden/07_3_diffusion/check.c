// SPDX-License-Identifier: MIT
// Exercise 7.3: a transfer in the loop.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define TRANSFERS "docs/07_pitfalls.md#keep-data-on-the-device"
#define MANY "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"
#define LOOP "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"
#define LIFETIME "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"

static const Mistake ROUND_TRIP = {
    "round trip in the loop",
    "Each step copies the state to the host, and the next step copies it back. Leave the state on the device.",
    TRANSFERS};
static const Mistake MADE_HERE = {
    "computed on the host in the loop",
    "You compute each change on the CPU and copy it to the device. Compute it on the device, where both states are.",
    TRANSFERS};
static const Mistake KEPT = {"values cached from an earlier call",
                             "The second call got the same tensors with different values, but you used the old values. "
                             "Copy the tensors in each call.",
                             TRANSFERS};
static const Mistake LAST_MISSING = {"off-by-one error in the loop",
                                     "changes[steps - 1] was not written. Do one step for each element of changes.",
                                     LOOP};
static const Mistake FIRST_MISSING = {"off-by-one index",
                                      "changes[0] was not written. Store the change of step i in changes[i].", LOOP};
static const Mistake INVARIANT = {
    "loop-invariant copy in the loop",
    "You copy the transition matrix in every step, but it never changes. Copy it once, before the loop.", MANY};
static const Mistake WAITS = {
    "host synchronization in the loop",
    "Each step copies a number to the host, which waits for it. Leave the numbers on the device.", LOOP};
static const Mistake ON_CPU = {
    "computed on the CPU", "The steps did not run on the device. Move state and transition to `device`.", TRANSFERS};
static const Mistake TO_HOST = {"copy to the host",
                                "No copy to the host is necessary. Leave the result on the device as well.", TRANSFERS};
static const Mistake NOT_MOVED = {"tensor left on the CPU",
                                  "Return the result on `device`, even if there are no steps.",
                                  "docs/03_tensor_moves.md#all-operands-on-the-same-device"};
static const Mistake ROW_BY_ROW = {
    "many small transfers",
    "You copy the matrix in parts, and each copy has a fixed cost. Copy the whole matrix with one call.", MANY};
static const Mistake NOT_FILLED = {
    "output tensor not written",
    "changes still has its old values. An assignment to the pointer does not write the tensor: use fy_copy_.", LOOP};
static const Mistake NOT_UPDATED = {"state not updated in the loop",
                                    "Each step must begin with the state from the previous step.", TRANSFERS};
static const Mistake HARD_CODED = {"hard-coded device",
                                   "\"cuda\" means the current CUDA device. Use the argument `device`.",
                                   "docs/03_tensor_moves.md#copying-with-cuda-and-cpu"};
static const Mistake NOTHING = {"missing return value", "Return the last state.", TRANSFERS};
static const Mistake ALL_STAY = {"memory grows with each step",
                                 "Temporary tensors live until the enclosing scope ends. Open an fy_scope in each "
                                 "step, and call fy_keep for the next state.",
                                 LIFETIME};
static const Mistake NEVER_FREED = {"memory leak",
                                    "Tensors from the call are still allocated after the enclosing scope has ended. "
                                    "Call fy_release for each fy_retain. Use fy_keep to return a tensor from a scope.",
                                    LIFETIME};

static void ask_on(Case *c, const char *device, int64_t n, int64_t steps, Give how) {
  give_text(c, "device", device);
  give_number(c, "steps", (double)steps);
  give_array(c, "state", draw_array(c, FY_FLOAT32, shape(n), 1, 4), (Give){.strided = how.strided});
  give_array(c, "transition", draw_array(c, FY_FLOAT32, shape(n, n), -0.5 / (double)n, 2.5 / (double)n), how);
}

static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){0});
}
static void ask_one_step(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), 1, (Give){0});
}
static void ask_no_steps(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), 0, (Give){0});
}
static void ask_gaps(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){.strided = true});
}
static void ask_transposed(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){.transposed = true});
}
static void ask_large(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 131, 149), draw_int(c, 31, 39), (Give){0});
}
static void ask_both(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){0});
  give_text(c, "second device", "cpu");
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){0});
}

typedef struct Right {
  Array *state, *changes;
} Right;

static Right right(Case *c) {
  const Array *t = given(c, "transition");
  int64_t n = t->shape.size[0];
  Right r = {array_cast(c, given(c, "state"), FY_FLOAT64),
             new_array(c, FY_FLOAT32, shape((int64_t)given_number(c, "steps")))};
  double *following = new_array(c, FY_FLOAT64, shape(n))->f64;
  for (int64_t step = 0; step < r.changes->count; step++) {
    double change = 0;
    for (int64_t j = 0; j < n; j++) {
      following[j] = 0;
      for (int64_t i = 0; i < n; i++)
        following[j] += r.state->f64[i] * t->f32[i * n + j];
      change += fabs(following[j] - r.state->f64[j]);
    }
    memcpy(r.state->f64, following, (size_t)n * sizeof(double));
    r.changes->f32[step] = (float)change;
  }
  r.state = array_cast(c, r.state, FY_FLOAT32);
  return r;
}

// The state after one step, whatever the number of steps.
static Array *one_step(Case *c) {
  const Array *s = given(c, "state"), *t = given(c, "transition");
  Array *wrong = new_array(c, FY_FLOAT32, s->shape);
  for (int64_t i = 0; i < s->count; i++)
    for (int64_t j = 0; j < s->count; j++)
      wrong->f32[j] += s->f32[i] * t->f32[i * s->count + j];
  return wrong;
}

// The number of copies to the device that have `bytes` bytes.
static int64_t copies_in_of(const Case *c, int64_t bytes) {
  EventTrace all = event_trace(c);
  int64_t found = 0;
  for (int64_t i = 0; i < all.count; i++)
    found += all.entries[i].kind == TRACE_IN && all.entries[i].bytes == bytes;
  return found;
}

static const Mistake *copies_to_host(const Case *c) {
  const int64_t steps = (int64_t)given_number(c, "steps"), size = (int64_t)sizeof(float);
  if (steps < 2 || counts(c)->device_to_host < steps)
    return &TO_HOST;
  return copies_in_of(c, given(c, "state")->count * size) > 1 ? &ROUND_TRIP
         : copies_in_of(c, size) > 1                          ? &MADE_HERE
                                                              : &WAITS;
}

static const Mistake *copies_to_device(const Case *c) {
  const int64_t n = given(c, "state")->count, size = (int64_t)sizeof(float);
  return copies_in_of(c, n * n * size) > 1 ? &INVARIANT : copies_in_of(c, n * size) >= n ? &ROW_BY_ROW : NULL;
}

static void suspect_all(Case *c) {
  const Array *changes = got(c, "changes");
  suspect_sure(c, !*got_error(c) && !got(c, "result"), &NOTHING);
  int64_t untouched = 0;
  for (int64_t i = 0; changes && changes->dtype == FY_FLOAT32 && i < changes->count; i++)
    untouched += changes->f32[i] == -1;
  suspect_that(c, untouched > 0 && untouched == changes->count, &NOT_FILLED);
  suspect_that(c, untouched == 1 && changes->f32[changes->count - 1] == -1, &LAST_MISSING);
  suspect_that(c, untouched == 1 && changes->count > 1 && changes->f32[0] == -1, &FIRST_MISSING);
  if (given_number(c, "steps") > 1)
    suspect_array(c, "result", one_step(c), &NOT_UPDATED);
}

enum { COPIES_IN = 4 };

static Right judge_first(Case *c) {
  Right r = right(c);
  const Counts *n = counts(c);
  const char *device = given_text(c, "device");
  suspect_all(c);
  if (!expect_array(c, "result", r.state, 1e-4) || !expect_array(c, "changes", r.changes, 1e-4))
    return r;
  if (!expect_at_least(c, "kernel launches", n->launches, r.changes->count, &ON_CPU))
    return r;
  const bool on_cpu = strcmp(got_device(c, "result"), "cpu") == 0;
  if (!expect_device(c, "result", device, !on_cpu ? &HARD_CODED : n->device_to_host ? copies_to_host(c) : &NOT_MOVED))
    return r;
  expect_exactly(c, "copies from device to host", n->device_to_host, 0, copies_to_host(c));
  expect_at_most(c, "copies from host to device", n->host_to_device, COPIES_IN, copies_to_device(c));
  if (r.changes->count > 0) // of the matrix of zeros that the call before had
    suspect_array(c, "result for changed values", new_array(c, FY_FLOAT32, r.state->shape), &KEPT);
  if (expect_array(c, "result for changed values", r.state, 1e-4))
    expect_that(c, got_number(c, "left behind") <= 0, &NEVER_FREED,
                "%g bytes from the call are still allocated after the enclosing scope has ended",
                got_number(c, "left behind"));
  return r;
}

static void judge(Case *c) {
  judge_first(c);
}

// A step's tensors, three vectors and a scalar, need about 3.5 KiB here.
static void judge_memory(Case *c) {
  Right r = judge_first(c);
  int64_t transition = given(c, "transition")->count * (int64_t)sizeof(float);
  expect_at_most(c, "bytes of device memory", counts(c)->cuda_peak_bytes, 2048 * r.changes->count + 16384 + transition,
                 &ALL_STAY);
}

static void judge_both(Case *c) {
  Right r = judge_first(c);
  suspect_that(c, strstr(got_error(c), "same device") && got(c, "result"), &HARD_CODED); // in the second call
  if (expect_array(c, "second result", r.state, 1e-4) && expect_array(c, "second changes", r.changes, 1e-4))
    expect_device(c, "second result", "cpu", &HARD_CODED);
}

EXERCISE = {
    .id = "07_3_diffusion",
    .title = "Find the bug: diffusion on a network",
    .after_pass = "Keep data on the device between operations: a round trip costs two copies and a wait.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .essential = true,
    .bug = true,
    .lesson = TRANSFERS,
    .stars = {{"each step frees its temporary tensors", {&ALL_STAY}}},
    .hints = {"Go through the loop line by line. On which device are the operands and the result of each line?",
              "Which tensor is the same in all steps? Which one does the next step need on the device?",
              "Move state and transition before the loop. fy_item copies a number to the host: use "
              "fy_copy_(fy_select(changes, 0, i), ...) instead."},
    .functions = {"spread"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "one step", .ask = ask_one_step, .judge = judge},
              {.name = "no steps", .ask = ask_no_steps, .judge = judge},
              {.name = "strided views", .ask = ask_gaps, .judge = judge},
              {.name = "a transposed view", .ask = ask_transposed, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge_memory},
              {.name = "a GPU, then the CPU", .ask = ask_both, .judge = judge_both},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
