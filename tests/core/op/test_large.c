// SPDX-License-Identifier: MIT
// Large tensors, where blocks, tiles, vectors and threads have edges: float32 on each device against float64 on the CPU,
// forward and backward, and every run bit for bit as the one before. (The CPU's two dtypes share loops in places: what
// both get wrong there shows in the runs with CUDA, whose kernels are others.)
//
// run: FERRY_CUDA=off
// run check: OMP_NUM_THREADS=3 FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads -- cuda
#include "core/nn/check.h"

static FyDevice device;

// One computation. Inputs are normally distributed float32 numbers, which float64 holds exactly.
typedef struct Case {
  const char *name;
  FyTensor *(*run)(FyTensor *const *in);
  FySize in[3];    // shapes; no dimensions: no further input
  double terms;    // how many numbers of order 1 the longest sum adds up, forward or backward
  unsigned turned; // inputs (bits) that lie column-major in their last two dimensions
  bool no_backward;
  bool atomics; // sums on CUDA by atomics, whose order is any: only a device that runs block by block repeats it
} Case;

enum { MAX_RESULTS = 4 };

// ---- the computations ------------------------------------------------------------------------------------------------------

#define UNARY(NAME, EXPRESSION)                                                                                        \
  static FyTensor *NAME(FyTensor *const *in) {                                                                         \
    FyTensor *x = in[0];                                                                                               \
    return EXPRESSION;                                                                                                 \
  }
#define BINARY(NAME, EXPRESSION)                                                                                       \
  static FyTensor *NAME(FyTensor *const *in) {                                                                         \
    FyTensor *x = in[0], *y = in[1];                                                                                   \
    return EXPRESSION;                                                                                                 \
  }

BINARY(add_mul, fy_add(fy_mul(x, y), x))
BINARY(divide, fy_div(x, fy_add_scalar(fy_mul(y, y), 1)))
BINARY(choose, fy_where(fy_gt(x, y), x, fy_sub(y, x)))
UNARY(squash, fy_mul(fy_tanh(x), fy_sigmoid(x)))
UNARY(gelu, fy_gelu(x))
UNARY(relu_clamp, fy_clamp(fy_relu(x), 0.25, 1.5))
UNARY(exp_log, fy_log(fy_add_scalar(fy_exp(x), 1)))
UNARY(power, fy_add(fy_pow_scalar(x, 3), fy_sqrt(fy_abs(x))))
UNARY(sliced, fy_mul_scalar(fy_slice(fy_slice(x, 0, 1, 99999, 2), 1, 3, -2, 3), 2))
UNARY(sum_all, fy_sum(x))
UNARY(sum_0, fy_sum_dim(x, 0, false))
UNARY(sum_1, fy_sum_dim(x, 1, true))
UNARY(sum_last, fy_sum_dim(x, -1, false))
UNARY(sum_ends, fy_sum_dims(x, fy_shape(0, 2), false))
UNARY(mean_all, fy_mean(x))
UNARY(mean_1, fy_mean_dim(x, 1, false))
UNARY(mean_ends, fy_mean_dims(x, fy_shape(0, -1), true))
UNARY(max_all, fy_max(x))
UNARY(max_0, fy_max_dim(x, 0, false).values)
UNARY(max_1, fy_max_dim(x, 1, true).values)
UNARY(min_last, fy_min_dim(x, -1, false).values)
UNARY(max_at, fy_max_dim(x, 1, false).indices)
UNARY(argmax_all, fy_argmax(x))
UNARY(argmin_0, fy_argmin_dim(x, 0, false))
UNARY(argmax_last, fy_argmax_dim(x, -1, false))
UNARY(softmax_last, fy_softmax(x, -1))
UNARY(softmax_0, fy_softmax(x, 0))
UNARY(log_softmax_last, fy_log_softmax(x, -1))
UNARY(log_softmax_1, fy_log_softmax(x, 1))
BINARY(product, fy_matmul(x, y))
BINARY(mse, fy_mse_loss(x, y, .reduction = FY_REDUCE_SUM))
BINARY(joined_0, fy_cat(fy_list(x, y, x), 0))
BINARY(joined_1, fy_cat(fy_list(x, y), 1))
BINARY(joined_last, fy_cat(fy_list(y, x), -1))
BINARY(stacked, fy_stack(fy_list(x, y), 1))
BINARY(convolved_1x1, fy_conv2d(x, y, NULL))
BINARY(convolved_groups, fy_conv2d(x, y, NULL, .padding = 1, .groups = 4))
BINARY(convolved_dilated, fy_conv2d(x, y, NULL, .padding = 2, .dilation = 2))
UNARY(max_pool_2, fy_max_pool2d(x, 2))
UNARY(max_pool_3, fy_max_pool2d(x, 3, .stride = 2, .padding = 1))
UNARY(avg_pool_2, fy_avg_pool2d(x, 2))
UNARY(avg_pool_3, fy_avg_pool2d(x, 3, .stride = 1, .padding = 1))
UNARY(turned_copy, fy_clone(fy_transpose(x, 0, 1)))
UNARY(permuted_copy, fy_contiguous(fy_permute(x, fy_shape(2, 0, 3, 1))))
UNARY(expanded_copy, fy_clone(fy_expand(x, fy_shape(50, -1, 301))))

static FyTensor *linear(FyTensor *const *in) {
  return fy_linear(in[0], in[1], in[2]);
}

static FyTensor *convolved(FyTensor *const *in) {
  return fy_conv2d(in[0], in[1], in[2], .padding = 1);
}

static FyTensor *convolved_by_2(FyTensor *const *in) {
  return fy_conv2d(in[0], in[1], in[2], .padding = 2, .stride = 2);
}

// The same on every device.
static FyTensor *classes(FyTensor *x, int64_t n, int64_t high) {
  fy_manual_seed(11);
  return fy_randint(0, high, fy_shape(n), .device = fy_device_of(x));
}

static FyTensor *cross_entropy(FyTensor *const *in) {
  FyTensor *target = classes(in[0], fy_size_at(in[0], 0), fy_size_at(in[0], 1));
  return fy_cross_entropy(in[0], target, .reduction = FY_REDUCE_SUM, .set_ignore_index = true, .ignore_index = 3);
}

static FyTensor *cross_entropy_each(FyTensor *const *in) {
  return fy_cross_entropy(in[0], classes(in[0], fy_size_at(in[0], 0), fy_size_at(in[0], 1)),
                          .reduction = FY_REDUCE_NONE);
}

static FyTensor *embedding(FyTensor *const *in) {
  return fy_embedding(fy_view(classes(in[0], 20000, fy_size_at(in[0], 0)), fy_shape(100, 200)), in[0]);
}

static FyTensor *index_select(FyTensor *const *in) {
  return fy_index_select(in[0], 1, classes(in[0], 500, fy_size_at(in[0], 1)));
}

static FyTensor *batch_norm(FyTensor *const *in) {
  return fy_batch_norm(in[0], NULL, NULL, in[1], in[2], true, 0.1, 1e-5);
}

static FyTensor *layer_norm(FyTensor *const *in) {
  return fy_layer_norm(in[0], fy_shape(fy_size_at(in[0], -1)), in[1], in[2], 1e-5);
}

// Several tiles of queries, and of keys.
static FyTensor *attention(FyTensor *const *in) {
  return fy_scaled_dot_product_attention(in[0], in[1], in[2]);
}
static FyTensor *attention_causal(FyTensor *const *in) {
  return fy_scaled_dot_product_attention(in[0], in[1], in[2], .is_causal = true);
}

// Trained once, then evaluated with what it has learned.
static FyTensor *batch_norm_later(FyTensor *const *in) {
  FyTensor *x = in[0];
  FySize channels = fy_shape(fy_size_at(x, 1));
  FyTensor *mean = fy_zeros(channels, .dtype = fy_dtype_of(x), .device = fy_device_of(x)), *var = fy_ones_like(mean);
  fy_no_grad
    fy_batch_norm(x, mean, var, NULL, NULL, true, 0.3, 1e-5);
  return fy_batch_norm(x, mean, var, in[1], in[2], false, 0.1, 1e-5);
}

static const Case cases[] = {
    {"pointwise", add_mul, {{1, {1000003}}, {1, {1000003}}}, 1, 0, false, false},
    {"pointwise, small tail", add_mul, {{1, {16385}}, {1, {16385}}}, 1, 0, false, false},
    {"pointwise, other layouts", add_mul, {{2, {301, 997}}, {2, {301, 997}}}, 1, 2, false, false},
    {"pointwise, both turned", divide, {{3, {5, 301, 97}}, {3, {5, 301, 97}}}, 1, 3, false, false},
    {"broadcast over rows", add_mul, {{2, {1003, 301}}, {1, {301}}}, 1003, 0, false, false},
    {"broadcast over columns", divide, {{2, {1003, 301}}, {2, {1003, 1}}}, 301, 0, false, false},
    {"broadcast both ways", add_mul, {{3, {217, 1, 33}}, {3, {1, 61, 1}}}, 7161, 0, false, false},
    {"where", choose, {{2, {701, 301}}, {2, {701, 1}}}, 301, 1, false, false},
    {"tanh, sigmoid", squash, {{1, {300001}}}, 1, 0, false, false},
    {"gelu", gelu, {{2, {301, 997}}}, 1, 1, false, false},
    {"relu, clamp", relu_clamp, {{1, {500009}}}, 1, 0, false, false},
    {"exp, log", exp_log, {{1, {300001}}}, 1, 0, false, false},
    {"pow, sqrt, abs", power, {{1, {100003}}}, 400, 0, false, false}, // sqrt is steep near 0
    {"slices", sliced, {{2, {603, 599}}}, 1, 0, false, false},
    {"sum of all", sum_all, {{1, {1000003}}}, 1000003, 0, false, false},
    {"sum of all, turned", sum_all, {{2, {701, 903}}}, 633003, 1, false, false},
    {"sum of columns", sum_0, {{2, {3001, 333}}}, 3001, 0, false, false},
    {"sum of rows", sum_1, {{2, {333, 3001}}}, 3001, 0, false, false},
    {"sum of rows, turned", sum_1, {{2, {1001, 701}}}, 701, 1, false, false},
    {"sum of few long rows", sum_1, {{2, {3, 300007}}}, 300007, 0, false, false},
    {"sum of many short rows", sum_1, {{2, {200003, 3}}}, 3, 0, false, false},
    {"sum of few columns", sum_0, {{2, {200003, 3}}}, 200003, 0, false, false},
    {"sum of the middle", sum_1, {{3, {37, 211, 129}}}, 211, 0, false, false},
    {"sum of the last of three", sum_last, {{3, {37, 211, 129}}}, 129, 0, false, false},
    {"sum of the ends", sum_ends, {{3, {37, 211, 129}}}, 4773, 0, false, false},
    {"mean of all", mean_all, {{1, {1000003}}}, 1, 0, false, false},
    {"mean of the middle", mean_1, {{3, {37, 211, 129}}}, 1, 0, false, false},
    {"mean of the ends", mean_ends, {{3, {37, 211, 129}}}, 1, 0, false, false},
    {"max of all", max_all, {{1, {700001}}}, 1, 0, false, false},
    {"max of columns", max_0, {{2, {3001, 133}}}, 1, 0, false, false},
    {"max of rows", max_1, {{2, {133, 3001}}}, 1, 0, false, false},
    {"max of short rows", max_1, {{2, {60001, 5}}}, 1, 0, false, false},
    {"max of the middle", max_1, {{3, {37, 111, 129}}}, 1, 0, false, false},
    {"min of the last of three", min_last, {{3, {37, 111, 129}}}, 1, 0, false, false},
    {"where the maximum is", max_at, {{2, {603, 601}}}, 1, 1, true, false},
    {"argmax of all", argmax_all, {{1, {700001}}}, 1, 0, true, false},
    {"argmin of columns", argmin_0, {{2, {3001, 133}}}, 1, 0, true, false},
    {"argmax of rows", argmax_last, {{3, {30, 20, 301}}}, 1, 0, true, false},
    {"softmax of short rows", softmax_last, {{2, {20011, 10}}}, 10, 0, false, false},
    {"softmax of long rows", softmax_last, {{2, {7, 30011}}}, 100, 0, false, false},
    {"softmax of columns", softmax_0, {{2, {301, 403}}}, 20, 0, false, false},
    {"log_softmax of short rows", log_softmax_last, {{2, {20011, 10}}}, 40, 0, false, false},
    {"log_softmax of long rows", log_softmax_last, {{2, {7, 30011}}}, 30011, 0, false, false},
    {"log_softmax of the middle", log_softmax_1, {{3, {11, 203, 37}}}, 203, 0, false, false},
    {"cross_entropy of 10 classes", cross_entropy, {{2, {20011, 10}}}, 200000, 0, false, false},
    {"cross_entropy of 20011 classes", cross_entropy_each, {{2, {31, 20011}}}, 40, 0, false, false},
    {"mse_loss", mse, {{2, {501, 603}}, {2, {501, 603}}}, 600000, 2, false, false},
    {"matmul", product, {{2, {517, 389}}, {2, {389, 611}}}, 611, 0, false, false},
    {"matmul, turned", product, {{2, {263, 389}}, {2, {389, 311}}}, 389, 3, false, false},
    {"matmul, tall", product, {{2, {10007, 17}}, {2, {17, 5}}}, 10007, 0, false, false},
    {"matmul, by a vector", product, {{2, {1003, 701}}, {1, {701}}}, 1003, 0, false, false},
    {"matmul, batches", product, {{3, {33, 67, 41}}, {3, {33, 41, 53}}}, 67, 2, false, false},
    {"matmul, batches broadcast", product, {{4, {5, 1, 64, 33}}, {3, {7, 33, 65}}}, 455, 0, false, false},
    {"matmul, batch by matrix", product, {{3, {13, 101, 37}}, {2, {37, 29}}}, 1313, 0, false, false},
    {"linear", linear, {{2, {257, 784}}, {2, {203, 784}}, {1, {203}}}, 784, 0, false, false},
    {"linear of three dimensions", linear, {{3, {9, 67, 65}}, {2, {129, 65}}, {1, {129}}}, 603, 0, false, false},
    {"conv2d 3x3", convolved, {{4, {5, 3, 33, 31}}, {4, {16, 3, 3, 3}}, {1, {16}}}, 5115, 0, false, false},
    {"conv2d 3x3, many channels",
     convolved,
     {{4, {3, 20, 14, 15}}, {4, {33, 20, 3, 3}}, {1, {33}}},
     630,
     0,
     false,
     false},
    {"conv2d 5x5 by 2", convolved_by_2, {{4, {3, 6, 29, 30}}, {4, {11, 6, 5, 5}}, {1, {11}}}, 675, 0, false, false},
    {"conv2d 1x1", convolved_1x1, {{4, {4, 31, 13, 17}}, {4, {19, 31, 1, 1}}}, 884, 0, false, false},
    {"conv2d in groups", convolved_groups, {{4, {4, 16, 17, 13}}, {4, {24, 4, 3, 3}}}, 884, 0, false, false},
    {"conv2d dilated", convolved_dilated, {{4, {3, 8, 23, 21}}, {4, {9, 8, 3, 3}}}, 1449, 0, false, false},
    {"max_pool2d 2", max_pool_2, {{4, {7, 13, 33, 30}}}, 1, 0, false, false},
    {"max_pool2d 3 by 2", max_pool_3, {{4, {7, 13, 33, 30}}}, 4, 0, false, false},
    {"avg_pool2d 2", avg_pool_2, {{4, {7, 13, 33, 30}}}, 1, 0, false, false},
    {"avg_pool2d 3 by 1", avg_pool_3, {{4, {7, 13, 33, 30}}}, 9, 1, false, false},
    {"batch_norm of images", batch_norm, {{4, {16, 19, 14, 13}}, {1, {19}}, {1, {19}}}, 2912, 0, false, false},
    {"batch_norm of rows", batch_norm, {{2, {4001, 19}}, {1, {19}}, {1, {19}}}, 4001, 0, false, false},
    {"batch_norm, later", batch_norm_later, {{4, {16, 19, 14, 13}}, {1, {19}}, {1, {19}}}, 2912, 0, false, false},
    {"layer_norm of short rows", layer_norm, {{3, {40, 101, 33}}, {1, {33}}, {1, {33}}}, 4040, 0, false, false},
    {"layer_norm of long rows", layer_norm, {{2, {7, 30011}}, {1, {30011}}, {1, {30011}}}, 30011, 0, false, false},
    {"layer_norm, turned", layer_norm, {{2, {501, 301}}, {1, {301}}, {1, {301}}}, 501, 1, false, false},
    {"attention", attention, {{3, {2, 70, 9}}, {3, {2, 1100, 9}}, {3, {2, 1100, 33}}}, 1100, 0, false, false},
    {"attention, causal", attention_causal, {{2, {601, 8}}, {2, {601, 8}}, {2, {601, 8}}}, 601, 0, false, false},
    {"attention, turned", attention, {{2, {70, 9}}, {2, {65, 9}}, {2, {65, 130}}}, 70, 7, false, false},
    {"cat of rows", joined_0, {{2, {501, 301}}, {2, {207, 301}}}, 2, 0, false, false},
    {"cat of the middle", joined_1, {{3, {31, 50, 67}}, {3, {31, 7, 67}}}, 1, 2, false, false},
    {"cat of columns", joined_last, {{2, {501, 301}}, {2, {501, 3}}}, 1, 0, false, false},
    {"stack", stacked, {{2, {501, 301}}, {2, {501, 301}}}, 1, 0, false, false},
    {"embedding", embedding, {{2, {50, 33}}}, 600, 0, false, true},
    {"index_select", index_select, {{3, {11, 40, 67}}}, 40, 0, false, true},
    {"copy, turned", turned_copy, {{2, {777, 1023}}}, 1, 0, false, false},
    {"copy, permuted", permuted_copy, {{4, {13, 17, 19, 23}}}, 1, 0, false, false},
    {"copy, expanded", expanded_copy, {{2, {101, 1}}}, 15050, 0, false, false},
};

// ---- running one -----------------------------------------------------------------------------------------------------------

// The inputs on a device in a dtype, the same numbers each time; leaves.
static int make_inputs(const Case *c, FyDevice where, FyDType dtype, FyTensor **in) {
  int n = 0;
  fy_manual_seed(1234);
  for (; n < 3 && c->in[n].ndim; n++) {
    FySize shape = c->in[n];
    FyTensor *t = fy_randn(shape);
    if (c->turned >> n & 1)
      t = fy_transpose(fy_contiguous(fy_transpose(t, -1, -2)), -1, -2);
    t = fy_to(fy_to_dtype(t, dtype), where);
    if (c->turned >> n & 1) // the move made it row-major
      t = fy_transpose(fy_contiguous(fy_transpose(t, -1, -2)), -1, -2);
    in[n] = fy_set_requires_grad(fy_detach(t), true);
  }
  return n;
}

// The output, and the gradient of each input for a gradient of normally distributed numbers.
static int compute(const Case *c, FyDevice where, FyDType dtype, FyTensor **results) {
  FyTensor *in[3];
  int n = make_inputs(c, where, dtype, in);
  FyTensor *out = c->run(in);
  results[0] = fy_detach(out);
  if (c->no_backward)
    return 1;
  fy_manual_seed(99);
  FyTensor *gradient = fy_to(fy_randn(fy_size(out)), where, .dtype = dtype);
  fy_backward(out, .gradient = gradient);
  for (int i = 0; i < n; i++)
    results[1 + i] = fy_grad(in[i]);
  return n + 1;
}

static void compare(const Case *c, int which, FyTensor *got, FyTensor *want) {
  int64_t n = fy_numel(want);
  double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
  bool whole = !fy_dtype_is_floating(fy_dtype_of(want));
  double absolute = whole ? 0 : 4e-6 * sqrt(c->terms), relative = whole ? 0 : 8e-6;
  assert_string_equal(fy_shape_string(got), fy_shape_string(want));
  fy_copy_to_host(fy_to(got, FY_CPU_DEVICE, .dtype = FY_FLOAT64), x);
  fy_copy_to_host(fy_to(want, FY_CPU_DEVICE, .dtype = FY_FLOAT64), y);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= absolute + relative * fabs(y[i])))
      fail_msg("%s, %s %d on %s: element %ld of %ld is %.9g, expected %.9g", c->name, which ? "gradient" : "output",
               which, fy_device_name_of(fy_device_of(got)), (long)i, (long)n, x[i], y[i]);
  free(x);
  free(y);
}

static void assert_bits(const Case *c, int which, FyTensor *a, FyTensor *b) {
  unsigned char *x = malloc(fy_nbytes(a)), *y = malloc(fy_nbytes(b));
  assert_int_equal(fy_nbytes(a), fy_nbytes(b));
  fy_copy_to_host(a, x);
  fy_copy_to_host(b, y);
  if (memcmp(x, y, fy_nbytes(a)) != 0)
    fail_msg("%s, %s %d on %s: two runs differ", c->name, which ? "gradient" : "output", which,
             fy_device_name_of(fy_device_of(a)));
  free(x);
  free(y);
}

static bool repeats(const Case *c) {
  const char *mode = getenv("FERRY_SIM_MODE");
  bool one_by_one = device.type == FY_CPU || (fy_cuda_is_simulated() && mode && strcmp(mode, "lazy") == 0);
  return !c->atomics || one_by_one;
}

static void test_case(void **state) {
  const Case *c = *state;
  fy_scope {
    FyTensor *want[MAX_RESULTS], *got[MAX_RESULTS], *again[MAX_RESULTS];
    int n = compute(c, FY_CPU_DEVICE, FY_FLOAT64, want);
    compute(c, device, FY_FLOAT32, got);
    compute(c, device, FY_FLOAT32, again);
    for (int i = 0; i < n; i++) {
      assert_non_null(got[i]);
      assert_string_equal(fy_device_name_of(fy_device_of(got[i])), fy_device_name_of(device));
      compare(c, i, got[i], want[i]);
      if (repeats(c))
        assert_bits(c, i, got[i], again[i]);
      else
        compare(c, i, again[i], want[i]);
    }
  }
}

int main(int argc, char **argv) {
  enum { CASES = sizeof cases / sizeof *cases };
  struct CMUnitTest tests[CASES];
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA && device.index < 0)
    device = fy_cuda_device(0);
  for (int i = 0; i < CASES; i++)
    tests[i] = (struct CMUnitTest){
        .name = cases[i].name, .test_func = test_case, .initial_state = (void *)(uintptr_t)&cases[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
