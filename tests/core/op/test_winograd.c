// SPDX-License-Identifier: MIT
// Winograd's convolution on the CPU against float64: every pass, every way that images and channels can end within a tile, a vector, a
// block; the same bits for any number of threads; what it does not do; how far rounding goes.
// run check: FERRY_CUDA=off
#include "core/nn/check.h"
#include "base/threads.h"
#include "op/convolution/conv_pool.h"
#include "op/op.h"
#include <math.h>
#include <stdio.h>

typedef struct Case {
  int64_t n, c, o, h, w;
  int padding;
} Case;

enum { FORWARD, INPUT, WEIGHT, PASSES };

typedef struct Arrays {
  FyTensor *x, *weight, *bias, *grad;
} Arrays;

static const char *text_of(const Case *c, int pass) {
  static char text[128];
  snprintf(text, sizeof text, "pass %d of (%d %d %d %d), %d output channels, padding %d", pass, (int)c->n, (int)c->c,
           (int)c->h, (int)c->w, (int)c->o, c->padding);
  return text;
}

static Arrays arrays_of(const Case *c) {
  const int64_t oh = c->h + 2 * c->padding - 2, ow = c->w + 2 * c->padding - 2;
  return (Arrays){fy_randn(fy_shape(c->n, c->c, c->h, c->w)), fy_randn(fy_shape(c->o, c->c, 3, 3)),
                  fy_randn(fy_shape(c->o)), fy_randn(fy_shape(c->n, c->o, oh, ow))};
}

static Arrays exact(const Arrays *a) {
  return (Arrays){fy_to(a->x, FY_CPU_DEVICE, .dtype = FY_FLOAT64), fy_to(a->weight, FY_CPU_DEVICE, .dtype = FY_FLOAT64),
                  fy_to(a->bias, FY_CPU_DEVICE, .dtype = FY_FLOAT64),
                  fy_to(a->grad, FY_CPU_DEVICE, .dtype = FY_FLOAT64)};
}

static FyTensor *run(int pass, const Case *c, const Arrays *a, int algorithm) {
  static const FyOp *const ops[] = {&fy_op_conv2d, &fy_op_conv2d_backward_input, &fy_op_conv2d_backward_weight};
  FyConv2dParams p = {.stride = 1, .padding = c->padding, .dilation = 1, .groups = 1, .algorithm = algorithm};
  FyTensor *in[] = {pass == FORWARD ? a->x : a->grad, pass == WEIGHT ? a->x : a->weight, a->bias}, *out;
  memcpy(p.shape, (pass == INPUT ? a->x : a->weight)->array.shape, sizeof p.shape);
  fy_run_multi(ops[pass], &p, pass == FORWARD ? 3 : 2, in, 1, &out);
  return out;
}

// The largest error, measured by the largest value.
static double error_of(FyTensor *got, FyTensor *want) {
  FyTensor *a = fy_to(got, FY_CPU_DEVICE, .dtype = FY_FLOAT64);
  return fy_item(fy_max(fy_abs(fy_sub(a, want)))) / fy_item(fy_max(fy_abs(want)));
}

static void check_case(const Case *c, double tolerance) {
  fy_scope {
    fy_no_grad {
      const Arrays a = arrays_of(c), wide = exact(&a);
      for (int pass = 0; pass < PASSES; pass++) {
        const double error = error_of(run(pass, c, &a, FY_CONV_WINOGRAD), run(pass, c, &wide, FY_CONV_BY_RULE));
        if (!(error <= tolerance))
          fail_msg("%s: %g of the largest value apart", text_of(c, pass), error);
      }
    }
  }
}

// Images that end at each place of a tile, one after another in a block, with and without zeros around them.
static void images_end_anywhere(void **state) {
  (void)state;
  for (int padding = 0; padding <= 2; padding++)
    for (int64_t h = 3 - padding; h <= 10; h++)
      check_case(&(Case){3, 5, 6, h, 14 - h, padding}, 1e-5);
  check_case(&(Case){2, 3, 4, 1, 1, 1}, 1e-5);
  check_case(&(Case){1, 4, 3, 2, 40, 1}, 1e-5);
}

// Fewer channels than a vector has, one more, and an odd number of vectors, for each width of them.
static void channels_end_anywhere(void **state) {
  static const int64_t counts[] = {1, 3, 4, 5, 8, 9, 12, 16, 17, 31, 48, 50};
  enum { COUNTS = sizeof counts / sizeof *counts };
  (void)state;
  for (int i = 0; i < COUNTS; i++)
    for (int k = 0; k < 2; k++)
      check_case(&(Case){2, counts[i], counts[(i * 5 + k * 7 + 3) % COUNTS], 7, 6, 1}, 1e-5);
}

// Several images in a block and a rest; bands of an image, the last one lower; parts of the weight's gradient, and blocks within them.
static void blocks_end_anywhere(void **state) {
  (void)state;
  check_case(&(Case){37, 16, 16, 6, 5, 1}, 1e-5);
  check_case(&(Case){67, 8, 24, 8, 8, 1}, 1e-5);
  check_case(&(Case){2, 32, 48, 45, 46, 1}, 1e-5);
  check_case(&(Case){1, 64, 96, 30, 33, 0}, 1e-5);
  check_case(&(Case){9, 96, 160, 14, 14, 1}, 1e-5);
}

// The largest error of direct convolutions here is 3e-7 to 7e-7.
static void rounding_is_near_the_direct_ones(void **state) {
  (void)state;
  fy_manual_seed(3);
  check_case(&(Case){8, 32, 64, 14, 14, 1}, 3e-6);
  check_case(&(Case){4, 64, 64, 28, 28, 1}, 3e-6);
}

static void threads_do_not_change_bits(void **state) {
  (void)state;
  const int threads = fy_get_num_threads();
  const Case cases[] = {{40, 16, 32, 7, 7, 1}, {3, 32, 16, 40, 41, 1}};
  for (int i = 0; i < 2; i++)
    fy_scope {
      const Arrays a = arrays_of(&cases[i]);
      for (int pass = 0; pass < PASSES; pass++) {
        fy_set_num_threads(1);
        FyTensor *alone = run(pass, &cases[i], &a, FY_CONV_WINOGRAD);
        fy_set_num_threads(3);
        assert_true(fy_equal(alone, run(pass, &cases[i], &a, FY_CONV_WINOGRAD)));
      }
    }
  fy_set_num_threads(threads);
}

// With ReLU and pooling, by the hook that meets its images: x row-major and with its channels together, images larger than a block.
static void fused_layers_are_those_of_float64(void **state) {
  (void)state;
  const Case cases[] = {{37, 16, 16, 6, 6, 1}, {2, 16, 32, 45, 46, 1}, {3, 3, 64, 9, 7, 2}, {20, 64, 128, 8, 8, 1}};
  for (int i = 0; i < 8; i++)
    fy_scope {
      const Arrays a = arrays_of(&cases[i / 2]), wide = exact(&a);
      FyConvPoolParams p = {.window = 2, .channels_last = i % 2, .needs = {true, true, true}};
      p.conv = (FyConv2dParams){.stride = 1, .padding = cases[i / 2].padding, .dilation = 1, .groups = 1};
      FyTensor *want[5], *got[5];
      FyTensor *x =
          i % 2 ? fy_permute(fy_contiguous(fy_permute(a.x, fy_shape(0, 2, 3, 1))), fy_shape(0, 3, 1, 2)) : a.x;
      fy_run_multi(&fy_op_conv2d_relu_max_pool2d, &p, FY_INPUTS(wide.x, wide.weight, wide.bias), 2, want);
      FyTensor *grad = fy_randn_like(want[0]);
      fy_run_multi(&fy_op_conv2d_relu_max_pool2d_backward, &p, FY_INPUTS(grad, want[1], wide.x, wide.weight), 3,
                   want + 2);
      p.conv.algorithm = FY_CONV_WINOGRAD;
      fy_run_multi(&fy_op_conv2d_relu_max_pool2d, &p, FY_INPUTS(x, a.weight, a.bias), 2, got);
      // By the taps of float64: rounding may take a maximum from elsewhere.
      FyTensor *narrow = fy_to(grad, FY_CPU_DEVICE, .dtype = FY_FLOAT32);
      fy_run_multi(&fy_op_conv2d_relu_max_pool2d_backward, &p, FY_INPUTS(narrow, want[1], x, a.weight), 3, got + 2);
      for (int k = 0; k < 5; k++)
        if (k != 1 && !(error_of(got[k], want[k]) <= 1e-5))
          fail_msg("case %d, result %d: %g of the largest value apart", i, k, error_of(got[k], want[k]));
    }
}

static FyErrorKind kind_of_error(const FyConv2dParams *p, FyTensor *const *in) {
  FyTensor *out;
  FyError error;
  fy_trap(error) {
    fy_run_multi(&fy_op_conv2d, p, 3, in, 1, &out);
  }
  return error.kind;
}

static void other_convolutions_are_declined(void **state) {
  (void)state;
  fy_scope {
    FyTensor *x = fy_ones(fy_shape(2, 4, 9, 9)), *three = fy_ones(fy_shape(4, 4, 3, 3));
    FyTensor *five = fy_ones(fy_shape(4, 4, 5, 5)), *group = fy_ones(fy_shape(4, 2, 3, 3));
    FyTensor *x64 = fy_to(x, FY_CPU_DEVICE, .dtype = FY_FLOAT64),
             *w64 = fy_to(three, FY_CPU_DEVICE, .dtype = FY_FLOAT64);
    const FyConv2dParams plain = {.stride = 1, .dilation = 1, .groups = 1, .algorithm = FY_CONV_WINOGRAD};
    FyConv2dParams p[6] = {plain, plain, plain, plain, plain, plain};
    FyTensor *in[6][3] = {{x, three}, {x, three}, {x, three}, {x, group}, {x, five}, {x64, w64}};
    p[0].stride = 2;
    p[1].dilation = 2;
    p[2].padding = 3;
    p[3].groups = 2;
    for (int i = 0; i < 6; i++)
      assert_int_equal(kind_of_error(&p[i], in[i]), FY_NOT_IMPLEMENTED_ERROR);
    assert_int_equal(kind_of_error(&plain, in[0]), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images_end_anywhere),
      cmocka_unit_test(channels_end_anywhere),
      cmocka_unit_test(blocks_end_anywhere),
      cmocka_unit_test(rounding_is_near_the_direct_ones),
      cmocka_unit_test(threads_do_not_change_bits),
      cmocka_unit_test(fused_layers_are_those_of_float64),
      cmocka_unit_test(other_convolutions_are_declined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
