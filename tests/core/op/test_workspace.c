// SPDX-License-Identifier: MIT
// CPU kernels that are refused a workspace: each says so, at whichever request it was, and computes the same as ever when it is
// asked again. What a kernel would leave behind shows under the address sanitizer.
//
// run: FERRY_CUDA=off
// run check: OMP_NUM_THREADS=3 FERRY_CUDA=off
#include "core/nn/check.h"
#include "op/op.h"

enum { MOST = 64 };

static int refused[FY_OP_COUNT]; // requests of each op's kernel that were refused

// Grants all requests but the `fatal`-th.
typedef struct Memory {
  int requests, fatal;
  void *blocks[MOST];
} Memory;

static void *grant(FyLaunch *launch, size_t bytes) {
  Memory *memory = launch->owner;
  if (++memory->requests == memory->fatal)
    return NULL;
  assert_in_range(memory->requests, 1, MOST);
  return memory->blocks[memory->requests - 1] = aligned_alloc(64, (bytes + 64) / 64 * 64);
}

static int run_refused(const FyOpCall *call, Memory *memory) {
  FyLaunch launch = {
      .n_in = call->n_in, .n_out = call->n_out, .params = call->params, .workspace = grant, .owner = memory};
  for (int i = 0; i < call->n_in; i++)
    launch.in[i] = call->in[i] ? &call->in[i]->array : NULL;
  for (int i = 0; i < call->n_out; i++)
    launch.out[i] = call->out[i] ? &call->out[i]->array : NULL;
  int result = call->op->cpu(&launch);
  for (int i = 0; i < MOST; i++)
    free(memory->blocks[i]);
  return result;
}

// Before a kernel runs: runs it with its first request refused, with its second, and so on until it makes no more.
static void refuse_all(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  if (!call->op->cpu || call->in_place || call->copied || call->aside) // those get other arrays than the call's
    return;
  for (int k = 1;; k++) {
    Memory memory = {.fatal = k};
    int result = run_refused(call, &memory);
    if (memory.requests < k) {
      assert_int_equal(result, FY_LAUNCH_OK);
      return;
    }
    assert_int_equal(result, FY_LAUNCH_NO_MEMORY);
    refused[call->op->id]++;
  }
}

static FyOpHooks refuse_all_hooks = {.kernel = refuse_all};

static FyTensor *parameter(FySize size) {
  return fy_set_requires_grad(fy_randn_with((FyFactory){.size = size}), true);
}

// Goes backward from a gradient that lies row-major, as kernels take it, and adds up what there is.
static double backward_from(FyTensor *out) {
  fy_backward(out, .gradient = fy_clone(fy_detach(out)));
  return fy_item(fy_sum(fy_detach(out)));
}

static double convolutions(FyTensor *x, FyTensor *weight, FyTensor *bias) {
  FyTensor *plain = fy_conv2d(x, weight, bias, .padding = 1), *grouped;
  FyTensor *fused = fy_conv2d_relu_max_pool2d(x, weight, (FyConv2d){.bias = bias}, (FyPool2d){.kernel_size = 2});
  grouped = fy_conv2d(x, fy_narrow(weight, 1, 0, 1), NULL, .groups = (int)x->array.shape[1]);
  double value = backward_from(fy_max_pool2d(plain, 2)) + backward_from(fused) + backward_from(grouped);
  value += fy_item(fy_sum(fy_grad(x))) + fy_item(fy_sum(fy_grad(weight)));
  fy_set_grad(x, NULL);
  fy_set_grad(weight, NULL);
  return value;
}

// oneDNN's convolution (16 channels), and that by columns (4, float64).
static void test_convolutions(void **state) {
  (void)state;
  for (int dnn = 0; dnn < 2; dnn++) {
    fy_scope {
      int64_t c = dnn ? 16 : 4;
      FyTensor *x = parameter(fy_shape(20, c, 8, 8)), *weight = parameter(fy_shape(c, c, 3, 3));
      FyTensor *bias = fy_randn(fy_shape(c));
      double before = convolutions(x, weight, bias);
      fy_op_hooks_add(&refuse_all_hooks);
      double with = convolutions(x, weight, bias);
      fy_op_hooks_remove(&refuse_all_hooks);
      assert_true(before == with);
      assert_true(convolutions(x, weight, bias) == before);
    }
  }
  const int ops[] = {FY_OP_ID_conv2d,
                     FY_OP_ID_conv2d_backward_input,
                     FY_OP_ID_conv2d_backward_weight,
                     FY_OP_ID_conv2d_relu_max_pool2d,
                     FY_OP_ID_conv2d_relu_max_pool2d_backward,
                     FY_OP_ID_max_pool2d};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (!refused[ops[i]])
      fail_msg("%s asked for no workspace", fy_ops[ops[i]]->name);
}

static void test_reductions_and_losses(void **state) {
  (void)state;
  fy_scope {
    FyTensor *x = fy_randn(fy_shape(300000)), *rows = fy_randn(fy_shape(500, 20));
    FyTensor *target = fy_randint(0, 20, fy_shape(500));
    double before[4] = {fy_item(fy_sum(x)), fy_item(fy_max(x)), fy_item(fy_mse_loss(x, fy_neg(x))),
                        fy_item(fy_cross_entropy(rows, target))};
    fy_op_hooks_add(&refuse_all_hooks);
    double with[4] = {fy_item(fy_sum(x)), fy_item(fy_max(x)), fy_item(fy_mse_loss(x, fy_neg(x))),
                      fy_item(fy_cross_entropy(rows, target))};
    fy_op_hooks_remove(&refuse_all_hooks);
    assert_memory_equal(before, with, sizeof before);
  }
  assert_true(refused[FY_OP_ID_sum] && refused[FY_OP_ID_max] && refused[FY_OP_ID_mse_loss]);
  assert_true(refused[FY_OP_ID_cross_entropy]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_convolutions), cmocka_unit_test(test_reductions_and_losses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
