// SPDX-License-Identifier: MIT
// Modules whose forward and backward are CUDA graphs: trained, they end with the bits of the same modules run call by call.
//
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
#include "core/device/expect.h"
#include "ferry.h"
#include <stdlib.h>

enum { STEPS = 10, BATCH = 6 };

static FyDevice device;

static FyModule *encoder_new(bool dropout) {
  FyModule *last = dropout ? fy_nn_dropout(0.3) : fy_nn_relu();
  return fy_module_to(fy_nn_sequential(fy_nn_linear(7, 9), fy_nn_gelu(), fy_nn_linear(9, 8), last), device);
}

static FyModule *head_new(void) {
  return fy_module_to(fy_nn_sequential(fy_nn_linear(8, 4), fy_nn_relu(), fy_nn_linear(4, 3)), device);
}

static FyTensor *batch(unsigned *seed, bool requires_grad) {
  FyTensor *x = fy_zeros(fy_shape(BATCH, 7));
  float *values = fy_data_ptr(x);
  for (int i = 0; i < BATCH * 7; i++)
    values[i] = (float)(rand_r(seed) % 1000) / 1000;
  x = fy_to(x, device);
  return requires_grad ? fy_set_requires_grad(x, true) : x;
}

typedef struct Result {
  float losses[STEPS], weights[9 * 7], head[4 * 8], of_input[BATCH * 7];
} Result;

// A loss that the host looks at, and decides by: no whole step could be captured.
static void train(bool graphed, bool dropout, bool of_input, Result *out) {
  unsigned seed = 5;
  memset(out, 0, sizeof *out);
  fy_manual_seed(11);
  fy_scope {
    FyModule *encoder = encoder_new(dropout), *head = head_new();
    FyTensorList *parameters = fy_parameters(encoder), *more = fy_parameters(head);
    for (int i = 0; i < more->count; i++) {
      char name[32];
      snprintf(name, sizeof name, "head%d", i);
      fy_list_add(parameters, name, more->items[i]);
    }
    FyOptimizer *optimizer = fy_adam(parameters, .lr = 0.02);
    if (graphed)
      fy_make_graphed_callables(fy_modules(encoder, head),
                                fy_list(batch(&(unsigned){1}, of_input),
                                        fy_set_requires_grad(fy_zeros(fy_shape(BATCH, 8), .device = device), true)));
    fy_manual_seed(12); // warming up has drawn numbers
    for (int i = 0; i < STEPS; i++)
      fy_scope {
        FyTensor *x = batch(&seed, of_input);
        FyTensor *y = fy_forward(head, fy_forward(encoder, x));
        FyTensor *loss = fy_mean(fy_mul(y, y));
        out->losses[i] = (float)fy_item(loss);
        if (out->losses[i] > 1e6f)
          continue;
        fy_zero_grad(optimizer);
        fy_backward(loss);
        fy_step(optimizer);
        if (of_input)
          fy_copy_to_host(fy_grad(x), out->of_input);
      }
    fy_copy_to_host(parameters->items[0], out->weights);
    fy_copy_to_host(more->items[0], out->head);
  }
}

static void check(bool dropout, bool of_input) {
  static Result eager, graphed;
  train(false, dropout, of_input, &eager);
  train(true, dropout, of_input, &graphed);
  assert_memory_equal(eager.losses, graphed.losses, sizeof eager.losses);
  assert_memory_equal(eager.weights, graphed.weights, sizeof eager.weights);
  assert_memory_equal(eager.head, graphed.head, sizeof eager.head);
  assert_memory_equal(eager.of_input, graphed.of_input, sizeof eager.of_input);
}

static void two_modules_in_a_row(void **state) {
  (void)state;
  check(false, false);
}

static void with_dropout(void **state) {
  (void)state;
  check(true, false);
}

static void with_gradients_of_the_input(void **state) {
  (void)state;
  check(true, true);
}

static void a_call_is_two_launches(void **state) {
  (void)state;
  FyModule *model = encoder_new(false);
  FyTensor *x = batch(&(unsigned){1}, false);
  fy_make_graphed_callables(fy_modules(model), fy_list(x));
  FyCounters before = fy_counters();
  FyTensor *y = fy_forward(model, x); // the sample itself: nothing to copy
  assert_int_equal(fy_counters().launches, before.launches);
  assert_int_equal(fy_counters().graph_launches - before.graph_launches, 1);
  assert_string_equal(fy_grad_fn_name(y), "GraphedBackward");
  fy_backward(fy_sum(y));
  assert_int_equal(fy_counters().graph_launches - before.graph_launches, 2);
  expect_error(FY_RUNTIME_ERROR, "Trying to backward through the graph a second time", fy_backward(fy_sum(y)));
  fy_no_grad
    assert_null(fy_grad_fn_name(fy_forward(model, x)));
}

// .grad is the caller's: the next replay does not change it, and gradients are added up.
static void gradients_are_copies(void **state) {
  (void)state;
  FyModule *model = head_new();
  FyTensor *x = fy_ones(fy_shape(BATCH, 8), .device = device), *w = fy_parameters(model)->items[0];
  float once[32], twice[32];
  fy_make_graphed_callables(fy_modules(model), fy_list(x));
  fy_backward(fy_sum(fy_forward(model, x)));
  fy_copy_to_host(fy_grad(w), once);
  fy_backward(fy_sum(fy_forward(model, x)));
  fy_copy_to_host(fy_grad(w), twice);
  for (int i = 0; i < 32; i++)
    assert_true(twice[i] == 2 * once[i]);
}

static void the_other_mode_runs_as_before(void **state) {
  (void)state;
  FyModule *model = encoder_new(true);
  FyTensor *x = batch(&(unsigned){1}, false);
  fy_make_graphed_callables(fy_modules(model), fy_list(x));
  fy_eval(model);
  FyCounters before = fy_counters();
  fy_forward(model, fy_ones(fy_shape(2, 7), .device = device)); // of any shape
  assert_int_equal(fy_counters().graph_launches, before.graph_launches);
  fy_train(model);
  expect_error(FY_RUNTIME_ERROR,
               "was graphed with an input of shape [6, 7], torch.float32, on cuda:0, but got one of shape [2, 7]",
               fy_forward(model, fy_ones(fy_shape(2, 7), .device = device)));
  expect_error(FY_RUNTIME_ERROR, "but got one of shape [6, 7], torch.float32, on cpu",
               fy_forward(model, fy_ones(fy_shape(6, 7))));
  fy_forward(model, x);
  assert_int_equal(fy_counters().graph_launches, before.graph_launches + 1);
}

static FyTensor *unused_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_mul_scalar(x, 2);
}

typedef struct Unused {
  FyModule base;
  FyTensor *weight;
} Unused;

static void what_is_refused(void **state) {
  (void)state;
  FyTensor *x = fy_set_requires_grad(batch(&(unsigned){1}, false), true);
  Unused *unused = fy_module_new(Unused, unused_forward);
  fy_register_parameter(unused, weight, fy_ones(fy_shape(3), .device = device));
  FyModule *model = head_new();
  expect_error(FY_RUNTIME_ERROR, "One of the differentiated Tensors appears to not have been used in the graph.",
               fy_make_graphed_callables(fy_modules(&unused->base), fy_list(x)));
  fy_make_graphed_callables(fy_modules(&unused->base), fy_list(x), .allow_unused_input = true);
  fy_backward(fy_sum(fy_forward(unused, x)));
  assert_null(fy_grad(unused->weight));
  assert_true(fy_item(fy_sum(fy_grad(x))) == 2 * 7 * BATCH);
  expect_error(FY_VALUE_ERROR, "1 modules, but 2 sample_args",
               fy_make_graphed_callables(fy_modules(model), fy_list(x, x)));
  expect_error(FY_RUNTIME_ERROR, "sample_args[0] is on the CPU",
               fy_make_graphed_callables(fy_modules(model), fy_list(fy_ones(fy_shape(2, 8)))));
  expect_error(FY_RUNTIME_ERROR, "make_graphed_callables does not support the autocast caching.",
               fy_autocast(FY_CUDA, .dtype = FY_FLOAT16) fy_make_graphed_callables(fy_modules(model), fy_list(x)));
  FyTensor *y = fy_ones(fy_shape(2, 8), .device = device);
  fy_autocast(FY_CUDA, .dtype = FY_FLOAT16, .cache_enabled = false)
      fy_make_graphed_callables(fy_modules(model), fy_list(y));
  assert_int_equal(fy_dtype_of(fy_forward(model, y)), FY_FLOAT16);
}

// The pool's memory goes when the modules do.
static void memory_goes_with_the_module(void **state) {
  (void)state;
  fy_empty_cache();
  const size_t before = fy_memory_reserved(device), allocated = fy_memory_allocated(device);
  fy_scope {
    FyModule *model = encoder_new(true);
    FyTensor *x = batch(&(unsigned){1}, false);
    fy_make_graphed_callables(fy_modules(model), fy_list(x));
    fy_backward(fy_sum(fy_forward(model, x)));
    assert_true(fy_memory_reserved(device) > before);
  }
  fy_empty_cache();
  assert_int_equal(fy_memory_allocated(device), allocated);
  assert_int_equal(fy_memory_reserved(device), before);
}

static int set_up(void **state) {
  (void)state;
  device = fy_cuda_device(0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_modules_in_a_row),
      cmocka_unit_test(with_dropout),
      cmocka_unit_test(with_gradients_of_the_input),
      cmocka_unit_test(a_call_is_two_launches),
      cmocka_unit_test(gradients_are_copies),
      cmocka_unit_test(the_other_mode_runs_as_before),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(memory_goes_with_the_module),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
