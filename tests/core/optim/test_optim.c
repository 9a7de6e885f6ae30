// SPDX-License-Identifier: MIT
// SGD, Adam and AdamW against PyTorch's recurrences, computed here in float64, for ten steps and every option.
// run: FERRY_SIM_DEVICES=2
// run check: FERRY_CUDA=off
#include "../nn/check.h"

enum { N = 37, STEPS = 10 };

typedef struct Reference {
  double p[N], buffer[N], average[N], square[N];
  int steps;
} Reference;

static double start_of(int i) {
  return sin(0.7 * i + 0.3);
}

static double grad_of(int i, int step) {
  return cos(1.3 * i - 0.8 * step) * (1 + 0.1 * i);
}

static void sgd_reference(Reference *r, const FySgd *o, int step) {
  for (int i = 0; i < N; i++) {
    double g = grad_of(i, step) + o->weight_decay * r->p[i];
    if (o->momentum != 0) {
      r->buffer[i] = r->steps == 0 ? g : o->momentum * r->buffer[i] + (1 - o->dampening) * g;
      g = o->nesterov ? g + o->momentum * r->buffer[i] : r->buffer[i];
    }
    r->p[i] -= o->lr * g;
  }
  r->steps++;
}

static void adam_reference(Reference *r, const FyAdam *o, bool decoupled, int step) {
  r->steps++;
  for (int i = 0; i < N; i++) {
    double g = grad_of(i, step);
    if (decoupled)
      r->p[i] *= 1 - o->lr * o->weight_decay;
    else
      g += o->weight_decay * r->p[i];
    r->average[i] = o->beta1 * r->average[i] + (1 - o->beta1) * g;
    r->square[i] = o->beta2 * r->square[i] + (1 - o->beta2) * g * g;
    double root = sqrt(r->square[i]) / sqrt(1 - pow(o->beta2, r->steps));
    r->p[i] -= o->lr / (1 - pow(o->beta1, r->steps)) * r->average[i] / (root + o->eps);
  }
}

typedef struct Place {
  FyDevice device;
  FyDType dtype;
  double tolerance;
} Place;

static int places(Place *out) {
  const FyDType dtypes[] = {FY_FLOAT64, FY_FLOAT32, FY_FLOAT16, FY_BFLOAT16};
  const double tolerances[] = {1e-12, 3e-6, 1e-2, 8e-2};
  int n = 0;
  for (int cuda = 0; cuda <= fy_cuda_is_available(); cuda++)
    for (int k = 0; k < 4; k++)
      out[n++] = (Place){cuda ? fy_cuda_device(-1) : FY_CPU_DEVICE, dtypes[k], tolerances[k]};
  return n;
}

// A list of one parameter with the starting values, and those into the reference.
static FyTensorList *new_parameters(const Place *place, Reference *r) {
  *r = (Reference){.steps = 0};
  for (int i = 0; i < N; i++)
    r->p[i] = start_of(i);
  FyTensor *p = fy_tensor(r->p, fy_shape(N), .dtype = place->dtype, .device = place->device, .requires_grad = true);
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "p", p);
  return list;
}

static void give_grad(FyTensor *p, int step) {
  double grad[N];
  for (int i = 0; i < N; i++)
    grad[i] = grad_of(i, step);
  fy_set_grad(p, fy_tensor(grad, fy_shape(N), .dtype = fy_dtype_of(p), .device = fy_device_of(p)));
}

static void check_sgd(FySgd options, const Place *place) {
  Reference r;
  fy_scope {
    options.parameters = new_parameters(place, &r);
    FyTensor *p = options.parameters->items[0];
    FyOptimizer *optimizer = fy_sgd_with(options);
    if (options.lr == 0)
      options.lr = 1e-3;
    for (int step = 0; step < STEPS; step++) {
      uint32_t version = fy_version_of(p);
      give_grad(p, step);
      fy_step(optimizer);
      sgd_reference(&r, &options, step);
      assert_true(fy_version_of(p) > version);
    }
    assert_values(p, r.p, N, place->tolerance);
  }
}

static void test_sgd(void **state) {
  (void)state;
  Place where[8];
  int n = places(where);
  for (int k = 0; k < n; k++) {
    check_sgd((FySgd){.lr = 0.1}, &where[k]);
    check_sgd((FySgd){0}, &where[k]);
    check_sgd((FySgd){.lr = 0.1, .weight_decay = 0.05}, &where[k]);
    check_sgd((FySgd){.lr = 0.1, .momentum = 0.9}, &where[k]);
    check_sgd((FySgd){.lr = 0.1, .momentum = 0.9, .dampening = 0.3}, &where[k]);
    check_sgd((FySgd){.lr = 0.1, .momentum = 0.9, .nesterov = true}, &where[k]);
    check_sgd((FySgd){.lr = 0.1, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true}, &where[k]);
    check_sgd((FySgd){.lr = 0.1, .momentum = 0.8, .weight_decay = 0.01, .dampening = 0.5}, &where[k]);
  }
}

static void check_adam(FyAdam options, bool decoupled, const Place *place) {
  Reference r;
  fy_scope {
    options.parameters = new_parameters(place, &r);
    FyTensor *p = options.parameters->items[0];
    FyOptimizer *optimizer = decoupled ? fy_adamw_with(options) : fy_adam_with(options);
    options.lr = options.lr != 0 ? options.lr : 1e-3;
    options.beta1 = options.beta1 != 0 ? options.beta1 : 0.9;
    options.beta2 = options.beta2 != 0 ? options.beta2 : 0.999;
    options.eps = options.eps != 0 ? options.eps : 1e-8;
    if (decoupled && options.weight_decay == 0 && !options.no_weight_decay)
      options.weight_decay = 0.01;
    for (int step = 0; step < STEPS; step++) {
      give_grad(p, step);
      fy_step(optimizer);
      adam_reference(&r, &options, decoupled, step);
    }
    assert_values(p, r.p, N, place->tolerance);
  }
}

static void test_adam(void **state) {
  (void)state;
  Place where[8];
  int n = places(where);
  for (int k = 0; k < n; k++) {
    for (int decoupled = 0; decoupled < 2; decoupled++) {
      check_adam((FyAdam){0}, decoupled, &where[k]);
      check_adam((FyAdam){.lr = 0.05}, decoupled, &where[k]);
      check_adam((FyAdam){.lr = 0.05, .beta1 = 0.5, .beta2 = 0.9}, decoupled, &where[k]);
      check_adam((FyAdam){.lr = 0.05, .eps = 0.1}, decoupled, &where[k]);
      check_adam((FyAdam){.lr = 0.05, .weight_decay = 0.2}, decoupled, &where[k]);
      check_adam((FyAdam){.lr = 0.05, .no_weight_decay = true}, decoupled, &where[k]);
    }
  }
}

// `.beta1 = 0` is zero, and what is not named is PyTorch's default.
static void check_zeros(const Place *place, FyOptimizer *(*make)(FyTensorList *parameters), const FyAdam *meant,
                        bool decoupled) {
  Reference r;
  fy_scope {
    FyTensorList *parameters = new_parameters(place, &r);
    FyTensor *p = parameters->items[0];
    FyOptimizer *optimizer = make(parameters);
    for (int step = 0; step < STEPS; step++) {
      give_grad(p, step);
      fy_step(optimizer);
      adam_reference(&r, meant, decoupled, step);
    }
    assert_values(p, r.p, N, place->tolerance);
  }
}

static FyOptimizer *no_rate(FyTensorList *p) {
  return fy_adam(p, .lr = 0);
}
static FyOptimizer *no_beta1(FyTensorList *p) { // RMSProp, with the correction of its first steps
  return fy_adam(p, .lr = 0.05, .beta1 = 0);
}
static FyOptimizer *no_beta2(FyTensorList *p) {
  return fy_adam(p, .lr = 0.05, .beta2 = 0.0);
}
static FyOptimizer *no_eps(FyTensorList *p) {
  return fy_adam(p, .eps = 0, .lr = 0.05);
}
static FyOptimizer *no_decay(FyTensorList *p) {
  return fy_adamw(p, .lr = 0.05, .weight_decay = 0);
}

static void test_zeros(void **state) {
  (void)state;
  Place where[8];
  int n = places(where);
  for (int k = 0; k < n; k++) {
    check_zeros(&where[k], no_rate, &(FyAdam){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}, false);
    check_zeros(&where[k], no_beta1, &(FyAdam){.lr = 0.05, .beta2 = 0.999, .eps = 1e-8}, false);
    check_zeros(&where[k], no_beta2, &(FyAdam){.lr = 0.05, .beta1 = 0.9, .eps = 1e-8}, false);
    check_zeros(&where[k], no_eps, &(FyAdam){.lr = 0.05, .beta1 = 0.9, .beta2 = 0.999}, false);
    check_zeros(&where[k], no_decay, &(FyAdam){.lr = 0.05, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}, true);
  }
  Reference r;
  FyTensorList *parameters = new_parameters(&where[0], &r);
  assert_true(fy_learning_rate(fy_sgd(parameters, .lr = 0)) == 0);
  assert_true(fy_learning_rate(fy_sgd(parameters)) == 1e-3);
  assert_true(fy_learning_rate(fy_adamw(parameters)) == 1e-3);
}

// Enough elements that several threads and several blocks share the work.
static void test_large_parameters(void **state) {
  (void)state;
  for (int cuda = 0; cuda <= fy_cuda_is_available(); cuda++) {
    fy_scope {
      FyDevice device = cuda ? fy_cuda_device(-1) : FY_CPU_DEVICE;
      FyTensor *p = fy_ones(fy_shape(301, 1001), .device = device, .requires_grad = true);
      FyTensorList *list = fy_tensor_list_new();
      fy_list_add(list, "p", p);
      FyOptimizer *sgd = fy_sgd(list, .lr = 0.5, .momentum = 0.5);
      for (int step = 0; step < 2; step++) {
        fy_set_grad(p, fy_full_like(fy_detach(p), 0.5));
        fy_step(sgd); // 1 - 0.25, then - 0.5 * 0.75
      }
      assert_true(fy_equal(fy_detach(p), fy_full_like(fy_detach(p), 0.375)));
      FyOptimizer *adam = fy_adam(list, .lr = 0.125, .eps = 1e-30);
      fy_step(adam); // the first step has the size of lr
      assert_true(fy_allclose(fy_detach(p), fy_full_like(fy_detach(p), 0.25), 1e-5, 1e-6));
    }
  }
}

static void test_layouts_and_empty_parameters(void **state) {
  (void)state;
  FyTensor *base = fy_tensor(fy_floats(1, 2, 3, 4, 5, 6), fy_shape(2, 3));
  FyTensor *column_major = fy_set_requires_grad(fy_detach(fy_t(base)), true);
  FyTensor *empty = fy_ones(fy_shape(0, 3), .requires_grad = true);
  FyTensor *scalar = fy_ones(FY_SCALAR, .requires_grad = true);
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "column_major", column_major);
  fy_list_add(list, "empty", empty);
  fy_list_add(list, "scalar", scalar);
  FyOptimizer *optimizer = fy_sgd(list, .lr = 1);
  FyTensor *gradient = fy_t(fy_tensor(fy_floats(1, 1, 1, 2, 2, 2), fy_shape(2, 3)));
  fy_set_grad(column_major, gradient);
  fy_set_grad(empty, fy_zeros(fy_shape(0, 3)));
  fy_set_grad(scalar, fy_full(0.25, FY_SCALAR));
  fy_step(optimizer);
  assert_values(base, (double[]){0, 1, 2, 2, 3, 4}, 6, 0);
  assert_values(scalar, (double[]){0.75}, 1, 0);
}

static void test_one_launch_per_parameter_and_none_without_gradient(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_linear(3, 3), fy_nn_linear(3, 3));
  FyTensorList *parameters = fy_parameters(model);
  FyOptimizer *optimizer = fy_adam(parameters);
  fy_backward(fy_sum(fy_forward(fy_sequential_at(model, 1), fy_ones(fy_shape(1, 3)))));
  FyTensor *before = fy_clone(fy_detach(parameters->items[0]));
  FyTensor *second = fy_clone(fy_detach(parameters->items[2]));
  fy_step(optimizer);
  assert_true(fy_equal(before, fy_detach(parameters->items[0])));
  assert_false(fy_equal(second, fy_detach(parameters->items[2])));
  fy_zero_grad(optimizer);
  assert_null(fy_grad(parameters->items[2]));
}

static void test_state_follows_a_parameter_that_moves(void **state) {
  (void)state;
  Reference r;
  Place place = {FY_CPU_DEVICE, FY_FLOAT64, 1e-12};
  FyTensorList *list = new_parameters(&place, &r);
  FyModule *holder = fy_nn_relu();
  fy_module_add_tensor(holder, "p", FY_PARAMETER, list->items[0], -1);
  FyAdam options = {.parameters = list, .lr = 0.05, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
  FyOptimizer *optimizer = fy_adam_with(options);
  for (int step = 0; step < STEPS; step++) {
    if (fy_cuda_is_available() && step % 3 == 1)
      fy_module_to(holder, fy_cuda_device((step / 3) % fy_cuda_device_count()));
    if (step % 3 == 0)
      fy_module_cpu(holder);
    give_grad(list->items[0], step);
    fy_step(optimizer);
    adam_reference(&r, &options, false, step);
  }
  assert_values(list->items[0], r.p, N, 1e-12);
}

static void test_an_optimizer_keeps_its_parameters(void **state) {
  (void)state;
  FyOptimizer *optimizer = NULL;
  fy_scope {
    FyModule *linear = fy_nn_linear(2, 2);
    fy_backward(fy_sum(fy_forward(linear, fy_ones(fy_shape(1, 2)))));
    optimizer = fy_keep(fy_sgd(fy_parameters(linear), .lr = 0.5));
  }
  assert_true(fy_learning_rate(optimizer) == 0.5);
  fy_set_learning_rate(optimizer, 0.25);
  assert_true(fy_learning_rate(optimizer) == 0.25);
  fy_step(optimizer);
}

static void test_errors(void **state) {
  (void)state;
  FyTensorList *p = fy_parameters(fy_nn_linear(2, 2)), *product = fy_tensor_list_new();
  fy_list_add(product, "x", fy_mul_scalar(p->items[0], 2));
  assert_raises(FY_VALUE_ERROR, "optimizer got an empty parameter list", fy_sgd(fy_tensor_list_new(), .lr = 0.1));
  assert_raises(FY_VALUE_ERROR, "optimizer got an empty parameter list", fy_adam(NULL));
  assert_raises(FY_VALUE_ERROR, "can't optimize a non-leaf Tensor", fy_sgd(product));
  assert_raises(FY_VALUE_ERROR, "Invalid learning rate: -1.0", fy_sgd(p, .lr = -1));
  assert_raises(FY_VALUE_ERROR, "Invalid learning rate: nan", fy_sgd(p, .lr = NAN));
  assert_raises(FY_VALUE_ERROR, "Invalid momentum value: -0.5", fy_sgd(p, .momentum = -0.5));
  assert_raises(FY_VALUE_ERROR, "Invalid weight_decay value: -0.1", fy_sgd(p, .weight_decay = -0.1));
  assert_raises(FY_VALUE_ERROR, "Nesterov momentum requires a momentum and zero dampening",
                fy_sgd(p, .nesterov = true));
  assert_raises(FY_VALUE_ERROR, "Nesterov momentum requires a momentum and zero dampening",
                fy_sgd(p, .nesterov = true, .momentum = 0.9, .dampening = 0.1));
  assert_raises(FY_VALUE_ERROR, "Invalid learning rate: -1.0", fy_adam(p, .lr = -1));
  assert_raises(FY_VALUE_ERROR, "Invalid epsilon value: -1e-08", fy_adam(p, .eps = -1e-8));
  assert_raises(FY_VALUE_ERROR, "Invalid beta parameter at index 0: 1.5", fy_adam(p, .beta1 = 1.5));
  assert_raises(FY_VALUE_ERROR, "Invalid beta parameter at index 1: -0.9", fy_adamw(p, .beta2 = -0.9));
  assert_raises(FY_VALUE_ERROR, "Invalid weight_decay value: -1.0", fy_adamw(p, .weight_decay = -1));
  assert_raises(FY_VALUE_ERROR, "Invalid learning rate: -2.0", fy_set_learning_rate(fy_adam(p), -2));
  assert_raises(FY_TYPE_ERROR, "fy_step: the optimizer is NULL", fy_step(NULL));
}

// ---- a gradient of another dtype than the parameter's -------------------------------------------------------------------

// A parameter that was converted between forward and backward: its gradient has the forward's dtype.
static FyTensor *converted_parameter(FyDType from, FyDType to) {
  FyModule *holder = fy_nn_linear(3, 1, .no_bias = true, .dtype = from);
  FyTensor *weight = fy_list_get(fy_parameters(holder), "weight");
  const double values[] = {1, 2, 3}, slopes[] = {1.1, 70000, 1e-6};
  FyTensor *factors = fy_tensor(slopes, fy_shape(1, 3), .dtype = from);
  fy_no_grad {
    fy_copy_(weight, fy_tensor(values, fy_shape(1, 3)));
  }
  FyTensor *loss = fy_sum(fy_mul(weight, factors));
  fy_module_to_dtype(holder, to);
  fy_backward(loss);
  return weight;
}

static FyTensorList *list_of(FyTensor *parameter) {
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "p", parameter);
  return list;
}

// PyTorch 2.15's results. 70000 is beyond float16: the step must not take the gradient through it.
static void test_sgd_takes_gradients_of_another_dtype(void **state) {
  (void)state;
  FyTensor *p = converted_parameter(FY_FLOAT32, FY_FLOAT16);
  fy_step(fy_sgd(list_of(p), .lr = 1e-3, .momentum = 0.9, .weight_decay = 0.1));
  assert_int_equal(fy_dtype_of(p), FY_FLOAT16);
  assert_values(p, (double[]){0.9990234375, -68, 3}, 3, 0);
  p = converted_parameter(FY_FLOAT32, FY_FLOAT64);
  fy_step(fy_sgd(list_of(p), .lr = 1e-3));
  assert_int_equal(fy_dtype_of(p), FY_FLOAT64);
  assert_values(p, (double[]){0.9989, -68, 3 - 1e-9}, 3, 1e-9);
  p = converted_parameter(FY_FLOAT64, FY_FLOAT32);
  fy_step(fy_sgd(list_of(p), .lr = 1e-3));
  assert_int_equal(fy_dtype_of(p), FY_FLOAT32);
  assert_values(p, (double[]){0.9989, -68, 3}, 3, 1e-6);
}

static void test_adam_refuses_gradients_of_another_dtype(void **state) {
  (void)state;
  assert_raises(FY_RUNTIME_ERROR, "expected dtype c10::Half for `end` but got dtype float",
                fy_step(fy_adam(list_of(converted_parameter(FY_FLOAT32, FY_FLOAT16)))));
  assert_raises(FY_RUNTIME_ERROR, "expected dtype c10::BFloat16 for `end` but got dtype double",
                fy_step(fy_adam(list_of(converted_parameter(FY_FLOAT64, FY_BFLOAT16)))));
  assert_raises(FY_RUNTIME_ERROR, "expected dtype double for `end` but got dtype float",
                fy_step(fy_adamw(list_of(converted_parameter(FY_FLOAT32, FY_FLOAT64)))));
  // Weight decay adds the parameter to the gradient, which becomes float64 by that.
  FyTensor *p = converted_parameter(FY_FLOAT32, FY_FLOAT64);
  fy_step(fy_adam(list_of(p), .lr = 1e-3, .weight_decay = 0.1));
  assert_values(p, (double[]){0.999, 1.999, 2.999}, 3, 1e-6);
}

static FyTensor *with_gradient(double value, double gradient, FyDevice device) {
  FyTensor *p = fy_set_requires_grad(fy_full(value, fy_shape(3), .device = device), true);
  fy_set_grad(p, fy_full(gradient, fy_shape(3), .device = device));
  return p;
}

static void expect_infinite(FyTensor *p, double sign) {
  double value = fy_item(fy_sum(fy_detach(p)));
  if (!isinf(value) || value * sign < 0)
    fail_msg("expected %ginf, but got %g", sign, value);
}

// What an option switches off takes no part: no weight decay times infinity, no part of the gradient beside the momentum.
static void test_infinities(void **state) {
  (void)state;
  Place where[8];
  int n = places(where);
  for (int k = 0; k < n; k++)
    fy_scope {
      FyDevice device = where[k].device;
      FyTensor *p = with_gradient(INFINITY, 0, device), *q = with_gradient(1, INFINITY, device);
      fy_step(fy_adam(list_of(p), .lr = 1));
      expect_infinite(p, 1);
      fy_step(fy_sgd(list_of(p), .lr = 1));
      expect_infinite(p, 1);
      fy_step(fy_sgd(list_of(q), .lr = 1, .momentum = 1));
      expect_infinite(q, -1);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sgd),
      cmocka_unit_test(test_adam),
      cmocka_unit_test(test_zeros),
      cmocka_unit_test(test_large_parameters),
      cmocka_unit_test(test_layouts_and_empty_parameters),
      cmocka_unit_test(test_one_launch_per_parameter_and_none_without_gradient),
      cmocka_unit_test(test_state_follows_a_parameter_that_moves),
      cmocka_unit_test(test_an_optimizer_keeps_its_parameters),
      cmocka_unit_test(test_sgd_takes_gradients_of_another_dtype),
      cmocka_unit_test(test_adam_refuses_gradients_of_another_dtype),
      cmocka_unit_test(test_infinities),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
