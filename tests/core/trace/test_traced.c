// SPDX-License-Identifier: MIT
// What a traced module promises: it shares its model's state, allocates nothing but its result, takes other batch sizes, refuses what
// it cannot do, warns as PyTorch's tracer does, and can be run by several threads.
// Over 500 lines: many short tests of one subject.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "autograd/autograd.h"
#include "device/memory.h"
#include "nn/nn.h"
#include "op/autocast.h"
#include "op/host/host.h"
#include "op/ops.h"
#include "optim/optim.h"
#include "trace/plan.h"
#include "trace/trace.h"
#include "trace/traced.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static FyDevice device;

static FyModule *to_device(FyModule *module) {
  fy_eval(module);
  return fy_module_to(module, device);
}

static FyModule *new_cnn(void) {
  return to_device(fy_nn_sequential(fy_nn_conv2d(1, 8, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                                    fy_nn_conv2d(8, 20, 3), fy_nn_batch_norm2d(20), fy_nn_relu(), fy_nn_flatten(),
                                    fy_nn_linear(20 * 4 * 4, 24), fy_nn_relu(), fy_nn_dropout(0.5),
                                    fy_nn_linear(24, 10)));
}

static FyTensor *images(int64_t batch) {
  return fy_randn(fy_shape(batch, 1, 12, 12), .device = device);
}

static void assert_within(FyModule *a, FyModule *b, FyTensor *x, double relative) {
  fy_no_grad {
    assert_true(fy_allclose(fy_forward(a, x), fy_forward(b, x), relative, 1e-6));
  }
}
static void assert_same(FyModule *a, FyModule *b, FyTensor *x) {
  assert_within(a, b, x, 1e-5);
}

// What the block writes to stderr.
static char told[8192];
static int saved_stderr;
static FILE *caught;
static void listen(void) {
  fflush(stderr);
  saved_stderr = dup(2);
  caught = tmpfile();
  dup2(fileno(caught), 2);
}
static void hear(void) {
  fflush(stderr);
  dup2(saved_stderr, 2);
  close(saved_stderr);
  rewind(caught);
  told[fread(told, 1, sizeof told - 1, caught)] = '\0';
  fclose(caught);
}

// ---- state -----------------------------------------------------------------------------------------------------------------------

static void test_state_is_the_models(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = new_cnn(), *traced = fy_trace(model, images(2));
    FyTensorList *a = fy_state_dict(model), *b = fy_state_dict(traced);
    for (int i = 0; i < b->count; i++) {
      FyTensor *of_model = fy_list_find(a, b->names[i]);
      assert_non_null(of_model);
      assert_true(fy_shares_storage(of_model, b->items[i]));
    }
    assert_int_equal(fy_parameters(traced)->count, fy_parameters(model)->count);
    assert_non_null(fy_list_find(b, "4.running_var"));
    assert_false(traced->training);
  }
}

// A plan holds copies of the weights in another layout, and batch norms folded into them.
static void test_changes_of_the_state_are_seen(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = new_cnn();
    FyTensor *x = images(3);
    FyModule *traced = fy_trace(model, x);
    assert_same(traced, model, x);
    fy_no_grad {
      FyTensorList *list = fy_state_dict(model);
      fy_mul_scalar_(fy_list_get(list, "0.weight"), 1.5);
      assert_same(traced, model, x);
      fy_add_scalar_(fy_list_get(list, "4.running_mean"), 0.5);
      assert_same(traced, model, x);
    }
    FyOptimizer *optimizer = fy_sgd(fy_parameters(model), 0.5);
    fy_backward(fy_sum(fy_forward(model, x)));
    fy_step(optimizer);
    assert_same(traced, model, x);
    fy_load_state_dict(traced, fy_state_dict(new_cnn()));
    assert_same(traced, model, x);
  }
}

static void test_it_moves_with_its_model(void **state) {
  (void)state;
  if (device.type == FY_CPU) {
    print_message("this run has no second device to move to\n");
    skip();
  }
  fy_scope {
    FyModule *model = new_cnn(), *traced = fy_trace(model, images(2));
    fy_module_cpu(model);
    assert_same(traced, model, fy_randn(fy_shape(5, 1, 12, 12)));
    FyError error;
    fy_trap(error) {
      fy_forward(traced, images(2));
    }
    assert_non_null(strstr(error.message, "Expected all tensors to be on the same device"));
    fy_module_to(traced, device);
    assert_same(traced, model, images(2));
  }
}

// ---- memory ----------------------------------------------------------------------------------------------------------------------

static int64_t allocations_of(FyModule *module, FyTensor *x) {
  const int64_t before = fy_memory_stats(device).allocations;
  fy_scope {
    fy_no_grad {
      fy_forward(module, x);
    }
  }
  return fy_memory_stats(device).allocations - before;
}

static void test_a_run_allocates_its_result_alone(void **state) {
  (void)state;
  const int64_t batches[] = {1, 3, 64};
  fy_scope {
    FyModule *model = new_cnn(), *traced = fy_trace(model, images(1));
    for (int i = 0; i < 3; i++) {
      FyTensor *x = images(batches[i]);
      allocations_of(traced, x); // the plan is made
      assert_int_equal(allocations_of(traced, x), 1);
      assert_int_equal(allocations_of(traced, x), 1);
      assert_true(allocations_of(model, x) > 5);
    }
  }
}

static FyTensor *long_forward(FyModule *self, FyTensor *x) {
  (void)self;
  for (int i = 0; i < 8; i++)
    x = fy_softmax(fy_matmul(x, fy_transpose(x, 0, 1)), 1);
  return fy_sum_dim(fy_exp(fy_contiguous(fy_transpose(x, 0, 1))), 0, false);
}

static void test_values_share_the_arena(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = fy_module_new_with(sizeof(FyModule), "Long", long_forward);
    FyTensor *x = fy_randn(fy_shape(40, 40), .device = device);
    FyModule *traced = fy_trace(model, x);
    assert_same(traced, model, x);
    assert_same(traced, model, x);
    const FyPlan *plan = fy_traced_plan(traced);
    assert_true(fy_plan_is_sound(plan));
    assert_true(plan->arena_bytes <= 3 * 6656 && plan->arena_unshared >= 16 * 6400);
    assert_int_equal(allocations_of(traced, x), 1);
  }
}

// ---- shapes ----------------------------------------------------------------------------------------------------------------------

static FyTensor *halves_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_add(fy_slice(x, 0, 0, 2, 1), fy_select(x, 0, 3));
}

static FyTensor *squeezed_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_relu(fy_squeeze(x));
}

static const char *message_of(FyModule *traced, FyTensor *x) {
  static FyError error;
  fy_trap(error) {
    fy_forward(traced, x);
  }
  return error.kind ? error.message : "";
}

static void test_shapes(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = new_cnn(), *traced = fy_trace(model, images(2));
    for (int64_t batch = 1; batch < 12; batch++)
      assert_same(traced, model, images(batch));
    assert_string_equal(message_of(traced, fy_randn(fy_shape(2, 1, 14, 14), .device = device)),
                        "shape '[2, 320]' is invalid for input of size 1000");
    assert_non_null(strstr(message_of(traced, fy_randn(fy_shape(2, 12, 12), .device = device)),
                           "a traced module takes inputs of 4 dimensions, as its example [2, 1, 12, 12] had, but got "
                           "[2, 12, 12]"));
    assert_non_null(strstr(message_of(traced, fy_double(images(2))), "inputs of dtype Float, as its example had"));
    FyTensor *turned = fy_transpose(images(2), 2, 3); // not row-major
    assert_same(traced, model, turned);

    FyModule *halves = fy_module_new_with(sizeof(FyModule), "Halves", halves_forward);
    traced = fy_trace(halves, fy_randn(fy_shape(5, 3), .device = device));
    assert_same(traced, halves, fy_randn(fy_shape(4, 3), .device = device));
    assert_non_null(strstr(message_of(traced, fy_randn(fy_shape(3, 3), .device = device)),
                           "select takes elements 3 to 3 of dimension 0, as it was for the example, but for this input "
                           "that has size 3"));
    FyModule *squeezed = fy_module_new_with(sizeof(FyModule), "Squeezed", squeezed_forward);
    traced = fy_trace(squeezed, fy_randn(fy_shape(1, 3), .device = device));
    assert_non_null(strstr(message_of(traced, fy_randn(fy_shape(2, 3), .device = device)),
                           "squeeze takes dimension 0 away, of size 1 for the example"));
  }
}

static void test_many_shapes_keep_few_plans(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = new_cnn(), *traced = fy_trace(model, images(2));
    for (int round = 0; round < 2; round++)
      for (int64_t batch = 1; batch < 20; batch++)
        assert_same(traced, model, images(batch));
    assert_int_equal(allocations_of(traced, images(0)) > 0, 1);
    fy_no_grad {
      assert_int_equal(fy_size_at(fy_forward(traced, images(0)), 0), 0);
    }
  }
}

// ---- gradients -------------------------------------------------------------------------------------------------------------------

static void test_it_runs_without_gradients(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = new_cnn();
    FyTensor *x = fy_set_requires_grad(images(2), true);
    FyModule *traced = fy_trace(model, x);
    FyTensor *y = fy_forward(traced, x);
    assert_true(fy_is_grad_enabled());
    assert_false(fy_requires_grad(y));
    FyError error;
    fy_trap(error) {
      fy_backward(fy_sum(y));
    }
    assert_string_equal(error.message, "element 0 of tensors does not require grad and does not have a grad_fn");
    assert_true(fy_requires_grad(fy_parameters(traced)->items[0]));
  }
}

// ---- autocast --------------------------------------------------------------------------------------------------------------------

typedef struct Mixed {
  FyModule base;
  FyModule *first, *second;
} Mixed;

static FyTensor *mixed_forward(FyModule *self, FyTensor *x) {
  Mixed *m = (Mixed *)self;
  FyTensor *y = NULL;
  fy_autocast(fy_device_of(x).type, .dtype = FY_BFLOAT16) {
    y = fy_forward(m->second, fy_relu(fy_forward(m->first, x)));
    y = fy_sum_dim(fy_exp(fy_softmax(y, 1)), 1, true); // in float32 on CUDA
  }
  return fy_float(y);
}

// A layer and what follows it are rounded once where they run as one, and a bfloat16 between may come out one place apart.
#define BFLOAT16_SUM 5e-5

static void test_casts_of_autocast_are_recorded(void **state) {
  (void)state;
  fy_scope {
    Mixed *model = fy_module_new(Mixed, mixed_forward);
    fy_register_module(model, first, fy_nn_linear(20, 30));
    fy_register_module(model, second, fy_nn_linear(30, 10));
    to_device(&model->base);
    FyModule *traced = fy_trace(model, fy_randn(fy_shape(4, 20), .device = device));
    FyTensor *x = fy_randn(fy_shape(7, 20), .device = device);
    assert_within(traced, &model->base, x, BFLOAT16_SUM);
    fy_no_grad {
      fy_mul_scalar_(fy_parameters(model)->items[0], 2);
    }
    assert_within(traced, &model->base, x, BFLOAT16_SUM);
  }
}

// ---- what cannot be traced -------------------------------------------------------------------------------------------------------

static const char *trace_error(FyModule *model, FyTensor *x) {
  static FyError error;
  fy_trap(error) {
    fy_trace(model, x);
  }
  return error.kind ? error.message : "";
}

static FyTensor *norm_forward(FyModule *self, FyTensor *x) {
  (void)self;
  const FySize c = fy_shape(fy_size_at(x, 1));
  return fy_batch_norm(x, fy_zeros(c, .device = device), fy_ones(c, .device = device), NULL, NULL, true, 0.1, 1e-5);
}

static FyTensor *partly_forward(FyModule *self, FyTensor *x) {
  (void)self;
  FyTensor *y = fy_clone(x);
  fy_zero_(fy_select(y, 0, 0));
  return fy_mul_scalar(y, 2);
}

static FyTensor *nested_forward(FyModule *self, FyTensor *x) {
  (void)self;
  fy_trace(fy_nn_relu(), x);
  return x;
}

static void test_errors(void **state) {
  (void)state;
  fy_scope {
    FyModule *norm = to_device(fy_nn_sequential(fy_nn_linear(3, 4), fy_nn_batch_norm1d(4)));
    FyTensor *x = fy_randn(fy_shape(5, 3), .device = device);
    assert_true(*trace_error(norm, x) == '\0');
    fy_train(norm);
    FyTensor *tracked = fy_clone(fy_list_get(fy_state_dict(norm), "1.num_batches_tracked"));
    assert_non_null(strstr(trace_error(norm, x),
                           "fy_trace: forward changes '1.num_batches_tracked' of the model in place "
                           "(add), and a traced module changes nothing of it"));
    assert_true(fy_equal(tracked, fy_list_get(fy_state_dict(norm), "1.num_batches_tracked")));
    assert_non_null(
        strstr(trace_error(fy_module_new_with(sizeof(FyModule), "Norm", norm_forward), x),
               "batch_norm is in training mode, where it changes its running statistics: call fy_eval(model)"));
    assert_non_null(strstr(trace_error(fy_module_new_with(sizeof(FyModule), "Partly", partly_forward), x),
                           "a view of shape torch.Size([3]) of a tensor of shape [5, 3]"));
    assert_non_null(strstr(trace_error(fy_module_new_with(sizeof(FyModule), "Nested", nested_forward), x),
                           "a trace is under way already"));
    assert_string_equal(trace_error(NULL, x), "fy_trace: the module is NULL");
    assert_string_equal(trace_error(norm, NULL), "fy_trace: the example is NULL");
    FyError error;
    fy_trap(error) {
      fy_traced_print_graph(norm);
    }
    assert_string_equal(error.message, "'Sequential' object is not a traced module: fy_trace makes one");
    assert_int_equal(error.kind, FY_TYPE_ERROR);
    assert_true(*trace_error(to_device(fy_nn_relu()), x) == '\0'); // no error has left a tracer behind
  }
}

// ---- warnings --------------------------------------------------------------------------------------------------------------------

static FyTensor *branch_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_item(fy_sum(x)) > 0 ? fy_mul_scalar(x, 2) : fy_add_scalar(x, 1);
}

static FyTensor *constant_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_mul(x, fy_full(fy_item(fy_max(x)), fy_shape(1), .device = device));
}

static void test_a_frozen_branch_warns_and_fails_the_check(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = fy_module_new_with(sizeof(FyModule), "Branch", branch_forward);
    FyTensor *positive = fy_ones(fy_shape(3), .device = device), *negative = fy_neg(positive);
    listen();
    FyModule *volatile traced = fy_trace(model, positive);
    hear();
    assert_non_null(strstr(told,
                           "TracerWarning: Converting a tensor to a C number might cause the trace to be incorrect. "
                           "We can't record the data flow of C values"));
    assert_same(traced, model, positive);
    assert_true(fy_equal(fy_forward(traced, negative), fy_mul_scalar(negative, 2)));
    fy_traced_check(traced, model, positive, fy_mul_scalar(positive, 3));
    FyError error;
    fy_trap(error) {
      fy_traced_check(traced, model, positive, negative);
    }
    assert_int_equal(error.kind, FY_RUNTIME_ERROR);
    assert_non_null(strstr(error.message,
                           "Tracing failed sanity checks!\nERROR: Graphs differed across invocations!\n\tFirst "
                           "diverging operator, number 1: fy::mul in the trace, fy::add for this input"));
    fy_trap(error) {
      listen();
      fy_trace(model, positive, .check_inputs = fy_list(negative));
    }
    hear();
    assert_non_null(strstr(error.message, "Graphs differed"));
    FyModule *constant = fy_module_new_with(sizeof(FyModule), "Constant", constant_forward);
    listen();
    traced = fy_trace(constant, positive);
    hear();
    fy_trap(error) {
      fy_traced_check(traced, constant, fy_mul_scalar(positive, 2));
    }
    assert_non_null(
        strstr(error.message, "fy::mul in the trace, fy::mul for this input, with other numbers or constants"));
  }
}

static void test_dropout_in_training_mode_warns(void **state) {
  (void)state;
  fy_scope {
    FyModule *model = to_device(fy_nn_sequential(fy_nn_linear(3, 40), fy_nn_dropout(0.5)));
    FyTensor *x = fy_ones(fy_shape(2, 3), .device = device);
    listen();
    fy_trace(model, x);
    hear();
    assert_string_equal(told, "");
    fy_train(model);
    listen();
    FyModule *traced = fy_trace(model, x);
    hear();
    assert_non_null(strstr(told,
                           "TracerWarning: Trace had nondeterministic nodes. Did you forget call fy_eval() on your "
                           "model? Nodes:\n\tfy::dropout"));
    assert_non_null(strstr(told, "Output nr 1. of the traced function does not match the corresponding output"));
    assert_non_null(strstr(told, "Tensor-likes are not close!\n\nMismatched elements: "));
    assert_false(fy_equal(fy_forward(traced, x), fy_forward(traced, x))); // drawn again in each run
    listen();
    fy_trace(model, x, .no_check = true);
    hear();
    assert_string_equal(told, "");
  }
}

// ---- threads ---------------------------------------------------------------------------------------------------------------------

typedef struct Caller {
  FyModule *traced;
  FyTensor *x, *expected;
  int runs, right;
} Caller;

static void *call(void *argument) {
  Caller *c = argument;
  for (int i = 0; i < c->runs; i++)
    fy_scope {
      c->right += fy_allclose(fy_forward(c->traced, c->x), c->expected, 1e-5, 1e-6);
    }
  return NULL;
}

static void test_several_threads_run_one_module(void **state) {
  (void)state;
  enum { THREADS = 6, RUNS = 40 };
  fy_scope {
    FyModule *model = new_cnn(), *traced = fy_trace(model, images(1));
    Caller callers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
      FyTensor *x = images(1 + i % 3 * 8);
      FyTensor *expected = NULL;
      fy_no_grad {
        expected = fy_forward(model, x);
      }
      callers[i] = (Caller){traced, x, expected, RUNS, 0};
    }
    fy_synchronize(device);
    for (int i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(callers[i].right, RUNS);
    }
  }
}

// ---- printing --------------------------------------------------------------------------------------------------------------------

static void print_both(void *context) {
  fy_traced_print_graph((FyModule *)context);
  fy_traced_print_plan((FyModule *)context);
  fflush(stdout);
}

static const char *printed(FyModule *traced) {
  static char text[8192];
  FILE *file = tmpfile();
  fflush(stdout);
  int saved = dup(1);
  dup2(fileno(file), 1);
  print_both(traced);
  dup2(saved, 1);
  close(saved);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void test_graph_and_plan_are_printed(void **state) {
  (void)state;
  fy_scope {
    FyModule *traced = fy_trace(new_cnn(), images(1));
    const char *text = printed(traced);
    assert_non_null(strstr(text, "graph(%input : Float(1, 1, 12, 12)):\n"));
    assert_non_null(strstr(text, " : Float(1, 8, 12, 12) = fy::conv2d(%input, %0.weight, %0.bias)\n"));
    assert_non_null(strstr(text, " = fy::batch_norm("));
    const char *plan = strstr(text, "plan(%input");
    assert_non_null(plan);
    assert_null(strstr(plan, "batch_norm")); // it is in the convolution
    if (device.type == FY_CPU)
      assert_non_null(strstr(plan, " = conv2d + relu + max_pool2d, conv2d + relu(%input)\n"));
    else
      assert_non_null(strstr(plan, " = conv2d + relu + max_pool2d(%input"));
  }
}

// Of many images the op computes what Winograd's algorithm is for; of one the plan's own kernels do.
static void test_many_images_are_winograds(void **state) {
  (void)state;
  fy_scope {
    fy_manual_seed(5);
    FyModule *model = fy_nn_sequential(fy_nn_conv2d(1, 16, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                                       fy_nn_conv2d(16, 32, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2));
    FyModule *traced = fy_trace(to_device(model), fy_randn(fy_shape(1, 1, 32, 32), .device = device));
    for (int many = 0; many < 2; many++) {
      FyTensor *x = fy_randn(fy_shape(many ? 64 : 1, 1, 32, 32), .device = device);
      FyTensor *got = fy_forward(traced, x), *want = fy_forward(model, x);
      assert_true(fy_item(fy_max(fy_abs(fy_sub(got, want)))) < 1e-5 * fy_item(fy_max(want)));
      const FyPlan *plan = fy_traced_plan(traced);
      int kernels = 0;
      for (int i = 0; i < plan->step_count; i++)
        kernels += plan->steps[i].op == &fy_op_conv2d_relu_max_pool2d;
      if (device.type == FY_CPU)
        assert_int_equal(kernels, many);
    }
  }
}

int main(int argc, char **argv) {
  device = argc > 1 && strcmp(argv[1], "cuda") == 0 ? fy_resolve_device(fy_cuda_device(0)) : FY_CPU_DEVICE;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_state_is_the_models),
      cmocka_unit_test(test_changes_of_the_state_are_seen),
      cmocka_unit_test(test_it_moves_with_its_model),
      cmocka_unit_test(test_a_run_allocates_its_result_alone),
      cmocka_unit_test(test_values_share_the_arena),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_many_shapes_keep_few_plans),
      cmocka_unit_test(test_it_runs_without_gradients),
      cmocka_unit_test(test_casts_of_autocast_are_recorded),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_a_frozen_branch_warns_and_fails_the_check),
      cmocka_unit_test(test_dropout_in_training_mode_warns),
      cmocka_unit_test(test_several_threads_run_one_module),
      cmocka_unit_test(test_graph_and_plan_are_printed),
      cmocka_unit_test(test_many_images_are_winograds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
