// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <string.h>

enum { MOST_BLOCKS = 80, MOST_RUNS = 4 * MOST_BLOCKS };

// The numbers of the blocks in the order in which they ran.
static int64_t order[MOST_RUNS], run_count;

// x + dropout(tanh(linear(x))). It counts its runs.
typedef struct Watched {
  FyModule base;
  FyTensor *weight, *bias;
  double p;
  int number;
  int64_t *runs;
} Watched;

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  const Watched *w = (const Watched *)self;
  ++*w->runs;
  if (run_count < MOST_RUNS)
    order[run_count++] = w->number;
  return fy_add(x, fy_dropout(fy_tanh(fy_linear(x, w->weight, w->bias)), w->p, true));
}

typedef struct Model {
  int count;
  FyModule *blocks[MOST_BLOCKS];
  int64_t runs[MOST_BLOCKS];
} Model;

static void model_init(Driver *d, Model *m) {
  FyTensor *weights = driver_tensor(d, "weights"), *biases = driver_tensor(d, "biases");
  m->count = (int)fy_size_at(weights, 0);
  for (int i = 0; i < m->count; i++) {
    Watched *w = fy_module_new(Watched, watched_forward);
    fy_register_parameter(w, weight, fy_clone(fy_select(weights, 0, i)));
    fy_register_parameter(w, bias, fy_clone(fy_select(biases, 0, i)));
    w->p = driver_number(d, "p");
    w->number = i;
    w->runs = &m->runs[i];
    m->blocks[i] = &w->base;
    driver_module(m->blocks[i]);
  }
}

// The gradients of the parameters, stacked; the number of those that are missing is reported instead, if there are any.
static void put_gradients(Driver *d, const Model *m, FyTensor *x, const char *prefix) {
  FyTensor *weights[MOST_BLOCKS], *biases[MOST_BLOCKS];
  char name[64];
  int missing = fy_requires_grad(x) && !fy_grad(x);
  for (int i = 0; i < m->count; i++) {
    const Watched *w = (const Watched *)m->blocks[i];
    weights[i] = fy_grad(w->weight);
    biases[i] = fy_grad(w->bias);
    missing += !weights[i] || !biases[i];
  }
  snprintf(name, sizeof name, "%smissing gradients", prefix);
  driver_put_number(d, name, missing);
  if (missing)
    return;
  snprintf(name, sizeof name, "%sgradient of x", prefix);
  if (fy_grad(x))
    driver_put(d, name, fy_grad(x));
  snprintf(name, sizeof name, "%sgradients of the weights", prefix);
  driver_put(d, name, fy_stack((FyTensors){.count = m->count, .items = weights}, 0));
  snprintf(name, sizeof name, "%sgradients of the biases", prefix);
  driver_put(d, name, fy_stack((FyTensors){.count = m->count, .items = biases}, 0));
}

// One block after the other with the same random numbers: the expected gradients with dropout.
static void run_one_by_one(Driver *d, FyTensor *x, FyTensor *gradient) {
  Model m = {0};
  model_init(d, &m);
  fy_manual_seed((uint64_t)driver_number(d, "seed"));
  FyTensor *y = x;
  for (int i = 0; i < m.count; i++)
    y = fy_forward(m.blocks[i], y);
  driver_put(d, "plain result", y);
  fy_backward(y, .gradient = gradient);
  put_gradients(d, &m, x, "plain ");
  fy_set_grad(x, NULL);
}

// The answer runs deep in the stack, where backward does not reach, and its frames are overwritten afterwards with pointers to
// a block that raises an error. So a context on the stack, and the caller's array, are recognized when backward uses them.
enum { DEEP = 1 << 18, BELOW = 1 << 16 };

static FyModule *gone;

static FyTensor *raise_gone(FyModule *self, FyTensor *x) {
  (void)self;
  fy_raise(FY_RUNTIME_ERROR, "the array of blocks was read after forward_in_segments had returned");
  return x;
}

static FyTensor *__attribute__((noinline)) call_deep(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  volatile unsigned char room[DEEP];
  room[0] = 0;
  FyTensor *y = forward_in_segments(blocks, count, segments, x);
  room[DEEP - 1] = room[0];
  return y;
}

static void __attribute__((noinline)) overwrite_the_stack(void) {
  FyModule *volatile words[(DEEP + BELOW) / sizeof(FyModule *)];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    words[i] = gone;
}

// A call with other modules between forward and backward of the first ones. Their numbers start at OTHERS.
enum { OTHERS = 1000 };

static void forward_of_others(Driver *d, FyTensor *x) {
  static Model others;
  model_init(d, &others);
  for (int i = 0; i < others.count; i++)
    ((Watched *)others.blocks[i])->number += OTHERS;
  forward_in_segments(others.blocks, others.count, (int)driver_number(d, "segments"), x);
}

void drive(Driver *d) {
  FyTensor *given = driver_tensor(d, "x"), *gradient = driver_tensor(d, "gradient");
  // Nothing else holds this tensor, so an answer that drops it is found.
  FyTensor *x = fy_set_requires_grad(fy_detach(given), fy_requires_grad(given));
  FyDevice device = fy_device_of(x);
  fy_scope {
    if (driver_number(d, "p") > 0)
      run_one_by_one(d, x, gradient);
  }
  Model m = {0};
  model_init(d, &m);
  FyModule *blocks[MOST_BLOCKS];
  memcpy(blocks, m.blocks, sizeof blocks);
  fy_manual_seed((uint64_t)driver_number(d, "seed"));
  int64_t before = (int64_t)fy_memory_allocated(device);
  fy_reset_peak_memory_stats(device);
  FyTensor *y = call_deep(blocks, m.count, (int)driver_number(d, "segments"), x);
  int64_t held = (int64_t)fy_memory_allocated(device) - before;
  driver_put_array(d, "forward runs", FY_INT64, shape(m.count), m.runs);
  driver_put(d, "result", y);
  if (!y)
    return;
  gone = fy_module_new(FyModule, raise_gone);
  for (int i = 0; i < MOST_BLOCKS; i++)
    blocks[i] = gone;
  if (driver_has(d, "twice"))
    forward_of_others(d, x);
  run_count = 0;
  overwrite_the_stack();
  FyError error;
  fy_trap(error) {
    fy_backward(y, .gradient = gradient);
  }
  driver_put_array(d, "order", FY_INT64, shape(run_count), order);
  driver_put_array(d, "runs", FY_INT64, shape(m.count), m.runs);
  if (error.kind)
    fy_raise_again(&error);
  driver_put_number(d, "held", (double)held);
  driver_put_number(d, "peak", (double)((int64_t)fy_max_memory_allocated(device) - before));
  put_gradients(d, &m, x, "");
}
