// SPDX-License-Identifier: MIT
// Modules: registration, names, calling, walking, Sequential, clones.
// run check: FERRY_SIM_DEVICES=2
// run: FERRY_CUDA=off
#include "check.h"

typedef struct Net {
  FyModule base;
  FyModule *fc1, *fc2;
  FyTensor *scale, *steps;
} Net;

static FyTensor *net_forward(FyModule *self, FyTensor *x) {
  Net *net = (Net *)self;
  return fy_mul(fy_forward(net->fc2, fy_relu(fy_forward(net->fc1, x))), net->scale);
}

static Net *new_net(void) {
  Net *net = fy_module_new(Net, net_forward);
  fy_register_module(net, fc1, fy_nn_linear(3, 4));
  fy_register_module(net, fc2, fy_nn_linear(4, 2, .no_bias = true));
  fy_register_buffer(net, steps, fy_zeros(fy_shape(1), .dtype = FY_INT64));
  fy_register_parameter(net, scale, fy_ones(fy_shape(1)));
  return net;
}

static void assert_names(const FyTensorList *list, int count, const char *const *names) {
  assert_int_equal(list->count, count);
  for (int i = 0; i < count; i++)
    assert_string_equal(list->names[i], names[i]);
}

static void test_names_follow_pytorch_s_order(void **state) {
  (void)state;
  Net *net = new_net();
  const char *const parameters[] = {"scale", "fc1.weight", "fc1.bias", "fc2.weight"};
  const char *const all[] = {"scale", "steps", "fc1.weight", "fc1.bias", "fc2.weight"};
  assert_names(fy_parameters(net), 4, parameters);
  assert_names(fy_buffers(net), 1, (const char *const[]){"steps"});
  assert_names(fy_state_dict(net), 5, all);
  assert_true(fy_requires_grad(net->scale));
  assert_false(fy_requires_grad(net->steps));
  assert_ptr_equal(fy_list_get(fy_parameters(net), "scale"), net->scale);
  assert_raises(FY_KEY_ERROR, "'nope'", fy_list_get(fy_parameters(net), "nope"));
}

static void test_forward_keeps_only_the_result(void **state) {
  (void)state;
  Net *net = new_net();
  FyTensor *x = fy_randn(fy_shape(5, 3));
  fy_no_grad {
    FyTensor *expected = fy_mul(fy_forward(net->fc2, fy_relu(fy_forward(net->fc1, x))), net->scale);
    size_t before = fy_memory_allocated(FY_CPU_DEVICE);
    FyTensor *y = fy_forward(net, x);
    assert_true(fy_equal(y, expected));
    assert_true(fy_memory_allocated(FY_CPU_DEVICE) <= before + 512); // y alone, rounded to a block
  }
}

static void test_backward_reaches_every_parameter(void **state) {
  (void)state;
  Net *net = new_net();
  FyTensor *x = fy_ones(fy_shape(2, 3));
  fy_scope {
    fy_backward(fy_sum(fy_forward(net, x)));
  }
  FyTensorList *parameters = fy_parameters(net);
  for (int i = 0; i < parameters->count; i++)
    assert_non_null(fy_grad(parameters->items[i]));
  fy_module_zero_grad(net);
  for (int i = 0; i < parameters->count; i++)
    assert_null(fy_grad(parameters->items[i]));
  fy_module_requires_grad_((FyModule *)net, false);
  assert_false(fy_requires_grad(fy_forward(net, x)));
}

static void test_a_child_outlives_the_scope_it_was_made_in(void **state) {
  (void)state;
  Net *net = fy_module_new(Net, net_forward);
  fy_scope {
    FyModule *linear = fy_nn_linear(3, 4);
    fy_register_module(net, fc1, linear);
  }
  assert_int_equal(fy_size_at(fy_forward(net->fc1, fy_ones(fy_shape(2, 3))), 1), 4);
}

static void test_assigning_again_replaces(void **state) {
  (void)state;
  Net *net = new_net();
  FyModule *other = fy_nn_linear(4, 7);
  fy_register_module(net, fc2, other);
  assert_ptr_equal(net->fc2, other);
  const char *const names[] = {"scale", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};
  assert_names(fy_parameters(net), 5, names);
  fy_module_add_tensor((FyModule *)net, "fc1", FY_BUFFER, fy_ones(fy_shape(2)), -1); // from a child to a buffer
  assert_names(fy_buffers(net), 2, (const char *const[]){"steps", "fc1"});
}

static void test_a_shared_tensor_counts_once(void **state) {
  (void)state;
  FyModule *a = fy_nn_linear(3, 3), *tied = fy_nn_sequential(a, fy_nn_relu(), a);
  assert_names(fy_parameters(tied), 2, (const char *const[]){"0.weight", "0.bias"});
  assert_names(fy_state_dict(tied), 4, (const char *const[]){"0.weight", "0.bias", "2.weight", "2.bias"});
}

static void test_registration_errors(void **state) {
  (void)state;
  Net *net = new_net();
  FyModule *self = (FyModule *)net;
  FyTensor *w = fy_ones(fy_shape(2), .requires_grad = true);
  assert_raises(FY_KEY_ERROR, "parameter name can't contain \".\", got \"a.b\"",
                fy_module_add_tensor(self, "a.b", FY_PARAMETER, NULL, -1));
  assert_raises(FY_KEY_ERROR, "module name can't be empty string \"\"",
                fy_module_add_child(self, "", fy_nn_relu(), -1));
  assert_raises(FY_TYPE_ERROR, "child \"fc1\" of Net is NULL, not a module", fy_register_module(net, fc1, NULL));
  assert_raises(FY_VALUE_ERROR, "child \"fc1\" of Net contains it: modules cannot form a cycle",
                fy_register_module(net, fc1, fy_nn_sequential(fy_nn_relu(), self)));
  assert_raises_about(FY_VALUE_ERROR, "Cannot assign non-leaf Tensor to parameter 'scale'",
                      fy_register_parameter(net, scale, fy_mul(w, w)));
  assert_raises_about(FY_RUNTIME_ERROR, "floating point",
                      fy_register_parameter(net, scale, fy_ones(fy_shape(1), .dtype = FY_INT64)));
  assert_raises(FY_TYPE_ERROR, "fy_forward: the module is NULL", fy_forward(NULL, w));
  assert_raises(FY_TYPE_ERROR, "Net.forward() missing 1 required positional argument: 'input'", fy_forward(net, NULL));
}

static FyTensor *returns_nothing(FyModule *self, FyTensor *x) {
  (void)self;
  (void)x;
  return NULL;
}

static void test_a_forward_without_result_is_an_error(void **state) {
  (void)state;
  FyModule *module = fy_module_new(FyModule, returns_nothing);
  assert_raises(FY_TYPE_ERROR, "FyModule.forward() returned NULL, not a tensor",
                fy_forward(module, fy_ones(fy_shape(1))));
}

static void note_name(FyModule *module, void *context) {
  strcat(strcat(context, module->type->name), " ");
}

static void test_apply_and_train(void **state) {
  (void)state;
  char names[128] = "";
  FyModule *dropout = fy_nn_dropout(0.5);
  FyModule *model = fy_nn_sequential(fy_nn_linear(2, 2), fy_nn_sequential(dropout), fy_nn_relu());
  fy_module_apply(model, note_name, names);
  assert_string_equal(names, "Linear Dropout Sequential ReLU Sequential ");
  assert_true(dropout->training);
  fy_eval(model);
  assert_false(dropout->training);
  assert_false(model->training);
  fy_train(model);
  assert_true(dropout->training);
}

// ---- Sequential --------------------------------------------------------------------------------------------------------

static void test_sequential_indexing(void **state) {
  (void)state;
  FyModule *a = fy_nn_relu(), *b = fy_nn_flatten(), *model = fy_nn_sequential(a, b);
  assert_ptr_equal(fy_sequential_at(model, 0), a);
  assert_ptr_equal(fy_sequential_at(model, 1), b);
  assert_ptr_equal(fy_sequential_at(model, -2), a);
  assert_raises(FY_INDEX_ERROR, "index 2 is out of range", fy_sequential_at(model, 2));
  assert_raises(FY_INDEX_ERROR, "index -3 is out of range", fy_sequential_at(model, -3));
  assert_raises(FY_TYPE_ERROR, "'ReLU' object is not subscriptable", fy_sequential_at(a, 0));
}

static void test_sequential_drops_each_output(void **state) {
  (void)state;
  FyModule *model =
      fy_nn_sequential(fy_nn_gelu(), fy_nn_relu(), fy_nn_gelu(), fy_nn_relu(), fy_nn_gelu(), fy_nn_relu());
  FyTensor *x = fy_randn(fy_shape(256, 1024)); // 1 MiB
  fy_no_grad {
    fy_drop(fy_forward(model, x)); // warm
    size_t before = fy_memory_allocated(FY_CPU_DEVICE);
    fy_reset_peak_memory_stats(FY_CPU_DEVICE);
    FyTensor *y = fy_forward(model, x);
    size_t peak = fy_max_memory_allocated(FY_CPU_DEVICE) - before;
    assert_int_equal(fy_numel(y), 256 * 1024);
    assert_true(peak >= 2 << 20);              // one layer's input and its output
    assert_true(peak < (2 << 20) + (1 << 19)); // and never a third
  }
}

// A layer may return its very input: it must survive in the caller's scope, once.
static void test_layers_that_return_their_input(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_dropout(0.5), fy_nn_sequential(fy_nn_dropout(0.3)), fy_nn_dropout(0.1));
  FyTensor *x = fy_ones(fy_shape(3));
  fy_eval(model);
  fy_scope {
    assert_ptr_equal(fy_forward(model, x), x);
  }
  assert_values(x, (double[]){1, 1, 1}, 3, 0);
  FyModule *mixed = fy_nn_sequential(fy_nn_relu(), fy_nn_dropout(0.5), fy_nn_relu(), fy_nn_dropout(0.5));
  fy_eval(mixed);
  fy_scope {
    assert_values(fy_forward(mixed, x), (double[]){1, 1, 1}, 3, 0);
  }
}

static void test_an_error_in_a_layer_leaves_everything_usable(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_linear(3, 4), fy_nn_relu(), fy_nn_linear(5, 2));
  FyTensor *x = fy_ones(fy_shape(2, 3));
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  assert_raises_about(FY_RUNTIME_ERROR, "mat1 and mat2 shapes cannot be multiplied", fy_forward(model, x));
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
  assert_int_equal(fy_size_at(fy_forward(fy_sequential_at(model, 0), x), 1), 4);
}

// ---- clones ------------------------------------------------------------------------------------------------------------

static void test_a_clone_has_its_own_tensors(void **state) {
  (void)state;
  Net *net = new_net();
  FyTensorList *parameters = fy_parameters(net), *buffers = fy_buffers(net);
  FyTensor *doubled[4], *counts[1] = {fy_ones(fy_shape(1), .dtype = FY_INT64)};
  fy_eval(net);
  for (int i = 0; i < 4; i++)
    doubled[i] = fy_mul_scalar(parameters->items[i], 2);
  Net *copy = (Net *)fy_module_clone_with((FyModule *)net, (FyTensors){4, doubled}, (FyTensors){1, counts});
  assert_ptr_equal(copy->scale, doubled[0]);
  assert_ptr_equal(copy->steps, counts[0]);
  assert_ptr_equal(fy_parameters(copy)->items[1], doubled[1]);
  assert_false(copy->fc1->training);
  assert_ptr_not_equal(copy->fc1, net->fc1);
  FyTensor *x = fy_ones(fy_shape(1, 3));
  FyTensor *a = fy_forward(net, x), *b = fy_forward(copy, x);
  assert_int_equal(fy_size_at(b, 1), 2);
  assert_true(fy_allclose(b, fy_mul_scalar(a, 8), 1e-5, 1e-6)); // two layers (relu(2h) = 2 relu(h)) and the scale
  assert_raises(FY_VALUE_ERROR, "a copy of Net needs 4 parameters and 1 buffers, but got 4 and 0",
                fy_module_clone_with((FyModule *)net, (FyTensors){4, doubled}, (FyTensors){0, NULL}));
  (void)buffers;
}

static void test_a_clone_keeps_sharing(void **state) {
  (void)state;
  FyModule *a = fy_nn_linear(2, 2), *tied = fy_nn_sequential(a, a);
  FyTensorList *p = fy_parameters(tied);
  FyModule *copy = fy_module_clone_with(tied, (FyTensors){p->count, p->items}, (FyTensors){0, NULL});
  assert_ptr_equal(fy_sequential_at(copy, 0), fy_sequential_at(copy, 1));
  assert_ptr_not_equal(fy_sequential_at(copy, 0), a);
}

static void free_nothing(FyModule *self) {
  (void)self;
}

static void test_a_class_with_destroy_needs_clone(void **state) {
  (void)state;
  static const FyModuleClass type = {.name = "Holder", .forward = returns_nothing, .destroy = free_nothing};
  FyModule *module = fy_module_new_of(sizeof(FyModule), &type);
  assert_raises_about(FY_NOT_IMPLEMENTED_ERROR, "Holder cannot be copied",
                      fy_module_clone_with(module, (FyTensors){0, NULL}, (FyTensors){0, NULL}));
}

// A layer that is frozen after the forward gets no gradient from its backward, and keeps the one it has.
static void test_frozen_between_forward_and_backward(void **state) {
  (void)state;
  FyModule *first = fy_nn_linear(2, 2), *second = fy_nn_linear(2, 1);
  FyTensor *x = fy_ones(fy_shape(3, 2)), *weight = fy_list_get(fy_parameters(first), "weight");
  for (int round = 0; round < 2; round++) {
    FyTensor *loss = fy_sum(fy_forward(second, fy_forward(first, x)));
    FyTensor *before = round ? fy_clone(fy_grad(weight)) : NULL;
    fy_module_requires_grad_(first, false);
    fy_backward(loss);
    if (round)
      assert_true(fy_equal(fy_grad(weight), before));
    else
      assert_null(fy_grad(weight));
    assert_non_null(fy_grad(fy_list_get(fy_parameters(second), "weight")));
    fy_module_requires_grad_(first, true);
    fy_backward(fy_sum(fy_forward(first, x)));
    assert_non_null(fy_grad(weight));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_follow_pytorch_s_order),
      cmocka_unit_test(test_forward_keeps_only_the_result),
      cmocka_unit_test(test_backward_reaches_every_parameter),
      cmocka_unit_test(test_a_child_outlives_the_scope_it_was_made_in),
      cmocka_unit_test(test_assigning_again_replaces),
      cmocka_unit_test(test_a_shared_tensor_counts_once),
      cmocka_unit_test(test_registration_errors),
      cmocka_unit_test(test_a_forward_without_result_is_an_error),
      cmocka_unit_test(test_apply_and_train),
      cmocka_unit_test(test_sequential_indexing),
      cmocka_unit_test(test_sequential_drops_each_output),
      cmocka_unit_test(test_layers_that_return_their_input),
      cmocka_unit_test(test_an_error_in_a_layer_leaves_everything_usable),
      cmocka_unit_test(test_a_clone_has_its_own_tensors),
      cmocka_unit_test(test_a_clone_keeps_sharing),
      cmocka_unit_test(test_a_class_with_destroy_needs_clone),
      cmocka_unit_test(test_frozen_between_forward_and_backward),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
