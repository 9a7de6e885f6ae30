// SPDX-License-Identifier: MIT
// What the tests of profiles begin with: a small model to train, and rows of a table by name.
#ifndef TESTS_CORE_PROFILER_PROFILE_H
#define TESTS_CORE_PROFILER_PROFILE_H

#include "../nn/check.h"
#include "base/watch.h"
#include <pthread.h>
#include <time.h>

typedef struct Model {
  FyModule *module;
  FyOptimizer *optimizer;
  FyTensor *x, *target;
} Model;

static inline Model model_on(FyDevice device) {
  Model m = {.module = fy_nn_sequential(fy_nn_linear(13, 7), fy_nn_relu(), fy_nn_linear(7, 3))};
  fy_module_to(m.module, device);
  m.optimizer = fy_sgd(fy_parameters(m.module), 0.1);
  m.x = fy_randn(fy_shape(5, 13), .device = device);
  m.target = fy_randint(0, 3, fy_shape(5), .device = device);
  return m;
}

static inline double train(const Model *m) {
  double value = 0;
  fy_scope {
    fy_zero_grad(m->optimizer);
    FyTensor *loss = fy_cross_entropy(fy_forward(m->module, m->x), m->target);
    fy_backward(loss);
    fy_step(m->optimizer);
    value = fy_item(loss);
  }
  return value;
}

static inline const FyAverage *row_of(const FyKeyAverages *a, const char *key) {
  for (int i = 0; i < a->count; i++)
    if (strcmp(a->rows[i].key, key) == 0)
      return &a->rows[i];
  return NULL;
}

static inline const FyAverage *wanted(const FyKeyAverages *a, const char *key) {
  const FyAverage *row = row_of(a, key);
  if (!row)
    fail_msg("there is no row %s", key);
  return row;
}

static inline void expect_calls(const FyKeyAverages *a, const char *key, int64_t calls) {
  const FyAverage *row = wanted(a, key);
  if (row->count != calls)
    fail_msg("%s has %lld calls, not %lld", key, (long long)row->count, (long long)calls);
}

static inline void expect_near(double value, double expected, double within) {
  if (!(fabs(value - expected) <= within))
    fail_msg("%.9g is not within %g of %.9g", value, within, expected);
}

static inline FyDevice some_device(void) {
  return fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE;
}

// What a thread does within ranges of the name that it is given.
static inline void *work(void *argument) {
  for (int i = 0; i < 20; i++)
    fy_record_function(argument) {
      fy_scope {
        FyTensor *x = fy_ones(fy_shape(17, 17));
        fy_add(x, x);
      }
    }
  return NULL;
}

static inline int scope_open(void **state) {
  *state = (void *)(intptr_t)fy_scope_open();
  return 0;
}

static inline int scope_closed(void **state) {
  fy_scope_close((int)(intptr_t)*state);
  return fy_is_watched();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scope_open, scope_closed)

#endif
