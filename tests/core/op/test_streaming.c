// SPDX-License-Identifier: MIT
// Results too large for the caches are streamed past them: the same values, whatever their beginning and end.
// run: FERRY_CUDA=off
// run check: OMP_NUM_THREADS=3 FERRY_CUDA=off
#include "core/nn/check.h"
#include "op/kernel/streaming.h"

enum { FLOATS = FY_STREAM_BYTES / 4 + 12345, PIECE = 1 << 20 };

// What `run` makes of x whole, against what it makes of it piece by piece, none of which is large.
static void check_in_pieces(FyTensor *x, FyTensor *(*run)(FyTensor *x)) {
  FyTensor *whole = run(x);
  int64_t n = fy_numel(x);
  assert_true(fy_nbytes(whole) >= FY_STREAM_BYTES);
  for (int64_t i = 0; i < n; i += PIECE)
    fy_scope {
      int64_t end = i + PIECE < n ? i + PIECE : n;
      assert_true(fy_equal(fy_slice(whole, 0, i, end, 1), run(fy_slice(x, 0, i, end, 1))));
    }
}

static FyTensor *relu(FyTensor *x) {
  return fy_relu(x);
}
static FyTensor *twice(FyTensor *x) {
  return fy_add(x, x);
}
static FyTensor *half(FyTensor *x) {
  return fy_to_dtype(x, FY_FLOAT16);
}
static FyTensor *to_double(FyTensor *x) {
  return fy_to_dtype(x, FY_FLOAT64);
}

static void test_pointwise(void **state) {
  (void)state;
  FyTensor *x = fy_randn(fy_shape(FLOATS));
  check_in_pieces(x, relu);
  check_in_pieces(x, twice);
  check_in_pieces(x, to_double);
  check_in_pieces(fy_slice(x, 0, 3, FLOATS, 1), relu); // read from within a line
}

static void test_halves(void **state) {
  (void)state;
  check_in_pieces(fy_randn(fy_shape(2 * FLOATS)), half);
}

// Written from within a line to within a line; what lies around stays.
static void test_into_the_middle(void **state) {
  (void)state;
  for (int64_t offset = 1; offset < 20; offset += 6)
    fy_scope {
      FyTensor *x = fy_randn(fy_shape(FLOATS)), *to = fy_zeros(fy_shape(FLOATS + 40));
      fy_copy_(fy_slice(to, 0, offset, offset + FLOATS, 1), x);
      assert_true(fy_equal(fy_slice(to, 0, offset, offset + FLOATS, 1), x));
      assert_true(fy_item(fy_sum(fy_abs(fy_slice(to, 0, 0, offset, 1)))) == 0);
      assert_true(fy_item(fy_sum(fy_abs(fy_slice(to, 0, offset + FLOATS, FLOATS + 40, 1)))) == 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pointwise),
      cmocka_unit_test(test_halves),
      cmocka_unit_test(test_into_the_middle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
