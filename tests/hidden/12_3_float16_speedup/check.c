// SPDX-License-Identifier: MIT
// Exercise 12.3: two training runs from the same weights, each timed. The clock is the driver's, and its readings are
// drawn from the seed; the weights at each forward pass are computed in plain loops.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LOOP "docs/12_mixed_precision.md#gradient-scaling"
#define WAITS "docs/12_mixed_precision.md#gradient-clipping-and-synchronization"
#define CARE "docs/04_benchmarks.md#warm-up-and-synchronization"
#define EARLY "docs/04_benchmarks.md#timing-without-synchronization"

static const Mistake NO_WARM_UP = {
    "missing warm-up",
    "The first steps allocate memory and create momentum and scale. Run two warm-up steps before you start each clock.",
    CARE};
static const Mistake OTHER_STEPS = {
    "wrong number of steps",
    "Each training run needs 2 warm-up steps, then `steps` steps between its two readings of the clock.", CARE};
static const Mistake READINGS = {"clock read in every step",
                                 "Read the clock twice per training run: before the timed steps and after them. If you "
                                 "measure each step, the host cannot enqueue work ahead.",
                                 CARE};
static const Mistake TOO_EARLY = {"clock stopped before the work was done",
                                  "The steps were enqueued, but not finished in all streams. Call "
                                  "fy_synchronize(device) before you read the clock.",
                                  EARLY};
static const Mistake STILL_PENDING = {
    "clock started with work pending",
    "Earlier work was still running when you started the clock. Call fy_synchronize(device) before you read the clock.",
    EARLY};
static const Mistake NO_AUTOCAST = {
    "no autocast in float16",
    "No forward pass of the mixed run was under autocast in float16. Use fy_autocast with .dtype = FY_FLOAT16.",
    "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"};
static const Mistake ALWAYS = {
    "autocast in both training runs",
    "The first training run must use float32. Turn autocast off there with .enabled = mixed.",
    "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"};
static const Mistake SWAPPED = {"training runs in the wrong order", "Train in float32 first, then in mixed precision.",
                                LOOP};
static const Mistake BACKWARD_INSIDE = {"backward inside the autocast region", "Call fy_backward after the region.",
                                        LOOP};
static const Mistake NO_SCALER = {
    "missing gradient scaler",
    "Nothing checked the gradients in the mixed steps. Use fy_grad_scaler: its step checks them once per step.", LOOP};
static const Mistake WENT_ON = {
    "weights not restored between the training runs",
    "The mixed run started with trained weights. Clone the parameters first, and copy them back before the mixed run.",
    LOOP};
static const Mistake MOMENTUM = {
    "optimizer state reused",
    "An optimizer with momentum keeps state from earlier steps. Create a new optimizer for the mixed run.", LOOP};
static const Mistake RESET = {
    "weights restored after the warm-up",
    "The timed steps must continue from the warm-up steps. Do not restore the weights in between.", LOOP};
static const Mistake STALE = {"gradients not cleared", "Call fy_zero_grad before every backward.",
                              "docs/05_model_moves.md#training-steps"};
static const Mistake LEFT = {"weights not restored at the end", "Copy the given weights back before you return.", LOOP};
static const Mistake FETCHED = {"host synchronization in the timed steps",
                                "Something other than the scaler read a value from the device in the timed steps, so "
                                "the host waited. Read no values there.",
                                WAITS};
static const Mistake ON_THE_CLOCK = {
    "weights restored on the clock",
    "The weights were already restored when you stopped the clock. Only the steps may run between the two readings.",
    CARE};
static const Mistake SECONDS = {"seconds instead of a rate",
                                "Return steps per second: the number of steps divided by the time.", CARE};
static const Mistake WARM_UP_COUNTED = {
    "warm-up steps counted", "The measured time does not include the warm-up steps. Divide only `steps` by it.", CARE};
static const Mistake RATIO = {"speedup inverted", "The speedup is the mixed rate divided by the float32 rate.", CARE};

enum { READING, FORWARD, BACKWARD, COLUMNS = 3, WARM_UP = 2, WEIGHTS = 64 };

static void ask_on(Case *c, const char *device, int64_t steps) {
  int64_t rows = draw_odd(c, 5, 11), in = draw_int(c, 2, 6), out = draw_int(c, 2, 4);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, in), -1, 1), (Give){.device = device});
  give_array(c, "y", draw_array(c, FY_FLOAT32, shape(rows, out), 1, 4), (Give){.device = device});
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1),
             (Give){.device = device, .requires_grad = true});
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){.device = device, .requires_grad = true});
  give_text(c, "device", device);
  give_number(c, "steps", (double)steps);
  Array *clock = new_array(c, FY_FLOAT64, shape(128));
  double now = draw_real(c, 1, 100);
  for (int64_t i = 0; i < clock->count; i++)
    clock->f64[i] = now += draw_real(c, 0.5, 9);
  give_array(c, "clock", clock, (Give){0});
}
static void ask_some(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
}
static void ask_one(Case *c) {
  ask_on(c, "cuda:0", 1);
}
static void ask_most(Case *c) {
  ask_on(c, "cuda:0", 20);
}
static const char EARLIER_GRADIENTS[] = "gradients of an earlier step";

static void ask_left(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
  give_number(c, "left", (double)draw_int(c, 2, 4)); // in every gradient
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 3, 9));
}

static const double NEAR = 1e-2; // float16 has three significant digits, and its rounding errors add up over the steps

// ---- the training in plain loops ---------------------------------------------------------------------------------------------

typedef struct Model {
  double weight[WEIGHTS], bias[8], weight_speed[WEIGHTS], bias_speed[8], weight_grad[WEIGHTS], bias_grad[8];
} Model;

static Model model_of(const Case *c) {
  Model m = {0};
  const Array *weight = given(c, "weight"), *bias = given(c, "bias");
  for (int64_t i = 0; i < weight->count; i++)
    m.weight[i] = weight->f32[i];
  for (int64_t i = 0; i < bias->count; i++)
    m.bias[i] = bias->f32[i];
  return m;
}

static void add_gradients(const Case *c, Model *m) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  int64_t rows = x->shape.size[0], in = x->shape.size[1], out = y->shape.size[1];
  for (int64_t i = 0; i < rows * out; i++) {
    const float *row = x->f32 + i / out * in;
    double error = m->bias[i % out] - y->f32[i];
    for (int64_t k = 0; k < in; k++)
      error += row[k] * m->weight[i % out * in + k];
    m->bias_grad[i % out] += 2 * error / (double)(rows * out);
    for (int64_t k = 0; k < in; k++)
      m->weight_grad[i % out * in + k] += 2 * error * row[k] / (double)(rows * out);
  }
}

static void descend(double *p, double *speed, const double *grad, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    p[i] -= 0.125 * (speed[i] = 0.5 * speed[i] + grad[i]);
}

typedef struct Variant {
  bool goes_on, keeps_momentum, adds, resets;
  double left; // in every gradient at the beginning, and the first step adds to it
} Variant;

static void put_back(const Case *c, Model *m) {
  const Model first = model_of(c);
  memcpy(m->weight, first.weight, sizeof m->weight);
  memcpy(m->bias, first.bias, sizeof m->bias);
}

// One training. Its weights at each forward pass go to the rows of want from `row` on.
static void train(const Case *c, Model *m, Array *want, int64_t row, Variant v) {
  int64_t n = given(c, "weight")->count, outs = given(c, "bias")->count;
  for (int64_t schedule = 0; schedule < want->shape.size[0] / 2; schedule++) {
    if (v.resets && schedule == WARM_UP)
      put_back(c, m);
    for (int64_t i = 0; i < n; i++)
      want->f32[(row + schedule) * n + i] = (float)m->weight[i];
    const bool now = !v.adds && !(v.left > 0 && schedule == 0);
    for (int64_t i = 0; now && i < n; i++)
      m->weight_grad[i] = 0;
    for (int64_t i = 0; now && i < outs; i++)
      m->bias_grad[i] = 0;
    add_gradients(c, m);
    descend(m->weight, m->weight_speed, m->weight_grad, n);
    descend(m->bias, m->bias_speed, m->bias_grad, outs);
  }
}

static Array *weights_of(Case *c, Variant v) {
  const Array *weight = given(c, "weight");
  int64_t schedules = (int64_t)given_number(c, "steps") + WARM_UP;
  Array *want = new_array(c, FY_FLOAT32, shape(2 * schedules, weight->shape.size[0], weight->shape.size[1]));
  Model first = model_of(c), second = model_of(c);
  for (int64_t i = 0; i < WEIGHTS; i++)
    first.weight_grad[i] = first.bias_grad[i % 8] = v.left;
  train(c, &first, want, 0, v);
  if (v.goes_on)
    second = first;
  if (v.goes_on && !v.keeps_momentum)
    for (int64_t i = 0; i < WEIGHTS; i++)
      second.weight_speed[i] = second.bias_speed[i % 8] = 0;
  for (int64_t i = 0; v.keeps_momentum && i < WEIGHTS; i++) {
    second.weight_speed[i] = first.weight_speed[i];
    second.bias_speed[i % 8] = first.bias_speed[i % 8];
  }
  // The scaler divides gradients that are not cleared by the scale, so hardly anything is left of them.
  train(c, &second, want, schedules, (Variant){.resets = v.resets});
  return want;
}

// The largest difference, as expect_array measures it; NAN if an element is NAN.
static double distance(const Array *a, const Array *want) {
  double largest = 0;
  for (int64_t i = 0; i < a->count; i++) {
    const double d = fabs((double)a->f32[i] - want->f32[i]) / fmax(1, fabs((double)want->f32[i]));
    largest = isnan(d) ? NAN : fmax(largest, d);
  }
  return largest;
}

// A mistake that gives other weights.
typedef struct Way {
  Variant variant;
  const Mistake *mistake;
} Way;

// Names the way that is nearest to the weights of the answer: within the tolerance, four times as near as the right weights, and
// twice as near as any way of another mistake. The distance between the ways depends on the inputs, rounding hardly does.
static void suspect_weights(Case *c, const Way *ways, int count) {
  const Array *had = got(c, "weights"), *right = weights_of(c, (Variant){0});
  double apart[8];
  int nearest = 0;
  if (!had || had->dtype != FY_FLOAT32 || had->count != right->count || isnan(distance(had, right)))
    return;
  for (int i = 0; i < count; i++) {
    apart[i] = distance(had, weights_of(c, ways[i].variant));
    nearest = apart[i] < apart[nearest] ? i : nearest;
  }
  bool single = apart[nearest] < NEAR && 4 * apart[nearest] < distance(had, right);
  for (int i = 0; i < count; i++)
    single = single && (ways[i].mistake == ways[nearest].mistake || 2 * apart[nearest] < apart[i]);
  suspect_that(c, single, ways[nearest].mistake);
}

// ---- judging -----------------------------------------------------------------------------------------------------------------

typedef struct Log {
  const int64_t (*row)[COLUMNS];
  int64_t events;
  int64_t readings, at[4]; // the first four
} Log;

// The number of events of a kind in [from, to), or of those that are recorded as true.
static int64_t count_in(const Log *log, int64_t kind, int64_t from, int64_t to, bool noted) {
  int64_t found = 0;
  for (int64_t i = from; i < to; i++)
    found += log->row[i][0] == kind && (!noted || log->row[i][1]);
  return found;
}

static bool log_of(Case *c, Log *log) {
  const Array *events = got(c, "events");
  if (!expect_that(c,
                   events && events->dtype == FY_INT64 && events->shape.rank == 2 && events->shape.size[1] == COLUMNS,
                   NULL, "measure_gain did not return"))
    return false;
  *log = (Log){.row = (const int64_t(*)[COLUMNS])events->i64, .events = events->shape.size[0]};
  for (int64_t i = 0; i < log->events; i++)
    if (log->row[i][0] == READING && log->readings++ < 4)
      log->at[log->readings - 1] = i;
  return true;
}

// Which forward passes ran before a clock and on it, and under which autocast.
static bool judge_passes(Case *c, const Log *log) {
  int64_t steps = (int64_t)given_number(c, "steps");
  int64_t timed[2] = {count_in(log, FORWARD, log->at[0], log->at[1], false),
                      count_in(log, FORWARD, log->at[2], log->at[3], false)};
  int64_t before[2] = {count_in(log, FORWARD, 0, log->at[0], false),
                       count_in(log, FORWARD, log->at[1], log->at[2], false)};
  int64_t half[2] = {count_in(log, FORWARD, 0, log->at[1], true),
                     count_in(log, FORWARD, log->at[1], log->events, true)};
  const Mistake *types = half[0] && !half[1] ? &SWAPPED : half[0] ? &ALWAYS : half[1] ? NULL : &NO_AUTOCAST;
  for (int i = 0; i < 2; i++) {
    const Mistake *why = before[i] == 0 ? &NO_WARM_UP : &OTHER_STEPS;
    if (!expect_exactly(c, i ? "mixed steps before the clock started" : "float32 steps before the clock started",
                        before[i], WARM_UP, why) ||
        !expect_exactly(c, i ? "timed mixed steps" : "timed float32 steps", timed[i], steps, &OTHER_STEPS))
      return false;
  }
  return expect_exactly(c, "forward passes under autocast in the float32 run", half[0], 0, types) &&
         expect_exactly(c, "forward passes under float16 autocast in the mixed run", half[1], steps + WARM_UP, types) &&
         expect_exactly(c, "backward passes inside an autocast region", count_in(log, BACKWARD, 0, log->events, true),
                        0, &BACKWARD_INSIDE);
}

// Copies from the device between two events: one per scaler step, none in float32.
static int64_t copies(const Log *log, int64_t from, int64_t to) {
  return log->row[to][2] - log->row[from][2];
}

static bool judge_clock(Case *c, const Log *log) {
  int64_t steps = (int64_t)given_number(c, "steps"), mixed = copies(log, log->at[2], log->at[3]);
  static const char *const when[4] = {"the clock for float32 was started", "the clock for float32 was stopped",
                                      "the clock for mixed precision was started",
                                      "the clock for mixed precision was stopped"};
  for (int i = 0; i < 4; i++)
    if (!expect_that(c, log->row[log->at[i]][1], i % 2 ? &TOO_EARLY : &STILL_PENDING,
                     "the device still had work when %s", when[i]))
      return false;
  return expect_at_most(c, "copies to the host in the timed float32 steps", copies(log, log->at[0], log->at[1]), 0,
                        &FETCHED) &&
         expect_at_least(c, "copies to the host in the timed mixed steps", mixed, steps,
                         mixed == 0 ? &NO_SCALER : NULL) &&
         expect_at_most(c, "copies to the host in the timed mixed steps", mixed, steps, &FETCHED);
}

// Weights that are restored before the clock stops would be measured as well.
static bool judge_readings(Case *c) {
  const Array *seen = got(c, "weights at the readings"), *first = given(c, "weight");
  for (int i = 1; i < 4; i += 2) {
    const bool put_back = seen && seen->dtype == FY_FLOAT32 && seen->count == 4 * first->count &&
                          memcmp(seen->f32 + i * first->count, first->f32, (size_t)first->count * sizeof(float)) == 0;
    if (!expect_that(c, seen && !put_back, &ON_THE_CLOCK, "%s, the weights were the initial ones",
                     i == 1 ? "when the clock for float32 was stopped"
                            : "when the clock for mixed precision was stopped"))
      return false;
  }
  return true;
}

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-9 * fabs(b);
}

static bool judge_rate(Case *c, int training, const char *name) {
  const Array *clock = given(c, "clock");
  double time = clock->f64[2 * training + 1] - clock->f64[2 * training], steps = given_number(c, "steps");
  double want = steps / time, had = got_number(c, name);
  const Mistake *why = near(had, time) || near(had, time / steps) ? &SECONDS
                       : near(had, (steps + WARM_UP) / time)      ? &WARM_UP_COUNTED
                                                                  : NULL;
  return expect_that(c, near(had, want), why, "%s: expected %.6g steps per second, got %.6g", name, want, had);
}

static void judge(Case *c) {
  Log log;
  if (!log_of(c, &log))
    return;
  Way ways[] = {{{.goes_on = true}, &WENT_ON},
                {{.goes_on = true, .keeps_momentum = true}, &WENT_ON},
                {{.keeps_momentum = true}, &MOMENTUM},
                {{.resets = true}, &RESET},
                {{.adds = true}, &STALE},
                {{0}, &STALE},
                {{0}, &STALE}};
  int count = 5;
  if (strcmp(case_test(c), EARLIER_GRADIENTS) == 0) {
    ways[count++].variant.left = given_number(c, "left");
    ways[count++].variant = (Variant){.left = given_number(c, "left"), .adds = true};
  }
  suspect_weights(c, ways, count);
  if (!expect_exactly(c, "readings of the clock", log.readings, 4, log.readings > 4 ? &READINGS : NULL) ||
      !judge_passes(c, &log) || !expect_array(c, "weights", weights_of(c, (Variant){0}), NEAR) ||
      !judge_clock(c, &log) || !judge_readings(c) || !judge_rate(c, 0, "float32") || !judge_rate(c, 1, "mixed"))
    return;
  double want = got_number(c, "mixed") / got_number(c, "float32"), had = got_number(c, "times as fast");
  if (expect_that(c, near(had, want), near(had, 1 / want) ? &RATIO : NULL, "times as fast: expected %.6g, got %.6g",
                  want, had)) {
    suspect_that(c, true, &LEFT);
    expect_array(c, "weight afterwards", given(c, "weight"), 0);
    expect_array(c, "bias afterwards", given(c, "bias"), 0);
  }
}

EXERCISE = {
    .id = "12_3_float16_speedup",
    .title = "Speedup of mixed precision",
    .after_pass = "A fair benchmark starts from the same weights, warms up first, and reads the clock only when the "
                  "device is idle.",
    .kind = "write",
    .chapter = 12,
    .level = LEVEL_HARD,
    .minutes = 40,
    .lesson = LOOP,
    .stars = {{"backward outside of the autocast region", {&BACKWARD_INSIDE}},
              {"only the scaler makes the host wait in the timed steps", {&FETCHED}}},
    .hints =
        {"Write one function that trains with or without mixed precision and returns steps per second. Call it twice.",
         "With .enabled = mixed, fy_autocast(FY_CUDA, .dtype = FY_FLOAT16, .enabled = mixed) and the scaler do nothing "
         "if mixed is false.",
         "Clone the parameters first. After each training run, copy them back with fy_copy_ inside fy_no_grad.",
         "Call fy_synchronize(device) before each reading of the clock. It waits for all streams of the device."},
    .functions = {"measure_gain"},
    .asked = true,
    .tests = {{.name = "a few steps", .ask = ask_some, .judge = judge},
              {.name = "one step", .ask = ask_one, .judge = judge},
              {.name = "20 steps", .ask = ask_most, .judge = judge},
              {.name = EARLIER_GRADIENTS, .ask = ask_left, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
