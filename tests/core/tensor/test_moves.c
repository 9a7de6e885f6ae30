// SPDX-License-Identifier: MIT
// Moves and copies: the .to() family between devices and dtypes, pinned memory and what is read before the device is
// waited for, and what is said where devices do not match.
// Over 500 lines: many short tests of one subject.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads -- cuda
#include "core/nn/check.h"

static FyDevice device;
static const FyDType dtypes[] = {FY_BOOL,    FY_UINT8,    FY_INT32,   FY_INT64,
                                 FY_FLOAT16, FY_BFLOAT16, FY_FLOAT32, FY_FLOAT64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

#define skip_without_cuda()                                                                                            \
  do {                                                                                                                 \
    if (device.type == FY_CPU) {                                                                                       \
      print_message("there is no CUDA in this run\n");                                                                 \
      skip();                                                                                                          \
    }                                                                                                                  \
  } while (0)

static bool lazy(void) {
  const char *mode = getenv("FERRY_SIM_MODE");
  return fy_cuda_is_simulated() && mode && strcmp(mode, "lazy") == 0;
}

// ---- identity ------------------------------------------------------------------------------------------------------------

static void what_fits_is_returned_itself(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(2, 3), .device = device);
  assert_ptr_equal(fy_to(x, device), x);
  assert_ptr_equal(fy_to(x, device, .dtype = FY_FLOAT32, .non_blocking = true), x);
  assert_ptr_equal(fy_to_dtype(x, FY_FLOAT32), x);
  assert_ptr_equal(fy_to_dtype(x, FY_DEFAULT_DTYPE), x);
  assert_ptr_equal(fy_float(x), x);
  FyTensor *view = fy_transpose(x, 0, 1);
  assert_ptr_equal(fy_to(view, device), view); // its layout stays
  if (device.type == FY_CUDA)
    assert_ptr_equal(fy_cuda(x), x); // the current device, which is 0
  else
    assert_ptr_equal(fy_cpu(x), x);
}

static void a_copy_is_asked_for(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(2, 3), .device = device);
  FyTensor *copy = fy_to(x, device, .copy = true);
  assert_ptr_not_equal(copy, x);
  assert_false(fy_shares_storage(copy, x));
  fy_zero_(x);
  assert_values(copy, fy_doubles(1, 1, 1, 1, 1, 1), 6, 0);
}

static void short_names(void **state) {
  (void)state;
  FyTensor *x = fy_tensor(fy_floats(1.5f, -2.5f), fy_shape(2), .device = device);
  assert_int_equal(fy_dtype_of(fy_half(x)), FY_FLOAT16);
  assert_int_equal(fy_dtype_of(fy_float(fy_half(x))), FY_FLOAT32);
  assert_int_equal(fy_dtype_of(fy_double(x)), FY_FLOAT64);
  assert_int_equal(fy_dtype_of(fy_long(x)), FY_INT64);
  assert_values(fy_long(x), fy_doubles(1, -2), 2, 0);
  assert_string_equal(fy_device_name_of(fy_device_of(fy_half(x))), fy_device_name_of(device));
  assert_string_equal(fy_device_name_of(fy_device_of(fy_cpu(x))), "cpu");
  assert_int_equal(fy_get_device(x), device.type == FY_CUDA ? 0 : -1);
  assert_int_equal(fy_get_device(fy_cpu(x)), -1);
  assert_int_equal(fy_is_cuda(x), device.type == FY_CUDA);
}

static void there_and_back(void **state) {
  (void)state;
  for (int d = 0; d < DTYPES; d++)
    fy_scope {
      FyTensor *x = fy_randint(0, 2, fy_shape(7, 5, 3), .dtype = dtypes[d]);
      FyTensor *strided = fy_slice(fy_transpose(x, 0, 2), 1, 0, 5, 2);
      FyTensor *there = fy_to(strided, device);
      assert_string_equal(fy_shape_string(there), "torch.Size([3, 3, 7])");
      assert_true(fy_equal(fy_cpu(there), strided));
      assert_true(fy_equal(fy_cpu(fy_transpose(there, 0, 1)), fy_transpose(strided, 0, 1)));
      assert_int_equal(fy_numel(fy_to(fy_empty(fy_shape(0, 4), .dtype = dtypes[d]), device)), 0);
      assert_int_equal(fy_dim(fy_to(fy_ones(FY_SCALAR, .dtype = dtypes[d]), device)), 0);
    }
}

static void gradients_go_back(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(2), .requires_grad = true);
  FyTensor *y = fy_to(x, device, .dtype = FY_FLOAT64);
  assert_string_equal(fy_grad_fn_name(y), "ToCopyBackward0");
  fy_backward(fy_sum(fy_mul_scalar(y, 3)));
  assert_int_equal(fy_dtype_of(fy_grad(x)), FY_FLOAT32);
  assert_false(fy_is_cuda(fy_grad(x)));
  assert_values(fy_grad(x), fy_doubles(3, 3), 2, 0);
  assert_false(fy_requires_grad(fy_to(x, device, .dtype = FY_INT64)));
  fy_no_grad
    assert_false(fy_requires_grad(fy_to(x, device, .copy = true)));
}

static void between_two_devices(void **state) {
  (void)state;
  skip_without_cuda();
  if (fy_cuda_device_count() < 2) {
    print_message("needs two devices\n");
    skip();
  }
  FyTensor *x = fy_arange(24, .device = device, .dtype = FY_FLOAT32);
  FyTensor *y = fy_to(fy_t(fy_view(x, fy_shape(4, 6))), fy_device("cuda:1"), .dtype = FY_FLOAT16);
  assert_int_equal(fy_get_device(y), 1);
  assert_string_equal(fy_shape_string(y), "torch.Size([6, 4])");
  FyTensor *back = fy_to(y, device, .dtype = FY_FLOAT32);
  assert_true(fy_equal(back, fy_t(fy_view(x, fy_shape(4, 6)))));
  fy_cuda_device_guard(1)
    assert_int_equal(fy_get_device(fy_cuda(x)), 1);
  assert_int_equal(fy_get_device(fy_cuda(x, 1)), 1);
  assert_ptr_equal(fy_cuda(x, 0), x);
  fy_cuda_device_guard(1)
    assert_int_equal(fy_get_device(fy_cuda(x, 0)), 0);
  FyError error;
  fy_trap(error) {
    fy_cuda(x, fy_cuda_device_count());
  }
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  assert_non_null(strstr(error.message, "invalid device ordinal"));
}

// ---- conversions -----------------------------------------------------------------------------------------------------------

static double converted(double value, FyDType dtype) {
  return dtype == FY_BOOL ? value != 0 : value;
}

static void every_dtype_to_every_dtype(void **state) {
  (void)state;
  enum { N = 300 };
  for (int from = 0; from < DTYPES; from++)
    for (int to = 0; to < DTYPES; to++)
      fy_scope {
        double in[N], out[N];
        for (int i = 0; i < N; i++) {
          in[i] = i % 128; // every dtype holds these
          out[i] = converted(converted(in[i], dtypes[from]), dtypes[to]);
        }
        FyTensor *x = fy_tensor(in, fy_shape(N / 3, 3), .dtype = dtypes[from], .device = device);
        FyTensor *y = fy_to_dtype(x, dtypes[to]);
        assert_int_equal(fy_dtype_of(y), dtypes[to]);
        assert_values(y, out, N, 0);
        FyTensor *host = fy_to(x, FY_CPU_DEVICE, .dtype = dtypes[to]); // on either side of the move
        FyTensor *up = fy_to(fy_cpu(x), device, .dtype = dtypes[to]);
        assert_true(fy_equal(host, fy_cpu(y)));
        assert_true(fy_equal(up, y));
      }
}

static void floats_are_cut_to_whole_numbers(void **state) {
  (void)state;
  const double in[] = {2.7, -2.7, 0.99, -0.99, 100.5, -100.5};
  const double out[] = {2, -2, 0, 0, 100, -100};
  for (int d = 4; d < DTYPES; d++) {
    FyTensor *x = fy_tensor(in, fy_shape(6), .dtype = dtypes[d], .device = device);
    assert_values(fy_to_dtype(x, FY_INT64), out, 6, 0);
    assert_values(fy_to_dtype(x, FY_INT32), out, 6, 0);
    assert_values(fy_to_dtype(fy_slice(x, 0, 0, 6, 2), FY_UINT8), fy_doubles(2, 0, 100), 3, 0);
  }
  FyTensor *wide = fy_tensor(fy_longs(300, -1, 4294967297), fy_shape(3), .device = device);
  assert_values(fy_to_dtype(wide, FY_UINT8), fy_doubles(44, 255, 1), 3, 0);
  assert_values(fy_to_dtype(wide, FY_INT32), fy_doubles(300, -1, 1), 3, 0);
}

static void what_is_not_zero_is_true(void **state) {
  (void)state;
  const double in[] = {0, -0.0, 0.25, -3, (double)NAN, (double)INFINITY};
  for (int d = 4; d < DTYPES; d++)
    assert_values(fy_to_dtype(fy_tensor(in, fy_shape(6), .dtype = dtypes[d], .device = device), FY_BOOL),
                  fy_doubles(0, 0, 1, 1, 1, 1), 6, 0);
  FyTensor *tiny = fy_tensor(fy_floats(1e-44f), fy_shape(1), .device = device);
  assert_values(fy_to_dtype(tiny, FY_BOOL), fy_doubles(1), 1, 0);
}

typedef struct Rounding {
  double in, out;
} Rounding;

static void check_rounding(const Rounding *cases, int n, FyDType dtype) {
  for (int i = 0; i < n; i++)
    for (int negative = 0; negative < 2; negative++)
      fy_scope {
        double sign = negative ? -1 : 1;
        FyTensor *x = fy_tensor(fy_floats((float)(sign * cases[i].in)), fy_shape(1), .device = device);
        double got = fy_item(fy_to_dtype(x, dtype)), want = sign * cases[i].out;
        if (got != want || signbit(got) != signbit(want))
          fail_msg("%g to %s is %.17g, expected %.17g", sign * cases[i].in, fy_dtype_name(dtype), got, want);
      }
}

static void halves_are_rounded_to_nearest_even(void **state) {
  (void)state;
  const Rounding half[] = {
      {1 + 0x1p-11, 1},
      {1 + 3 * 0x1p-11, 1 + 0x1p-9},
      {1 + 0x1p-11 + 0x1p-20, 1 + 0x1p-10},
      {2049, 2048},
      {2051, 2052},
      {65504, 65504},
      {65519, 65504},
      {65520, (double)INFINITY},
      {1e30, (double)INFINITY},
      {0x1p-24, 0x1p-24},
      {0x1p-25, 0},
      {3 * 0x1p-25, 0x1p-23},
      {0x1p-25 + 0x1p-40, 0x1p-24},
      {0x1p-14 - 0x1p-26, 0x1p-14},
      {1e-20, 0},
  };
  const Rounding brain[] = {
      {1 + 0x1p-8, 1},
      {1 + 3 * 0x1p-8, 1 + 0x1p-6},
      {1 + 0x1p-8 + 0x1p-20, 1 + 0x1p-7},
      {257, 256},
      {259, 260},
      {3.4e38, (double)INFINITY},
      {0x1p-133, 0x1p-133},
      {0x1p-134, 0},
  };
  check_rounding(half, sizeof half / sizeof *half, FY_FLOAT16);
  check_rounding(brain, sizeof brain / sizeof *brain, FY_BFLOAT16);
}

// All 65536 patterns survive the way to float32 and back; NaN stays NaN.
static void every_half_comes_back(void **state) {
  (void)state;
  for (int brain = 0; brain < 2; brain++)
    fy_scope {
      FyDType dtype = brain ? FY_BFLOAT16 : FY_FLOAT16;
      FyTensor *host = fy_empty(fy_shape(65536), .dtype = dtype);
      uint16_t *in = fy_numpy(host), out[65536];
      for (int i = 0; i < 65536; i++)
        in[i] = (uint16_t)i;
      FyTensor *wide = fy_to_dtype(fy_to(host, device), FY_FLOAT32);
      float values[65536];
      fy_copy_to_host(wide, values);
      fy_copy_to_host(fy_to_dtype(wide, dtype), out);
      for (int i = 0; i < 65536; i++) {
        int exponent = brain ? i >> 7 & 255 : i >> 10 & 31, mantissa = brain ? i & 127 : i & 1023;
        int bias = brain ? 127 : 15, bits = brain ? 7 : 10;
        bool nan = exponent == (brain ? 255 : 31) && mantissa;
        double value = exponent == (brain ? 255 : 31) ? (double)INFINITY
                       : exponent                     ? ldexp((1 << bits) + mantissa, exponent - bias - bits)
                                                      : ldexp(mantissa, 1 - bias - bits);
        if (nan ? !isnan(values[i]) : (double)values[i] != (i >> 15 ? -value : value))
          fail_msg("%s of bits %x is %g", fy_dtype_name(dtype), (unsigned)i, (double)values[i]);
        if (!nan && out[i] != i)
          fail_msg("%s of bits %x came back as %x", fy_dtype_name(dtype), (unsigned)i, (unsigned)out[i]);
      }
    }
}

static void copy_converts_and_broadcasts(void **state) {
  (void)state;
  FyTensor *target = fy_zeros(fy_shape(2, 3), .dtype = FY_INT32, .device = device);
  assert_ptr_equal(fy_copy_(target, fy_tensor(fy_floats(1.9f, -1.9f, 3), fy_shape(3))), target);
  assert_values(target, fy_doubles(1, -1, 3, 1, -1, 3), 6, 0);
  assert_int_equal(fy_version_of(target), 1);
  fy_copy_(fy_transpose(target, 0, 1), fy_view(fy_arange(6, .dtype = FY_UINT8, .device = device), fy_shape(3, 2)));
  assert_values(target, fy_doubles(0, 2, 4, 1, 3, 5), 6, 0);
  assert_raises(FY_RUNTIME_ERROR, "output with shape [2, 3] doesn't match the broadcast shape [4, 2, 3]",
                fy_copy_(target, fy_zeros(fy_shape(4, 1, 1))));
}

// ---- asynchronous copies -----------------------------------------------------------------------------------------------------

static FyTensor *pinned_ones(int64_t n) {
  return fy_ones(fy_shape(n), .pin_memory = true);
}

static void pageable_memory_is_read_at_once(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(1000));
  FyTensor *y = fy_to(x, device, .non_blocking = true, .copy = true);
  fy_zero_(x); // no harm done
  assert_true(fy_item(fy_sum(y)) == 1000);
}

static void pinned_memory_is_read_later(void **state) {
  (void)state;
  skip_without_cuda();
  if (!lazy()) {
    print_message("when a copy happens is only known of lazy devices\n");
    skip();
  }
  FyTensor *x = pinned_ones(1000);
  FyTensor *y = fy_to(x, device, .non_blocking = true);
  fy_fill_(x, 5); // the mistake: the copy has not been waited for
  assert_true(fy_item(fy_sum(y)) == 5000);
  FyTensor *z = fy_to(x, device); // blocking: the same code is right
  fy_fill_(x, 6);
  assert_true(fy_item(fy_sum(z)) == 5000);
}

// How many of `tries` see something other than the result in host memory that nobody has waited for. Each queues work
// before the copy; all of them see the result after the synchronization.
static int stale_reads(int tries) {
  int stale = 0;
  FyTensor *work = fy_ones(fy_shape(200, 200), .device = device);
  for (int i = 0; i < tries; i++)
    fy_scope {
      FyTensor *host = pinned_ones(64);
      volatile float *seen = fy_data_ptr(host);
      FyTensor *result = fy_full(i + 2, fy_shape(64), .device = device);
      for (int k = 0; k < 20; k++)
        work = fy_matmul(work, work);
      fy_copy_async_(host, result);
      stale += seen[63] == 1;
      fy_synchronize(device);
      assert_true(seen[63] == (float)(i + 2));
      work = fy_ones(fy_shape(200, 200), .device = device);
      fy_keep(work);
    }
  return stale;
}

static void results_are_stale_before_the_synchronization(void **state) {
  (void)state;
  skip_without_cuda();
  int stale = stale_reads(10);
  if (lazy())
    assert_int_equal(stale, 10);
  else
    assert_true(stale > 0);
}

static void to_pinned_memory_without_waiting(void **state) {
  (void)state;
  skip_without_cuda();
  FyTensor *x = fy_full(3, fy_shape(100), .device = device);
  FyTensor *y = fy_to(x, FY_CPU_DEVICE, .non_blocking = true);
  assert_true(fy_is_pinned(y));
  assert_false(fy_is_pinned(fy_cpu(x)));
  fy_synchronize(device);
  assert_true(fy_item(fy_sum(y)) == 300);
}

// The block of a pinned tensor that is gone must not be used again while the device still reads it.
static void pinned_memory_outlives_its_tensor(void **state) {
  (void)state;
  skip_without_cuda();
  FyTensor *y[8];
  for (int i = 0; i < 8; i++)
    fy_scope {
      FyTensor *x = fy_full(i, fy_shape(1000), .pin_memory = true);
      y[i] = fy_keep(fy_to(x, device, .non_blocking = true));
    }
  fy_full(99, fy_shape(1000), .pin_memory = true);
  for (int i = 0; i < 8; i++)
    assert_true(fy_item(fy_sum(y[i])) == 1000.0 * i);
}

static void pinning(void **state) {
  (void)state;
  FyTensor *x = fy_transpose(fy_view(fy_arange(6), fy_shape(2, 3)), 0, 1);
  if (device.type == FY_CPU) {
    assert_raises_about(FY_RUNTIME_ERROR, "No CUDA GPUs are available", fy_pin_memory(x));
    return;
  }
  FyTensor *p = fy_pin_memory(x);
  assert_true(fy_is_pinned(p) && !fy_is_pinned(x));
  assert_true(fy_equal(p, x));
  assert_ptr_equal(fy_pin_memory(p), p);
  assert_true(fy_is_pinned(fy_select(p, 0, 1))); // a view of it
  assert_raises(FY_RUNTIME_ERROR, "cannot pin 'torch.cuda.LongTensor' only dense CPU tensors can be pinned",
                fy_pin_memory(fy_cuda(x)));
}

// ---- devices that are not there, devices that differ ---------------------------------------------------------------------------

static void no_such_device(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(2));
  assert_raises(
      FY_NOT_IMPLEMENTED_ERROR,
      "The device 'mps' (Apple's Metal) is understood but not available in this build of Ferry: choose 'cuda' "
      "or 'cpu'. fy_mps_is_available() tells.",
      fy_to(x, fy_device("mps")));
  assert_false(fy_mps_is_available());
  assert_raises(FY_RUNTIME_ERROR, "Expected one of cpu, cuda, mps device type at start of device string: gpu",
                fy_to(x, fy_device("gpu")));
  assert_raises(FY_RUNTIME_ERROR, "Invalid device string: 'cuda:x'", fy_to(x, fy_device("cuda:x")));
  if (device.type == FY_CPU) {
    const char *off = "No CUDA GPUs are available: CUDA is switched off by FERRY_CUDA=off";
    assert_raises(FY_RUNTIME_ERROR, off, fy_to(x, fy_device("cuda")));
    assert_raises(FY_RUNTIME_ERROR, off, fy_to(x, fy_device("cuda:7")));
    assert_raises(FY_RUNTIME_ERROR, off, fy_cuda(x));
    return;
  }
  char text[160];
  snprintf(text, sizeof text, "CUDA error: invalid device ordinal: cuda:7 was asked for, and there %s",
           fy_cuda_device_count() == 1 ? "is 1 (cuda:0)" : "are ");
  assert_raises_about(FY_RUNTIME_ERROR, text, fy_to(x, fy_device("cuda:7")));
  assert_true(fy_item(fy_sum(fy_to(x, device))) == 2); // no harm done
}

static void tensors_of_two_devices(void **state) {
  (void)state;
  skip_without_cuda();
  const char *text = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!";
  FyTensor *a = fy_ones(fy_shape(2, 2), .device = device), *b = fy_ones(fy_shape(2, 2));
  assert_raises(FY_RUNTIME_ERROR, text, fy_add(a, b));
  assert_raises(FY_RUNTIME_ERROR, text, fy_add(b, a));
  assert_raises(FY_RUNTIME_ERROR, text, fy_add_(a, b));
  assert_raises(FY_RUNTIME_ERROR, text, fy_add_(b, a));
  assert_raises(FY_RUNTIME_ERROR, text, fy_matmul(a, b));
  assert_raises(FY_RUNTIME_ERROR, text, fy_linear(a, b, NULL));
  assert_raises(FY_RUNTIME_ERROR, text, fy_linear(b, a, NULL));
  assert_raises(FY_RUNTIME_ERROR, text, fy_linear(a, a, fy_ones(fy_shape(2))));
  assert_raises(FY_RUNTIME_ERROR, text, fy_cat(fy_list(b, a), 0));
  assert_raises(FY_RUNTIME_ERROR, text, fy_where(fy_gt(a, a), b, a));
  assert_raises(FY_RUNTIME_ERROR, text, fy_mse_loss(a, b));
  assert_raises(FY_RUNTIME_ERROR, text, fy_cross_entropy(a, fy_zeros(fy_shape(2), .dtype = FY_INT64)));
  FyTensor *channel = fy_ones(fy_shape(2, 1, 2), .device = device), *one = fy_ones(FY_SCALAR);
  assert_raises(FY_RUNTIME_ERROR, text, fy_batch_norm(channel, NULL, NULL, one, NULL, true, 0.1, 1e-5));
  assert_raises(FY_RUNTIME_ERROR, text, fy_batch_norm(channel, one, one, NULL, NULL, true, 0.1, 1e-5));
  assert_raises(FY_RUNTIME_ERROR, text, fy_embedding(fy_zeros(FY_SCALAR, .dtype = FY_INT64), a));
  assert_values(a, fy_doubles(1, 1, 1, 1), 4, 0);
  assert_int_equal(fy_version_of(b), 0);
  if (fy_cuda_device_count() > 1)
    assert_raises(FY_RUNTIME_ERROR,
                  "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!",
                  fy_mul(a, fy_to(b, fy_device("cuda:1"))));
}

static void a_number_on_the_cpu_is_welcome(void **state) {
  (void)state;
  skip_without_cuda();
  FyTensor *a = fy_ones(fy_shape(2), .device = device, .requires_grad = true);
  FyTensor *number = fy_full(3, FY_SCALAR, .requires_grad = true);
  FyTensor *y = fy_mul(number, a), *z = fy_sub(a, number);
  assert_true(fy_is_cuda(y) && fy_is_cuda(z));
  assert_values(y, fy_doubles(3, 3), 2, 0);
  assert_values(z, fy_doubles(-2, -2), 2, 0);
  fy_backward(fy_sum(fy_add(y, z)));
  assert_false(fy_is_cuda(fy_grad(number)));
  assert_values(fy_grad(number), fy_doubles(0), 1, 0);                                       // 1 + 1 by y, -1 - 1 by z
  assert_raises_about(FY_RUNTIME_ERROR, "cuda:0 and cpu!", fy_add(a, fy_ones(fy_shape(1)))); // one element, but 1-dim
  assert_raises_about(FY_RUNTIME_ERROR, "cuda:0 and cpu!", fy_add_(fy_full(3, FY_SCALAR), fy_sum(fy_detach(a))));
  assert_raises_about(FY_RUNTIME_ERROR, "cpu", fy_add(fy_ones(fy_shape(2)), fy_ones(FY_SCALAR, .device = device)));
}

static void layers_speak_of_types(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(1, 1, 4, 4), .device = device), *w = fy_ones(fy_shape(1, 1, 3, 3), .device = device);
  const char *cuda = device.type == FY_CUDA ? "cuda." : "";
  char text[160];
  snprintf(text, sizeof text,
           "Input type (torch.%sFloatTensor) and weight type (torch.%sHalfTensor) should be the same", cuda, cuda);
  assert_raises(FY_RUNTIME_ERROR, text, fy_conv2d(x, fy_half(w), NULL));
  snprintf(text, sizeof text,
           "Input type (torch.%sFloatTensor) and bias type (torch.%sDoubleTensor) should be the same", cuda, cuda);
  assert_raises(FY_RUNTIME_ERROR, text, fy_conv2d(x, w, fy_ones(fy_shape(1), .dtype = FY_FLOAT64, .device = device)));
  FyTensor *a = fy_ones(fy_shape(2, 3), .device = device), *h = fy_half(a);
  assert_raises(FY_RUNTIME_ERROR, "mat1 and mat2 must have the same dtype, but got Float and Half",
                fy_linear(a, h, fy_ones(fy_shape(2), .dtype = FY_FLOAT16, .device = device)));
  assert_raises(FY_RUNTIME_ERROR, "expected m1 and m2 to have the same dtype, but got: float != c10::Half",
                fy_linear(a, h, NULL));
  assert_raises(FY_RUNTIME_ERROR, "self and mat2 must have the same dtype, but got Half and Float",
                fy_linear(a, a, fy_ones(fy_shape(2), .dtype = FY_FLOAT16, .device = device)));
  assert_raises(FY_RUNTIME_ERROR, "expected m1 and m2 to have the same dtype, but got: float != c10::Half",
                fy_matmul(a, fy_t(h)));
  assert_raises(FY_RUNTIME_ERROR, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)",
                fy_linear(a, fy_ones(fy_shape(2, 4), .device = device), NULL));
  if (device.type == FY_CPU)
    return;
  assert_raises(FY_RUNTIME_ERROR,
                "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
                fy_conv2d(x, fy_cpu(w), NULL));
  assert_raises(FY_RUNTIME_ERROR,
                "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
                fy_conv2d(fy_cpu(x), w, NULL));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA && device.index < 0)
    device = fy_cuda_device(0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_fits_is_returned_itself),
      cmocka_unit_test(a_copy_is_asked_for),
      cmocka_unit_test(short_names),
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(gradients_go_back),
      cmocka_unit_test(between_two_devices),
      cmocka_unit_test(every_dtype_to_every_dtype),
      cmocka_unit_test(floats_are_cut_to_whole_numbers),
      cmocka_unit_test(what_is_not_zero_is_true),
      cmocka_unit_test(halves_are_rounded_to_nearest_even),
      cmocka_unit_test(every_half_comes_back),
      cmocka_unit_test(copy_converts_and_broadcasts),
      cmocka_unit_test(pageable_memory_is_read_at_once),
      cmocka_unit_test(pinned_memory_is_read_later),
      cmocka_unit_test(results_are_stale_before_the_synchronization),
      cmocka_unit_test(to_pinned_memory_without_waiting),
      cmocka_unit_test(pinned_memory_outlives_its_tensor),
      cmocka_unit_test(pinning),
      cmocka_unit_test(no_such_device),
      cmocka_unit_test(tensors_of_two_devices),
      cmocka_unit_test(a_number_on_the_cpu_is_welcome),
      cmocka_unit_test(layers_speak_of_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
