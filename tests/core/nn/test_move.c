// SPDX-License-Identifier: MIT
// module.to: parameters keep their identity and get another inside.
// run check: FERRY_SIM_DEVICES=2
// run: FERRY_CUDA=off
#include "check.h"

static FyDevice other_device(void) {
  return fy_cuda_is_available() ? fy_cuda_device(fy_cuda_device_count() - 1) : FY_CPU_DEVICE;
}

static void test_to_a_device_and_back(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_linear(3, 4), fy_nn_batch_norm1d(4), fy_nn_linear(4, 1));
  FyTensorList *before = fy_tensor_list_new(), *dict = fy_state_dict(model), *parameters = fy_parameters(model);
  FyTensor *x = fy_randn(fy_shape(5, 3));
  FyDevice device = other_device();
  for (int i = 0; i < dict->count; i++)
    fy_list_add(before, dict->names[i], fy_clone(dict->items[i]));
  assert_ptr_equal(fy_module_to(model, device), model);
  FyTensorList *after = fy_state_dict(model);
  for (int i = 0; i < after->count; i++) {
    assert_true(fy_device_equal(fy_device_of(after->items[i]), device));
    assert_true(fy_equal(fy_cpu(after->items[i]), before->items[i]));
  }
  for (int i = 0; i < parameters->count; i++) {
    assert_ptr_equal(fy_parameters(model)->items[i], parameters->items[i]);
    assert_true(fy_is_leaf(parameters->items[i]) && fy_requires_grad(parameters->items[i]));
  }
  fy_eval(model);
  FyTensor *there = fy_forward(model, fy_to(x, device));
  fy_module_cpu(model);
  assert_false(fy_is_cuda(parameters->items[0]));
  assert_true(fy_allclose(fy_cpu(there), fy_forward(model, x), 1e-5, 1e-6));
}

static void test_gradients_move_along(void **state) {
  (void)state;
  FyModule *linear = fy_nn_linear(3, 1);
  FyTensor *weight = fy_list_get(fy_parameters(linear), "weight");
  fy_backward(fy_sum(fy_forward(linear, fy_ones(fy_shape(2, 3)))));
  FyTensor *grad = fy_grad(weight);
  fy_module_to(linear, other_device());
  fy_module_to_dtype(linear, FY_FLOAT64);
  assert_ptr_equal(fy_grad(weight), grad);
  assert_true(fy_device_equal(fy_device_of(grad), other_device()));
  assert_int_equal(fy_dtype_of(grad), FY_FLOAT64);
  assert_values(grad, (double[]){2, 2, 2}, 3, 0);
  FyTensor *x = fy_ones(fy_shape(1, 3), .dtype = FY_FLOAT64, .device = other_device());
  fy_backward(fy_sum(fy_forward(linear, x)));
  assert_values(fy_grad(weight), (double[]){3, 3, 3}, 3, 0);
}

static void test_dtypes(void **state) {
  (void)state;
  FyModule *norm = fy_nn_batch_norm1d(4);
  fy_module_half(norm);
  FyTensorList *dict = fy_state_dict(norm);
  assert_int_equal(fy_dtype_of(fy_list_get(dict, "weight")), FY_FLOAT16);
  assert_int_equal(fy_dtype_of(fy_list_get(dict, "running_var")), FY_FLOAT16);
  assert_int_equal(fy_dtype_of(fy_list_get(dict, "num_batches_tracked")), FY_INT64);
  assert_values(fy_list_get(dict, "running_var"), (double[]){1, 1, 1, 1}, 4, 0);
  fy_module_to(norm, other_device(), .dtype = FY_FLOAT64);
  FyTensor *weight = fy_list_get(fy_parameters(norm), "weight");
  assert_int_equal(fy_dtype_of(weight), FY_FLOAT64);
  assert_true(fy_device_equal(fy_device_of(weight), other_device()));
  assert_raises(FY_TYPE_ERROR,
                "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int32",
                fy_module_to_dtype(norm, FY_INT32));
}

static void test_a_shared_tensor_moves_once(void **state) {
  (void)state;
  FyModule *a = fy_nn_linear(2, 2), *b = fy_nn_linear(2, 2, .no_bias = true);
  FyTensor *weight = fy_list_get(fy_parameters(a), "weight");
  fy_module_add_tensor(b, "weight", FY_PARAMETER, weight, -1);
  FyModule *tied = fy_nn_sequential(a, b);
  fy_module_to(tied, other_device(), .dtype = FY_FLOAT64);
  FyTensorList *dict = fy_state_dict(tied);
  assert_true(fy_shares_storage(fy_list_get(dict, "0.weight"), fy_list_get(dict, "1.weight")));
  assert_int_equal(fy_dtype_of(weight), FY_FLOAT64);
}

// A detached alias from before the move keeps the old memory, as in PyTorch; the version goes on counting.
static void test_aliases_stay_behind(void **state) {
  (void)state;
  FyModule *linear = fy_nn_linear(2, 1);
  FyTensor *weight = fy_list_get(fy_parameters(linear), "weight");
  FyTensor *alias = fy_detach(weight);
  uint32_t version = fy_version_of(weight);
  fy_module_to_dtype(linear, FY_FLOAT64);
  assert_int_equal(fy_dtype_of(alias), FY_FLOAT32);
  assert_false(fy_shares_storage(alias, weight));
  assert_int_equal(fy_version_of(weight), version);
  void *data = fy_data_ptr(weight);
  fy_module_to_dtype(linear, FY_FLOAT64); // nothing to do
  assert_ptr_equal(fy_data_ptr(weight), data);
}

// A graph from before the move that is still alive does not disturb the ones after it.
static void test_training_goes_on_beside_an_old_graph(void **state) {
  (void)state;
  FyModule *linear = fy_nn_linear(2, 1);
  FyTensor *weight = fy_list_get(fy_parameters(linear), "weight");
  FyTensor *old = fy_sum(fy_forward(linear, fy_ones(fy_shape(3, 2))));
  fy_module_to(linear, other_device(), .dtype = FY_FLOAT64);
  FyTensor *x = fy_ones(fy_shape(4, 2), .dtype = FY_FLOAT64, .device = other_device());
  fy_backward(fy_sum(fy_forward(linear, x)));
  assert_int_equal(fy_dtype_of(fy_grad(weight)), FY_FLOAT64);
  assert_values(fy_grad(weight), (double[]){4, 4}, 2, 0);
  assert_true(fy_requires_grad(old));
}

static double *values_of(FyTensor *t) {
  static double values[64];
  assert_true(fy_numel(t) <= 64);
  fy_copy_to_host(fy_to(fy_detach(t), FY_CPU_DEVICE, .dtype = FY_FLOAT64), values);
  return values;
}

// What was recorded before a conversion goes on in the forward's dtype, with the weights as they were then, and fresh
// gradients have that dtype.
static void test_converted_between_forward_and_backward(void **state) {
  (void)state;
  const FyDType dtypes[] = {FY_FLOAT64, FY_FLOAT16, FY_BFLOAT16};
  for (int k = 0; k < 3; k++) {
    FyModule *model = fy_nn_sequential(fy_nn_linear(3, 2), fy_nn_linear(2, 1));
    FyTensor *ones = fy_ones(fy_shape(4, 3));
    FyTensorList *parameters = fy_parameters(model);
    fy_no_grad {
      for (int i = 0; i < parameters->count; i++)
        fy_fill_(parameters->items[i], 0.5 + i); // exact in every dtype
    }
    fy_backward(fy_sum(fy_forward(model, ones)));
    FyTensor *expected[4];
    for (int i = 0; i < 4; i++)
      expected[i] = fy_clone(fy_grad(parameters->items[i]));
    fy_module_zero_grad(model);
    FyTensor *loss = fy_sum(fy_forward(model, ones));
    fy_module_to_dtype(model, dtypes[k]);
    fy_backward(loss);
    for (int i = 0; i < 4; i++) {
      FyTensor *p = parameters->items[i];
      assert_int_equal(fy_dtype_of(p), dtypes[k]);
      assert_int_equal(fy_dtype_of(fy_grad(p)), FY_FLOAT32);
      assert_values(fy_grad(p), values_of(expected[i]), fy_numel(p), 0);
    }
  }
}

// A gradient that is there keeps its dtype, whichever graph adds to it.
static void test_old_and_new_graph_add_to_one_gradient(void **state) {
  (void)state;
  for (int old_first = 0; old_first < 2; old_first++) {
    FyModule *linear = fy_nn_linear(2, 1, .no_bias = true);
    FyTensor *weight = fy_list_get(fy_parameters(linear), "weight");
    FyTensor *old = fy_sum(fy_forward(linear, fy_ones(fy_shape(2, 2))));
    fy_module_to_dtype(linear, FY_FLOAT64);
    FyTensor *fresh = fy_sum(fy_forward(linear, fy_ones(fy_shape(3, 2), .dtype = FY_FLOAT64)));
    fy_backward(old_first ? old : fresh);
    assert_int_equal(fy_dtype_of(fy_grad(weight)), old_first ? FY_FLOAT32 : FY_FLOAT64);
    fy_backward(old_first ? fresh : old);
    assert_int_equal(fy_dtype_of(fy_grad(weight)), old_first ? FY_FLOAT32 : FY_FLOAT64);
    assert_values(fy_grad(weight), (double[]){5, 5}, 2, 0);
  }
}

static void test_moved_between_forward_and_backward(void **state) {
  (void)state;
  if (!fy_cuda_is_available())
    skip(); // there is one device
  FyModule *model = fy_nn_sequential(fy_nn_linear(3, 2), fy_nn_linear(2, 1));
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *loss = fy_sum(fy_forward(model, fy_ones(fy_shape(4, 3))));
  FyOptimizer *sgd = fy_sgd(parameters, .lr = 0.1);
  fy_module_cuda(model);
  fy_backward(loss);
  for (int i = 0; i < parameters->count; i++) {
    assert_true(fy_is_cuda(parameters->items[i]));
    assert_false(fy_is_cuda(fy_grad(parameters->items[i])));
  }
  assert_raises(FY_RUNTIME_ERROR,
                "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
                fy_step(sgd));
}

static void test_a_buffer_with_history_is_replaced(void **state) {
  (void)state;
  FyModule *linear = fy_nn_linear(2, 1);
  FyTensor *w = fy_ones(fy_shape(2), .requires_grad = true), *product = fy_mul_scalar(w, 3);
  fy_module_add_tensor(linear, "scaled", FY_BUFFER, product, -1);
  fy_module_to_dtype(linear, FY_FLOAT64);
  FyTensor *moved = fy_list_get(fy_buffers(linear), "scaled");
  assert_ptr_not_equal(moved, product);
  assert_int_equal(fy_dtype_of(moved), FY_FLOAT64);
  fy_backward(fy_sum(moved));
  assert_values(fy_grad(w), (double[]){3, 3}, 2, 0);
}

static void test_a_missing_device_changes_nothing(void **state) {
  (void)state;
  FyModule *linear = fy_nn_linear(2, 1);
  FyError error;
  fy_trap(error) {
    fy_module_to(linear, fy_cuda_device(15));
  }
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  assert_false(fy_is_cuda(fy_list_get(fy_parameters(linear), "weight")));
  assert_raises(FY_TYPE_ERROR, "fy_module_to: the module is NULL", fy_module_cpu(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_to_a_device_and_back),
      cmocka_unit_test(test_gradients_move_along),
      cmocka_unit_test(test_dtypes),
      cmocka_unit_test(test_a_shared_tensor_moves_once),
      cmocka_unit_test(test_aliases_stay_behind),
      cmocka_unit_test(test_training_goes_on_beside_an_old_graph),
      cmocka_unit_test(test_converted_between_forward_and_backward),
      cmocka_unit_test(test_old_and_new_graph_add_to_one_gradient),
      cmocka_unit_test(test_moved_between_forward_and_backward),
      cmocka_unit_test(test_a_buffer_with_history_is_replaced),
      cmocka_unit_test(test_a_missing_device_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
