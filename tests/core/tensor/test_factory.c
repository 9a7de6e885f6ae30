// SPDX-License-Identifier: MIT
// The factories: every one on each device in each dtype, their options, their values against closed forms, their errors.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda:1
#include "core/nn/check.h"

static FyDevice device;
static const FyDType dtypes[] = {FY_BOOL,    FY_UINT8,    FY_INT32,   FY_INT64,
                                 FY_FLOAT16, FY_BFLOAT16, FY_FLOAT32, FY_FLOAT64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

// What every fresh tensor is: of that dtype and shape, on the device, row-major, a leaf of version 0.
static void assert_fresh(FyTensor *t, FyDType dtype, FySize shape) {
  int64_t stride = 1;
  assert_string_equal(fy_dtype_name(fy_dtype_of(t)), fy_dtype_name(dtype));
  assert_string_equal(fy_device_name_of(fy_device_of(t)), fy_device_name_of(device));
  assert_int_equal(fy_dim(t), shape.ndim);
  for (int d = shape.ndim - 1; d >= 0; d--) {
    assert_int_equal(fy_size_at(t, d), shape.dim[d]);
    assert_int_equal(fy_stride_at(t, d), stride);
    stride *= shape.dim[d] > 1 ? shape.dim[d] : 1;
  }
  assert_true(fy_is_contiguous(t));
  assert_true(fy_is_leaf(t));
  assert_false(fy_is_pinned(t));
  assert_int_equal(fy_version_of(t), 0);
  assert_int_equal(fy_storage_offset(t), 0);
  assert_null(fy_grad(t));
}

static void assert_all(FyTensor *t, double value) {
  int64_t n = fy_numel(t);
  double *got = malloc(((size_t)n + 1) * sizeof *got);
  fy_copy_to_host(fy_to(fy_detach(t), FY_CPU_DEVICE, .dtype = FY_FLOAT64), got);
  for (int64_t i = 0; i < n; i++)
    if (got[i] != value)
      fail_msg("%s: element %ld is %g, expected %g", fy_dtype_name(fy_dtype_of(t)), (long)i, got[i], value);
  free(got);
}

// ---- constants ---------------------------------------------------------------------------------------------------------

static void constants(void **state) {
  (void)state;
  const FySize shapes[] = {FY_SCALAR,         fy_shape(1),          fy_shape(5), fy_shape(3, 4),
                           fy_shape(2, 0, 3), fy_shape(2, 1, 3, 1), fy_shape(0)};
  for (int d = 0; d < DTYPES; d++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      fy_scope {
        FyTensor *zeros = fy_zeros(shapes[s], .dtype = dtypes[d], .device = device);
        FyTensor *ones = fy_ones(shapes[s], .dtype = dtypes[d], .device = device);
        FyTensor *full = fy_full(3, shapes[s], .dtype = dtypes[d], .device = device);
        assert_fresh(zeros, dtypes[d], shapes[s]);
        assert_fresh(ones, dtypes[d], shapes[s]);
        assert_fresh(full, dtypes[d], shapes[s]);
        assert_fresh(fy_empty(shapes[s], .dtype = dtypes[d], .device = device), dtypes[d], shapes[s]);
        assert_all(zeros, 0);
        assert_all(ones, 1);
        assert_all(full, dtypes[d] == FY_BOOL ? 1 : 3);
        assert_fresh(fy_empty_like(full), dtypes[d], shapes[s]);
        assert_all(fy_zeros_like(full), 0);
        assert_all(fy_ones_like(zeros), 1);
        assert_all(fy_full_like(ones, 7), dtypes[d] == FY_BOOL ? 1 : 7);
        assert_fresh(fy_full_like(ones, 7), dtypes[d], shapes[s]);
      }
}

static void full_rounds_as_its_dtype(void **state) {
  (void)state;
  assert_true(fy_item(fy_full(2.75, FY_SCALAR, .dtype = FY_INT64, .device = device)) == 2);
  assert_true(fy_item(fy_full(-2.75, FY_SCALAR, .dtype = FY_INT32, .device = device)) == -2);
  assert_true(fy_item(fy_full(0.1, FY_SCALAR, .device = device)) == (double)0.1f);
  assert_true(fy_item(fy_full(0.1, FY_SCALAR, .dtype = FY_FLOAT64, .device = device)) == 0.1);
  assert_true(fy_item(fy_full(0.1, FY_SCALAR, .dtype = FY_FLOAT16, .device = device)) == 0.0999755859375);
  assert_true(fy_item(fy_full(0.1, FY_SCALAR, .dtype = FY_BFLOAT16, .device = device)) == 0.10009765625);
  assert_true(isinf(fy_item(fy_full(70000, FY_SCALAR, .dtype = FY_FLOAT16, .device = device))));
  assert_true(isnan(fy_item(fy_full((double)NAN, FY_SCALAR, .device = device))));
  assert_true(fy_item(fy_full(0.001, FY_SCALAR, .dtype = FY_BOOL, .device = device)) == 1);
}

static void likes_take_over_no_layout_and_no_gradient(void **state) {
  (void)state;
  FyTensor *leaf = fy_zeros(fy_shape(3, 2), .device = device, .requires_grad = true);
  FyTensor *view = fy_transpose(leaf, 0, 1);
  assert_fresh(fy_zeros_like(view), FY_FLOAT32, fy_shape(2, 3));
  assert_false(fy_requires_grad(fy_zeros_like(view)));
  assert_fresh(fy_rand_like(view), FY_FLOAT32, fy_shape(2, 3));
  assert_fresh(fy_randn_like(view), FY_FLOAT32, fy_shape(2, 3));
  assert_raises(FY_TYPE_ERROR, "\"check_uniform_bounds\" not implemented for 'Long'",
                fy_rand_like(fy_arange(3, .device = device)));
}

static void fresh_device_memory_is_nan(void **state) {
  (void)state;
  if (device.type == FY_CPU || !fy_cuda_is_simulated()) {
    print_message("only a simulated device fills what it hands out\n");
    skip();
  }
  fy_empty_cache();
  FyTensor *t = fy_empty(fy_shape(3), .device = device);
  float x[3];
  fy_copy_to_host(t, x);
  for (int i = 0; i < 3; i++)
    assert_true(isnan(x[i]));
}

// ---- from data ---------------------------------------------------------------------------------------------------------

static void from_every_pointer(void **state) {
  (void)state;
  const bool flags[] = {true, false};
  const unsigned char bytes[] = {0, 255};
  assert_fresh(fy_tensor(fy_floats(1.5f, -2), fy_shape(2), .device = device), FY_FLOAT32, fy_shape(2));
  assert_fresh(fy_tensor(fy_doubles(1.5, -2), fy_shape(2, 1), .device = device), FY_FLOAT64, fy_shape(2, 1));
  assert_fresh(fy_tensor(fy_longs(1, -2), fy_shape(1, 2), .device = device), FY_INT64, fy_shape(1, 2));
  assert_fresh(fy_tensor(fy_ints(1, -2), fy_shape(2), .device = device), FY_INT32, fy_shape(2));
  assert_fresh(fy_tensor(flags, fy_shape(2), .device = device), FY_BOOL, fy_shape(2));
  assert_fresh(fy_tensor(bytes, fy_shape(2), .device = device), FY_UINT8, fy_shape(2));
  assert_values(fy_tensor(bytes, fy_shape(2), .device = device), fy_doubles(0, 255), 2, 0);
  assert_values(fy_tensor(flags, fy_shape(2), .device = device), fy_doubles(1, 0), 2, 0);
  assert_true(fy_item_int64(fy_tensor(fy_longs(INT64_MAX), fy_shape(1), .device = device)) == INT64_MAX);
}

static void from_data_in_every_dtype(void **state) {
  (void)state;
  for (int d = 0; d < DTYPES; d++) {
    FyTensor *t = fy_tensor(fy_doubles(0, 1, 2, 100), fy_shape(2, 2), .dtype = dtypes[d], .device = device);
    assert_fresh(t, dtypes[d], fy_shape(2, 2));
    bool boolean = dtypes[d] == FY_BOOL;
    assert_values(t, fy_doubles(0, 1, boolean ? 1 : 2, boolean ? 1 : 100), 4, 0);
  }
}

static void the_data_is_copied_at_once(void **state) {
  (void)state;
  float data[] = {1, 2, 3};
  FyTensor *t = fy_tensor(data, fy_shape(3), .device = device);
  data[1] = 50;
  assert_values(t, fy_doubles(1, 2, 3), 3, 0);
  assert_int_equal(fy_numel(fy_tensor((float *)NULL, fy_shape(0), .device = device)), 0);
  assert_raises(FY_VALUE_ERROR, "fy_tensor got no data for 6 elements",
                fy_tensor((float *)NULL, fy_shape(2, 3), .device = device));
}

static void numbers(void **state) {
  (void)state;
  assert_int_equal(fy_dtype_of(fy_number(1.5)), FY_FLOAT64);
  assert_int_equal(fy_dtype_of(fy_integer(5)), FY_INT64);
  assert_int_equal(fy_dim(fy_number(1)), 0);
  assert_true(fy_item_int64(fy_integer(INT64_MIN)) == INT64_MIN);
  // Weak in promotion, and welcome beside any device.
  FyTensor *half = fy_ones(fy_shape(2), .dtype = FY_FLOAT16, .device = device);
  FyTensor *whole = fy_ones(fy_shape(2), .dtype = FY_INT32, .device = device);
  assert_int_equal(fy_dtype_of(fy_add(half, fy_number(1))), FY_FLOAT16);
  assert_int_equal(fy_dtype_of(fy_add(half, fy_integer(1))), FY_FLOAT16);
  assert_int_equal(fy_dtype_of(fy_add(whole, fy_number(1))), FY_FLOAT32);
  assert_int_equal(fy_dtype_of(fy_add(whole, fy_integer(1))), FY_INT32);
}

// ---- random ------------------------------------------------------------------------------------------------------------

static void random_factories(void **state) {
  (void)state;
  for (int d = 0; d < DTYPES; d++) {
    FyDType dtype = dtypes[d];
    if (fy_dtype_is_floating(dtype)) {
      assert_fresh(fy_rand(fy_shape(3, 5), .dtype = dtype, .device = device), dtype, fy_shape(3, 5));
      assert_fresh(fy_randn(fy_shape(3, 5), .dtype = dtype, .device = device), dtype, fy_shape(3, 5));
    } else {
      assert_raises_about(FY_TYPE_ERROR, "\"check_uniform_bounds\" not implemented for '",
                          fy_rand(fy_shape(3), .dtype = dtype, .device = device));
      assert_raises_about(FY_TYPE_ERROR, "\"normal_kernel_cpu\" not implemented for '",
                          fy_randn(fy_shape(3), .dtype = dtype, .device = device));
    }
    assert_fresh(fy_randint(0, 2, fy_shape(3, 5), .dtype = dtype, .device = device), dtype, fy_shape(3, 5));
  }
  assert_fresh(fy_rand(FY_SCALAR, .device = device), FY_FLOAT32, FY_SCALAR);
  assert_fresh(fy_randint(0, 2, fy_shape(4), .device = device), FY_INT64, fy_shape(4));
  assert_fresh(fy_randperm(6, .device = device), FY_INT64, fy_shape(6));
  assert_fresh(fy_randperm(6, .device = device, .dtype = FY_FLOAT32), FY_FLOAT32, fy_shape(6));
}

static void random_refusals(void **state) {
  (void)state;
  assert_raises(FY_RUNTIME_ERROR, "random_ expects 'from' to be less than 'to', but got from=5 >= to=5",
                fy_randint(5, 5, fy_shape(2), .device = device));
  assert_raises(FY_RUNTIME_ERROR, "random_ expects 'from' to be less than 'to', but got from=0 >= to=-1",
                fy_randint(0, -1, fy_shape(2), .device = device));
  assert_raises(FY_RUNTIME_ERROR, "to - 1 is out of bounds for unsigned char",
                fy_randint(0, 257, fy_shape(2), .dtype = FY_UINT8, .device = device));
  assert_raises(FY_RUNTIME_ERROR, "from is out of bounds for unsigned char",
                fy_randint(-1, 5, fy_shape(2), .dtype = FY_UINT8, .device = device));
  assert_raises(FY_RUNTIME_ERROR, "from is out of bounds for int",
                fy_randint(-3000000000, 5, fy_shape(2), .dtype = FY_INT32, .device = device));
  assert_raises(FY_RUNTIME_ERROR, "to - 1 is out of bounds for bool",
                fy_randint(0, 3, fy_shape(2), .dtype = FY_BOOL, .device = device));
  assert_raises(FY_RUNTIME_ERROR, "n must be non-negative, got -1", fy_randperm(-1, .device = device));
  assert_raises(FY_TYPE_ERROR, "randperm takes a whole number, but got 2.5", fy_randperm(2.5, .device = device));
  assert_raises(FY_TYPE_ERROR, "randperm takes a whole number, but got -1e+300", fy_randperm(-1e300, .device = device));
}

// ---- arange ------------------------------------------------------------------------------------------------------------

static void arange_of_whole_numbers(void **state) {
  (void)state;
  assert_fresh(fy_arange(4, .device = device), FY_INT64, fy_shape(4));
  assert_values(fy_arange(4, .device = device), fy_doubles(0, 1, 2, 3), 4, 0);
  assert_values(fy_arange(10, .start = 2, .step = 3, .device = device), fy_doubles(2, 5, 8), 3, 0);
  assert_values(fy_arange(11, .start = 2, .step = 3, .device = device), fy_doubles(2, 5, 8), 3, 0);
  assert_values(fy_arange(12, .start = 2, .step = 3, .device = device), fy_doubles(2, 5, 8, 11), 4, 0);
  assert_values(fy_arange(-5, .start = 1, .step = -2, .device = device), fy_doubles(1, -1, -3), 3, 0);
  assert_int_equal(fy_numel(fy_arange(0, .device = device)), 0);
  assert_int_equal(fy_numel(fy_arange(3, .start = 3, .step = -1, .device = device)), 0);
}

static void arange_of_fractions(void **state) {
  (void)state;
  FyTensor *t = fy_arange(1, .step = 0.1, .device = device);
  assert_fresh(t, FY_FLOAT32, fy_shape(10));
  for (int i = 0; i < 10; i++)
    assert_true(fy_item(fy_select(t, 0, i)) == (double)(float)(i * 0.1));
  assert_values(fy_arange(1, .step = 0.25, .device = device), fy_doubles(0, 0.25, 0.5, 0.75), 4, 0);
  assert_values(fy_arange(-0.5, .start = 1, .step = -0.5, .device = device), fy_doubles(1, 0.5, 0), 3, 0);
  assert_values(fy_arange(2.5, .device = device), fy_doubles(0, 1, 2), 3, 0);
  assert_fresh(fy_arange(3, .start = 0.5, .dtype = FY_FLOAT64, .device = device), FY_FLOAT64, fy_shape(3));
}

static void arange_in_every_dtype(void **state) {
  (void)state;
  for (int d = 1; d < DTYPES; d++) {
    FyTensor *t = fy_arange(100, .start = 2, .step = 7, .dtype = dtypes[d], .device = device);
    double expected[14];
    for (int i = 0; i < 14; i++)
      expected[i] = 2 + 7 * i;
    assert_fresh(t, dtypes[d], fy_shape(14));
    assert_values(t, expected, 14, 0);
  }
}

static void a_long_arange(void **state) {
  (void)state;
  enum { N = 100002 };
  int64_t *x = malloc(N * sizeof *x);
  double start = 9007199254740990.0; // int64 goes on where double no longer counts by one
  FyTensor *t = fy_arange(start + 3.0 * N, .start = start, .step = 3, .device = device);
  assert_int_equal(fy_numel(t), N);
  fy_copy_to_host(t, x);
  for (int64_t i = 0; i < N; i++)
    assert_true(x[i] == (int64_t)start + 3 * i);
  free(x);
}

static void arange_refuses(void **state) {
  (void)state;
  const char *sign = "upper bound and lower bound inconsistent with step sign";
  assert_raises(FY_RUNTIME_ERROR, sign, fy_arange(-3, .device = device));
  assert_raises(FY_RUNTIME_ERROR, sign, fy_arange(5, .step = -1, .device = device));
  assert_raises(FY_RUNTIME_ERROR, sign, fy_arange(1, .start = 1.5, .step = 0.5, .device = device));
  assert_raises(FY_RUNTIME_ERROR, "unsupported range: 0 -> inf", fy_arange((double)INFINITY, .device = device));
  assert_raises(FY_RUNTIME_ERROR, "unsupported range: nan -> 3", fy_arange(3, .start = (double)NAN, .device = device));
  assert_raises(FY_RUNTIME_ERROR, "invalid size, possible overflow?", fy_arange(1e18, .step = 1e-3, .device = device));
  assert_raises(FY_TYPE_ERROR, "arange with fractional numbers needs a floating dtype, but got torch.int64",
                fy_arange(3, .step = 0.5, .dtype = FY_INT64, .device = device));
}

// A step that is not given, or 0, is 1: there is no way to ask for a step of zero.
static void arange_with_a_step_of_zero(void **state) {
  (void)state;
  assert_values(fy_arange(2, .step = 0, .device = device), fy_doubles(0, 1), 2, 0);
}

// ---- linspace ----------------------------------------------------------------------------------------------------------

static void linspace_has_both_ends(void **state) {
  (void)state;
  assert_fresh(fy_linspace(0, 1, 5, .device = device), FY_FLOAT32, fy_shape(5));
  assert_values(fy_linspace(0, 1, 5, .device = device), fy_doubles(0, 0.25, 0.5, 0.75, 1), 5, 0);
  assert_values(fy_linspace(3, -3, 4, .device = device), fy_doubles(3, 1, -1, -3), 4, 0);
  assert_values(fy_linspace(3, 9, 1, .device = device), fy_doubles(3), 1, 0);
  assert_values(fy_linspace(2, 2, 3, .device = device), fy_doubles(2, 2, 2), 3, 0);
  assert_int_equal(fy_numel(fy_linspace(0, 1, 0, .device = device)), 0);
  for (int n = 2; n < 400; n += 57)
    fy_scope {
      FyTensor *t = fy_linspace(-0.1, 0.7, n, .dtype = FY_FLOAT64, .device = device);
      double x[400];
      fy_copy_to_host(t, x);
      assert_true(x[0] == -0.1 && x[n - 1] == 0.7);
      for (int i = 0; i < n; i++)
        assert_true(fabs(x[i] - (-0.1 + 0.8 * i / (n - 1))) < 1e-15);
    }
}

static void linspace_of_integers_truncates(void **state) {
  (void)state;
  assert_values(fy_linspace(0, 10, 5, .dtype = FY_INT64, .device = device), fy_doubles(0, 2, 5, 7, 10), 5, 0);
  assert_values(fy_linspace(-5, 5, 4, .dtype = FY_INT32, .device = device), fy_doubles(-5, -1, 1, 5), 4, 0);
  assert_values(fy_linspace(0, 200, 3, .dtype = FY_UINT8, .device = device), fy_doubles(0, 100, 200), 3, 0);
  assert_raises(FY_RUNTIME_ERROR, "number of steps must be non-negative", fy_linspace(0, 1, -1, .device = device));
}

// ---- eye ---------------------------------------------------------------------------------------------------------------

static void eye(void **state) {
  (void)state;
  for (int d = 0; d < DTYPES; d++)
    for (int n = 0; n < 40; n += 1 + n * 2)
      fy_scope {
        FyTensor *t = fy_eye(n, .dtype = dtypes[d], .device = device);
        double expected[1600] = {0};
        for (int i = 0; i < n; i++)
          expected[i * (n + 1)] = 1;
        assert_fresh(t, dtypes[d], fy_shape(n, n));
        assert_values(t, expected, (int64_t)n * n, 0);
      }
  assert_raises(FY_RUNTIME_ERROR, "n must be greater or equal to 0, got -1", fy_eye(-1, .device = device));
  assert_raises(FY_TYPE_ERROR, "eye takes a whole number, but got 2.5", fy_eye(2.5, .device = device));
  assert_raises(FY_TYPE_ERROR, "eye takes a whole number, but got 1e+300", fy_eye(1e300, .device = device));
  assert_raises_about(FY_TYPE_ERROR, "eye takes a whole number", fy_eye((double)NAN, .device = device));
}

// ---- options -------------------------------------------------------------------------------------------------------------

static void requires_grad_of_floating_tensors(void **state) {
  (void)state;
  assert_true(fy_requires_grad(fy_tensor(fy_floats(1), fy_shape(1), .device = device, .requires_grad = true)));
  assert_true(fy_requires_grad(fy_empty(fy_shape(2), .device = device, .requires_grad = true)));
  assert_true(fy_requires_grad(fy_zeros(fy_shape(2), .device = device, .requires_grad = true)));
  assert_true(fy_requires_grad(fy_randn(fy_shape(2), .device = device, .requires_grad = true)));
  assert_true(fy_requires_grad(fy_arange(2.5, .device = device, .requires_grad = true)));
  assert_true(fy_requires_grad(fy_linspace(0, 1, 3, .device = device, .requires_grad = true)));
  assert_true(fy_requires_grad(fy_eye(3, .device = device, .requires_grad = true)));
  FyTensor *t = fy_rand(fy_shape(2), .device = device, .dtype = FY_FLOAT16, .requires_grad = true);
  assert_true(fy_is_leaf(t));
  assert_null(fy_grad_fn_name(t));
  assert_int_equal(fy_version_of(t), 0);
}

static void requires_grad_of_others(void **state) {
  (void)state;
  const char *text = "Only Tensors of floating point and complex dtype can require gradients";
  assert_raises(FY_RUNTIME_ERROR, text,
                fy_zeros(fy_shape(2), .dtype = FY_INT64, .device = device, .requires_grad = true));
  assert_raises(FY_RUNTIME_ERROR, text, fy_tensor(fy_longs(1), fy_shape(1), .device = device, .requires_grad = true));
  assert_raises(FY_RUNTIME_ERROR, text, fy_arange(3, .device = device, .requires_grad = true));
  assert_raises(FY_RUNTIME_ERROR, text, fy_randint(0, 3, fy_shape(2), .device = device, .requires_grad = true));
  assert_raises(FY_RUNTIME_ERROR, text, fy_randperm(3, .device = device, .requires_grad = true));
  assert_raises(FY_RUNTIME_ERROR, text, fy_eye(3, .dtype = FY_BOOL, .device = device, .requires_grad = true));
  assert_raises(FY_RUNTIME_ERROR, text,
                fy_linspace(0, 1, 3, .dtype = FY_UINT8, .device = device, .requires_grad = true));
}

static void wrong_sizes(void **state) {
  (void)state;
  assert_raises(FY_RUNTIME_ERROR, "Trying to create tensor with negative dimension -3: [2, -3]",
                fy_zeros(fy_shape(2, -3), .device = device));
  assert_raises(FY_RUNTIME_ERROR, "Trying to create tensor with negative dimension -1: [-1]",
                fy_randn(fy_shape(-1), .device = device));
  assert_raises(FY_RUNTIME_ERROR, "Storage size calculation overflowed with sizes=[4294967296, 4294967296, 4294967296]",
                fy_empty(fy_shape(1ll << 32, 1ll << 32, 1ll << 32), .device = device));
  assert_raises(FY_RUNTIME_ERROR, "a tensor has at most 16 dimensions in Ferry, but got 17",
                fy_empty_with((FyFactory){.size = {.ndim = 17}, .device = device}));
  assert_raises_about(FY_OUT_OF_MEMORY_ERROR, "allocate", fy_empty(fy_shape(1ll << 46), .device = device));
  assert_raises(FY_TYPE_ERROR, "there is no dtype 99", fy_zeros(fy_shape(2), .dtype = (FyDType)99, .device = device));
}

static void the_highest_rank(void **state) {
  (void)state;
  FyTensor *t = fy_ones(fy_shape(1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2), .device = device);
  assert_int_equal(fy_dim(t), 16);
  assert_true(fy_item(fy_sum(t)) == 256);
}

static void pinned(void **state) {
  (void)state;
  if (device.type == FY_CPU) {
    assert_raises_about(FY_RUNTIME_ERROR, "No CUDA GPUs are available", fy_zeros(fy_shape(3), .pin_memory = true));
    return;
  }
  FyTensor *t = fy_ones(fy_shape(3), .pin_memory = true);
  assert_true(fy_is_pinned(t));
  assert_false(fy_is_cuda(t));
  assert_values(t, fy_doubles(1, 1, 1), 3, 0);
  assert_true(fy_is_pinned(fy_tensor(fy_floats(1), fy_shape(1), .pin_memory = true)));
  assert_false(fy_is_pinned(fy_zeros_like(t)));
  assert_raises(FY_RUNTIME_ERROR, "Only dense CPU tensors can be pinned",
                fy_zeros(fy_shape(3), .device = device, .pin_memory = true));
}

static void devices_that_are_not_there(void **state) {
  (void)state;
  assert_raises_about(FY_NOT_IMPLEMENTED_ERROR, "The device 'mps' (Apple's Metal) is understood but not available",
                      fy_zeros(fy_shape(2), .device = fy_device("mps")));
  if (device.type == FY_CPU)
    assert_raises(FY_RUNTIME_ERROR, "No CUDA GPUs are available: CUDA is switched off by FERRY_CUDA=off",
                  fy_zeros(fy_shape(2), .device = fy_device("cuda")));
  else
    assert_raises_about(FY_RUNTIME_ERROR, "CUDA error: invalid device ordinal: cuda:7 was asked for, and there ",
                        fy_arange(2, .device = fy_device("cuda:7")));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA && device.index < 0)
    device = fy_cuda_device(0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants),
      cmocka_unit_test(full_rounds_as_its_dtype),
      cmocka_unit_test(likes_take_over_no_layout_and_no_gradient),
      cmocka_unit_test(fresh_device_memory_is_nan),
      cmocka_unit_test(from_every_pointer),
      cmocka_unit_test(from_data_in_every_dtype),
      cmocka_unit_test(the_data_is_copied_at_once),
      cmocka_unit_test(numbers),
      cmocka_unit_test(random_factories),
      cmocka_unit_test(random_refusals),
      cmocka_unit_test(arange_of_whole_numbers),
      cmocka_unit_test(arange_of_fractions),
      cmocka_unit_test(arange_in_every_dtype),
      cmocka_unit_test(a_long_arange),
      cmocka_unit_test(arange_refuses),
      cmocka_unit_test(arange_with_a_step_of_zero),
      cmocka_unit_test(linspace_has_both_ends),
      cmocka_unit_test(linspace_of_integers_truncates),
      cmocka_unit_test(eye),
      cmocka_unit_test(requires_grad_of_floating_tensors),
      cmocka_unit_test(requires_grad_of_others),
      cmocka_unit_test(wrong_sizes),
      cmocka_unit_test(the_highest_rank),
      cmocka_unit_test(pinned),
      cmocka_unit_test(devices_that_are_not_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
