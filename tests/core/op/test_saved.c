// SPDX-License-Identifier: MIT
// What each op saves for backward, as a program sees it: when a second backward raises, and after a change in place of which
// input or of the output a backward does. PyTorch's answers are in tests/golden/saved.txt; make_golden_saved.py made them.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "core/nn/check.h"
#include "support/golden.h"
#include <stdio.h>

enum { INPUTS = 5, LINE = 128 };
typedef FyTensor *Function(FyTensor *const *in);

typedef struct Case {
  const char *op;
  Function *run;
  const char *shapes[INPUTS]; // "2x3", or "index" (0, 1), "mask" (true, false, true), "statistics" (1, 1)
} Case;

static FyDevice device;

// ---- the ops -----------------------------------------------------------------------------------------------------------

#define FUNCTION(NAME, CALL)                                                                                           \
  static FyTensor *NAME(FyTensor *const *in) {                                                                         \
    return CALL;                                                                                                       \
  }
FUNCTION(run_add, fy_add(in[0], in[1]))
FUNCTION(run_sub, fy_sub(in[0], in[1]))
FUNCTION(run_mul, fy_mul(in[0], in[1]))
FUNCTION(run_div, fy_div(in[0], in[1]))
FUNCTION(run_pow, fy_pow(in[0], in[1]))
FUNCTION(run_add_scalar, fy_add_scalar(in[0], 2))
FUNCTION(run_mul_scalar, fy_mul_scalar(in[0], 2))
FUNCTION(run_div_scalar, fy_div_scalar(in[0], 2))
FUNCTION(run_pow_scalar, fy_pow_scalar(in[0], 2))
FUNCTION(run_neg, fy_neg(in[0]))
FUNCTION(run_abs, fy_abs(in[0]))
FUNCTION(run_exp, fy_exp(in[0]))
FUNCTION(run_log, fy_log(in[0]))
FUNCTION(run_sqrt, fy_sqrt(in[0]))
FUNCTION(run_tanh, fy_tanh(in[0]))
FUNCTION(run_sigmoid, fy_sigmoid(in[0]))
FUNCTION(run_relu, fy_relu(in[0]))
FUNCTION(run_gelu, fy_gelu(in[0]))
FUNCTION(run_clamp, fy_clamp(in[0], 0, 1))
FUNCTION(run_where, fy_where(in[0], in[1], in[2]))
FUNCTION(run_sum, fy_sum(in[0]))
FUNCTION(run_sum_dim, fy_sum_dim(in[0], 0, false))
FUNCTION(run_mean, fy_mean(in[0]))
FUNCTION(run_max, fy_max(in[0]))
FUNCTION(run_max_dim, fy_max_dim(in[0], 0, false).values)
FUNCTION(run_softmax, fy_softmax(in[0], 0))
FUNCTION(run_log_softmax, fy_log_softmax(in[0], 0))
FUNCTION(run_cross_entropy, fy_cross_entropy(in[0], in[1]))
FUNCTION(run_mse_loss, fy_mse_loss(in[0], in[1]))
FUNCTION(run_matmul, fy_matmul(in[0], in[1]))
FUNCTION(run_linear, fy_linear(in[0], in[1], in[2]))
FUNCTION(run_linear_without_bias, fy_linear(in[0], in[1], NULL))
FUNCTION(run_linear_relu, fy_linear_relu(in[0], in[1], in[2]))
FUNCTION(run_conv2d, fy_conv2d(in[0], in[1], in[2]))
FUNCTION(run_fused, fy_conv2d_relu_max_pool2d(in[0], in[1], (FyConv2d){.bias = in[2]}, (FyPool2d){.kernel_size = 2}))
FUNCTION(run_max_pool2d, fy_max_pool2d(in[0], 2))
FUNCTION(run_layer_norm, fy_layer_norm(in[0], fy_shape(3), in[1], in[2], 1e-5))
FUNCTION(run_layer_norm_plain, fy_layer_norm(in[0], fy_shape(3), NULL, NULL, 1e-5))
FUNCTION(run_attention, fy_scaled_dot_product_attention(in[0], in[1], in[2]))
FUNCTION(run_dropout, fy_dropout(in[0], 0.5, true))
FUNCTION(run_cat, fy_cat(fy_list(in[0], in[1]), 0))
FUNCTION(run_stack, fy_stack(fy_list(in[0], in[1]), 0))
FUNCTION(run_index_select, fy_index_select(in[0], 0, in[1]))
FUNCTION(run_embedding, fy_embedding(in[1], in[0]))
FUNCTION(run_clone, fy_clone(in[0]))
FUNCTION(run_to_double, fy_to_dtype(in[0], FY_FLOAT64))
FUNCTION(run_view, fy_view(in[0], fy_shape(3, 1)))
FUNCTION(run_transpose, fy_t(in[0]))
FUNCTION(run_select, fy_select(in[0], 0, 1))
FUNCTION(run_slice, fy_slice(in[0], 0, 1, 3, 1))
FUNCTION(run_permute, fy_permute(in[0], fy_shape(1, 0)))
FUNCTION(run_squeeze, fy_squeeze(in[0]))
FUNCTION(run_unsqueeze, fy_unsqueeze(in[0], 0))

FUNCTION(run_batch_norm, fy_batch_norm(in[0], in[1], in[2], in[3], in[4], true, 0.1, 1e-5))
FUNCTION(run_batch_norm_eval, fy_batch_norm(in[0], in[1], in[2], in[3], in[4], false, 0.1, 1e-5))

static const Case cases[] = {
    {"add", run_add, {"3", "3"}},
    {"sub", run_sub, {"3", "3"}},
    {"mul", run_mul, {"3", "3"}},
    {"div", run_div, {"3", "3"}},
    {"pow", run_pow, {"3", "3"}},
    {"add_scalar", run_add_scalar, {"3"}},
    {"mul_scalar", run_mul_scalar, {"3"}},
    {"div_scalar", run_div_scalar, {"3"}},
    {"pow_scalar", run_pow_scalar, {"3"}},
    {"neg", run_neg, {"3"}},
    {"abs", run_abs, {"3"}},
    {"exp", run_exp, {"3"}},
    {"log", run_log, {"3"}},
    {"sqrt", run_sqrt, {"3"}},
    {"tanh", run_tanh, {"3"}},
    {"sigmoid", run_sigmoid, {"3"}},
    {"relu", run_relu, {"3"}},
    {"gelu", run_gelu, {"3"}},
    {"clamp", run_clamp, {"3"}},
    {"where", run_where, {"mask", "3", "3"}},
    {"sum", run_sum, {"3"}},
    {"sum_dim", run_sum_dim, {"3"}},
    {"mean", run_mean, {"3"}},
    {"max", run_max, {"3"}},
    {"max_dim", run_max_dim, {"3"}},
    {"softmax", run_softmax, {"3"}},
    {"log_softmax", run_log_softmax, {"3"}},
    {"cross_entropy", run_cross_entropy, {"2x3", "index"}},
    {"mse_loss", run_mse_loss, {"3", "3"}},
    {"matmul", run_matmul, {"2x3", "3x4"}},
    {"matmul_vector", run_matmul, {"2x3", "3"}},
    {"vector_matmul", run_matmul, {"3", "3x2"}},
    {"dot", run_matmul, {"3", "3"}},
    {"matmul_batch", run_matmul, {"2x2x3", "2x3x4"}},
    {"matmul_shared", run_matmul, {"2x2x3", "3x4"}},
    {"linear", run_linear, {"2x3", "4x3", "4"}},
    {"linear_batch", run_linear, {"2x2x3", "4x3", "4"}},
    {"linear_without_bias", run_linear_without_bias, {"2x3", "4x3"}},
    {"linear_relu", run_linear_relu, {"2x3", "4x3", "4"}},
    {"conv2d", run_conv2d, {"1x2x4x4", "3x2x3x3", "3"}},
    {"conv2d_relu_max_pool2d", run_fused, {"1x2x5x5", "3x2x2x2", "3"}},
    {"max_pool2d", run_max_pool2d, {"1x2x4x4"}},
    {"batch_norm", run_batch_norm, {"3x2x2x2", "statistics", "statistics", "2", "2"}},
    {"batch_norm_eval", run_batch_norm_eval, {"3x2x2x2", "statistics", "statistics", "2", "2"}},
    {"layer_norm", run_layer_norm, {"2x3", "3", "3"}},
    {"layer_norm_plain", run_layer_norm_plain, {"2x3"}},
    {"attention", run_attention, {"1x2x3x4", "1x2x3x4", "1x2x3x4"}},
    {"dropout", run_dropout, {"3"}},
    {"cat", run_cat, {"3", "3"}},
    {"stack", run_stack, {"3", "3"}},
    {"index_select", run_index_select, {"3", "index"}},
    {"embedding", run_embedding, {"3x2", "index"}},
    {"clone", run_clone, {"3"}},
    {"to_double", run_to_double, {"3"}},
    {"view", run_view, {"3"}},
    {"transpose", run_transpose, {"3x2"}},
    {"select", run_select, {"3"}},
    {"slice", run_slice, {"3"}},
    {"permute", run_permute, {"3x2"}},
    {"squeeze", run_squeeze, {"3x1"}},
    {"unsqueeze", run_unsqueeze, {"3"}},
};
enum { CASES = sizeof cases / sizeof *cases };

// ---- running one -------------------------------------------------------------------------------------------------------

static FyTensor *make_input(const char *shape) {
  if (strcmp(shape, "index") == 0)
    return fy_arange(2, .device = device);
  if (strcmp(shape, "statistics") == 0)
    return fy_ones(fy_shape(2), .device = device);
  if (strcmp(shape, "mask") == 0)
    return fy_ne(fy_arange(3, .device = device), fy_number(1));
  FySize size = {.ndim = 0};
  for (const char *at = shape; at; at = strchr(at, 'x') ? strchr(at, 'x') + 1 : NULL)
    size.dim[size.ndim++] = strtoll(at, NULL, 10);
  return fy_add_scalar(fy_rand_with((FyFactory){.size = size, .device = device}), 0.5);
}

// The inputs: leaves, or what hangs on leaves by an op, so that it may be changed in place.
static int make_inputs(const Case *c, const char *needs, bool leaves, FyTensor **in) {
  int n = 0;
  for (; n < INPUTS && c->shapes[n]; n++) {
    in[n] = make_input(c->shapes[n]);
    if (needs[n] == '1') {
      fy_set_requires_grad(in[n], true);
      in[n] = leaves ? in[n] : fy_add_scalar(in[n], 1);
    }
  }
  return n;
}

static bool backward_raises(FyTensor *out, const char *text) {
  FyError error;
  fy_trap(error) {
    fy_backward(out, .gradient = fy_ones_like(out));
  }
  if (error.kind && !strstr(error.message, text))
    fail_msg("expected \"%s\", but got \"%s\"", text, error.message);
  return error.kind != FY_NO_ERROR;
}

static bool twice_raises(const Case *c, const char *needs) {
  FyTensor *in[INPUTS];
  make_inputs(c, needs, true, in);
  FyTensor *out = c->run(in);
  if (backward_raises(out, ""))
    fail_msg("%s %s: the first backward raises", c->op, needs);
  return backward_raises(out, "a second time");
}

static bool change_raises(const Case *c, const char *needs, int which) {
  FyTensor *in[INPUTS];
  int n = make_inputs(c, needs, false, in);
  FyTensor *out = c->run(in), *target = which < n ? in[which] : out;
  fy_no_grad {
    fy_copy_(target, fy_clone(target));
  }
  return backward_raises(out, "modified by an inplace operation");
}

static const Case *case_of(const char *op) {
  for (int i = 0; i < CASES; i++)
    if (strcmp(cases[i].op, op) == 0)
      return &cases[i];
  fail_msg("no case runs %s of saved.txt", op);
  return NULL;
}

static void test_saved_as_pytorch_does(void **state) {
  (void)state;
  char path[1024], op[LINE], needs[LINE], twice[LINE], changed[LINE];
  int lines = 0, wrong = 0;
  snprintf(path, sizeof path, "%s/saved.txt", golden_directory());
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  for (; fscanf(file, "%127s %127s %127s %127s", op, needs, twice, changed) == 4; lines++) {
    const Case *c = case_of(op);
    char got[LINE] = "";
    fy_scope {
      for (size_t k = 0; k < strlen(changed); k++)
        got[k] = change_raises(c, needs, (int)k) ? 'r' : '-';
      const char *second = twice_raises(c, needs) ? "raises" : "runs";
      if (strcmp(got, changed) != 0 || strcmp(second, twice) != 0) {
        print_error("  %s with gradients of %s: changed %s, twice %s; PyTorch: %s, %s\n", op, needs, got, second,
                    changed, twice);
        wrong++;
      }
    }
  }
  fclose(file);
  assert_in_range(lines, CASES, 1000);
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_saved_as_pytorch_does)};
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
