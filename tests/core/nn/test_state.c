// SPDX-License-Identifier: MIT
// state_dict and load_state_dict, with PyTorch's errors.
// run check: FERRY_SIM_DEVICES=2
// run: FERRY_CUDA=off
#include "check.h"

typedef struct Net {
  FyModule base;
  FyModule *fc1, *norm, *fc2;
} Net;

static FyTensor *net_forward(FyModule *self, FyTensor *x) {
  Net *net = (Net *)self;
  return fy_forward(net->fc2, fy_forward(net->norm, fy_forward(net->fc1, x)));
}

static Net *new_net(void) {
  Net *net = fy_module_new(Net, net_forward);
  fy_register_module(net, fc1, fy_nn_linear(10, 5));
  fy_register_module(net, norm, fy_nn_batch_norm1d(5));
  fy_register_module(net, fc2, fy_nn_linear(5, 2, .no_bias = true));
  return net;
}

static void test_state_dict_shares_storage(void **state) {
  (void)state;
  FyModule *linear = fy_nn_linear(2, 1);
  FyTensorList *dict = fy_state_dict(linear);
  FyTensor *weight = fy_list_get(fy_parameters(linear), "weight"), *alias = fy_list_get(dict, "weight");
  assert_true(fy_shares_storage(weight, alias));
  assert_false(fy_requires_grad(alias));
  fy_fill_(alias, 3);
  assert_values(weight, (double[]){3, 3}, 2, 0);
}

static void test_round_trip(void **state) {
  (void)state;
  Net *a = new_net(), *b = new_net();
  FyTensor *x = fy_randn(fy_shape(4, 10));
  fy_forward(a, x); // the running statistics move
  FyTensor *weight = fy_list_get(fy_parameters(b), "fc1.weight");
  uint32_t version = fy_version_of(weight);
  fy_load_state_dict(b, fy_state_dict(a));
  assert_ptr_equal(weight, fy_list_get(fy_parameters(b), "fc1.weight"));
  assert_true(fy_version_of(weight) > version);
  assert_true(fy_requires_grad(weight));
  assert_true(fy_is_leaf(weight));
  FyTensorList *of_a = fy_state_dict(a), *of_b = fy_state_dict(b);
  for (int i = 0; i < of_a->count; i++)
    assert_true(fy_equal(of_a->items[i], of_b->items[i]));
  assert_int_equal(fy_item_int64(fy_list_get(of_b, "norm.num_batches_tracked")), 1);
  fy_eval(a);
  fy_eval(b);
  assert_true(fy_equal(fy_forward(a, x), fy_forward(b, x)));
}

static void test_names_of_layer_norm(void **state) {
  (void)state;
  FyTensorList *both = fy_state_dict(fy_nn_layer_norm(fy_shape(2, 3)));
  assert_int_equal(both->count, 2);
  assert_values(fy_list_get(both, "weight"), (double[]){1, 1, 1, 1, 1, 1}, 6, 0);
  assert_values(fy_list_get(both, "bias"), (double[]){0, 0, 0, 0, 0, 0}, 6, 0);
  FyTensorList *weight = fy_state_dict(fy_nn_layer_norm(fy_shape(3), .no_bias = true));
  assert_int_equal(weight->count, 1);
  assert_string_equal(weight->names[0], "weight");
  assert_int_equal(fy_state_dict(fy_nn_layer_norm(fy_shape(3), .no_affine = true))->count, 0);
  FyModule *norm = fy_nn_layer_norm(fy_shape(2), .eps = 0);
  FyTensor *x = fy_tensor(fy_floats(1, 3, 5, 2), fy_shape(2, 2));
  assert_values(fy_detach(fy_forward(norm, x)), (double[]){-1, 1, 1, -1}, 4, 1e-6);
}

static void test_values_are_converted(void **state) {
  (void)state;
  FyModule *linear = fy_nn_linear(2, 1);
  FyTensorList *dict = fy_tensor_list_new();
  FyDevice device = fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE;
  fy_list_add(dict, "bias", fy_tensor(fy_doubles(0.5), fy_shape(1)));
  fy_list_add(dict, "weight", fy_tensor(fy_doubles(1, 2), fy_shape(1, 2), .device = device));
  fy_load_state_dict(linear, dict);
  FyTensor *weight = fy_list_get(fy_parameters(linear), "weight");
  assert_values(weight, (double[]){1, 2}, 2, 0);
  assert_int_equal(fy_dtype_of(weight), FY_FLOAT32);
  assert_false(fy_is_cuda(weight));
}

// The state dict of `net` without one key.
static FyTensorList *without(Net *net, const char *key) {
  FyTensorList *all = fy_state_dict(net), *list = fy_tensor_list_new();
  for (int i = 0; i < all->count; i++)
    if (strcmp(all->names[i], key) != 0)
      fy_list_add(list, all->names[i], all->items[i]);
  return list;
}

static void test_errors_list_everything(void **state) {
  (void)state;
  Net *net = new_net();
  FyTensor *weight = fy_list_get(fy_parameters(net), "fc2.weight");
  FyTensor *before = fy_clone(fy_detach(weight));
  FyTensorList *dict = without(net, "fc1.weight");
  fy_list_add(dict, "zzz", fy_zeros(fy_shape(1)));
  fy_list_add(dict, "aa", fy_zeros(fy_shape(1)));
  assert_raises(FY_RUNTIME_ERROR,
                "Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: \"fc1.weight\". "
                "\n\tUnexpected key(s) in state_dict: \"zzz\", \"aa\". ",
                fy_load_state_dict(net, dict));
  FyTensorList *wrong = without(net, "fc1.bias");
  fy_list_add(wrong, "fc1.bias", fy_zeros(FY_SCALAR));
  fy_fill_(fy_list_get(wrong, "norm.weight"), 7);
  assert_raises(FY_RUNTIME_ERROR,
                "Error(s) in loading state_dict for Net:\n\tsize mismatch for fc1.bias: copying a param with shape "
                "torch.Size([]) from checkpoint, the shape in current model is torch.Size([5]).",
                fy_load_state_dict(net, wrong));
  assert_true(fy_equal(weight, before));
  assert_raises(FY_TYPE_ERROR, "fy_load_state_dict: the state dict is NULL", fy_load_state_dict(net, NULL));
}

static void test_long_errors_are_cut(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_linear(1, 1));
  for (int i = 1; i < 200; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    fy_module_add_child(model, name, fy_nn_linear(1, 1), -1);
  }
  FyError error;
  fy_trap(error) {
    fy_load_state_dict(model, fy_tensor_list_new());
  }
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  assert_string_equal(error.message + strlen(error.message) - 3, "...");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_state_dict_shares_storage), cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_names_of_layer_norm),       cmocka_unit_test(test_values_are_converted),
      cmocka_unit_test(test_errors_list_everything),    cmocka_unit_test(test_long_errors_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
