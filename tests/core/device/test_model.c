// SPDX-License-Identifier: MIT
// Devices that play a GPU: times come from what ops do and the GPU's table, and are labeled.
// sim only: it plays a GPU
// run: FERRY_CUDA=sim FERRY_SIM_GPU=a100 FERRY_SIM_MODE=lazy
// run: FERRY_CUDA=sim FERRY_SIM_GPU=a100 FERRY_SIM_MODE=threads
// run check: FERRY_CUDA=sim -- plain
#include "ferry.h"
#include "model/kernel.h"
#include "op/op.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct model_gpu *gpu;
static FyDevice cuda;

static void expect_seconds(double seconds, double expected) {
  if (fabs(seconds - expected) > 1e-6 * expected + 1e-10)
    fail_msg("%.4f us, not %.4f us", seconds * 1e6, expected * 1e6);
}

static FyEvent *before, *after;

static void start(void) {
  fy_synchronize(cuda);
  before = fy_event_new(true);
  after = fy_event_new(true);
  fy_event_record(before, NULL);
}

// Of the op in the argument, from its launch's end.
static double seconds_of(FyTensor *result) {
  (void)result;
  fy_event_record(after, NULL);
  fy_event_synchronize(after);
  return fy_event_elapsed_time(before, after) * 1e-3 - gpu->launch.value * 1e-6;
}

#define SECONDS_OF(op) (start(), seconds_of(op))

static void ops_take_what_their_bytes_and_operations_do(void **state) {
  (void)state;
  fy_scope {
    const double n = 3000.0 * 1000;
    FyTensor *a = fy_randn(fy_shape(3000, 1000), .device = cuda), *b = fy_randn(fy_shape(3000, 1000), .device = cuda);
    FyTensor *row = fy_randn(fy_shape(1, 1000), .device = cuda);
    expect_seconds(SECONDS_OF(fy_add(a, b)), model_streaming(gpu, 8 * n, 4 * n, n).seconds);
    expect_seconds(SECONDS_OF(fy_add(a, fy_expand(row, fy_shape(3000, 1000)))),
                   model_streaming(gpu, 4 * n + 4000, 4 * n, n).seconds);
    expect_seconds(SECONDS_OF(fy_sum(a)), model_streaming(gpu, 4 * n, 4, 1).seconds);
    expect_seconds(SECONDS_OF(fy_zero_(a)), model_streaming(gpu, 0, 4 * n, n).seconds);
  }
}

// Sums over channels and long rows have a block for each.
static void normalizations_with_few_blocks_wait(void **state) {
  (void)state;
  fy_scope {
    const double n = 8 * 4 * 256.0 * 256, bytes = 4 * n;
    FyTensor *x = fy_randn(fy_shape(8, 4, 256, 256), .device = cuda);
    const double sums = model_streaming_in(gpu, 4, bytes, 0, 0).seconds + gpu->gap.value * 1e-6;
    expect_seconds(SECONDS_OF(fy_batch_norm(x, NULL, NULL, NULL, NULL, true, 0.1, 1e-5)),
                   sums + model_streaming(gpu, bytes, bytes + 2 * 16, n).seconds);
    assert_true(sums > 10 * model_streaming(gpu, bytes, 0, 0).seconds);
    FyTensor *mean = fy_zeros(fy_shape(4), .device = cuda), *var = fy_ones(fy_shape(4), .device = cuda);
    expect_seconds(SECONDS_OF(fy_batch_norm(x, mean, var, NULL, NULL, false, 0.1, 1e-5)),
                   model_streaming(gpu, bytes + 2 * 16, bytes + 2 * 16, n).seconds);
    FyTensor *rows = fy_view(x, fy_shape(16, -1)), *short_rows = fy_view(x, fy_shape(-1, 64));
    expect_seconds(SECONDS_OF(fy_softmax(rows, 1)), model_streaming_in(gpu, 16, bytes, bytes, n).seconds);
    expect_seconds(SECONDS_OF(fy_softmax(short_rows, 1)), model_streaming(gpu, bytes, bytes, n).seconds);
  }
}

static void products_and_convolutions_are_tiled(void **state) {
  (void)state;
  fy_scope {
    FyTensor *a = fy_randn(fy_shape(300, 200), .device = cuda), *b = fy_randn(fy_shape(200, 100), .device = cuda);
    expect_seconds(SECONDS_OF(fy_matmul(a, b)), model_product(gpu, 300, 100, 200, 1, MODEL_PRODUCT_FP32).seconds);
    FyTensor *batch = fy_randn(fy_shape(4, 30, 20), .device = cuda),
             *other = fy_randn(fy_shape(4, 20, 10), .device = cuda);
    expect_seconds(SECONDS_OF(fy_matmul(batch, other)), model_product(gpu, 30, 10, 20, 4, MODEL_PRODUCT_FP32).seconds);
    FyTensor *ha = fy_to_dtype(a, FY_BFLOAT16), *hb = fy_to_dtype(b, FY_BFLOAT16);
    expect_seconds(SECONDS_OF(fy_matmul(ha, hb)), model_product(gpu, 300, 100, 200, 1, MODEL_PRODUCT_HALF).seconds);
    FyTensor *x = fy_randn(fy_shape(2, 3, 9, 9), .device = cuda), *w = fy_randn(fy_shape(4, 3, 3, 3), .device = cuda);
    expect_seconds(SECONDS_OF(fy_conv2d(x, w, NULL, .padding = 1)),
                   model_product(gpu, 2 * 81, 4, 27, 1, MODEL_PRODUCT_FP32).seconds);
  }
}

static void the_host_clock_is_the_modeled_one(void **state) {
  (void)state;
  fy_scope {
    FyTensor *a = fy_randn(fy_shape(4 << 20), .device = cuda);
    fy_synchronize(cuda);
    const double start = fy_device_seconds(cuda);
    fy_add(a, a);
    fy_synchronize(cuda);
    expect_seconds(fy_device_seconds(cuda) - start,
                   (gpu->launch.value + gpu->wait.value) * 1e-6 +
                       model_streaming(gpu, 2 * 4.0 * (4 << 20), 4.0 * (4 << 20), 4 << 20).seconds);
    assert_true(fy_device_seconds(FY_CPU_DEVICE) > 0);
  }
}

static void modeled_times_are_labeled(void **state) {
  (void)state;
  static const char label[] = "modeled, not measured: computed from counts and the data sheet of NVIDIA A100";
  assert_string_equal(fy_cuda_model(), label);
  assert_string_equal(fy_cuda_get_device_name(0), "Simulated NVIDIA A100 (model)");
  const FyDeviceProperties about = fy_cuda_get_device_properties(0);
  assert_true(about.simulated);
  assert_int_equal(about.cuda_cores, 6912);
  assert_true(fabs(about.memory_bandwidth / 1555e9 - 1) < 1e-3);
  fy_scope {
    FyTensor *a = fy_randn(fy_shape(1000, 1000), .device = cuda);
    FyProfile *profile;
    fy_profile(profile, 0) {
      fy_add(a, a);
    }
    const char *table = fy_key_averages_table(fy_key_averages(profile));
    assert_non_null(strstr(table, label));
    assert_non_null(strstr(table, " (modeled)"));
    assert_null(strstr(table, "simulated"));
    const FyKeyAverages *averages = fy_key_averages(profile);
    assert_true(fabs(averages->self_cuda_time_total * 1e-6 - model_streaming(gpu, 8e6, 4e6, 1e6).seconds) <
                2e-9); // whole ns
  }
}

// ---- without a modeled GPU --------------------------------------------------------------------------------------------------

static void without_the_variable_times_are_measured(void **state) {
  (void)state;
  assert_null(fy_cuda_model());
  const double a = fy_device_seconds(cuda), b = fy_device_seconds(FY_CPU_DEVICE), c = fy_device_seconds(cuda);
  assert_true(a <= b && b <= c);
  assert_int_equal(fy_cuda_get_device_properties(0).cuda_cores, 0);
}

int main(int argc, char **argv) {
  cuda = fy_cuda_device(0);
  gpu = model_gpu_named("a100");
  const struct CMUnitTest played[] = {
      cmocka_unit_test(ops_take_what_their_bytes_and_operations_do),
      cmocka_unit_test(normalizations_with_few_blocks_wait),
      cmocka_unit_test(products_and_convolutions_are_tiled),
      cmocka_unit_test(the_host_clock_is_the_modeled_one),
      cmocka_unit_test(modeled_times_are_labeled),
  };
  const struct CMUnitTest plain[] = {cmocka_unit_test(without_the_variable_times_are_measured)};
  if (argc > 1 && strcmp(argv[1], "plain") == 0)
    return cmocka_run_group_tests_name("no modeled GPU", plain, NULL, NULL);
  return cmocka_run_group_tests_name("a modeled GPU", played, NULL, NULL);
}
