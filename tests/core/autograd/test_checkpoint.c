// SPDX-License-Identifier: MIT
// Checkpointing: the same gradients to the bit, less memory between forward and backward, and PyTorch's errors.
// Over 500 lines: many short tests of one subject.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads -- cuda
#include "check.h"
#include <pthread.h>

enum { ROWS = 16, COLUMNS = 24 };

// The part of a model that is checkpointed. Its settings say what it does otherwise the second time.
typedef struct Part {
  FyTensor *weight;
  int begun, ended; // runs
  double dropout;   // probability
  bool saves_more;  // from the second run on
  bool saves_fewer; // likewise
  bool doubled;     // likewise: twice as many rows
  bool raises;      // likewise
  bool nested;      // the inside is a checkpoint of its own
} Part;

static FyTensor *inside(void *context, FyTensor *const *inputs) {
  Part *p = context;
  FyTensor *h = fy_tanh(fy_matmul(inputs[0], p->weight));
  return p->dropout > 0 ? fy_dropout(h, p->dropout, true) : h;
}

static FyTensor *part(void *context, FyTensor *const *inputs) {
  Part *p = context;
  const bool again = p->begun++ > 0;
  FyTensor *x = inputs[0];
  if (again && p->doubled)
    x = fy_cat(fy_list(x, x), 0);
  if (again && p->raises)
    fy_raise(FY_VALUE_ERROR, "the second run gives up");
  FyTensor *h = p->nested ? fy_checkpoint(inside, p, x) : inside(p, &x);
  if (again && p->saves_more)
    h = fy_exp(h);
  if (!(again && p->saves_fewer))
    h = fy_mul(h, h);
  h = fy_relu(h);
  FyTensor *y = fy_mul_scalar(h, 2);
  p->ended++;
  return y;
}

static FyTensor *random_leaf(int64_t rows, int64_t columns) {
  return fy_set_requires_grad(fy_randn(fy_shape(rows, columns), .device = device), true);
}

typedef struct Gradients {
  float x[ROWS * COLUMNS], weight[COLUMNS * COLUMNS];
} Gradients;

// Gradients of sum(part(tanh(x))) by backward, and the state of the random numbers after it.
static Gradients gradients_of(Part settings, bool checkpointed, FyRngState *after) {
  Gradients g;
  fy_scope {
    fy_manual_seed(7);
    FyTensor *x = random_leaf(ROWS, COLUMNS);
    settings.weight = random_leaf(COLUMNS, COLUMNS);
    FyTensor *in = fy_tanh(x);
    FyTensor *y = checkpointed ? fy_checkpoint(part, &settings, in) : part(&settings, &in);
    FyTensor *loss = fy_sum(fy_mul(y, y));
    fy_backward(loss);
    fy_copy_to_host(fy_grad(x), g.x);
    fy_copy_to_host(fy_grad(settings.weight), g.weight);
    *after = fy_get_rng_state();
    assert_int_equal(settings.begun, checkpointed ? 2 : 1);
  }
  return g;
}

static void expect_same(Part settings) {
  FyRngState plain_state, state;
  const Gradients plain = gradients_of(settings, false, &plain_state), with = gradients_of(settings, true, &state);
  assert_memory_equal(&plain, &with, sizeof plain);
  assert_memory_equal(&plain_state, &state, sizeof state);
}

static void test_same_gradients(void **state) {
  (void)state;
  expect_same((Part){0});
  expect_same((Part){.dropout = 0.4});
  expect_same((Part){.nested = true});
  expect_same((Part){.nested = true, .dropout = 0.4});
}

static void test_under_autocast(void **state) {
  (void)state;
  Gradients g[2];
  for (int checkpointed = 0; checkpointed < 2; checkpointed++)
    fy_scope {
      fy_manual_seed(9);
      Part p = {.weight = random_leaf(COLUMNS, COLUMNS)};
      FyTensor *x = random_leaf(ROWS, COLUMNS), *volatile y = NULL;
      fy_autocast(device.type, .dtype = FY_BFLOAT16) {
        y = checkpointed ? fy_checkpoint(part, &p, x) : part(&p, &x);
        fy_keep(y);
      }
      fy_backward(fy_sum(y)); // outside: the second run is in the first one's region all the same
      fy_copy_to_host(fy_grad(x), g[checkpointed].x);
      fy_copy_to_host(fy_grad(p.weight), g[checkpointed].weight);
    }
  assert_memory_equal(&g[0], &g[1], sizeof g[0]);
}

// The last saved tensor is relu's result: what stands behind it is not run again, unless that is asked for.
static void test_early_stop(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS)};
  fy_backward(fy_sum(fy_checkpoint(part, &p, random_leaf(ROWS, COLUMNS))));
  assert_int_equal(p.begun, 2);
  assert_int_equal(p.ended, 1);
  p = (Part){.weight = p.weight};
  FyTensor *x = random_leaf(ROWS, COLUMNS);
  fy_backward(fy_sum(fy_checkpoint_with(fy_checkpoint_options(part, &p, .early_stop = false), fy_list(x))));
  assert_int_equal(p.ended, 2);
}

// Other random numbers, where nobody keeps the first ones: the generator has moved on.
static void test_random_numbers_not_preserved(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS), .dropout = 0.5};
  FyTensor *x = random_leaf(ROWS, COLUMNS);
  FyTensor *y = fy_checkpoint_with(fy_checkpoint_options(part, &p, .preserve_rng_state = false), fy_list(x));
  const FyRngState before = fy_get_rng_state();
  fy_backward(fy_sum(y));
  assert_true(fy_get_rng_state().offset > before.offset);
}

static void test_without_grad_mode(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS)};
  FyTensor *x = random_leaf(ROWS, COLUMNS), *volatile y = NULL;
  fy_no_grad {
    y = fy_checkpoint(part, &p, x);
  }
  assert_false(fy_requires_grad(y));
  assert_int_equal(p.begun, 1);
}

// The inputs need no gradient: those of the weight are there all the same.
static void test_input_without_gradient(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS)};
  FyTensor *x = fy_randn(fy_shape(ROWS, COLUMNS), .device = device);
  fy_backward(fy_sum(fy_checkpoint(part, &p, x)));
  assert_null(fy_grad(x));
  assert_non_null(fy_grad(p.weight));
}

static void test_autograd_grad(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS)};
  FyTensor *x = random_leaf(ROWS, COLUMNS), *loss = fy_sum(fy_checkpoint(part, &p, x)), *grads[2], *again[2];
  fy_autograd_grad(loss, fy_list(x, p.weight), NULL, true, grads);
  assert_int_equal(p.begun, 2);
  fy_autograd_grad(loss, fy_list(x, p.weight), NULL, true, again);
  assert_int_equal(p.begun, 3); // each backward runs it once
  assert_true(fy_equal(grads[0], again[0]) && fy_equal(grads[1], again[1]));
  fy_backward(loss);
  assert_true(fy_equal(fy_grad(x), grads[0]));
  raises("Trying to backward through the graph a second time", fy_backward(loss));
}

// ---- several inputs --------------------------------------------------------------------------------------------------------

static FyTensor *eight(void *context, FyTensor *const *inputs) {
  (void)context;
  FyTensor *sum = inputs[0];
  for (int i = 1; i < 8; i++)
    if (inputs[i])
      sum = fy_add(sum, fy_mul(inputs[i], inputs[i]));
  return fy_mul(sum, sum);
}

static void test_many_inputs(void **state) {
  (void)state;
  FyTensor *t[8];
  for (int i = 0; i < 8; i++)
    t[i] = leaf(fy_floats(1, 2), 2);
  FyTensor *y = fy_checkpoint(eight, NULL, t[0], t[1], NULL, t[3], t[4], t[5], t[6], t[7]);
  fy_backward(fy_sum(y));
  expect(fy_grad(t[0]), fy_floats(14, 52));
  expect(fy_grad(t[7]), fy_floats(28, 208));
  assert_null(fy_grad(t[2]));
}

static FyTensor *same(void *context, FyTensor *const *inputs) {
  (void)context;
  return inputs[0];
}

static FyTensor *view(void *context, FyTensor *const *inputs) {
  (void)context;
  return fy_t(inputs[0]);
}

static void test_results_that_are_inputs(void **state) {
  (void)state;
  FyTensor *x = random_leaf(2, 3), *y = fy_checkpoint(same, NULL, x);
  assert_ptr_equal(x, y);
  fy_backward(fy_sum(fy_checkpoint(view, NULL, x)));
  assert_non_null(fy_grad(x));
}

// ---- memory --------------------------------------------------------------------------------------------------------------

static void test_memory(void **state) {
  (void)state;
  enum { SIZE = 256 };
  const size_t one = SIZE * SIZE * sizeof(float);
  Part p = {.weight = fy_set_requires_grad(fy_randn(fy_shape(SIZE, SIZE), .device = device), true)};
  size_t held[2];
  for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
    fy_scope {
      FyTensor *x = random_leaf(SIZE, SIZE);
      size_t before = fy_memory_allocated(device);
      FyTensor *y = NULL;
      if (checkpointed) {
        y = fy_checkpoint(part, &p, x);
      } else {
        int scope = fy_scope_open();
        y = fy_keep(part(&p, &x));
        fy_scope_close(scope);
      }
      held[checkpointed] = fy_memory_allocated(device) - before;
      fy_backward(fy_sum(y));
    }
  }
  assert_true(held[0] >= 3 * one); // tanh's result, relu's, and y
  assert_true(held[1] < 2 * one);  // y
}

static void test_nothing_is_left(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS), .nested = true};
  fy_backward(fy_sum(fy_checkpoint(part, &p, random_leaf(ROWS, COLUMNS))));
  fy_synchronize(device);
  const size_t before = fy_memory_allocated(device);
  fy_scope {
    FyTensor *grads[1], *x = random_leaf(ROWS, COLUMNS);
    FyTensor *y = fy_checkpoint(part, &p, x), *never = fy_checkpoint(part, &p, x);
    fy_autograd_grad(fy_sum(y), fy_list(x), NULL, true, grads); // the weight's saved tensors stay with the graph
    p.raises = true;
    raises("the second run gives up", fy_backward(fy_sum(never)));
    p.raises = false;
  }
  fy_synchronize(device);
  assert_int_equal(fy_memory_allocated(device), before);
}

static void count_free(void *context) {
  ++*(int *)context;
}

static FyTensor *square(void *context, FyTensor *const *inputs) {
  if (context && *(int *)context < 0)
    fy_raise(FY_VALUE_ERROR, "square gives up");
  return fy_mul(inputs[0], inputs[0]);
}

static void test_context_is_freed_once(void **state) {
  (void)state;
  int freed = 0;
  fy_scope {
    FyTensor *x = random_leaf(2, 3);
    FyTensor *y = fy_checkpoint_with(fy_checkpoint_options(square, &freed, .free_context = count_free), fy_list(x));
    assert_int_equal(freed, 0);
    fy_backward(fy_sum(y));
    assert_int_equal(freed, 1);
    fy_no_grad {
      fy_checkpoint_with(fy_checkpoint_options(square, &freed, .free_context = count_free), fy_list(x));
    }
    assert_int_equal(freed, 2);
    freed = -5;
    raises("square gives up",
           fy_checkpoint_with(fy_checkpoint_options(square, &freed, .free_context = count_free), fy_list(x)));
    assert_int_equal(freed, -4);
  }
  assert_int_equal(freed, -4);
}

// ---- errors --------------------------------------------------------------------------------------------------------------

static void test_another_second_run(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS), .saves_fewer = true};
  FyTensor *x = random_leaf(ROWS, COLUMNS), *loss = fy_sum(fy_checkpoint(part, &p, x));
  raises("fy_checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
         "Number of tensors saved during forward: 6\nNumber of tensors saved during recomputation: 4.",
         fy_backward(loss, .retain_graph = true));
  p.saves_fewer = false;
  fy_backward(loss); // what failed is no second run
  assert_non_null(fy_grad(x));

  p = (Part){.weight = p.weight, .saves_more = true};
  x = random_leaf(ROWS, COLUMNS);
  raises("fy_checkpoint: trying to save more tensors during recomputation than during the original forward pass.",
         fy_backward(fy_sum(fy_checkpoint_with(fy_checkpoint_options(part, &p, .early_stop = false), fy_list(x)))));

  char text[240];
  snprintf(text, sizeof text,
           "tensor at position 0:\nsaved metadata: {'shape': [16, 24], 'dtype': torch.float32, 'device': %s}\n"
           "recomputed metadata: {'shape': [32, 24], 'dtype': torch.float32, 'device': %s}",
           fy_device_name_of(fy_device_of(x)), fy_device_name_of(fy_device_of(x)));
  p = (Part){.weight = p.weight, .doubled = true};
  raises(text, fy_backward(fy_sum(fy_checkpoint(part, &p, random_leaf(ROWS, COLUMNS)))));
}

static void test_input_changed_in_place(void **state) {
  (void)state;
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS)};
  FyTensor *x = random_leaf(ROWS, COLUMNS), *h = fy_mul_scalar(x, 3);
  FyTensor *y = fy_checkpoint(part, &p, h);
  fy_add_scalar_(h, 1);
  raises("which is output 0 of AddBackward0, is at version 1; expected version 0 instead", fy_backward(fy_sum(y)));
}

// An error leaves no hooks behind: the op after it saves its own tensors.
static void test_errors_in_the_function(void **state) {
  (void)state;
  int negative = -1;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  raises("square gives up", fy_checkpoint(square, &negative, x));
  FyTensor *y = fy_mul(x, x);
  negative = 0;
  FyTensor *z = fy_checkpoint(square, &negative, x);
  negative = -1;
  raises("square gives up", fy_backward(fy_sum(z), .retain_graph = true));
  fy_backward(fy_sum(y));
  expect(fy_grad(x), fy_floats(2, 4));
  raises("fy_checkpoint: the function is NULL", fy_checkpoint(NULL, NULL, x));
}

// ---- backward from inside, streams, threads ----------------------------------------------------------------------------------

static FyTensor *with_a_gradient_inside(void *context, FyTensor *const *inputs) {
  FyTensor *h = fy_tanh(fy_mul(inputs[0], inputs[0])), *grads[1];
  int *runs = context;
  ++*runs;
  FyTensor *own = fy_set_requires_grad(fy_detach(h), true);
  fy_autograd_grad(fy_sum(fy_mul(own, own)), fy_list(own), NULL, false, grads);
  return fy_mul(h, grads[0]); // h * 2h
}

static void test_a_gradient_inside(void **state) {
  (void)state;
  int runs = 0;
  FyTensor *x = leaf(fy_floats(0.5f, 1), 2), *y = fy_checkpoint(with_a_gradient_inside, &runs, x);
  fy_backward(fy_sum(y));
  FyTensor *plain = leaf(fy_floats(0.5f, 1), 2);
  fy_backward(fy_sum(with_a_gradient_inside(&runs, &plain)));
  assert_true(fy_equal(fy_grad(x), fy_grad(plain)));
}

static void test_on_a_stream(void **state) {
  (void)state;
  if (device.type == FY_CPU)
    skip();
  Part p = {.weight = random_leaf(COLUMNS, COLUMNS), .dropout = 0.25};
  FyTensor *x = random_leaf(ROWS, COLUMNS), *volatile y = NULL, *volatile plain = NULL;
  FyStream *stream = fy_stream_new(device, 0);
  const FyRngState start = fy_get_rng_state();
  fy_stream_wait_stream(stream, fy_current_stream(device));
  fy_stream_guard(stream) {
    y = fy_checkpoint(part, &p, x);
  }
  fy_stream_wait_stream(fy_current_stream(device), stream);
  fy_backward(fy_sum(y));
  FyTensor *grad = fy_clone(fy_grad(x));
  fy_set_grad(x, NULL);
  fy_set_rng_state(start);
  p.begun = 0;
  plain = part(&p, &x);
  fy_backward(fy_sum(plain));
  assert_true(fy_equal(fy_grad(x), grad));
}

typedef struct Job {
  FyTensor *loss, *x;
  FyTensor *grad; // counted
} Job;

static void *differentiate(void *argument) {
  Job *job = argument;
  fy_scope {
    FyTensor *grads[1];
    fy_autograd_grad(job->loss, fy_list(job->x), NULL, true, grads);
    job->grad = fy_retain(fy_cpu(grads[0]));
  }
  return NULL;
}

static FyTensor *plain_part(void *context, FyTensor *const *inputs) {
  return fy_relu(fy_mul(fy_tanh(fy_matmul(inputs[0], context)), inputs[0]));
}

static void test_two_threads(void **state) {
  (void)state;
  FyTensor *weight = random_leaf(COLUMNS, COLUMNS), *x = random_leaf(ROWS, COLUMNS);
  FyTensor *loss = fy_sum(fy_checkpoint(plain_part, weight, x));
  fy_synchronize(device);
  enum { THREADS = 4 };
  Job jobs[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (Job){.loss = loss, .x = x};
    assert_int_equal(pthread_create(&threads[i], NULL, differentiate, &jobs[i]), 0);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    assert_true(fy_equal(jobs[i].grad, jobs[0].grad));
    if (i > 0)
      fy_release(jobs[i].grad);
  }
  fy_release(jobs[0].grad);
}

// ---- Sequential --------------------------------------------------------------------------------------------------------------

static FyModule *deep_model(void) {
  fy_manual_seed(11);
  FyModule *model =
      fy_nn_sequential(fy_nn_linear(COLUMNS, COLUMNS), fy_nn_relu(), fy_nn_dropout(0.3), fy_nn_linear(COLUMNS, 32),
                       fy_nn_batch_norm1d(32), fy_nn_relu(), fy_nn_linear(32, 32), fy_nn_relu(), fy_nn_linear(32, 5));
  fy_module_to(model, device);
  return model;
}

static void test_sequential(void **state) {
  (void)state;
  for (int segments = 1; segments <= 9; segments++)
    fy_scope {
      FyModule *plain = deep_model(), *model = deep_model();
      FyTensor *x = random_leaf(ROWS, COLUMNS), *x2 = fy_set_requires_grad(fy_clone(fy_detach(x)), true);
      const FyRngState start = fy_get_rng_state();
      FyTensor *y = fy_forward(plain, x);
      fy_set_rng_state(start);
      FyTensor *y2 = fy_checkpoint_sequential(model, segments, x2);
      assert_true(fy_equal(y, y2));
      fy_backward(fy_sum(fy_mul(y, y)));
      fy_backward(fy_sum(fy_mul(y2, y2)));
      assert_true(fy_equal(fy_grad(x), fy_grad(x2)));
      FyTensorList *a = fy_parameters(plain), *b = fy_parameters(model);
      for (int i = 0; i < a->count; i++)
        assert_true(fy_equal(fy_grad(a->items[i]), fy_grad(b->items[i])));
    }
  FyModule *model = deep_model();
  FyTensor *x = random_leaf(ROWS, COLUMNS);
  raises("a Sequential of 9 layers can be cut into 1 to 9 segments, but got 10",
         fy_checkpoint_sequential(model, 10, x));
  raises("but got 0", fy_checkpoint_sequential(model, 0, x));
  raises("runs a Sequential, but got 'Linear' object", fy_checkpoint_sequential(fy_sequential_at(model, 0), 1, x));
}

// Peak of forward and backward, beyond what was there: 64 layers in 8 segments.
static size_t peak_of(FyModule *model, int segments) {
  size_t peak = 0;
  fy_scope {
    FyTensor *x = fy_randn(fy_shape(512, 64), .device = device);
    const size_t before = fy_memory_allocated(device);
    fy_reset_peak_memory_stats(device);
    fy_backward(fy_sum(segments ? fy_checkpoint_sequential(model, segments, x) : fy_forward(model, x)));
    peak = fy_max_memory_allocated(device) - before;
  }
  return peak;
}

static void test_peak_of_a_deep_model(void **state) {
  (void)state;
  FyModule *layers[65] = {NULL};
  for (int i = 0; i < 64; i += 2) {
    layers[i] = fy_nn_linear(64, 64);
    layers[i + 1] = fy_nn_relu();
  }
  FyModule *model = fy_nn_sequential_with(layers);
  fy_module_to(model, device);
  peak_of(model, 0); // the gradients are there
  const size_t plain = peak_of(model, 0), with = peak_of(model, 8);
  assert_true((double)with <= 0.45 * (double)plain);
  assert_true((double)peak_of(model, 1) >= 0.95 * (double)plain); // one segment is the model as it is
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_gradients),
      cmocka_unit_test(test_under_autocast),
      cmocka_unit_test(test_early_stop),
      cmocka_unit_test(test_random_numbers_not_preserved),
      cmocka_unit_test(test_without_grad_mode),
      cmocka_unit_test(test_input_without_gradient),
      cmocka_unit_test(test_autograd_grad),
      cmocka_unit_test(test_many_inputs),
      cmocka_unit_test(test_results_that_are_inputs),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_nothing_is_left),
      cmocka_unit_test(test_context_is_freed_once),
      cmocka_unit_test(test_another_second_run),
      cmocka_unit_test(test_input_changed_in_place),
      cmocka_unit_test(test_errors_in_the_function),
      cmocka_unit_test(test_a_gradient_inside),
      cmocka_unit_test(test_on_a_stream),
      cmocka_unit_test(test_two_threads),
      cmocka_unit_test(test_sequential),
      cmocka_unit_test(test_peak_of_a_deep_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
