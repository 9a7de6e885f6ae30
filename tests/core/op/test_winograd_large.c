// SPDX-License-Identifier: MIT
// Infinities, NaNs and numbers near FLT_MAX in convolutions that Winograd's algorithm is asked for, or that the rule gives to it: every
// pass, plain and fused, is the direct convolution's to the last bit, and without them it is Winograd's own. Which of them the rule
// takes, and how it is ruled out.
// tsan
// run: FERRY_CUDA=off
// run check: OMP_NUM_THREADS=3 FERRY_CUDA=off
#include "core/nn/check.h"
#include "base/threads.h"
#include "op/benchmark_impl.h"
#include "op/convolution/conv_pool.h"
#include "op/op.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

// A call the rule takes Winograd's algorithm for: tiles that end within the image, bands, and several blocks and parts.
enum { N = 20, C = 16, O = 32, H = 15, W = 16 };
enum { CHANNEL = H * W, IMAGE = C * CHANNEL };

typedef enum Form { FORWARD, INPUT, WEIGHT, FUSED, FUSED_LAST, FORMS } Form;

static const char *const names[FORMS] = {"conv2d", "gradient of the input", "gradient of the weight", "fused",
                                         "fused, channels last"};

// x (N, C, H, W), weight (O, C, 3, 3), bias (O), grad (N, O, H, W), pooled (N, O, H / 2, W / 2)
enum { X, KERNEL, BIAS, GRAD, POOLED, ARRAYS };

typedef struct Data {
  FyTensor *t[ARRAYS];
} Data;

static Data data_new(void) {
  fy_manual_seed(11);
  return (Data){{fy_randn(fy_shape(N, C, H, W)), fy_randn(fy_shape(O, C, 3, 3)), fy_randn(fy_shape(O)),
                 fy_randn(fy_shape(N, O, H, W)), fy_randn(fy_shape(N, O, H / 2, W / 2))}};
}

static FyTensor *with_channels_last(FyTensor *x) {
  return fy_permute(fy_contiguous(fy_permute(x, fy_shape(0, 2, 3, 1))), fy_shape(0, 3, 1, 2));
}

// Results of a form; how many there are. The fused ones: pooled values, taps, and the gradients of x, weight and bias, as if each pooled
// value had come from the first of its window.
static int run(Form form, const Data *d, int algorithm, FyTensor **out) {
  FyConv2dParams p = {.stride = 1, .padding = 1, .dilation = 1, .groups = 1, .algorithm = algorithm};
  if (form <= WEIGHT) {
    static const FyOp *const ops[] = {&fy_op_conv2d, &fy_op_conv2d_backward_input, &fy_op_conv2d_backward_weight};
    FyTensor *in[] = {d->t[form == FORWARD ? X : GRAD], d->t[form == WEIGHT ? X : KERNEL], d->t[BIAS]};
    memcpy(p.shape, d->t[form == INPUT ? X : KERNEL]->array.shape, sizeof p.shape);
    fy_run_multi(ops[form], &p, form == FORWARD ? 3 : 2, in, 1, out);
    return 1;
  }
  const bool last = form == FUSED_LAST;
  FyConvPoolParams fused = {.conv = p, .window = 2, .channels_last = last, .needs = {true, true, true}};
  FyTensor *x = last ? with_channels_last(d->t[X]) : d->t[X];
  FyTensor *grad = last ? with_channels_last(d->t[POOLED]) : d->t[POOLED];
  fy_run_multi(&fy_op_conv2d_relu_max_pool2d, &fused, FY_INPUTS(x, d->t[KERNEL], d->t[BIAS]), 2, out);
  FyTensor *taps = fy_zeros_like(out[1]);
  fy_run_multi(&fy_op_conv2d_relu_max_pool2d_backward, &fused, FY_INPUTS(grad, taps, x, d->t[KERNEL]), 3, out + 2);
  return 5;
}

// The direct algorithm that the rule takes without Winograd's.
static int run_direct(Form form, const Data *d, FyTensor **out) {
  fy_backends_set_winograd(false);
  const int results = run(form, d, FY_CONV_BY_RULE, out);
  fy_backends_set_winograd(true);
  return results;
}

static bool same_bits(FyTensor *a, FyTensor *b) {
  FyTensor *x = fy_contiguous(a), *y = fy_contiguous(b);
  return memcmp(x->array.data, y->array.data, (size_t)x->array.numel * fy_dtype_size(x->array.dtype)) == 0;
}

// Whether what is computed from an array is the direct one's, by the rule and where Winograd's is asked for.
static void check_direct(Form form, const Data *d, int array, const char *what) {
  static const int algorithms[] = {FY_CONV_BY_RULE, FY_CONV_WINOGRAD};
  static const bool reads[5][ARRAYS] = {{[X] = 1, [KERNEL] = 1, [BIAS] = 1}, // each result of a fused form
                                        {[X] = 1, [KERNEL] = 1, [BIAS] = 1},
                                        {[KERNEL] = 1, [POOLED] = 1},
                                        {[X] = 1, [POOLED] = 1},
                                        {[X] = 1, [POOLED] = 1}}; // the bias's gradient is made with the weight's
  FyTensor *want[5], *got[5];
  const int results = run_direct(form, d, want);
  for (int a = 0; a < 2; a++) {
    run(form, d, algorithms[a], got);
    for (int i = 0; i < results; i++)
      if ((results == 1 || reads[i][array]) && !same_bits(got[i], want[i]))
        fail_msg("%s, algorithm %d, result %d: not the direct one's with %s", names[form], algorithms[a], i, what);
  }
}

static float *element(const Data *d, int array, int64_t i) {
  return (float *)d->t[array]->array.data + i;
}

// ---- what is not to be changed ---------------------------------------------------------------------------------------------------

// Without large numbers the rule's results are Winograd's bits, which are not the direct ones': so what follows can fail.
static void ordinary_numbers_are_winograds(void **state) {
  (void)state;
  for (Form form = 0; form < FORMS; form++)
    fy_scope {
      const Data d = data_new();
      FyTensor *direct[5], *rule[5], *winograd[5];
      const int results = run_direct(form, &d, direct);
      run(form, &d, FY_CONV_BY_RULE, rule);
      run(form, &d, FY_CONV_WINOGRAD, winograd);
      for (int i = 0; i < results; i++) {
        assert_true(same_bits(rule[i], winograd[i]));
        const bool integers = i == 1, bias = i == 4; // taps; what no convolution computes
        if (!integers && !bias && same_bits(rule[i], direct[i]))
          fail_msg("%s, result %d: the direct one's", names[form], i);
      }
    }
}

// ---- large numbers anywhere ------------------------------------------------------------------------------------------------------

static const float large[] = {INFINITY, -INFINITY, NAN, FLT_MAX, -3e38f, 0x1p32f, -0x1p32f};
enum { LARGE = sizeof large / sizeof *large };

// Corners, borders and the inside of the first, a middle, and the last image and channel.
static int64_t place(int i, int channels, int h, int w) {
  const int images[] = {0, N / 2, N - 1}, rows[] = {0, h / 2, h - 1}, columns[] = {w - 1, 0, w / 2};
  const int n = images[i % 3], c = i % 2 ? channels - 1 : channels / 3, y = rows[i / 3 % 3], x = columns[i / 2 % 3];
  return ((int64_t)(n * channels + c) * h + y) * w + x;
}

static void check_places(Form form, int array, int channels, int h, int w) {
  enum { PLACES = 14 };
  for (int i = 0; i < PLACES; i++)
    fy_scope {
      Data d = data_new();
      char what[64];
      const int64_t at = place(i, channels, h, w);
      const float value = large[i % LARGE];
      *element(&d, array, at) = value;
      snprintf(what, sizeof what, "%g at %d of array %d", (double)value, (int)at, array);
      check_direct(form, &d, array, what);
    }
}

static void pixels(void **state) {
  (void)state;
  check_places(FORWARD, X, C, H, W);
  check_places(WEIGHT, X, C, H, W);
  check_places(FUSED, X, C, H, W);
  check_places(FUSED_LAST, X, C, H, W);
}

static void gradients(void **state) {
  (void)state;
  check_places(INPUT, GRAD, O, H, W);
  check_places(WEIGHT, GRAD, O, H, W);
  check_places(FUSED, POOLED, O, H / 2, W / 2);
  check_places(FUSED_LAST, POOLED, O, H / 2, W / 2);
}

// Each tap of a kernel, and a bias.
static void kernels(void **state) {
  (void)state;
  for (Form form = 0; form < FORMS; form++)
    for (int i = 0; i < 9 && form != WEIGHT; i++)
      fy_scope {
        Data d = data_new();
        *element(&d, KERNEL, (int64_t)(i * 3 % O * C + i) * 9 + i) = large[i % LARGE];
        check_direct(form, &d, KERNEL, "a large weight");
      }
  for (Form form = FORWARD; form < FORMS; form += FUSED)
    for (int i = 0; i < LARGE; i++)
      fy_scope {
        Data d = data_new();
        *element(&d, BIAS, i % 2 ? O - 1 : i) = large[i];
        check_direct(form, &d, BIAS, "a large bias");
      }
}

// Channels that do not fill a vector, which go another way into the frame.
static void channels_beyond_a_vector(void **state) {
  (void)state;
  for (int last = 0; last < 2; last++)
    for (int c = 0; c < 5; c += 4)
      fy_scope {
        FyTensor *x = fy_randn(fy_shape(2, 5, 9, 9)), *weight = fy_randn(fy_shape(16, 5, 3, 3)), *out[2][2];
        ((float *)x->array.data)[(5 + c) * 81 + 80] = NAN;
        FyConvPoolParams p = {.conv = {.stride = 1, .padding = 1, .dilation = 1, .groups = 1}, .window = 2};
        for (int a = 0; a < 2; a++) {
          p.conv.algorithm = a ? FY_CONV_WINOGRAD : FY_CONV_BY_RULE;
          fy_run_multi(&fy_op_conv2d_relu_max_pool2d, &p, FY_INPUTS(last ? with_channels_last(x) : x, weight, NULL), 2,
                       out[a]);
        }
        assert_true(same_bits(out[0][0], out[1][0]));
      }
}

// What is expected of the direct convolution itself: an infinity or NaN reaches the 3 by 3 outputs that read it, in every channel.
static void only_those_who_read_it_are_reached(void **state) {
  (void)state;
  const int ys[] = {0, 0, 3, 7, H - 1}, xs[] = {0, W - 1, 4, 0, 7};
  for (int i = 0; i < 5; i++)
    fy_scope {
      Data d = data_new();
      FyTensor *out;
      *element(&d, X, (int64_t)IMAGE * 3 + CHANNEL * i + ys[i] * W + xs[i]) = large[i % 3];
      run(FORWARD, &d, FY_CONV_BY_RULE, &out);
      const float *v = out->array.data;
      for (int64_t at = 0; at < (int64_t)N * O * CHANNEL; at++, v++) {
        const int n = (int)(at / (O * CHANNEL)), y = (int)(at / W % H), x = (int)(at % W);
        const bool reached = n == 3 && abs(y - ys[i]) <= 1 && abs(x - xs[i]) <= 1;
        if (reached == (bool)isfinite(*v))
          fail_msg("output (%d, %d) of image %d is %g", y, x, n, (double)*v);
      }
    }
}

// ---- overflow ----------------------------------------------------------------------------------------------------------------------

// A pixel that would overflow at the points, times weights that make it ordinary.
static void what_overflows_at_the_points_alone_is_finite(void **state) {
  (void)state;
  fy_scope {
    Data d = data_new();
    FyTensor *out;
    for (int i = 0; i < N * IMAGE; i++)
      *element(&d, X, i) = i % 2 ? 3e38f : -3e38f;
    for (int i = 0; i < O * C * 9; i++)
      *element(&d, KERNEL, i) *= 1e-38f;
    check_direct(FORWARD, &d, X, "pixels near FLT_MAX");
    run(FORWARD, &d, FY_CONV_BY_RULE, &out);
    assert_true(isfinite(fy_item(fy_sum(fy_abs(fy_to(out, FY_CPU_DEVICE, .dtype = FY_FLOAT64))))));
  }
}

// Two products of 3.5e38, one of them negative: at the points they would cancel, before either of them overflows.
static void what_overflows_in_the_direct_sum_alone_is_not_finite(void **state) {
  (void)state;
  fy_scope {
    Data d = {{fy_zeros(fy_shape(N, C, H, W)), fy_zeros(fy_shape(O, C, 3, 3)), fy_zeros(fy_shape(O)),
               fy_zeros(fy_shape(N, O, H, W)), fy_zeros(fy_shape(N, O, H / 2, W / 2))}};
    FyTensor *out;
    const int64_t pixel = 5 * W + 5; // its second tile's, near the middle
    for (int c = 0; c < 2; c++) {
      *element(&d, X, c * CHANNEL + pixel) = 1.75e19f;
      *element(&d, KERNEL, c * 9 + 4) = c ? -2e19f : 2e19f;
    }
    check_direct(FORWARD, &d, X, "products that overflow");
    run(FORWARD, &d, FY_CONV_BY_RULE, &out);
    assert_false(isfinite(((const float *)out->array.data)[pixel]));
  }
}

// The largest numbers that Winograd's algorithm takes, whose sums it has to bring through: near float64's.
static void numbers_below_the_limit_do_not_overflow(void **state) {
  (void)state;
  const float most = 0x1.fffffep31f;
  for (Form form = 0; form <= WEIGHT; form++)
    for (int sign = 0; sign < 2; sign++)
      fy_scope {
        Data d = data_new(), wide;
        FyTensor *got, *direct, *want;
        for (int a = 0; a < ARRAYS; a++) {
          for (int64_t i = 0; i < d.t[a]->array.numel; i++)
            *element(&d, a, i) = sign && i % 3 == 0 ? -most : most;
          wide.t[a] = fy_to(d.t[a], FY_CPU_DEVICE, .dtype = FY_FLOAT64);
        }
        run(form, &d, FY_CONV_BY_RULE, &got);
        run_direct(form, &d, &direct);
        run(form, &wide, FY_CONV_BY_RULE, &want);
        FyTensor *apart = fy_sub(fy_to(got, FY_CPU_DEVICE, .dtype = FY_FLOAT64), want);
        assert_true(fy_item(fy_max(fy_abs(apart))) <= 1e-5 * fy_item(fy_max(fy_abs(want))));
        assert_false(same_bits(got, direct)); // it was not handed on
      }
}

// ---- the rule ----------------------------------------------------------------------------------------------------------------------

static bool is_winograds(int64_t n, int64_t c, int64_t o, int64_t h) {
  bool same = false;
  fy_scope {
    FyTensor *x = fy_randn(fy_shape(n, c, h, h)), *weight = fy_randn(fy_shape(o, c, 3, 3)), *out[2];
    FyConv2dParams p = {.stride = 1, .padding = 1, .dilation = 1, .groups = 1};
    for (int i = 0; i < 2; i++) {
      p.algorithm = i ? FY_CONV_WINOGRAD : FY_CONV_BY_RULE;
      fy_run_multi(&fy_op_conv2d, &p, 3, (FyTensor *[]){x, weight, NULL}, 1, &out[i]);
    }
    same = same_bits(out[0], out[1]);
  }
  return same;
}

static void the_rule_takes_what_pays(void **state) {
  (void)state;
  assert_true(is_winograds(128, 32, 64, 14));
  assert_true(is_winograds(8, 64, 64, 32));
  assert_true(is_winograds(32, 64, 128, 7));
  assert_true(is_winograds(64, 16, 16, 16));
  assert_false(is_winograds(64, 16, 16, 14)); // 12.25 tiles of 16, and few channels
  assert_false(is_winograds(1, 64, 64, 16));  // few tiles
  assert_false(is_winograds(64, 8, 64, 16));  // few channels
  assert_false(is_winograds(64, 64, 64, 5));  // tiles that are mostly empty
  fy_backends_set_winograd(false);
  assert_false(is_winograds(128, 32, 64, 14));
  fy_backends_set_winograd(true);
}

static void ruled_out_it_is_not_searched(void **state) {
  (void)state;
  fy_backends_set_benchmark(true);
  for (int on = 0; on < 2; on++)
    fy_scope {
      fy_backends_set_winograd(on);
      assert_int_equal(fy_backends_winograd(), on);
      fy_conv2d(fy_ones(fy_shape(16, 16, 16, 16)), fy_ones(fy_shape(16, 16, 3, 3)), NULL, .padding = 1);
      assert_int_equal(strstr(fy_backends_benchmark_report(), "Winograd") != NULL, on);
    }
  fy_backends_set_benchmark(false);
  fy_backends_benchmark_clear();
}

static void threads_do_not_change_bits(void **state) {
  (void)state;
  const int threads = fy_get_num_threads();
  for (Form form = 0; form < FORMS; form++)
    fy_scope {
      Data d = data_new();
      FyTensor *alone[5], *together[5];
      *element(&d, X, (int64_t)IMAGE * (N - 2) + 5) = INFINITY;
      *element(&d, GRAD, (int64_t)O * CHANNEL * (N - 2) + 5) = NAN;
      fy_set_num_threads(1);
      const int results = run(form, &d, FY_CONV_BY_RULE, alone);
      fy_set_num_threads(3);
      run(form, &d, FY_CONV_BY_RULE, together);
      for (int i = 0; i < results; i++)
        assert_true(same_bits(alone[i], together[i]));
    }
  fy_set_num_threads(threads);
}

// ---- memory ------------------------------------------------------------------------------------------------------------------------

enum { MOST = 16 };

typedef struct Memory {
  int requests, refused; // which of them
  void *blocks[MOST];
} Memory;

static void *grant(FyLaunch *launch, size_t bytes) {
  Memory *memory = launch->owner;
  assert_in_range(++memory->requests, 1, MOST);
  return memory->requests == memory->refused
             ? NULL
             : (memory->blocks[memory->requests - 1] = aligned_alloc(64, (bytes + 64) / 64 * 64));
}

// By the rule a direct algorithm goes on where Winograd's is refused memory: one of its requests each time.
static void without_memory_a_direct_one_goes_on(void **state) {
  (void)state;
  fy_scope {
    const Data d = data_new();
    const FyConv2dParams p = {.stride = 1, .padding = 1, .dilation = 1, .groups = 1};
    FyTensor *want, *out = fy_empty(fy_shape(N, O, H, W));
    run_direct(FORWARD, &d, &want);
    for (int refused = 1; refused <= 3; refused++) {
      Memory memory = {.refused = refused};
      FyLaunch launch = {.in = {&d.t[X]->array, &d.t[KERNEL]->array, &d.t[BIAS]->array},
                         .out = {&out->array},
                         .n_in = 3,
                         .n_out = 1,
                         .params = &p,
                         .workspace = grant,
                         .owner = &memory};
      assert_int_equal(fy_op_conv2d.cpu(&launch), FY_LAUNCH_OK);
      assert_true(memory.requests > refused);
      assert_true(same_bits(out, want));
      for (int i = 0; i < MOST; i++)
        free(memory.blocks[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ordinary_numbers_are_winograds),
      cmocka_unit_test(pixels),
      cmocka_unit_test(gradients),
      cmocka_unit_test(kernels),
      cmocka_unit_test(channels_beyond_a_vector),
      cmocka_unit_test(only_those_who_read_it_are_reached),
      cmocka_unit_test(what_overflows_at_the_points_alone_is_finite),
      cmocka_unit_test(what_overflows_in_the_direct_sum_alone_is_not_finite),
      cmocka_unit_test(numbers_below_the_limit_do_not_overflow),
      cmocka_unit_test(the_rule_takes_what_pays),
      cmocka_unit_test(ruled_out_it_is_not_searched),
      cmocka_unit_test(threads_do_not_change_bits),
      cmocka_unit_test(without_memory_a_direct_one_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
