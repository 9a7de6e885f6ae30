// SPDX-License-Identifier: MIT
// bfloat16 on the CPU: what runs in it directly agrees with float32 on the same numbers, up to one rounding of the result, in
// every layout, for any number of threads, and on processors without units for it.
//
// run check: FERRY_CUDA=off
// run: FERRY_CUDA=off ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16
// run: FERRY_CUDA=off ONEDNN_MAX_CPU_ISA=AVX2
#include "core/nn/check.h"
#include "base/threads.h"
#include "op/convolution/conv_pool.h"
#include "op/kernel/dnn.h"
#include "op/op.h"
#include "op/ops.h"
#include "tensor/half.h"

static FyTensor *halves(FySize size) {
  return fy_to_dtype(fy_randn_with((FyFactory){.size = size}), FY_BFLOAT16);
}

static FyTensor *leaf(FyTensor *t) {
  return fy_set_requires_grad(fy_detach(t), true);
}

static FyTensor *wide(FyTensor *t) {
  return t ? fy_to_dtype(fy_detach(t), FY_FLOAT32) : NULL;
}

// Within half a unit in the last place of a bfloat16 (2^-8), a little more for sums in another order; `scale` is that of the terms.
static void assert_rounded(const char *what, FyTensor *got, FyTensor *want, double scale) {
  assert_int_equal(fy_dtype_of(got), FY_BFLOAT16);
  assert_int_equal(fy_numel(got), fy_numel(want));
  FyTensor *a = fy_contiguous(wide(got)), *b = fy_contiguous(fy_detach(want));
  const float *x = fy_data_ptr(a), *y = fy_data_ptr(b);
  for (int64_t i = 0; i < fy_numel(got); i++)
    if (!(fabs((double)x[i] - (double)y[i]) <= 0x1.02p-8 * fabs((double)y[i]) + 1e-6 * scale))
      fail_msg("%s: element %ld of %ld is %.9g, float32 has %.9g", what, (long)i, (long)fy_numel(got), (double)x[i],
               (double)y[i]);
}

static void assert_same_bits(const char *what, FyTensor *a, FyTensor *b) {
  a = fy_contiguous(fy_detach(a));
  b = fy_contiguous(fy_detach(b));
  assert_int_equal(fy_numel(a), fy_numel(b));
  if (memcmp(fy_data_ptr(a), fy_data_ptr(b), (size_t)fy_numel(a) * 2) != 0)
    fail_msg("%s: other bits", what);
}

// ---- conversions and pointwise functions -------------------------------------------------------------------------------

static FyTensor *all_patterns(void) {
  FyTensor *t = fy_empty(fy_shape(0x10000), .dtype = FY_BFLOAT16);
  for (int i = 0; i < 0x10000; i++)
    ((uint16_t *)fy_data_ptr(t))[i] = (uint16_t)i;
  return t;
}

static bool is_nan_pattern(uint16_t x) {
  return (x & 0x7fff) > 0x7f80;
}

static void test_every_bfloat16_and_back(void **state) {
  (void)state;
  fy_scope {
    FyTensor *back = fy_to_dtype(fy_to_dtype(all_patterns(), FY_FLOAT32), FY_BFLOAT16);
    const uint16_t *bits = fy_data_ptr(back);
    for (int i = 0; i < 0x10000; i++)
      if (is_nan_pattern((uint16_t)i) ? !is_nan_pattern(bits[i]) : bits[i] != i)
        fail_msg("%04x became %04x", i, bits[i]);
  }
}

// The nearest of the two neighbors; between both, the even one.
static uint16_t nearest(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint16_t low = (uint16_t)(bits >> 16), high = (uint16_t)(low + 1);
  double value = (double)x, below = (double)fy_bfloat16_to_float(low);
  double above = (high & 0x7fff) == 0x7f80 ? copysign(0x1p128, value) : (double)fy_bfloat16_to_float(high);
  double down = fabs(value - below), up = fabs(above - value);
  return down < up || (down == up && low % 2 == 0) ? low : high;
}

static void test_rounding(void **state) {
  (void)state;
  enum { COUNT = 200003 };
  fy_scope {
    FyTensor *x = fy_empty(fy_shape(COUNT));
    float *values = fy_data_ptr(x);
    uint32_t bits = 12345;
    for (int i = 0; i < COUNT; i++) {
      bits = bits * 1664525u + 1013904223u;
      uint32_t pattern = i % 4 == 0 ? (bits & 0xffff0000u) | 0x8000u : i % 4 == 1 ? bits & 0x807fffffu : bits;
      memcpy(&values[i], &pattern, sizeof pattern); // ties, and numbers below the normal ones, among them
    }
    FyTensor *rounded = fy_to_dtype(x, FY_BFLOAT16);
    const uint16_t *got = fy_data_ptr(rounded);
    for (int i = 0; i < COUNT; i++)
      if (isnan(values[i]) ? !is_nan_pattern(got[i])
                           : got[i] != (isinf(values[i]) ? (signbit(values[i]) ? 0xff80 : 0x7f80) : nearest(values[i])))
        fail_msg("%a became %04x", (double)values[i], got[i]);
  }
}

typedef FyTensor *Binary(FyTensor *a, FyTensor *b);

static FyTensor *relu_backward(FyTensor *grad, FyTensor *out) {
  return fy_run(&fy_op_relu_backward, NULL, FY_INPUTS(grad, out));
}

static void compare_all_patterns(const char *what, FyTensor *got, FyTensor *want) {
  const uint16_t *x = fy_data_ptr(got), *y = fy_data_ptr(want);
  for (int i = 0; i < 0x10000; i++)
    if (x[i] != y[i] && !(is_nan_pattern(x[i]) && is_nan_pattern(y[i])))
      fail_msg("%s of %04x is %04x, by float32 %04x", what, i, x[i], y[i]);
}

static void test_pointwise_on_every_number(void **state) {
  static const struct {
    const char *name;
    Binary *run;
  } functions[] = {
      {"add", fy_add}, {"sub", fy_sub}, {"mul", fy_mul}, {"div", fy_div}, {"relu_backward", relu_backward}};
  static const float others[] = {0.0f, -0.0f, 1.0f, -3.5f, 1e30f, -INFINITY, NAN};
  (void)state;
  fy_scope {
    FyTensor *all = all_patterns(), *floats = wide(all);
    compare_all_patterns("relu", fy_relu(all), fy_to_dtype(fy_relu(floats), FY_BFLOAT16));
    compare_all_patterns("tanh", fy_tanh(all), fy_to_dtype(fy_tanh(floats), FY_BFLOAT16));
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
      for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        FyTensor *other = fy_to_dtype(fy_full((double)others[i], fy_shape(0x10000)), FY_BFLOAT16), *o = wide(other);
        compare_all_patterns(functions[f].name, functions[f].run(all, other),
                             fy_to_dtype(functions[f].run(floats, o), FY_BFLOAT16));
        compare_all_patterns(functions[f].name, functions[f].run(other, all),
                             fy_to_dtype(functions[f].run(o, floats), FY_BFLOAT16));
      }
  }
}

// The number is not rounded to bfloat16, which has no 1.001.
static void test_numbers_beside_tensors(void **state) {
  (void)state;
  fy_scope {
    FyTensor *x = fy_to_dtype(fy_full(256, fy_shape(100)), FY_BFLOAT16);
    assert_true(fy_item(fy_max(fy_add_scalar(x, 1.001))) == 258);
    assert_true(fy_item(fy_max(fy_add_scalar(x, 0.999))) == 256);
  }
}

static void test_sums(void **state) {
  (void)state;
  fy_scope {
    FyTensor *x = halves(fy_shape(67, 5, 131)), *f = wide(x);
    for (int d = 0; d < 3; d++) {
      assert_rounded("sum", fy_sum_dim(x, d, false), fy_sum_dim(f, d, false), 100);
      assert_rounded("mean", fy_mean_dim(x, d, true), fy_mean_dim(f, d, true), 1);
      FyTensor *t = fy_transpose(x, 0, 2), *g = fy_transpose(f, 0, 2);
      assert_rounded("sum of a view", fy_sum_dim(t, d, false), fy_sum_dim(g, d, false), 100);
    }
    assert_rounded("sum of all", fy_sum(x), fy_sum(f), 1000);
    assert_rounded("sum over two", fy_sum_dims(x, fy_shape(0, 2), false), fy_sum_dims(f, fy_shape(0, 2), false), 500);
    FyTensor *ones = fy_ones(fy_shape(100000), .dtype = FY_BFLOAT16); // where adding up in bfloat16 would stop at 256
    assert_true(fy_item(fy_sum(ones)) == 99840);
  }
}

// ---- products ------------------------------------------------------------------------------------------------------------

// (rows, columns), row-major or the transposed of that, whole or as columns of something wider.
static FyTensor *matrix(int64_t rows, int64_t columns, int layout) {
  int64_t extra = layout / 2 ? 5 : 0;
  if (layout % 2 == 0)
    return fy_narrow(halves(fy_shape(rows, columns + extra)), 1, extra ? 1 : 0, columns);
  return fy_t(fy_narrow(halves(fy_shape(columns, rows + extra)), 1, extra ? 1 : 0, rows));
}

static void test_products(void **state) {
  static const int64_t sizes[][3] = {{64, 64, 64}, {33, 47, 65},   {1, 300, 200}, {300, 1, 200},  {257, 129, 1},
                                     {5, 7, 999},  {256, 10, 130}, {17, 515, 3},  {520, 300, 34}, {40, 200, 4133}};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int layouts = 0; layouts < 16; layouts++)
      fy_scope {
        int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        FyTensor *a = matrix(m, k, layouts % 4), *b = matrix(k, n, layouts / 4);
        assert_rounded("product", fy_matmul(a, b), fy_matmul(wide(a), wide(b)), (double)k);
      }
}

static void test_batches_of_products(void **state) {
  (void)state;
  fy_scope {
    FyTensor *a = halves(fy_shape(3, 2, 37, 41)), *b = halves(fy_shape(2, 41, 29)), *c = halves(fy_shape(41, 70));
    FyTensor *heads = fy_transpose(halves(fy_shape(4, 50, 6, 32)), 1, 2);
    assert_rounded("batch", fy_matmul(a, b), fy_matmul(wide(a), wide(b)), 41);
    FyTensor *tall = halves(fy_shape(3, 300, 64)), *flat = halves(fy_shape(3, 64, 240));
    assert_rounded("tall", fy_matmul(tall, flat), fy_matmul(wide(tall), wide(flat)), 64);
    assert_rounded("one for all", fy_matmul(a, c), fy_matmul(wide(a), wide(c)), 41);
    FyTensor *turned = fy_transpose(heads, -2, -1);
    assert_rounded("heads", fy_matmul(heads, turned), fy_matmul(wide(heads), wide(turned)), 32);
  }
}

static void test_linear(void **state) {
  static const int64_t sizes[][3] = {{64, 96, 64}, {37, 129, 301}, {300, 10, 515}, {1, 700, 100}, {301, 70, 515}};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int way = 0; way < 4; way++)
      fy_scope {
        int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        FyTensor *x = leaf(halves(fy_shape(m, k))), *w = leaf(halves(fy_shape(n, k))), *b = leaf(halves(fy_shape(n)));
        FyTensor *fx = leaf(wide(x)), *fw = leaf(wide(w)), *fb = leaf(wide(b)), *grad = halves(fy_shape(m, n));
        FyTensor *(*linear)(FyTensor *, FyTensor *, FyTensor *) = way / 2 ? fy_linear_relu : fy_linear;
        FyTensor *out = linear(x, w, way % 2 ? b : NULL), *want = linear(fx, fw, way % 2 ? fb : NULL);
        assert_rounded("linear", out, want, (double)k);
        fy_backward(out, .gradient = grad);
        fy_backward(want, .gradient = wide(grad));
        assert_rounded("gradient of x", fy_grad(x), fy_grad(fx), (double)n);
        assert_rounded("gradient of the weight", fy_grad(w), fy_grad(fw), (double)m);
        if (way % 2)
          assert_rounded("gradient of the bias", fy_grad(b), fy_grad(fb), (double)m);
      }
}

// The units take subnormal numbers, and sums that are subnormal, for zero; float32 does not. The smallest normal number stays.
static void test_subnormal_numbers_in_products(void **state) {
  static const struct {
    float x, w;
  } cases[] = {{0x1p-126f, 1}, {0x1p-130f, 0x1p100f}, {-0x1p-130f, 0x1p100f}, {0x1p-70f, 0x1p-60f}};
  const bool flushes = fy_dnn_has_amx() || fy_dnn_has_avx512_bf16();
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    fy_scope {
      const float exact = cases[i].x * cases[i].w;
      FyTensor *x = fy_to_dtype(fy_zeros(fy_shape(48, 40)), FY_BFLOAT16), *w = fy_clone(x);
      ((uint16_t *)fy_data_ptr(x))[5 * 40 + 7] = fy_float_to_bfloat16(cases[i].x);
      ((uint16_t *)fy_data_ptr(w))[9 * 40 + 7] = fy_float_to_bfloat16(cases[i].w);
      const uint16_t *values = fy_data_ptr(fy_linear(x, w, NULL));
      for (int j = 0; j < 48 * 48; j++)
        assert_true(fy_bfloat16_to_float(values[j]) == (j == 5 * 48 + 9 && (i == 0 || !flushes) ? exact : 0));
    }
}

// An infinity and a NaN in the last row and column reach no other ones.
static void test_infinities_in_products(void **state) {
  (void)state;
  fy_scope {
    FyTensor *x = fy_to_dtype(fy_ones(fy_shape(45, 70)), FY_BFLOAT16),
             *w = fy_to_dtype(fy_ones(fy_shape(50, 70)), FY_BFLOAT16);
    ((uint16_t *)fy_data_ptr(x))[44 * 70 + 69] = 0x7f80;
    ((uint16_t *)fy_data_ptr(w))[49 * 70 + 69] = 0x7fc0;
    FyTensor *out = wide(fy_linear(x, w, NULL));
    const float *values = fy_data_ptr(out);
    for (int i = 0; i < 45; i++)
      for (int j = 0; j < 50; j++) {
        const float got = values[i * 50 + j];
        assert_true(j == 49 ? isnan(got) : i == 44 ? isinf(got) && got > 0 : got == 70);
      }
  }
}

// ReLU keeps a NaN, also where it is fused.
static void test_nan_through_linear_relu(void **state) {
  (void)state;
  fy_scope {
    FyTensor *x = fy_ones(fy_shape(64, 64)), *w = fy_to_dtype(fy_ones(fy_shape(64, 64)), FY_BFLOAT16);
    ((float *)fy_data_ptr(x))[0] = NAN;
    FyTensor *out = wide(fy_linear_relu(fy_to_dtype(x, FY_BFLOAT16), w, NULL));
    const float *values = fy_data_ptr(out);
    for (int i = 0; i < 64 * 64; i++)
      assert_true(i < 64 ? isnan(values[i]) : values[i] == 64);
  }
}

// ---- convolutions and pooling ----------------------------------------------------------------------------------------------

typedef struct Shape {
  int64_t n, c, h, w, o, k;
  int stride, padding, dilation, groups;
} Shape;

static const Shape shapes[] = {{2, 16, 12, 12, 32, 3, 1, 1, 1, 1}, {5, 8, 9, 11, 24, 3, 2, 1, 1, 1},
                               {3, 32, 7, 7, 16, 1, 1, 0, 1, 1},   {2, 16, 14, 10, 16, 3, 1, 2, 2, 1},
                               {3, 32, 8, 8, 32, 3, 1, 1, 1, 2},   {4, 16, 8, 8, 16, 3, 1, 1, 1, 16},
                               {3, 1, 12, 12, 16, 5, 1, 2, 1, 1},  {33, 16, 6, 6, 16, 3, 1, 1, 1, 1}};

static void compare_gradients(FyTensor *const *leaves, FyTensor *const *floats, double scale) {
  static const char *const names[] = {"gradient of x", "gradient of the weight", "gradient of the bias"};
  for (int i = 0; i < 3; i++)
    assert_rounded(names[i], fy_grad(leaves[i]), fy_grad(floats[i]), scale);
}

static void test_convolutions(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    fy_scope {
      const Shape *s = &shapes[i];
      FyTensor *leaves[] = {leaf(halves(fy_shape(s->n, s->c, s->h, s->w))),
                            leaf(halves(fy_shape(s->o, s->c / s->groups, s->k, s->k))), leaf(halves(fy_shape(s->o)))};
      FyTensor *floats[3];
      for (int j = 0; j < 3; j++)
        floats[j] = leaf(wide(leaves[j]));
      FyConv2d options = {
          .stride = s->stride, .padding = s->padding, .dilation = s->dilation, .groups = s->groups, .bias = leaves[2]};
      FyTensor *out = fy_conv2d_with(leaves[0], leaves[1], options);
      options.bias = floats[2];
      FyTensor *want = fy_conv2d_with(floats[0], floats[1], options), *grad = halves(fy_size(out));
      assert_rounded("convolution", out, want, (double)(s->c * s->k * s->k));
      fy_backward(out, .gradient = grad);
      fy_backward(want, .gradient = wide(grad));
      compare_gradients(leaves, floats, 2000);
    }
}

// Two layers as nn.Sequential runs them: channels together in between, and at the end the other way.
static FyTensor *two_layers(FyTensor *x, FyTensor *const *w, FyTensor *const *b, FyTensor **between) {
  FyPool2d pool = {.kernel_size = 2};
  *between =
      fy_conv2d_relu_max_pool2d_channels_last(x, w[0], (FyConv2d){.padding = 1, .stride = 1, .bias = b[0]}, pool);
  return fy_conv2d_relu_max_pool2d(*between, w[1], (FyConv2d){.padding = 1, .stride = 1, .bias = b[1]}, pool);
}

// Each layer against float32 on the same input: of bfloat16 values, so that both see the same.
static void test_fused_pooling(void **state) {
  static const int64_t channels[][3] = {{1, 32, 64}, {3, 16, 24}, {16, 32, 16}};
  (void)state;
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
    fy_scope {
      const int64_t *c = channels[i];
      FyTensor *x = leaf(halves(fy_shape(3, c[0], 15, 14)));
      FyTensor *w[] = {leaf(halves(fy_shape(c[1], c[0], 3, 3))), leaf(halves(fy_shape(c[2], c[1], 3, 3)))};
      FyTensor *b[] = {leaf(halves(fy_shape(c[1]))), leaf(halves(fy_shape(c[2])))}, *between;
      FyTensor *out = two_layers(x, w, b, &between), *grad = halves(fy_size(out));
      FyTensor *f[] = {leaf(wide(between)), leaf(wide(w[1])), leaf(wide(b[1]))};
      FyTensor *want = fy_max_pool2d(fy_relu(fy_conv2d(f[0], f[1], f[2], .padding = 1)), 2);
      assert_rounded("second layer", out, want, (double)c[1] * 9);
      fy_retain_grad(between);
      fy_backward(out, .gradient = grad);
      fy_backward(want, .gradient = wide(grad));
      compare_gradients((FyTensor *[]){between, w[1], b[1]}, f, 2000);
      FyTensor *g[] = {leaf(wide(x)), leaf(wide(w[0])), leaf(wide(b[0]))};
      want = fy_max_pool2d(fy_relu(fy_conv2d(g[0], g[1], g[2], .padding = 1)), 2);
      assert_rounded("first layer", between, want, (double)c[0] * 9);
      fy_backward(want, .gradient = wide(fy_grad(between)));
      compare_gradients((FyTensor *[]){x, w[0], b[0]}, g, 2000);
    }
}

static void test_pooling(void **state) {
  static const FyPool2d options[] = {{.kernel_size = 2}, {.kernel_size = 3, .stride = 2, .padding = 1}};
  (void)state;
  for (int average = 0; average < 2; average++)
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
      fy_scope {
        FyTensor *x = leaf(halves(fy_shape(5, 7, 13, 22))), *f = leaf(wide(x));
        FyTensor *(*pool)(FyTensor *, FyPool2d) = average ? fy_avg_pool2d_with : fy_max_pool2d_with;
        FyTensor *out = pool(x, options[i]), *want = pool(f, options[i]), *grad = halves(fy_size(out));
        assert_rounded("pooling", out, want, 1);
        fy_backward(out, .gradient = grad);
        fy_backward(want, .gradient = wide(grad));
        assert_rounded("gradient", fy_grad(x), fy_grad(f), 1);
      }
}

// Parameters and statistics are float32 beside images of bfloat16.
static void test_batch_norm(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++)
    fy_scope {
      bool training = way % 2;
      FySize size = way / 2 ? fy_shape(40, 70) : fy_shape(5, 7, 9, 11);
      FyTensor *x = leaf(halves(size)), *f = leaf(wide(x)),
               *channels = fy_randn_with((FyFactory){.size = fy_shape(size.dim[1])});
      FyTensor *w[] = {leaf(channels), leaf(channels)}, *b[] = {leaf(fy_neg(channels)), leaf(fy_neg(channels))};
      FyTensor *mean[] = {fy_clone(channels), fy_clone(channels)}, *var[] = {fy_exp(channels), fy_exp(channels)};
      FyTensor *out = fy_batch_norm(x, mean[0], var[0], w[0], b[0], training, 0.1, 1e-5), *grad = halves(size);
      FyTensor *want = fy_batch_norm(f, mean[1], var[1], w[1], b[1], training, 0.1, 1e-5);
      assert_rounded("batch_norm", out, want, 1);
      fy_backward(out, .gradient = grad);
      fy_backward(want, .gradient = wide(grad));
      assert_rounded("gradient", fy_grad(x), fy_grad(f), 10);
      FyTensor *pairs[][2] = {
          {mean[0], mean[1]}, {var[0], var[1]}, {fy_grad(w[0]), fy_grad(w[1])}, {fy_grad(b[0]), fy_grad(b[1])}};
      for (int i = 0; i < 4; i++)
        assert_true(fy_allclose(pairs[i][0], pairs[i][1], 1e-5, 1e-5));
    }
}

// ---- threads -----------------------------------------------------------------------------------------------------------------

static void test_any_number_of_threads(void **state) {
  enum { MOST = 5 };
  (void)state;
  int before = fy_get_num_threads();
  fy_scope {
    FyTensor *a = halves(fy_shape(300, 513)), *b = halves(fy_shape(513, 200)), *x = halves(fy_shape(20, 16, 10, 10));
    FyTensor *w = halves(fy_shape(32, 16, 3, 3)), *first[4] = {NULL};
    for (int threads = 1; threads <= MOST; threads += 2) {
      fy_set_num_threads(threads);
      FyTensor *leaf_w = leaf(w), *out = fy_conv2d(x, leaf_w, NULL, .padding = 1);
      fy_backward(out, .gradient = fy_detach(out));
      FyTensor *now[4] = {fy_matmul(a, b), fy_matmul(fy_t(b), fy_t(a)), out, fy_grad(leaf_w)};
      for (int i = 0; i < 4; i++) {
        if (threads > 1)
          assert_same_bits("threads", first[i], now[i]);
        else
          first[i] = now[i];
      }
    }
  }
  fy_set_num_threads(before);
}

// That the runs with a lesser ISA do test the other way.
static void test_units_of_the_processor(void **state) {
  (void)state;
  const char *limit = getenv("ONEDNN_MAX_CPU_ISA");
  if (limit && strcmp(limit, "ALL") != 0)
    assert_false(fy_dnn_has_amx());
  if (limit && strcmp(limit, "AVX2") == 0)
    assert_false(fy_dnn_has_avx512_bf16());
  if (fy_dnn_has_amx())
    assert_true(fy_dnn_has_avx512_bf16());
}

int main(void) {
  fy_manual_seed(1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_bfloat16_and_back),
      cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_pointwise_on_every_number),
      cmocka_unit_test(test_numbers_beside_tensors),
      cmocka_unit_test(test_sums),
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_batches_of_products),
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_subnormal_numbers_in_products),
      cmocka_unit_test(test_infinities_in_products),
      cmocka_unit_test(test_nan_through_linear_relu),
      cmocka_unit_test(test_convolutions),
      cmocka_unit_test(test_fused_pooling),
      cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_batch_norm),
      cmocka_unit_test(test_any_number_of_threads),
      cmocka_unit_test(test_units_of_the_processor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
