// SPDX-License-Identifier: MIT
// The algorithms of convolutions agree with each other on random shapes; benchmark mode chooses one of them once for each kind
// of call, bounded, on threads, and passes over what has no memory.
// tsan
// run: FERRY_CUDA=sim FERRY_SIM_DEVICES=1
// run check: FERRY_CUDA=off
// timeout: 300
#include "core/nn/check.h"
#include "base/text.h"
#include "base/threads.h"
#include "op/benchmark_impl.h"
#include "op/convolution/conv_pool.h"
#include "op/kernel/dnn.h"
#include "op/op.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>

static uint64_t seed = 12345;

static int64_t draw(int64_t least, int64_t most) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return least + (int64_t)((seed >> 33) % (uint64_t)(most - least + 1));
}

typedef struct Case {
  int64_t n, c, o, h, w, kh, kw;
  FyConv2dParams p;
  bool bias;
  int window;
} Case;

static Case draw_case(bool fused) {
  const int groups = fused || draw(0, 2) ? 1 : (int)draw(2, 4);
  Case c = {.n = draw(1, 5), .bias = draw(0, 1), .window = (int)draw(1, 3)};
  const bool wide = draw(0, 2) > 0; // enough for oneDNN
  c.c = groups * (wide ? 16 * draw(1, 2) : draw(1, 5));
  c.o = groups * (wide ? 16 * draw(1, 2) : draw(1, 5));
  c.kh = draw(0, 1) ? 3 : draw(1, 4);
  c.kw = draw(0, 1) ? c.kh : draw(1, 4);
  c.p = (FyConv2dParams){.stride = draw(0, 2) ? 1 : (int)draw(2, 3),
                         .padding = (int)draw(0, 2),
                         .dilation = draw(0, 3) ? 1 : 2,
                         .groups = groups};
  c.h = draw(0, 4) + (c.kh - 1) * c.p.dilation + 1 + 3;
  c.w = draw(0, 9) + (c.kw - 1) * c.p.dilation + 1 + 3;
  return c;
}

static const char *text_of(const Case *c, int algorithm) {
  static char text[256];
  snprintf(text, sizeof text, "algorithm %d, (%d %d %d %d) by (%d %d %d), stride %d padding %d dilation %d groups %d",
           algorithm, (int)c->n, (int)c->c, (int)c->h, (int)c->w, (int)c->o, (int)c->kh, (int)c->kw, c->p.stride,
           c->p.padding, c->p.dilation, c->p.groups);
  return text;
}

// Near, measured by the largest of the expected values; tells how many were compared.
static void assert_near(FyTensor *got, FyTensor *want, double tolerance, const char *what) {
  FyTensor *a = fy_to(got, FY_CPU_DEVICE, .dtype = FY_FLOAT64), *b = fy_to(want, FY_CPU_DEVICE, .dtype = FY_FLOAT64);
  const double difference = fy_item(fy_max(fy_abs(fy_sub(a, b)))), largest = fy_item(fy_max(fy_abs(b)));
  if (!(difference <= tolerance * (1 + largest)))
    fail_msg("%s: %g apart, where the largest value is %g", what, difference, largest);
}

// ---- one by one --------------------------------------------------------------------------------------------------------------

static int ran[FY_CONV_ALGORITHMS]; // how often each computed something

static FyTensor *run_op(const FyOp *op, const Case *c, int algorithm, FyTensor *shaped, FyTensor *const *in, int n_in) {
  FyConv2dParams p = c->p;
  FyTensor *out = NULL;
  FyError error;
  p.algorithm = algorithm;
  if (shaped)
    memcpy(p.shape, shaped->array.shape, sizeof p.shape);
  fy_trap(error) {
    fy_run_multi(op, &p, n_in, in, 1, &out);
  }
  if (error.kind == FY_NOT_IMPLEMENTED_ERROR)
    return NULL;
  if (error.kind)
    fail_msg("%s: %s", text_of(c, algorithm), error.message);
  ran[algorithm]++;
  return out;
}

static double tolerance_of(FyDType dtype) {
  return dtype == FY_FLOAT64 ? 1e-12 : dtype == FY_FLOAT32 ? 2e-5 : dtype == FY_FLOAT16 ? 2e-3 : 2e-2;
}

static void compare(const FyOp *op, const Case *c, FyDType dtype, FyTensor *shaped, FyTensor *const *in, int n_in) {
  FyTensor *exact[3];
  for (int i = 0; i < n_in; i++)
    exact[i] = in[i] ? fy_to(in[i], FY_CPU_DEVICE, .dtype = FY_FLOAT64) : NULL;
  FyTensor *want = run_op(op, c, FY_CONV_BY_RULE, shaped, exact, n_in);
  for (int algorithm = 0; algorithm < FY_CONV_ALGORITHMS; algorithm++) {
    FyTensor *got = run_op(op, c, algorithm, shaped, in, n_in);
    if (got)
      assert_near(got, want, tolerance_of(dtype), text_of(c, algorithm));
  }
}

static void compare_passes(const Case *c, FyDType dtype, FyDevice device) {
  FyTensor *x = fy_to(fy_randn(fy_shape(c->n, c->c, c->h, c->w)), device, .dtype = dtype);
  FyTensor *weight = fy_to(fy_randn(fy_shape(c->o, c->c / c->p.groups, c->kh, c->kw)), device, .dtype = dtype);
  FyTensor *bias = c->bias ? fy_to(fy_randn(fy_shape(c->o)), device, .dtype = dtype) : NULL;
  const FyConvShape s = fy_conv_shape(&c->p, x->array.shape, weight->array.shape);
  FyTensor *grad = fy_to(fy_randn(fy_shape(s.n, s.o, s.oh, s.ow)), device, .dtype = dtype);
  compare(&fy_op_conv2d, c, dtype, NULL, (FyTensor *[]){x, weight, bias}, 3);
  compare(&fy_op_conv2d_backward_input, c, dtype, x, (FyTensor *[]){grad, weight}, 2);
  compare(&fy_op_conv2d_backward_weight, c, dtype, weight, (FyTensor *[]){grad, x}, 2);
}

static void plain_algorithms_agree(void **state) {
  (void)state;
  const bool cuda = fy_cuda_is_available();
  static const FyDType dtypes[] = {FY_FLOAT32, FY_FLOAT64, FY_FLOAT16, FY_BFLOAT16};
  fy_manual_seed(1);
  for (int i = 0; i < (cuda ? 60 : 160); i++)
    fy_scope {
      Case c = draw_case(false);
      fy_no_grad {
        compare_passes(&c, i % 3 ? FY_FLOAT32 : dtypes[i / 3 % 4], cuda ? fy_cuda_device(0) : FY_CPU_DEVICE);
      }
    }
  if (cuda) {
    assert_true(ran[FY_CONV_IMPLICIT_GEMM] > 100);
    assert_true(ran[FY_CONV_EXPLICIT_GEMM] > 100);
    assert_int_equal(ran[FY_CONV_IM2COL], 0);
    assert_int_equal(ran[FY_CONV_CUDNN], 0); // of a real GPU alone
  } else {
    assert_true(ran[FY_CONV_IM2COL] > 100);
    assert_true(ran[FY_CONV_DNN] > 100);
    assert_true(ran[FY_CONV_DNN_WHOLE] > 50);
    assert_true(ran[FY_CONV_WINOGRAD] > 30);
    assert_int_equal(ran[FY_CONV_EXPLICIT_GEMM], 0);
  }
}

// A layer, and its gradients from the taps given (NULL: its own), by one algorithm for all of it. out: pooled values, taps, and
// three gradients.
static bool run_fused(const Case *c, int algorithm, bool channels_last, FyTensor *const *in, FyTensor *taps,
                      FyTensor **out) {
  FyConvPoolParams p = {.conv = c->p, .window = c->window, .channels_last = channels_last, .needs = {true, true, true}};
  FyError error;
  p.conv.algorithm = algorithm;
  fy_trap(error) {
    fy_run_multi(&fy_op_conv2d_relu_max_pool2d, &p, 3, in, 2, out);
    FyTensor *grad = fy_mul_scalar(out[0], 0.5); // any that has the layout
    FyTensor *from[] = {grad, taps ? taps : out[1], in[0], in[1]};
    fy_run_multi(&fy_op_conv2d_relu_max_pool2d_backward, &p, 4, from, 3, out + 2);
  }
  if (error.kind && error.kind != FY_NOT_IMPLEMENTED_ERROR)
    fail_msg("%s: %s", text_of(c, algorithm), error.message);
  return !error.kind;
}

static void fused_algorithms_agree(void **state) {
  (void)state;
  int done[FY_CONV_ALGORITHMS] = {0};
  const bool cuda = fy_cuda_is_available();
  const FyDevice device = cuda ? fy_cuda_device(0) : FY_CPU_DEVICE;
  const int known = cuda ? FY_CONV_EXPLICIT_GEMM : FY_CONV_DIRECT; // what the others are compared with
  fy_manual_seed(2);
  for (int i = 0; i < (cuda ? 30 : 100); i++)
    fy_scope {
      Case c = draw_case(true);
      FyTensor *in[] = {fy_randn(fy_shape(c.n, c.c, c.h, c.w), .device = device),
                        fy_randn(fy_shape(c.o, c.c, c.kh, c.kw), .device = device),
                        fy_randn(fy_shape(c.o), .device = device)};
      const FyConvShape s = fy_conv_shape(&c.p, in[0]->array.shape, in[1]->array.shape);
      FyTensor *want[5], *got[5];
      bool fits = s.oh >= c.window && s.ow >= c.window && run_fused(&c, known, false, in, NULL, want);
      for (int a = 0; fits && a < FY_CONV_ALGORITHMS; a++)
        for (int last = 0; last < (cuda ? 1 : 2); last++) // channels last: on the CPU alone
          if (run_fused(&c, a, last, in, want[1], got)) {
            done[a]++;
            for (int k = 0; k < 5; k++)
              if (k != 1) // two algorithms' rounding may take the maximum from different taps
                assert_near(got[k], want[k], 1e-4, text_of(&c, a));
          }
    }
  assert_int_equal(done[FY_CONV_IM2COL], 0);
  assert_true(done[FY_CONV_BY_RULE] > 20 && done[known] > 20);
  assert_true(done[cuda ? FY_CONV_IMPLICIT_GEMM : FY_CONV_DNN] > 20);
  if (!cuda)
    assert_true(done[FY_CONV_WINOGRAD] > 5);
}

// ---- benchmark mode ----------------------------------------------------------------------------------------------------------

static int64_t searches(void) {
  return fy_backends_benchmark_counts().searches;
}

static FyTensor *convolve(int64_t n, int64_t c, FyDevice device) {
  FyTensor *x = fy_ones(fy_shape(n, c, 6, 6), .device = device),
           *weight = fy_ones(fy_shape(16, c, 3, 3), .device = device);
  return fy_conv2d(x, weight, NULL, .padding = 1);
}

static int begin(void **state) {
  (void)state;
  fy_backends_set_deterministic(false);
  fy_benchmark_time_simulated(true);
  fy_benchmark_limit(256);
  fy_backends_set_benchmark(true);
  return 0;
}

static int end(void **state) {
  (void)state;
  fy_backends_set_benchmark(false);
  fy_benchmark_time_simulated(false);
  return 0;
}

// Whether it is the convolution of ones, up to Winograd's rounding.
static bool is_right(FyTensor *out) {
  const double want = (double)out->array.shape[0] * 16 * 16 * (4 * 4 * 9 + 4 * 4 * 6 + 4 * 4);
  return fabs(fy_item(fy_sum(out)) - want) < 1e-6 * want;
}

static FyDevice device_here(void) {
  return fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE;
}

static void each_kind_is_searched_once(void **state) {
  (void)state;
  fy_scope {
    const FyDevice device = device_here();
    int64_t before = searches();
    for (int i = 0; i < 3; i++)
      assert_true(is_right(convolve(2, 16, device)));
    assert_int_equal(searches(), before + 1);
    convolve(3, 16, device);
    assert_int_equal(searches(), before + 2);
    FyTensor *x = fy_ones(fy_shape(2, 16, 6, 6), .device = device, .requires_grad = true);
    FyTensor *weight = fy_ones(fy_shape(16, 16, 3, 3), .device = device, .requires_grad = true);
    for (int i = 0; i < 2; i++)
      fy_backward(fy_sum(fy_conv2d(x, weight, NULL, .padding = 1))); // forward is known
    assert_int_equal(searches(), before + 4);
    assert_true(fy_backends_benchmark_counts().seconds > 0);
    const char *report = fy_backends_benchmark_report();
    assert_non_null(strstr(report, "conv2d (2, 16, 6, 6) by (16, 16, 3, 3), padded, float32 on "));
    assert_non_null(strstr(report, "conv2d, gradient of the weight (2, 16, 6, 6)"));
    assert_non_null(strstr(report, "  * "));
    if (device.type == FY_CPU) // timed beside the algorithms
      assert_non_null(strstr(report, "heuristic "));
    fy_backends_benchmark_clear();
    assert_string_equal(fy_backends_benchmark_report(), "");
    convolve(3, 16, device);
    assert_int_equal(searches(), before + 5);
  }
}

static void it_is_off_where_it_should_be(void **state) {
  (void)state;
  fy_scope {
    int64_t before = searches();
    fy_backends_set_deterministic(true);
    assert_true(fy_backends_deterministic() && fy_backends_benchmark());
    convolve(5, 16, device_here());
    fy_backends_set_deterministic(false);
    fy_backends_set_benchmark(false);
    convolve(5, 16, device_here());
    fy_backends_set_benchmark(true);
    fy_conv2d(fy_ones(fy_shape(0, 16, 6, 6)), fy_ones(fy_shape(16, 16, 3, 3)), NULL); // empty
    fy_conv2d(fy_ones(fy_shape(1, 2, 6, 6), .dtype = FY_FLOAT64), fy_ones(fy_shape(2, 2, 3, 3), .dtype = FY_FLOAT64),
              NULL); // one algorithm alone
    assert_int_equal(searches(), before);
    if (fy_cuda_is_available()) {
      fy_benchmark_time_simulated(false);
      convolve(6, 16, device_here());
      assert_int_equal(searches(), before);
      assert_non_null(strstr(fy_backends_benchmark_report(), "by rule: nothing is timed on a simulated device"));
    }
  }
}

static void results_are_the_chosen_ones(void **state) {
  (void)state;
  for (int i = 0; i < 12; i++)
    fy_scope {
      FyTensor *x = fy_randn(fy_shape(4, 16, 9, 9), .device = device_here());
      FyTensor *weight = fy_randn(fy_shape(16, 16, 3, 3), .device = device_here());
      FyTensor *first = fy_conv2d(x, weight, NULL, .padding = 1), *second = fy_conv2d(x, weight, NULL, .padding = 1);
      assert_true(fy_equal(first, second)); // the call that searches ends with what it has chosen
      fy_backends_benchmark_clear();
    }
}

static void few_are_remembered(void **state) {
  (void)state;
  fy_benchmark_limit(2);
  fy_scope {
    const FyDevice device = device_here();
    int64_t before = searches();
    convolve(1, 16, device);
    convolve(2, 16, device);
    convolve(1, 16, device);
    assert_int_equal(searches(), before + 2);
    convolve(3, 16, device); // 2 was used longest ago
    convolve(1, 16, device);
    assert_int_equal(searches(), before + 3);
    convolve(2, 16, device);
    assert_int_equal(searches(), before + 4);
  }
}

static void *thread_convolves(void *context) {
  for (int i = 0; i < 6; i++)
    fy_scope {
      if (!is_right(convolve(1 + i % 3, 16, FY_CPU_DEVICE)))
        *(bool *)context = true;
    }
  return NULL;
}

static void threads_search_one_at_a_time(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  bool wrong[THREADS] = {false};
  int64_t before = searches();
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, thread_convolves, &wrong[i]), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++)
    assert_false(wrong[i]);
  assert_int_equal(searches(), before + 3);
}

// The first algorithm never has memory, the second at times, the third does not do it.
static bool second_has_memory;
static int last_algorithm;

static int kernel_of_the_test(FyLaunch *l) {
  last_algorithm = *(const int *)l->params;
  if (last_algorithm == 1 || (last_algorithm == 2 && !second_has_memory))
    return FY_LAUNCH_NO_MEMORY;
  return last_algorithm == 3 ? FY_LAUNCH_NO_KERNEL : FY_LAUNCH_OK;
}

static int search_of_the_test(FyLaunch *l, FyKernel *kernel, FyDevice device) {
  int algorithm = 0;
  (void)kernel;
  FySearch search = {.key = {-1}, .what = "a test", .count = 3, .rule = -1, .algorithm = &algorithm};
  for (int i = 0; i < 3; i++)
    search.candidates[i] = (FyCandidate){.algorithm = i + 1, .name = i == 1 ? "the second" : "another"};
  FyLaunch own = *l;
  own.params = &algorithm;
  return fy_run_fastest(&own, kernel_of_the_test, device, &search);
}

static int run_searching_op(void) {
  FyOp op = fy_op_conv2d;
  op.choose = search_of_the_test;
  FyConv2dParams p = {.stride = 1, .dilation = 1, .groups = 1};
  FyTensor *in[] = {fy_ones(fy_shape(1, 1, 3, 3)), fy_ones(fy_shape(1, 1, 3, 3)), NULL}, *out;
  fy_run_multi(&op, &p, 3, in, 1, &out);
  return last_algorithm;
}

static void what_has_no_memory_is_passed_over(void **state) {
  (void)state;
  fy_scope {
    second_has_memory = true;
    assert_int_equal(run_searching_op(), 2);
    const char *report = fy_backends_benchmark_report();
    assert_non_null(strstr(report, "    another                      passed over: no memory\n"));
    assert_non_null(strstr(report, "  * the second "));
    second_has_memory = false;
    assert_int_equal(run_searching_op(), 0); // later it finds none: the rule
    second_has_memory = true;
    assert_int_equal(run_searching_op(), 2);
    second_has_memory = false;
    fy_backends_benchmark_clear();
    assert_int_equal(run_searching_op(), 0); // none can: the rule, without another search
    int64_t before = searches();
    assert_int_equal(run_searching_op(), 0);
    assert_int_equal(searches(), before);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_algorithms_agree),
      cmocka_unit_test(fused_algorithms_agree),
      cmocka_unit_test_setup_teardown(each_kind_is_searched_once, begin, end),
      cmocka_unit_test_setup_teardown(it_is_off_where_it_should_be, begin, end),
      cmocka_unit_test_setup_teardown(results_are_the_chosen_ones, begin, end),
      cmocka_unit_test_setup_teardown(few_are_remembered, begin, end),
      cmocka_unit_test_setup_teardown(threads_search_one_at_a_time, begin, end),
      cmocka_unit_test_setup_teardown(what_has_no_memory_is_passed_over, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
