// SPDX-License-Identifier: MIT
// DataParallel gives what one device gives: outputs, gradients, buffers, errors.
// tsan
// run check: FERRY_SIM_DEVICES=1
// run: FERRY_SIM_DEVICES=2
// run: FERRY_SIM_DEVICES=4
// run: FERRY_CUDA=off
#include "../nn/check.h"
#include <unistd.h>

#define needs_devices(n)                                                                                               \
  do {                                                                                                                 \
    if (fy_cuda_device_count() < (n)) {                                                                                \
      print_message("needs %d CUDA devices, and there are %d\n", (n), fy_cuda_device_count());                         \
      skip();                                                                                                          \
    }                                                                                                                  \
  } while (0)

static FyModule *new_model(void) {
  return fy_nn_sequential(fy_nn_linear(6, 8), fy_nn_relu(), fy_nn_linear(8, 3));
}

// The same weights in a second model on the same device.
static FyModule *twin_of(FyModule *model, FyModule *twin, FyDevice device) {
  fy_load_state_dict(twin, fy_state_dict(model));
  fy_module_to(twin, device);
  return twin;
}

static void assert_close(FyTensor *a, FyTensor *b) {
  assert_string_equal(fy_shape_string(a), fy_shape_string(b));
  assert_true(fy_allclose(a, b, 1e-4, 1e-5));
}

static void compare_with_one_device(int batch) {
  fy_scope {
    FyDevice first = fy_cuda_device(0);
    FyModule *model = fy_module_to(new_model(), first), *twin = twin_of(model, new_model(), first);
    FyModule *parallel = fy_nn_data_parallel(model, NULL, 0);
    FyTensor *x = fy_randn(fy_shape(batch, 6)), *there = fy_to(x, first);
    FyTensor *y = fy_forward(parallel, x), *expected = fy_forward(twin, there);
    assert_true(fy_device_equal(fy_device_of(y), first));
    assert_close(y, expected);
    fy_backward(fy_sum(fy_mul(y, y)));
    fy_backward(fy_sum(fy_mul(expected, expected)));
    FyTensorList *p = fy_parameters(model), *q = fy_parameters(twin);
    assert_int_equal(p->count, 4);
    for (int i = 0; i < p->count; i++) {
      assert_true(fy_device_equal(fy_device_of(fy_grad(p->items[i])), first));
      assert_close(fy_grad(p->items[i]), fy_grad(q->items[i]));
    }
  }
}

static void test_equals_one_device(void **state) {
  (void)state;
  needs_devices(1);
  const int batches[] = {1, 2, 3, 4, 5, 7, 8, 16, 33};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
    compare_with_one_device(batches[i]);
}

static void test_gradients_flow_to_the_input(void **state) {
  (void)state;
  needs_devices(1);
  FyModule *model = fy_module_to(new_model(), fy_cuda_device(0));
  FyTensor *x = fy_randn(fy_shape(5, 6), .requires_grad = true);
  fy_backward(fy_sum(fy_forward(fy_nn_data_parallel(model, NULL, 0), x)));
  FyTensor *y = fy_set_requires_grad(fy_clone(fy_detach(x)), true);
  fy_backward(fy_sum(fy_forward(model, fy_to(y, fy_cuda_device(0)))));
  assert_false(fy_is_cuda(fy_grad(x)));
  assert_close(fy_grad(x), fy_grad(y));
}

static void test_training_steps(void **state) {
  (void)state;
  needs_devices(1);
  FyDevice first = fy_cuda_device(0);
  FyModule *model = fy_module_to(new_model(), first), *twin = twin_of(model, new_model(), first);
  FyModule *parallel = fy_nn_data_parallel(model, NULL, 0);
  FyOptimizer *a = fy_adam(fy_parameters(parallel), .lr = 0.01), *b = fy_adam(fy_parameters(twin), .lr = 0.01);
  for (int step = 0; step < 5; step++) {
    fy_scope {
      FyTensor *x = fy_randn(fy_shape(10, 6)), *target = fy_randint(0, 3, fy_shape(10), .device = first);
      FyTensor *loss = fy_cross_entropy(fy_forward(parallel, x), target);
      FyTensor *expected = fy_cross_entropy(fy_forward(twin, fy_to(x, first)), target);
      assert_close(loss, expected);
      fy_zero_grad(a);
      fy_zero_grad(b);
      fy_backward(loss);
      fy_backward(expected);
      fy_step(a);
      fy_step(b);
    }
  }
}

static void test_no_grad_reaches_the_threads(void **state) {
  (void)state;
  needs_devices(1);
  FyModule *parallel = fy_nn_data_parallel(fy_module_to(new_model(), fy_cuda_device(0)), NULL, 0);
  fy_no_grad {
    assert_false(fy_requires_grad(fy_forward(parallel, fy_ones(fy_shape(8, 6)))));
  }
  assert_true(fy_requires_grad(fy_forward(parallel, fy_ones(fy_shape(8, 6)))));
}

// Running statistics are those of the first device's part of the batch, as in PyTorch.
static void test_batch_norm_buffers(void **state) {
  (void)state;
  needs_devices(1);
  int devices = fy_cuda_device_count();
  FyDevice first = fy_cuda_device(0);
  FyModule *norm = fy_module_to(fy_nn_batch_norm1d(3), first), *twin = fy_module_to(fy_nn_batch_norm1d(3), first);
  FyModule *parallel = fy_nn_data_parallel(norm, NULL, 0);
  FyTensor *x = fy_randn(fy_shape(4 * devices, 3));
  for (int i = 0; i < 3; i++) {
    fy_forward(parallel, x);
    fy_forward(twin, fy_to(fy_narrow(x, 0, 0, 4), first));
  }
  FyTensorList *a = fy_state_dict(norm), *b = fy_state_dict(twin);
  assert_int_equal(fy_item_int64(fy_list_get(a, "num_batches_tracked")), 3);
  assert_close(fy_list_get(a, "running_mean"), fy_list_get(b, "running_mean"));
  assert_close(fy_list_get(a, "running_var"), fy_list_get(b, "running_var"));
}

// ---- what the replicas see ---------------------------------------------------------------------------------------------

typedef struct Probe {
  FyModule base;
  FyTensor *weight;
  int failing_device; // raises there; -1 nowhere
} Probe;

static FyTensor *probe_forward(FyModule *self, FyTensor *x) {
  Probe *probe = (Probe *)self;
  int device = fy_get_device(x);
  fy_check(device == fy_cuda_current_device(), FY_RUNTIME_ERROR, "the current device is %d, not %d",
           fy_cuda_current_device(), device);
  fy_check(device != probe->failing_device, FY_INDEX_ERROR, "device %d fails", device);
  return fy_add_scalar(fy_mul(x, probe->weight), device);
}

static Probe *new_probe(int failing_device) {
  Probe *probe = fy_module_new(Probe, probe_forward);
  probe->failing_device = failing_device;
  fy_register_parameter(probe, weight, fy_ones(fy_shape(1), .device = fy_cuda_device(0)));
  return probe;
}

static void test_each_replica_runs_on_its_device(void **state) {
  (void)state;
  needs_devices(1);
  int devices = fy_cuda_device_count();
  double expected[16];
  FyModule *parallel = fy_nn_data_parallel(new_probe(-1), NULL, 0);
  fy_cuda_set_device(0);
  FyTensor *y = fy_forward(parallel, fy_zeros(fy_shape(devices, 1)));
  for (int i = 0; i < devices; i++)
    expected[i] = i;
  assert_values(y, expected, devices, 0);
  assert_int_equal(fy_cuda_current_device(), 0);
}

// Dropout that one of the replicas begins late.
typedef struct LateDropout {
  FyModule base;
  FyTensor *weight;
} LateDropout;

static int late_device;

static FyTensor *late_forward(FyModule *self, FyTensor *x) {
  (void)self;
  if (fy_get_device(x) == late_device)
    usleep(20000);
  return fy_dropout(fy_dropout(x, 0.5, true), 0.25, true);
}

// Who draws first is chance; what is drawn follows from the seed.
static void test_dropout_is_reproducible(void **state) {
  (void)state;
  needs_devices(2);
  LateDropout *module = fy_module_new(LateDropout, late_forward);
  fy_register_parameter(module, weight, fy_ones(fy_shape(1), .device = fy_cuda_device(0)));
  FyModule *parallel = fy_nn_data_parallel(module, NULL, 0);
  int devices = fy_cuda_device_count();
  FyTensor *x = fy_ones(fy_shape(devices * 50)), *first = NULL;
  for (late_device = 0; late_device < devices; late_device++) {
    fy_manual_seed(7);
    FyTensor *y = fy_cpu(fy_forward(parallel, x));
    first = first ? first : y;
    assert_true(fy_equal(y, first));
  }
  for (int i = 1; i < devices; i++) // and each has numbers of its own
    assert_false(fy_equal(fy_narrow(first, 0, 0, 50), fy_narrow(first, 0, 50 * i, 50)));
  fy_manual_seed(8);
  assert_false(fy_equal(fy_cpu(fy_forward(parallel, x)), first));
  FyTensor *again = fy_cpu(fy_forward(parallel, x)); // the generator has moved on
  fy_manual_seed(8);
  assert_false(fy_equal(fy_cpu(fy_forward(parallel, x)), again));
}

static void test_chosen_devices(void **state) {
  (void)state;
  needs_devices(2);
  Probe *probe = new_probe(-1);
  fy_module_to(probe, fy_cuda_device(1));
  FyModule *parallel = fy_nn_data_parallel(probe, ((int[]){1, 0}), 2);
  FyTensor *y = fy_forward(parallel, fy_zeros(fy_shape(4, 1)));
  assert_int_equal(fy_get_device(y), 1);
  assert_values(y, (double[]){1, 1, 0, 0}, 4, 0);
}

static void expect_failure(FyModule *parallel, FyTensor *x) {
  assert_raises(FY_INDEX_ERROR, "Caught IndexError in replica 1 on device 1.\ndevice 1 fails", fy_forward(parallel, x));
}

static void test_an_error_in_a_replica(void **state) {
  (void)state;
  needs_devices(2);
  FyDevice first = fy_cuda_device(0);
  Probe *probe = new_probe(1);
  FyModule *parallel = fy_nn_data_parallel(probe, NULL, 0);
  FyTensor *x = fy_ones(fy_shape(16, 1), .device = first);
  expect_failure(parallel, x);
  size_t before = fy_memory_allocated(first);
  expect_failure(parallel, x);
  assert_int_equal(fy_memory_allocated(first), before); // the other replicas' outputs are gone, too
  probe->failing_device = -1;
  assert_int_equal(fy_numel(fy_forward(parallel, x)), 16);
}

static void test_the_error_of_the_first_replica_wins(void **state) {
  (void)state;
  needs_devices(2);
  FyModule *model = fy_module_to(new_model(), fy_cuda_device(0));
  assert_raises_about(FY_RUNTIME_ERROR, "Caught RuntimeError in replica 0 on device 0.\nmat1 and mat2",
                      fy_forward(fy_nn_data_parallel(model, NULL, 0), fy_ones(fy_shape(4, 5))));
}

static void test_parameters_elsewhere(void **state) {
  (void)state;
  needs_devices(1);
  assert_raises(FY_RUNTIME_ERROR,
                "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
                "device: cpu",
                fy_forward(fy_nn_data_parallel(new_model(), NULL, 0), fy_ones(fy_shape(4, 6))));
}

static void test_device_ids_are_checked(void **state) {
  (void)state;
  needs_devices(1);
  FyModule *model = new_model();
  assert_raises_about(FY_RUNTIME_ERROR, "device_ids[1] is 15, but the CUDA devices here are cuda:0 to",
                      fy_nn_data_parallel(model, ((int[]){0, 15}), 2));
  assert_raises_about(FY_RUNTIME_ERROR, "device_ids[0] is -1", fy_nn_data_parallel(model, ((int[]){-1}), 1));
  assert_raises_about(FY_VALUE_ERROR, "names cuda:0 twice", fy_nn_data_parallel(model, ((int[]){0, 0}), 2));
  assert_raises_about(FY_VALUE_ERROR, "must name 1 to 16 devices, but has 99",
                      fy_nn_data_parallel(model, ((int[]){0}), 99));
  assert_raises_about(FY_VALUE_ERROR, "device_ids is NULL", fy_nn_data_parallel(model, NULL, 2));
  assert_raises_about(FY_TYPE_ERROR, "'Sequential' object has no attribute 'module'", fy_data_parallel_module(model));
}

// ---- the parts ---------------------------------------------------------------------------------------------------------

static void test_scatter_and_gather(void **state) {
  (void)state;
  needs_devices(2);
  FyTensor *x = fy_tensor(fy_floats(0, 1, 2, 3, 4, 5), fy_shape(3, 2), .requires_grad = true), *parts[2];
  assert_int_equal(fy_scatter(x, (int[]){0, 1}, 2, 0, parts), 2);
  assert_int_equal(fy_get_device(parts[1]), 1);
  assert_values(parts[0], (double[]){0, 1, 2, 3}, 4, 0);
  assert_values(parts[1], (double[]){4, 5}, 2, 0);
  FyTensor *whole = fy_gather((FyTensors){2, parts}, 1, 0);
  assert_int_equal(fy_get_device(whole), 1);
  assert_values(whole, (double[]){0, 1, 2, 3, 4, 5}, 6, 0);
  fy_backward(fy_sum(fy_mul(whole, whole)));
  assert_values(fy_grad(x), (double[]){0, 2, 4, 6, 8, 10}, 6, 0);
  assert_int_equal(fy_scatter(x, (int[]){0, 1}, 2, 1, parts), 2);
  assert_values(parts[1], (double[]){1, 3, 5}, 3, 0);
  assert_raises(FY_RUNTIME_ERROR, "chunk expects at least a 1-dimensional tensor",
                fy_scatter(fy_ones(FY_SCALAR), (int[]){0, 1}, 2, 0, parts));
}

static void test_scalars_gather_to_a_vector(void **state) {
  (void)state;
  needs_devices(2);
  FyTensor *a = fy_full(2, FY_SCALAR, .device = fy_cuda_device(0), .requires_grad = true);
  FyTensor *b = fy_full(3, FY_SCALAR, .device = fy_cuda_device(1), .requires_grad = true);
  FyTensor *both = fy_gather(fy_list(a, b), 0, 0);
  assert_string_equal(fy_shape_string(both), "torch.Size([2])");
  fy_backward(fy_sum(fy_mul(both, both)));
  assert_values(fy_grad(a), (double[]){4}, 1, 0);
  assert_values(fy_grad(b), (double[]){6}, 1, 0);
  assert_int_equal(fy_get_device(fy_grad(b)), 1);
}

static void test_replicas_share_the_first_device_s_tensors(void **state) {
  (void)state;
  needs_devices(2);
  FyModule *norm = fy_module_to(fy_nn_batch_norm1d(2), fy_cuda_device(0)), *replicas[2];
  fy_replicate(norm, (int[]){0, 1}, 2, replicas);
  FyTensorList *own = fy_parameters(norm), *zero = fy_parameters(replicas[0]), *one = fy_parameters(replicas[1]);
  assert_ptr_equal(zero->items[0], own->items[0]);
  assert_ptr_equal(fy_buffers(replicas[0])->items[0], fy_buffers(norm)->items[0]);
  assert_int_equal(fy_get_device(one->items[0]), 1);
  assert_false(fy_is_leaf(one->items[0]));
  assert_false(fy_requires_grad(fy_buffers(replicas[1])->items[0]));
  fy_backward(fy_sum(fy_mul_scalar(one->items[0], 3)));
  assert_values(fy_grad(own->items[0]), (double[]){3, 3}, 2, 0);
}

static void test_without_cuda_the_module_is_called(void **state) {
  (void)state;
  if (fy_cuda_is_available()) {
    print_message("CUDA is there, so DataParallel uses it\n");
    skip();
  }
  FyModule *model = new_model(), *parallel = fy_nn_data_parallel(model, ((int[]){0, 1}), 2);
  FyTensor *x = fy_randn(fy_shape(4, 6)), *outputs[2], *parts[2];
  assert_true(fy_equal(fy_forward(parallel, x), fy_forward(model, x)));
  assert_ptr_equal(fy_data_parallel_module(parallel), model);
  assert_string_equal(fy_parameters(parallel)->names[0], "module.0.weight");
  assert_raises_about(FY_RUNTIME_ERROR, "fy_scatter needs CUDA devices, and there are none",
                      fy_scatter(x, (int[]){0, 1}, 2, 0, parts));
  FyModule *pair[2] = {model, model};
  fy_chunk(x, 2, 0, parts);
  fy_parallel_apply(pair, parts, 2, outputs); // threads without devices
  assert_true(fy_allclose(outputs[1], fy_forward(model, parts[1]), 1e-6, 1e-6));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equals_one_device),
      cmocka_unit_test(test_gradients_flow_to_the_input),
      cmocka_unit_test(test_training_steps),
      cmocka_unit_test(test_no_grad_reaches_the_threads),
      cmocka_unit_test(test_batch_norm_buffers),
      cmocka_unit_test(test_each_replica_runs_on_its_device),
      cmocka_unit_test(test_dropout_is_reproducible),
      cmocka_unit_test(test_chosen_devices),
      cmocka_unit_test(test_an_error_in_a_replica),
      cmocka_unit_test(test_the_error_of_the_first_replica_wins),
      cmocka_unit_test(test_parameters_elsewhere),
      cmocka_unit_test(test_device_ids_are_checked),
      cmocka_unit_test(test_scatter_and_gather),
      cmocka_unit_test(test_scalars_gather_to_a_vector),
      cmocka_unit_test(test_replicas_share_the_first_device_s_tensors),
      cmocka_unit_test(test_without_cuda_the_module_is_called),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
