// SPDX-License-Identifier: MIT
// Dropout: which elements it keeps is a known function of the seed and their places, and backward knows it without looking.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda:1
#include "numbers.h"

#include "base/philox.h"

static FyDevice device;

enum { MANY = 1 << 15 };

static void it_keeps_and_scales(void **state) {
  (void)state;
  const double p[] = {0.1, 0.5, 0.8};
  for (int d = 0; d < FLOATS; d++)
    for (int k = 0; k < 3; k++)
      fy_scope {
        fy_manual_seed(50);
        FyTensor *x = fy_ones(fy_shape(MANY), .dtype = floats[d], .device = device);
        double scale = fy_item(fy_full(1 / (1 - p[k]), FY_SCALAR, .dtype = floats[d])); // as the dtype holds it
        double *y = values_of(fy_dropout(x, p[k], true));
        int kept = 0;
        for (int i = 0; i < MANY; i++) {
          if (y[i] != 0 && fabs(y[i] - scale) > scale * 1e-7 * (fy_dtype_size(floats[d]) == 8 ? 1e-8 : 1))
            fail_msg("%s: element %d is %.9g, expected 0 or %.9g", fy_dtype_name(floats[d]), i, y[i], scale);
          kept += y[i] != 0;
        }
        assert_near("part kept", floats[d], kept / (double)MANY, 1 - p[k], 0.015);
        free(y);
      }
}

static void is_the_generators_words(void **state) {
  (void)state;
  fy_manual_seed(60);
  double *y = values_of(fy_dropout(fy_ones(fy_shape(999), .device = device), 0.25, true));
  for (int i = 0; i < 999; i++)
    assert_int_equal(y[i] != 0, fy_philox(60, (uint64_t)i / 4).word[i % 4] < 0xc0000000u);
  free(y);
}

static void gives_its_gradient_to_what_it_kept(void **state) {
  (void)state;
  for (int d = 0; d < FLOATS; d++)
    for (int strided = 0; strided < 2; strided++)
      fy_scope {
        FyTensor *leaf = fy_full(3, fy_shape(37, 41), .dtype = floats[d], .device = device, .requires_grad = true);
        FyTensor *x = strided ? fy_transpose(leaf, 0, 1) : leaf;
        FyTensor *y = fy_dropout(x, 0.5, true);
        assert_string_equal(fy_grad_fn_name(y), "NativeDropoutBackward0");
        fy_rand(fy_shape(99), .device = device); // backward must not depend on where the generator is
        fy_backward(fy_sum(y));
        FyTensor *expected = fy_div_scalar(fy_detach(y), 3);
        assert_same_numbers(fy_grad(leaf), strided ? fy_transpose(expected, 0, 1) : expected, false);
      }
}

static void at_the_ends(void **state) {
  (void)state;
  FyTensor *x = fy_full(2, fy_shape(64), .device = device, .requires_grad = true);
  FyRngState before = fy_get_rng_state();
  assert_ptr_equal(fy_dropout(x, 0, true), x);
  assert_ptr_equal(fy_dropout(x, 0.7, false), x);
  assert_ptr_equal(fy_dropout(x, 1, false), x);
  assert_int_equal(fy_get_rng_state().offset, before.offset);
  FyTensor *none = fy_dropout(x, 1, true);
  fy_backward(fy_sum(none));
  double zeros[64] = {0};
  assert_values(none, zeros, 64, 0);
  assert_values(fy_grad(x), zeros, 64, 0);
  assert_int_equal(fy_numel(fy_dropout(fy_empty(fy_shape(0, 3), .device = device), 0.5, true)), 0);
}

static void refuses(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(4), .device = device);
  assert_raises(FY_VALUE_ERROR, "dropout probability has to be between 0 and 1, but got -0.1",
                fy_dropout(x, -0.1, true));
  assert_raises(FY_VALUE_ERROR, "dropout probability has to be between 0 and 1, but got 1.5",
                fy_dropout(x, 1.5, false));
  assert_raises_about(FY_VALUE_ERROR, "dropout probability has to be between", fy_dropout(x, (double)NAN, true));
  assert_raises(FY_RUNTIME_ERROR, "result type Float can't be cast to the desired output type Long",
                fy_dropout(fy_arange(4, .device = device), 0.5, true));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_keeps_and_scales),
      cmocka_unit_test(is_the_generators_words),
      cmocka_unit_test(gives_its_gradient_to_what_it_kept),
      cmocka_unit_test(at_the_ends),
      cmocka_unit_test(refuses),
  };
  if (device.type == FY_CUDA && device.index < 0)
    device = fy_cuda_device(0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
