// SPDX-License-Identifier: MIT
// Every op within a region of autocast against PyTorch's own dtypes, values and gradients (make_golden_autocast.py), and every
// record's rule against PyTorch's two lists.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "autograd/autograd.h"
#include "op/autocast.h"
#include "op/op.h"
#include "op/ops.h"
#include "support/cases.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static GoldenCase *golden;
static int golden_count, failures, tried;
static FyDevice device;

static void fail_case(const GoldenCase *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail_case(const GoldenCase *c, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (++failures <= 12)
    print_error("  %s %s on %s: %s\n", c->op, c->id, fy_device_name_of(device), text);
}

static FyTensor *make_input(const GoldenTensor *g, FyDType dtype) {
  FyTensor *t = fy_to(fy_tensor(g->values, g->shape, .dtype = FY_FLOAT64), device, .dtype = dtype);
  return g->grad ? fy_set_requires_grad(t, true) : t;
}

// What one rounding more or less makes of a value: the least precise type that it went through says how much.
static double tolerance_of(FyDType dtype) {
  return dtype == FY_BFLOAT16 ? 1.6e-2 : dtype == FY_FLOAT16 ? 2e-3 : dtype == FY_FLOAT32 ? 2e-6 : 1e-7;
}

static void compare(const GoldenCase *c, const char *what, FyTensor *t, const GoldenTensor *g, FyDType dtype,
                    double tolerance) {
  if (!t || fy_dtype_of(t) != dtype) {
    fail_case(c, "%s: %s, PyTorch has %s", what, t ? fy_dtype_name(fy_dtype_of(t)) : "none", fy_dtype_name(dtype));
    return;
  }
  fy_scope {
    FyTensor *wide = fy_contiguous(fy_to_dtype(fy_cpu(fy_detach(t)), FY_FLOAT64));
    const double *got = fy_data_ptr(wide);
    double scale = 0;
    for (int64_t i = 0; i < g->numel; i++)
      scale = fmax(scale, fabs(g->values[i]));
    if (fy_numel(wide) != g->numel)
      fail_case(c, "%s: %lld elements, PyTorch has %lld", what, (long long)fy_numel(wide), (long long)g->numel);
    for (int64_t i = 0; i < g->numel && i < fy_numel(wide); i++)
      if (!(fabs(got[i] - g->values[i]) <= tolerance * scale)) {
        fail_case(c, "%s: element %lld is %.9g, PyTorch has %.9g", what, (long long)i, got[i], g->values[i]);
        break;
      }
  }
}

static FyDType region_dtype(const GoldenCase *c) {
  return golden_has(c, "autocast", "bfloat16") ? FY_BFLOAT16 : FY_FLOAT16;
}

static int run_forward(const GoldenCase *c, FyTensor **in, FyTensor **out) {
  int n = 0;
  for (int i = 0; i < c->n_in; i++)
    in[i] = make_input(&c->in[i], c->in[i].dtype);
  fy_autocast(device.type, .dtype = region_dtype(c)) {
    n = case_adapter(c->op)->run(c, in, out);
  }
  return n;
}

static void run_backward(const GoldenCase *c, FyTensor *out) {
  FyTensor *gradient = make_input(&c->grad_output, fy_dtype_of(out));
  fy_autocast(device.type, .dtype = region_dtype(c), .enabled = golden_number(c, "inside", 0) != 0) {
    fy_backward(out, .gradient = gradient);
  }
}

// The type of the lowest precision on the way of a case.
static double case_tolerance(const GoldenCase *c) {
  double tolerance = tolerance_of(c->out[0].dtype);
  for (int i = 0; i < c->n_in; i++)
    if (fy_dtype_is_floating(c->in[i].dtype))
      tolerance = fmax(tolerance, tolerance_of(c->in[i].dtype));
  return tolerance;
}

static void check_case(const GoldenCase *c) {
  FyTensor *in[GOLDEN_INPUTS], *out[GOLDEN_OUTPUTS];
  int n = run_forward(c, in, out);
  if (n != c->n_out)
    fail_case(c, "%d outputs, PyTorch has %d", n, c->n_out);
  for (int i = 0; i < n; i++)
    compare(c, "output", out[i], &c->out[i], c->out[i].dtype, case_tolerance(c));
  if (!c->grad_output.present)
    return;
  run_backward(c, out[0]);
  for (int i = 0; i < c->n_in; i++)
    if (c->grad[i].present)
      compare(c, "gradient", fy_grad(in[i]), &c->grad[i], c->in[i].dtype, 2 * case_tolerance(c));
}

static void check_raising(const GoldenCase *c) {
  FyTensor *in[GOLDEN_INPUTS], *out[GOLDEN_OUTPUTS];
  FyError error;
  fy_trap(error) {
    run_forward(c, in, out);
  }
  if (!error.kind)
    fail_case(c, "should raise: %s", c->raises);
  else if (!strstr(error.message, c->raises))
    fail_case(c, "raises \"%s\", PyTorch \"%s\"", error.message, c->raises);
  if (fy_is_autocast_enabled(device.type))
    fail_case(c, "autocast is still on");
}

static void try_case(const GoldenCase *c) {
  FyError error;
  tried++;
  if (c->raises[0]) {
    check_raising(c);
    return;
  }
  fy_trap(error) {
    check_case(c);
  }
  if (error.kind)
    fail_case(c, "raised %s", error.message);
}

static void ops_as_pytorch_has_them(void **state) {
  const char *type = device.type == FY_CPU ? "cpu" : "cuda";
  (void)state;
  for (int i = 0; i < golden_count; i++)
    if (golden_has(&golden[i], "device", type))
      fy_scope {
        try_case(&golden[i]);
      }
  print_message("%d cases\n", tried);
  assert_true(tried > 200);
  assert_int_equal(failures, 0);
}

// More tensors than one call of the op takes.
static void long_lists_are_joined_by_the_same_rule(void **state) {
  enum { N = 11 };
  FyTensor *items[N];
  (void)state;
  for (int i = 0; i < N; i++)
    items[i] = fy_zeros(fy_shape(2), .dtype = i == 9 ? FY_FLOAT32 : FY_BFLOAT16, .device = device);
  fy_autocast(device.type, .dtype = FY_BFLOAT16) {
    assert_int_equal(fy_dtype_of(fy_cat((FyTensors){N, items}, 0)), FY_FLOAT32);
    assert_int_equal(fy_dtype_of(fy_cat((FyTensors){9, items}, 0)), FY_BFLOAT16);
  }
  FyError error;
  fy_trap(error) {
    fy_autocast(device.type, .dtype = FY_FLOAT16) fy_cat((FyTensors){N, items}, 0);
  }
  if (device.type == FY_CPU)
    assert_non_null(strstr(error.message, "Unexpected floating ScalarType"));
  else
    assert_int_equal(error.kind, FY_NO_ERROR);
}

// Told before what is wrong with the shapes, as in PyTorch.
static void a_half_of_the_other_kind_is_told_first(void **state) {
  FyTensor *scalar = fy_zeros(FY_SCALAR, .dtype = FY_FLOAT16, .device = device);
  FyTensor *row = fy_zeros(fy_shape(3), .dtype = FY_FLOAT16, .device = device);
  (void)state;
  for (int stacked = 0; stacked < 2; stacked++) {
    FyError error;
    fy_trap(error) {
      fy_autocast(device.type, .dtype = FY_BFLOAT16) {
        stacked ? fy_stack(fy_list(scalar, row), 0) : fy_cat(fy_list(scalar, row), 0);
      }
    }
    const char *told = device.type == FY_CPU ? "Unexpected floating ScalarType"
                       : stacked             ? "equal size"
                                             : "zero-dimensional tensor";
    assert_non_null(strstr(error.message, told));
  }
}

static int fused_calls;

static void count_fused(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  fused_calls += call->op == &fy_op_conv2d_relu_max_pool2d;
}

static FyOpHooks count_fused_hooks = {.kernel = count_fused};

// Whether the types fit is asked of what autocast makes of them.
static void the_fused_convolution_stays_one_op(void **state) {
  FyTensor *x = fy_ones(fy_shape(1, 2, 6, 6), .dtype = FY_BFLOAT16, .device = device);
  FyTensor *w = fy_ones(fy_shape(3, 2, 3, 3), .device = device, .requires_grad = true);
  (void)state;
  fy_op_hooks_add(&count_fused_hooks);
  fy_autocast(device.type, .dtype = FY_BFLOAT16) {
    FyTensor *y = fy_conv2d_relu_max_pool2d(x, w, (FyConv2d){.padding = 1}, (FyPool2d){.kernel_size = 2});
    assert_int_equal(fy_dtype_of(y), FY_BFLOAT16);
  }
  fy_op_hooks_remove(&count_fused_hooks);
  assert_int_equal(fused_calls, 1);
}

static void in_place_is_left_alone(void **state) {
  (void)state;
  FyTensor *h = fy_ones(fy_shape(3), .dtype = FY_FLOAT16, .device = device);
  fy_autocast(device.type) {
    assert_int_equal(fy_dtype_of(fy_exp_(h)), FY_FLOAT16);
    assert_int_equal(fy_dtype_of(fy_pow_scalar_(h, 2)), FY_FLOAT16);
  }
}

// The cast before a product is a node of its own; what CUDA computes in float32 inside has none.
static void casts_are_recorded(void **state) {
  (void)state;
  FyTensor *w = fy_ones(fy_shape(2, 2), .device = device, .requires_grad = true);
  fy_autocast(device.type, .dtype = FY_FLOAT16) {
    FyTensor *y = fy_matmul(w, w);
    assert_int_equal(fy_dtype_of(y), FY_FLOAT16);
    assert_string_equal(fy_grad_fn_name(y), "MmBackward0");
    FyTensor *s = fy_sum(y);
    assert_int_equal(fy_dtype_of(s), device.type == FY_CUDA ? FY_FLOAT32 : FY_FLOAT16);
    fy_backward(s);
  }
  assert_int_equal(fy_dtype_of(fy_grad(w)), FY_FLOAT32);
  assert_true(fy_item(fy_max(fy_grad(w))) == 4);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ops_as_pytorch_has_them),
      cmocka_unit_test(long_lists_are_joined_by_the_same_rule),
      cmocka_unit_test(a_half_of_the_other_kind_is_told_first),
      cmocka_unit_test(the_fused_convolution_stays_one_op),
      cmocka_unit_test(in_place_is_left_alone),
      cmocka_unit_test(casts_are_recorded),
  };
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA)
    device = fy_cuda_device(fy_cuda_current_device());
  golden = golden_read("autocast", &golden_count);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  golden_free(golden, golden_count);
  return failed;
}
