// SPDX-License-Identifier: MIT
// Functions of one's own: forward and backward are called with what they ask for, gradients are right by central differences, a
// model trains through one, and what a function may not do is an error that names it.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
#include "check.h"

// ---- x * sigmoid(scale * x), the scale in the context ------------------------------------------------------------------------

static void swish(FyFunctionCall *call, FyTensor *const *in, FyTensor **out) {
  const double *scale = fy_function_context(call);
  assert_false(fy_is_grad_enabled());
  FyTensor *s = fy_sigmoid(fy_mul_scalar(in[0], *scale));
  out[0] = fy_mul(in[0], s);
  fy_save_for_backward(call, in[0], s);
}

static void swish_backward(FyFunctionCall *call, FyTensor *const *grad_out, FyTensor **grad_in) {
  const double *scale = fy_function_context(call);
  FyTensor *x = fy_saved_tensor(call, 0), *s = fy_saved_tensor(call, 1);
  FyTensor *slope = fy_mul(fy_mul(x, s), fy_sub(fy_ones_like(s), s));
  grad_in[0] = fy_mul(grad_out[0], fy_add(s, fy_mul_scalar(slope, *scale)));
}

static double two = 2;

static FyFunction *new_swish(void) {
  return fy_function_new("Swish", .forward = swish, .backward = swish_backward, .context = &two);
}

static void test_values_and_gradient(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(-1, 0, 1.5f), 3);
  FyTensor *y = fy_function_apply(new_swish(), x);
  expect(y, fy_floats(-0.11920292f, 0, 1.4288612f));
  assert_string_equal(fy_grad_fn_name(y), "SwishBackward");
  assert_true(fy_requires_grad(y));
  fy_backward(fy_sum(fy_mul_scalar(y, 3)));
  expect(fy_grad(x), fy_floats(-0.27235275f, 1.5f, 3.2643123f));
}

static void test_without_recording(void **state) {
  (void)state;
  FyFunction *function = new_swish();
  FyTensor *x = fy_tensor(fy_floats(1, 2), fy_shape(2), .device = device);
  assert_false(fy_requires_grad(fy_function_apply(function, x)));
  fy_set_requires_grad(x, true);
  fy_no_grad
    assert_false(fy_requires_grad(fy_function_apply(function, x)));
}

// ---- two inputs, two outputs ---------------------------------------------------------------------------------------------------

typedef struct Seen {
  bool needed[3];
  float grad_out[2];
  int forwards, backwards;
  bool mark, wrong_shape;
} Seen;

// product and sum of two tensors that have one shape
static void both(FyFunctionCall *call, FyTensor *const *in, FyTensor **out) {
  Seen *seen = fy_function_context(call);
  seen->forwards++;
  out[0] = fy_mul(in[0], in[1]);
  out[1] = fy_add(in[0], in[1]);
  fy_save_for_backward(call, in[0], in[1], NULL);
  if (seen->mark)
    fy_mark_non_differentiable(call, 1);
}

static void both_backward(FyFunctionCall *call, FyTensor *const *grad_out, FyTensor **grad_in) {
  Seen *seen = fy_function_context(call);
  seen->backwards++;
  assert_null(fy_saved_tensor(call, 2));
  for (int i = 0; i < 2; i++) {
    seen->needed[i] = fy_needs_input_grad(call, i);
    seen->grad_out[i] = (float)fy_item(fy_sum(grad_out[i]));
    grad_in[i] = fy_add(fy_mul(grad_out[0], fy_saved_tensor(call, 1 - i)), grad_out[1]);
  }
  if (seen->wrong_shape)
    grad_in[0] = fy_ones(fy_shape(7), .device = device);
}

static FyFunction *new_both(Seen *seen) {
  return fy_function_new("Both", .forward = both, .backward = both_backward, .outputs = 2, .context = seen);
}

static void test_several_outputs(void **state) {
  (void)state;
  Seen seen = {.forwards = 0};
  FyTensor *a = leaf(fy_floats(1, 2), 2), *b = leaf(fy_floats(3, 5), 2), *out[2];
  fy_function_apply_all(new_both(&seen), out, a, b);
  fy_backward(fy_sum(fy_add(out[0], fy_mul_scalar(out[1], 10))));
  expect(fy_grad(a), fy_floats(13, 15));
  expect(fy_grad(b), fy_floats(11, 12));
  assert_int_equal(seen.forwards, 1);
  assert_int_equal(seen.backwards, 1);
  assert_true(seen.needed[0] && seen.needed[1]);
}

static void test_what_nobody_asks_for(void **state) {
  (void)state;
  Seen seen = {.forwards = 0};
  FyTensor *a = leaf(fy_floats(1, 2), 2), *b = fy_detach(leaf(fy_floats(3, 5), 2)), *out[2];
  fy_function_apply_all(new_both(&seen), out, a, b);
  fy_backward(fy_sum(out[0])); // zeros for the other output
  expect(fy_grad(a), fy_floats(3, 5));
  assert_null(fy_grad(b));
  assert_true(seen.needed[0] && !seen.needed[1]);
  assert_true(seen.grad_out[0] == 2 && seen.grad_out[1] == 0);
}

static void test_marked_output(void **state) {
  (void)state;
  Seen seen = {.mark = true};
  FyTensor *a = leaf(fy_floats(1, 2), 2), *out[2];
  fy_function_apply_all(new_both(&seen), out, a, a);
  assert_true(fy_requires_grad(out[0]));
  assert_false(fy_requires_grad(out[1]));
  fy_backward(fy_sum(out[0]));
  expect(fy_grad(a), fy_floats(2, 4));
}

// ---- central differences, loops of one's own over the elements (as a kernel would) ------------------------------------------

static void cube(FyFunctionCall *call, FyTensor *const *in, FyTensor **out) {
  FyTensor *x = fy_contiguous(fy_cpu(in[0])), *y = fy_empty_like(x);
  const double *from = fy_data_ptr(x);
  double *to = fy_data_ptr(y);
  for (int64_t i = 0; i < fy_numel(x); i++)
    to[i] = from[i] * from[i] * from[i];
  out[0] = fy_to(y, device);
  fy_save_for_backward(call, in[0]);
}

static void cube_backward(FyFunctionCall *call, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *x = fy_saved_tensor(call, 0);
  double factor = *(const double *)fy_function_context(call);
  grad_in[0] = fy_mul_scalar(fy_mul(grad_out[0], fy_mul(x, x)), factor);
}

static FyTensor *cubed(FyTensor *const *inputs, void *function) {
  return fy_function_apply((FyFunction *)function, fy_mul_scalar(inputs[0], 0.5));
}

static FyTensor *swished(FyTensor *const *inputs, void *function) {
  return fy_function_apply((FyFunction *)function, inputs[0]);
}

static void test_gradcheck(void **state) {
  (void)state;
  double right = 3, wrong = 2.9;
  char message[512];
  FyTensor *x = fy_set_requires_grad(fy_randn(fy_shape(3, 4), .dtype = FY_FLOAT64, .device = device), true);
  FyFunction *good = fy_function_new("Cube", .forward = cube, .backward = cube_backward, .context = &right);
  FyFunction *bad = fy_function_new("Cube", .forward = cube, .backward = cube_backward, .context = &wrong);
  assert_true(fy_gradcheck(cubed, good, fy_list(x), message, sizeof message));
  assert_false(fy_gradcheck(cubed, bad, fy_list(x), message, sizeof message));
  assert_true(fy_gradcheck(swished, new_swish(), fy_list(x), message, sizeof message));
}

// ---- lifetimes -------------------------------------------------------------------------------------------------------------------

static int freed;
static void count_free(void *context) {
  (void)context;
  freed++;
}

static void test_graph_holds_the_function(void **state) {
  (void)state;
  freed = 0;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  fy_scope {
    FyTensor *y = NULL;
    fy_scope {
      FyFunction *function = fy_function_new("Swish", .forward = swish, .backward = swish_backward, .context = &two,
                                             .free_context = count_free);
      y = fy_keep(fy_function_apply(function, x));
    }
    assert_int_equal(freed, 0);
    fy_backward(fy_sum(y));
  }
  assert_int_equal(freed, 1);
  assert_non_null(fy_grad(x));
}

static void test_second_backward(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *y = fy_sum(fy_function_apply(new_swish(), x));
  fy_backward(y, .retain_graph = true);
  fy_backward(y);
  raises("backward through the graph a second time", fy_backward(y));
}

// ---- with what surrounds it ------------------------------------------------------------------------------------------------------

static FyTensor *with_swish(void *context, FyTensor *const *inputs) {
  return fy_mul_scalar(fy_function_apply((FyFunction *)context, fy_tanh(inputs[0])), 2);
}

static void test_in_a_checkpoint(void **state) {
  (void)state;
  FyFunction *function = new_swish();
  FyTensor *x = leaf(fy_floats(0.5f, -1), 2), *again = leaf(fy_floats(0.5f, -1), 2);
  fy_backward(fy_sum(with_swish(function, &x)));
  fy_backward(fy_sum(fy_checkpoint(with_swish, function, again)));
  float want[2];
  fy_copy_to_host(fy_grad(x), want);
  expect(fy_grad(again), want);
}

static FyTensor *on_view(FyFunction *function, FyTensor *x) {
  return fy_function_apply(function, fy_select(fy_view(x, fy_shape(2, 2)), 0, 1));
}

static void test_of_a_view(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(9, 9, 0, 1.5f), 4);
  fy_backward(fy_sum(on_view(new_swish(), x)));
  expect(fy_grad(x), fy_floats(0, 0, 0.5f, 1.0881041f));
}

typedef struct SwishNet {
  FyModule base;
  FyModule *first, *second;
  FyFunction *function;
} SwishNet;

static FyTensor *swish_net_forward(FyModule *self, FyTensor *x) {
  SwishNet *net = (SwishNet *)self;
  return fy_forward(net->second, fy_function_apply(net->function, fy_forward(net->first, x)));
}

static SwishNet *new_net(void) {
  SwishNet *net = fy_module_new(SwishNet, swish_net_forward);
  fy_register_module(net, first, fy_nn_linear(1, 16));
  fy_register_module(net, second, fy_nn_linear(16, 1));
  net->function = new_swish();
  fy_module_to(net, device);
  return net;
}

static void test_trains(void **state) {
  (void)state;
  fy_manual_seed(3);
  SwishNet *net = new_net();
  FyOptimizer *optimizer = fy_adam(fy_parameters(net), .lr = 0.02);
  FyTensor *x = fy_randn(fy_shape(64, 1), .device = device), *want = fy_mul(x, x);
  double begin = 0, end = 0;
  for (int step = 0; step < 300; step++)
    fy_scope {
      FyTensor *loss = fy_mse_loss(fy_forward(net, x), want);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      end = fy_item(loss);
      begin = step == 0 ? end : begin;
    }
  assert_true(begin > 0.5 && end < 0.05 * begin);
}

static void test_is_not_traced(void **state) {
  (void)state;
  raises("Swish is a function of fy_function_new, and cannot be traced",
         fy_trace(new_net(), fy_ones(fy_shape(4, 1), .device = device)));
}

// ---- errors ----------------------------------------------------------------------------------------------------------------------

typedef enum Fault { MISSING, AN_INPUT, A_VIEW, A_LEAF, TWICE, CHANGED, SAVED_TWICE, READ_SAVED, GIVES_UP } Fault;

static FyTensor *kept_leaf;

static void faulty(FyFunctionCall *call, FyTensor *const *in, FyTensor **out) {
  const Fault fault = *(const Fault *)fy_function_context(call);
  out[0] = fy_clone(in[0]), out[1] = fy_clone(in[0]);
  switch (fault) {
  case MISSING:
    out[1] = NULL;
    break;
  case AN_INPUT:
    out[1] = in[0];
    break;
  case A_VIEW:
    out[1] = fy_view(in[0], fy_shape(2, 1));
    break;
  case A_LEAF:
    out[1] = kept_leaf;
    break;
  case TWICE:
    out[1] = out[0];
    break;
  case CHANGED:
    fy_add_scalar_(in[0], 1);
    break;
  case SAVED_TWICE:
    fy_save_for_backward(call, in[0]);
    fy_save_for_backward(call, in[0]);
    break;
  case READ_SAVED:
    fy_saved_tensor(call, 0);
    break;
  case GIVES_UP:
    fy_raise(FY_VALUE_ERROR, "forward gives up");
  }
}

static void no_backward(FyFunctionCall *call, FyTensor *const *grad_out, FyTensor **grad_in) {
  (void)call, (void)grad_out, (void)grad_in;
}

static void test_what_forward_may_not_do(void **state) {
  (void)state;
  static const char *const texts[] = {
      "Faulty: forward stored no output 1",
      "Faulty: output 1 of forward shares memory with input 0. Return a copy",
      "Faulty: output 1 of forward shares memory with input 0. Return a copy",
      "Faulty: output 1 of forward has a history of its own",
      "Faulty: outputs 0 and 1 of forward share memory",
      "Faulty: forward changed input 0 in place. Change a copy",
      "Faulty: fy_save_for_backward was called before",
      "Faulty: fy_saved_tensor belongs into backward",
      "forward gives up",
  };
  kept_leaf = leaf(fy_floats(1, 2), 2);
  for (Fault fault = MISSING; fault <= GIVES_UP; fault++) {
    FyFunction *function =
        fy_function_new("Faulty", .forward = faulty, .backward = no_backward, .outputs = 2, .context = &fault);
    FyTensor *x = fy_mul_scalar(leaf(fy_floats(1, 2), 2), 1), *out[2];
    raises(texts[fault], fy_function_apply_all(function, out, x));
    assert_true(fy_is_grad_enabled());
  }
}

static void test_what_backward_may_not_do(void **state) {
  (void)state;
  Seen seen = {.wrong_shape = true};
  FyTensor *a = leaf(fy_floats(1, 2), 2), *out[2];
  fy_function_apply_all(new_both(&seen), out, a, a);
  raises(
      "Function BothBackward returned an invalid gradient at index 0 - got [7] but expected shape compatible with [2]",
      fy_backward(fy_sum(out[0])));
  FyTensor *x = fy_mul_scalar(a, 1), *y = fy_function_apply(new_swish(), x);
  fy_add_scalar_(x, 1);
  raises("modified by an inplace operation", fy_backward(fy_sum(y)));
}

static void test_making(void **state) {
  (void)state;
  raises("has no backward", fy_function_new("Half", .forward = swish));
  raises("has no name", fy_function_new(NULL, .forward = swish, .backward = swish_backward));
  raises("9 outputs", fy_function_new("Many", .forward = swish, .backward = swish_backward, .outputs = 9));
  raises("more than 48 characters", fy_function_new("0123456789012345678901234567890123456789012345678",
                                                    .forward = swish, .backward = swish_backward));
  raises("the function is NULL", fy_function_apply(NULL, leaf(fy_floats(1), 1)));
}

static void test_memory(void **state) {
  (void)state;
  FyFunction *function = new_swish();
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  for (int i = 0; i < 3; i++)
    fy_scope
      fy_backward(fy_sum(fy_function_apply(function, x)));
  const size_t before = device.type == FY_CUDA ? fy_memory_allocated(device) : 0;
  for (int i = 0; i < 20; i++)
    fy_scope
      fy_backward(fy_sum(fy_function_apply(function, x)));
  assert_int_equal(device.type == FY_CUDA ? fy_memory_allocated(device) : 0, before);
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_and_gradient),
      cmocka_unit_test(test_without_recording),
      cmocka_unit_test(test_several_outputs),
      cmocka_unit_test(test_what_nobody_asks_for),
      cmocka_unit_test(test_marked_output),
      cmocka_unit_test(test_gradcheck),
      cmocka_unit_test(test_graph_holds_the_function),
      cmocka_unit_test(test_second_backward),
      cmocka_unit_test(test_in_a_checkpoint),
      cmocka_unit_test(test_of_a_view),
      cmocka_unit_test(test_trains),
      cmocka_unit_test(test_is_not_traced),
      cmocka_unit_test(test_what_forward_may_not_do),
      cmocka_unit_test(test_what_backward_may_not_do),
      cmocka_unit_test(test_making),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests_name("functions of one's own", tests, NULL, NULL);
}
