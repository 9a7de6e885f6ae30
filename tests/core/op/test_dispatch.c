// SPDX-License-Identifier: MIT
// The way of a call: which calls the observer sees, how versions count, what is prepared and what backward keeps, in which
// order errors come, and what an error leaves behind.
//
// tsan
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy FERRY_SIM_MEMORY_MB=64 -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads FERRY_SIM_MEMORY_MB=64 -- cuda
#include "base/checked.h"
#include "base/sanitized.h"
#include "base/scope_impl.h"
#include "core/nn/check.h"
#include "op/op.h"
#include <pthread.h>
#include <stdatomic.h>

static FyDevice device;

// ---- which calls are made ------------------------------------------------------------------------------------------------

static int calls;
static const FyOp *last;

static void observe(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  calls++;
  last = call->op;
}

static FyOpHooks observe_hooks = {.kernel = observe};

#define assert_one_call(OP, ...)                                                                                       \
  do {                                                                                                                 \
    calls = 0;                                                                                                         \
    fy_op_hooks_add(&observe_hooks);                                                                                   \
    __VA_ARGS__;                                                                                                       \
    fy_op_hooks_remove(&observe_hooks);                                                                                \
    assert_int_equal(calls, 1);                                                                                        \
    assert_string_equal(last->name, #OP);                                                                              \
  } while (0)

static void a_move_is_a_call(void **state) {
  (void)state;
  FyTensor *host = fy_ones(fy_shape(2, 3)), *x = fy_to(host, device), *view = fy_transpose(x, 0, 1);
  FyTensor *half = fy_half(host), *whole = fy_long(fy_transpose(host, 0, 1));
  if (device.type == FY_CUDA) {
    assert_one_call(copy, fy_to(host, device));
    assert_one_call(copy, fy_cpu(x));
  }
  assert_one_call(copy, fy_to(view, FY_CPU_DEVICE, .dtype = FY_FLOAT16, .copy = true));
  assert_one_call(copy, fy_to(half, device, .dtype = FY_FLOAT64));
  assert_one_call(copy, fy_copy_(x, host));
  assert_one_call(copy, fy_copy_(view, whole));
  assert_one_call(copy, fy_copy_async_(host, x));
}

// Whatever the kernels want otherwise.
static void preparing_is_no_call(void **state) {
  (void)state;
  FyTensor *x = fy_transpose(fy_rand(fy_shape(4, 3), .device = device), 0, 1), *half = fy_half(x), *wide = fy_double(x);
  FyTensor *whole = fy_ones(fy_shape(4, 4), .dtype = FY_INT32, .device = device), *number = fy_number(2);
  FyTensor *strided = fy_transpose(half, 0, 1), *some = fy_slice(fy_arange(4, .device = device), 0, 0, 4, 2);
  FyTensor *repeated = fy_expand(fy_slice(x, 0, 0, 1, 1), fy_shape(2, 3, 4)), *square = fy_float(whole);
  assert_one_call(softmax, fy_softmax(x, 0));
  assert_one_call(softmax, fy_softmax(strided, 0));
  assert_one_call(mul, fy_mul(x, number));
  assert_one_call(matmul, fy_matmul(repeated, square));
  assert_one_call(exp, fy_exp(whole));
  assert_one_call(exp, fy_exp_(x));
  assert_one_call(exp, fy_exp_(strided));
  assert_one_call(add, fy_add_(half, x));
  assert_one_call(add, fy_add_(x, wide));
  assert_one_call(uniform, fy_uniform_(x, 0, 1));
  assert_one_call(uniform, fy_uniform_(strided, 0, 1));
  assert_one_call(index_select, fy_index_select(x, 1, some));
}

// Nothing of what was made on the way lives on in the caller's scope.
static void nothing_is_left(void **state) {
  (void)state;
  FyTensor *x = fy_transpose(fy_rand(fy_shape(64, 32), .device = device, .dtype = FY_FLOAT16), 0, 1);
  const size_t before = fy_memory_stats(device).requested;
  FyTensor *y = fy_softmax(x, 0);
  fy_exp_(x);
  fy_copy_(x, fy_number(1));
  assert_int_equal(fy_memory_stats(device).requested, before + fy_nbytes(y) + (device.type == FY_CPU ? 8 : 0));
}

// ---- several hooks at once -----------------------------------------------------------------------------------------------

typedef struct Counted {
  FyOpHooks hooks;
  int calls, turn; // turn: of the last call, among all hooks
} Counted;
static int turns;

static void count(FyOpHooks *hooks, const FyOpCall *call) {
  Counted *counted = (Counted *)(void *)hooks;
  (void)call;
  counted->calls++;
  counted->turn = ++turns;
}

// Whichever is removed, the others stay, and it can be added again.
static void hooks_come_and_go(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3));
  for (int removed = 0; removed < 3; removed++) {
    Counted three[3] = {{.hooks.kernel = count}, {.hooks.kernel = count}, {.hooks.kernel = count}};
    for (int i = 0; i < 3; i++)
      fy_op_hooks_add(&three[i].hooks);
    fy_neg(x);
    assert_true(three[2].turn < three[1].turn && three[1].turn < three[0].turn);
    fy_op_hooks_remove(&three[removed].hooks);
    fy_op_hooks_remove(&three[removed].hooks); // not there: nothing happens
    fy_neg(x);
    for (int i = 0; i < 3; i++)
      assert_int_equal(three[i].calls, i == removed ? 1 : 2);
    fy_op_hooks_add(&three[removed].hooks);
    fy_neg(x);
    assert_int_equal(three[removed].calls, 2);
    for (int i = 0; i < 3; i++)
      fy_op_hooks_remove(&three[i].hooks);
    fy_neg(x);
    assert_int_equal(three[0].calls + three[1].calls + three[2].calls, 8);
  }
}

static atomic_bool stop;

static void *run_ops(void *unused) {
  fy_scope {
    FyTensor *x = fy_ones(fy_shape(3));
    while (!atomic_load(&stop))
      fy_scope {
        fy_neg(x);
      }
  }
  return unused;
}

// For the thread sanitizer: another thread walks the list while it changes.
static void hooks_change_while_ops_run(void **state) {
  (void)state;
  static FyOpHooks first = {.kernel = NULL}, second = {.kernel = NULL};
  pthread_t thread;
  atomic_store(&stop, false);
  assert_int_equal(pthread_create(&thread, NULL, run_ops, NULL), 0);
  for (int i = 0; i < 200; i++) {
    fy_op_hooks_add(&first);
    fy_op_hooks_add(&second);
    fy_op_hooks_remove(&first);
    fy_op_hooks_remove(&second);
  }
  atomic_store(&stop, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

// ---- versions ------------------------------------------------------------------------------------------------------------

#define assert_counts(T, STEPS, ...)                                                                                   \
  do {                                                                                                                 \
    const uint32_t version = fy_version_of(T);                                                                         \
    __VA_ARGS__;                                                                                                       \
    assert_int_equal(fy_version_of(T), version + (STEPS));                                                             \
  } while (0)

static void a_change_counts_once(void **state) {
  (void)state;
  const FyDType floats[] = {FY_FLOAT16, FY_BFLOAT16, FY_FLOAT32, FY_FLOAT64};
  for (int i = 0; i < 4; i++) {
    FyTensor *x = fy_ones(fy_shape(3, 3), .dtype = floats[i], .device = device), *view = fy_transpose(x, 0, 1);
    FyTensor *host = fy_ones(fy_shape(3), .dtype = FY_INT64);
    assert_counts(x, 1, fy_add_(x, x));
    assert_counts(x, 1, fy_relu_(view));
    assert_counts(x, 1, fy_mul_scalar_(x, 2));
    assert_counts(x, 1, fy_add_(x, view));
    assert_counts(x, 1, fy_add_(x, fy_ones(fy_shape(3), .dtype = FY_FLOAT64, .device = device)));
    assert_counts(x, 1, fy_normal_(view, 0, 1));
    assert_counts(x, 1, fy_zero_(view));
    assert_counts(x, 1, fy_copy_(view, host));
    assert_counts(x, 1, fy_copy_(x, view));
    assert_counts(host, 1, fy_copy_(host, fy_select(x, 0, 0)));
    assert_counts(x, 0, fy_softmax(view, 0));
    assert_counts(host, 0, fy_to(host, device, .dtype = FY_FLOAT16));
  }
}

static void what_is_new_has_version_0(void **state) {
  (void)state;
  FyTensor *parts[20], *x = fy_ones(fy_shape(3), .dtype = FY_FLOAT16);
  for (int i = 0; i < 20; i++)
    parts[i] = fy_full(i, fy_shape(2), .device = device);
  FyTensor *joined = fy_cat((FyTensors){20, parts}, 0), *stacked = fy_stack((FyTensors){20, parts}, 0);
  assert_int_equal(fy_version_of(joined), 0);
  assert_int_equal(fy_version_of(stacked), 0);
  assert_true(fy_item(fy_select(joined, 0, 39)) == 19);
  assert_int_equal(fy_version_of(fy_to(x, device, .dtype = FY_FLOAT32)), 0);
  assert_int_equal(fy_version_of(fy_exp(x)), 0);
}

// ---- in place ------------------------------------------------------------------------------------------------------------

static void integers_need_no_gradient(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(2), .requires_grad = true), *whole = fy_zeros(fy_shape(2), .dtype = FY_INT64);
  FyTensor *there = fy_zeros(fy_shape(2), .dtype = FY_INT64, .device = device);
  fy_copy_(whole, x);
  fy_copy_(there, x);
  assert_false(fy_requires_grad(whole) || fy_requires_grad(there));
  assert_true(fy_is_leaf(whole) && fy_is_leaf(there));
  assert_true(fy_item_int64(fy_sum(whole)) == 2 && fy_item_int64(fy_sum(there)) == 2);
  assert_false(fy_requires_grad(fy_to(x, device, .dtype = FY_INT64)));
  FyTensor *real = fy_zeros(fy_shape(2), .device = device);
  fy_copy_(real, x);
  assert_true(fy_requires_grad(real));
  assert_string_equal(fy_grad_fn_name(real), "CopyBackwards");
  fy_backward(fy_sum(fy_mul_scalar(real, 3)));
  assert_values(fy_grad(x), fy_doubles(3, 3), 2, 0);
}

// The kernel computes in another dtype or layout than the target's.
static void targets_of_another_kind(void **state) {
  (void)state;
  const FyDType floats[] = {FY_FLOAT16, FY_BFLOAT16, FY_FLOAT32};
  for (int i = 0; i < 3; i++) {
    FyTensor *x = fy_to(fy_arange(6), device, .dtype = floats[i]);
    x = fy_transpose(fy_view(x, fy_shape(2, 3)), 0, 1); // 0 3, 1 4, 2 5
    fy_add_(x, fy_full(0.5, fy_shape(2), .dtype = FY_FLOAT64, .device = device));
    assert_values(x, fy_doubles(0.5, 3.5, 1.5, 4.5, 2.5, 5.5), 6, 0);
    fy_mul_(x, fy_number(2));
    assert_values(x, fy_doubles(1, 7, 3, 9, 5, 11), 6, 0);
    fy_neg_(fy_select(x, 1, 1));
    fy_relu_(x);
    assert_values(x, fy_doubles(1, 0, 3, 0, 5, 0), 6, 0);
    fy_copy_(x, fy_tensor(fy_floats(4, 8), fy_shape(2)));
    assert_values(x, fy_doubles(4, 8, 4, 8, 4, 8), 6, 0);
  }
  FyTensor *whole = fy_arange(3, .dtype = FY_INT32, .device = device);
  fy_mul_(whole, fy_full(1ll << 33, fy_shape(3), .dtype = FY_INT64, .device = device));
  assert_values(whole, fy_doubles(0, 0, 0), 3, 0);
  fy_add_(whole, fy_arange(3, .dtype = FY_UINT8, .device = device));
  assert_values(whole, fy_doubles(0, 1, 2), 3, 0);
}

// ---- what backward keeps ----------------------------------------------------------------------------------------------------

// The operand itself, though the kernel saw a copy of it: a change after the forward is noticed.
static void operands_are_kept_not_copies(void **state) {
  (void)state;
  const char *text = "has been modified by an inplace operation";
  FyTensor *w = fy_rand(fy_shape(3, 2), .device = device, .requires_grad = true);
  FyTensor *target = fy_rand(fy_shape(2, 3), .device = device);
  FyTensor *loss = fy_mse_loss(fy_transpose(w, 0, 1), target);
  fy_no_grad {
    fy_add_scalar_(w, 1);
  }
  assert_raises_about(FY_RUNTIME_ERROR, text, fy_backward(loss));
  FyTensor *count = fy_ones(fy_shape(2), .dtype = FY_INT32, .device = device);
  FyTensor *sum = fy_sum(fy_mul(w, count));
  fy_add_scalar_(count, 1);
  assert_raises_about(FY_RUNTIME_ERROR, text, fy_backward(sum));
}

// Gradients through an operand whose dtype is not the result's, in the precision of the result.
static void gradients_of_promoted_operands(void **state) {
  (void)state;
  FyTensor *base = fy_tensor(fy_longs(2, 3), fy_shape(2), .dtype = FY_INT32, .device = device);
  FyTensor *exponent = fy_full(0.5, fy_shape(2), .dtype = FY_FLOAT64, .device = device, .requires_grad = true);
  fy_backward(fy_sum(fy_pow(base, exponent)));
  assert_values(fy_grad(exponent), fy_doubles(sqrt(2) * log(2), sqrt(3) * log(3)), 2, 1e-14);
  FyTensor *x = fy_full(3, fy_shape(2), .dtype = FY_FLOAT64, .device = device, .requires_grad = true);
  FyTensor *truth = fy_gt(fy_arange(2, .device = device), fy_number(0));
  fy_backward(fy_sum(fy_pow(x, truth)));
  assert_values(fy_grad(x), fy_doubles(0, 1), 2, 0);
}

// ---- the order of errors ---------------------------------------------------------------------------------------------------

static void shapes_before_dtypes(void **state) {
  (void)state;
  FyTensor *a = fy_ones(fy_shape(2, 3), .device = device), *wide = fy_double(a);
  FyTensor *whole = fy_ones(fy_shape(3), .dtype = FY_INT64, .device = device);
  assert_raises(FY_RUNTIME_ERROR, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", fy_matmul(a, wide));
  assert_raises(FY_RUNTIME_ERROR, "size mismatch, got input (2), mat (2x3), vec (2)",
                fy_matmul(a, fy_select(wide, 1, 0)));
  assert_raises(FY_RUNTIME_ERROR, "dot : expected both vectors to have same dtype, but found Float and Double",
                fy_matmul(fy_select(a, 0, 0), fy_select(wide, 1, 0)));
  assert_raises(FY_RUNTIME_ERROR, "output with shape [3] doesn't match the broadcast shape [2, 3]", fy_add_(whole, a));
  assert_raises(FY_RUNTIME_ERROR, "result type Float can't be cast to the desired output type Long",
                fy_add_(whole, fy_select(a, 0, 0)));
  assert_raises_about(FY_RUNTIME_ERROR, "to have 2 channels, but got 3 channels instead",
                      fy_conv2d(fy_ones(fy_shape(1, 3, 4, 4), .device = device),
                                fy_ones(fy_shape(4, 2, 3, 3), .dtype = FY_FLOAT64, .device = device), NULL));
  assert_raises(FY_VALUE_ERROR, "Expected input batch_size (2) to match target batch_size (3).",
                fy_cross_entropy(a, fy_zeros(fy_shape(3), .dtype = FY_INT32, .device = device)));
}

static void shapes_before_devices(void **state) {
  (void)state;
  const char *devices =
      "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!";
  const char *sizes = "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0";
  if (device.type == FY_CPU) {
    print_message("there is no CUDA in this run\n");
    skip();
  }
  FyTensor *a = fy_ones(fy_shape(2), .device = device), *b = fy_ones(fy_shape(3)), *c = fy_ones(fy_shape(2));
  assert_raises(FY_RUNTIME_ERROR, sizes, fy_add(a, b));
  assert_raises(FY_RUNTIME_ERROR, sizes, fy_mul_(a, b));
  assert_raises(FY_RUNTIME_ERROR, sizes, fy_copy_(a, b));
  assert_raises(FY_RUNTIME_ERROR, devices, fy_add(c, a));
  assert_raises(FY_RUNTIME_ERROR, devices, fy_mul_(a, c));
  assert_raises(FY_RUNTIME_ERROR, devices, fy_matmul(fy_ones(fy_shape(2, 3), .device = device), fy_unsqueeze(b, 0)));
}

// ---- what an error leaves behind --------------------------------------------------------------------------------------------

static bool asked;

// An op that takes one workspace, and is refused a second one.
static int greedy_kernel(FyLaunch *l) {
  asked = true;
  if (!l->workspace(l, 4096))
    return FY_LAUNCH_OK; // and so the test fails
  return l->workspace(l, (size_t)1 << 50) ? FY_LAUNCH_OK : FY_LAUNCH_NO_MEMORY;
}

static void infer_greedy(FyOpCall *call) {
  const FyArray *a = &call->in[0]->array;
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
}

static const FyOp greedy = {.name = "greedy", .infer = infer_greedy, .cpu = greedy_kernel, .id = -1};

static void a_workspace_is_refused(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3), .dtype = FY_FLOAT16);
  const size_t before = fy_memory_stats(FY_CPU_DEVICE).requested;
  asked = false;
  assert_raises_about(FY_OUT_OF_MEMORY_ERROR, "you tried to allocate 1125899906842624 bytes",
                      fy_run(&greedy, NULL, FY_INPUTS(x)));
  assert_true(asked);
  assert_raises_about(FY_OUT_OF_MEMORY_ERROR, "you tried to allocate 1125899906842624 bytes",
                      fy_run_in_place(&greedy, NULL, FY_INPUTS(x)));
  assert_int_equal(fy_version_of(x), 0);
  assert_int_equal(fy_memory_stats(FY_CPU_DEVICE).requested, before);
}

// The sanitizers have allocators of their own, which cannot be replaced here.
#if !defined(FY_SANITIZED) && defined(__GLIBC__)
#define REPLACED 1
void *__libc_memalign(size_t alignment, size_t bytes);
static _Thread_local long countdown; // the k-th block from now on is refused, and all behind it; 0: none is

void *aligned_alloc(size_t alignment, size_t bytes) {
  if (countdown == 1)
    return NULL;
  countdown -= countdown > 0;
  return __libc_memalign(alignment, bytes);
}

static FyTensor *x, *half, *whole, *other;

static void make_subjects(void) {
  x = fy_transpose(fy_view(fy_arange(12, .device = device, .dtype = FY_FLOAT32), fy_shape(3, 4)), 0, 1);
  half = fy_transpose(fy_half(fy_transpose(x, 0, 1)), 0, 1);
  whole = fy_long(x);
  other = fy_transpose(fy_to(fy_transpose(x, 0, 1), FY_CPU_DEVICE, .dtype = FY_FLOAT64, .copy = true), 0, 1);
}

// What the kernels want otherwise, in as many ways as there are.
static void call_one(int k) {
  if (k == 0)
    fy_softmax(half, 0);
  else if (k == 1)
    fy_add(half, whole);
  else if (k == 2)
    fy_add_(half, x);
  else if (k == 3)
    fy_exp_(half);
  else if (k == 4)
    fy_mul_(x, fy_full(2, fy_shape(4, 3), .dtype = FY_FLOAT64, .device = device));
  else if (k == 5)
    fy_max_dim(half, 1, false);
  else if (k == 6)
    fy_copy_(half, fy_mul_scalar(other, 2));
  else
    fy_add_(x, fy_view(fy_transpose(x, 0, 1), fy_shape(4, 3)));
}
enum { CALLS = 8 };

static void check_subjects(void) {
  const double values[] = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
  assert_values(x, values, 12, 0);
  assert_values(half, values, 12, 0);
  assert_values(whole, values, 12, 0);
  assert_int_equal(fy_version_of(x) + fy_version_of(half) + fy_version_of(whole) + fy_version_of(other), 0);
}

// Call k while the n-th block of host memory is refused, and what it leaves behind. False when it did not need so many.
static bool is_refused(int k, long n) {
  FyError error;
  fy_empty_cache();
  const int depth = fy_scope_depth();
  const size_t before = fy_memory_stats(FY_CPU_DEVICE).requested, there = fy_memory_stats(device).requested;
  fy_trap(error) {
    countdown = n;
    fy_scope {
      call_one(k);
    }
  }
  countdown = 0;
  assert_int_equal(fy_scope_depth(), depth);
  assert_int_equal(fy_memory_stats(FY_CPU_DEVICE).requested, before);
  assert_int_equal(fy_memory_stats(device).requested, there);
  if (!error.kind)
    return false;
  assert_int_equal(error.kind, FY_OUT_OF_MEMORY_ERROR);
  check_subjects();
  return true;
}

#else
#define REPLACED 0
#endif

// Every block of host memory is refused in turn, until the call gets all that it needs.
static void memory_runs_out_midway(void **state) {
  (void)state;
#if REPLACED
  if (fy_checked) {
    print_message("the checked mode maps tensors' memory, and asks malloc for none\n");
    skip();
  }
  for (int k = 0; k < CALLS; k++)
    fy_scope {
      long n = 1;
      make_subjects();
      while (is_refused(k, n))
        n++;
      if (device.type == FY_CPU)
        assert_true(n > 1);
    }
#else
  print_message("the sanitizers' allocators cannot be replaced\n");
  skip();
#endif
}

// 64 MiB: what is prepared fits, the output does not.
static void the_device_runs_out(void **state) {
  (void)state;
  if (device.type == FY_CPU || !fy_cuda_is_simulated()) {
    print_message("only a simulated device is as small as that\n");
    skip();
  }
  FyTensor *big = fy_ones(fy_shape(2048, 3072), .device = device), *view = fy_transpose(big, 0, 1);
  FyTensor *host = fy_ones(fy_shape(3072, 2048), .dtype = FY_FLOAT64);
  const size_t before = fy_memory_stats(device).requested;
  const int depth = fy_scope_depth();
  assert_raises_about(FY_OUT_OF_MEMORY_ERROR, "CUDA out of memory", fy_softmax(view, 0));
  assert_raises_about(FY_OUT_OF_MEMORY_ERROR, "CUDA out of memory", fy_to(host, device));
  assert_int_equal(fy_scope_depth(), depth);
  assert_int_equal(fy_memory_stats(device).requested, before);
  assert_int_equal(fy_version_of(big), 0);
  fy_copy_(view, host); // converted on the side where it is smaller
  assert_int_equal(fy_version_of(big), 1);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_move_is_a_call),
      cmocka_unit_test(hooks_come_and_go),
      cmocka_unit_test(hooks_change_while_ops_run),
      cmocka_unit_test(preparing_is_no_call),
      cmocka_unit_test(nothing_is_left),
      cmocka_unit_test(a_change_counts_once),
      cmocka_unit_test(what_is_new_has_version_0),
      cmocka_unit_test(integers_need_no_gradient),
      cmocka_unit_test(targets_of_another_kind),
      cmocka_unit_test(operands_are_kept_not_copies),
      cmocka_unit_test(gradients_of_promoted_operands),
      cmocka_unit_test(shapes_before_dtypes),
      cmocka_unit_test(shapes_before_devices),
      cmocka_unit_test(a_workspace_is_refused),
      cmocka_unit_test(memory_runs_out_midway),
      cmocka_unit_test(the_device_runs_out),
  };
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
