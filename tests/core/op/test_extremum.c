// SPDX-License-Identifier: MIT
// Maxima and minima at every place that a kernel might treat apart: the edges of its vectors, blocks and threads' parts. The
// first of equal values is the one found, and a NaN is beyond all other values, the first of them above all.
//
// run check: FERRY_CUDA=off
// run: OMP_NUM_THREADS=3 FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "core/nn/check.h"

static FyDevice device;
static const int64_t sizes[] = {1, 2, 63, 64, 65, 127, 129, 4095, 4096, 4161, 70003, 140001};
static const FyDType dtypes[] = {FY_FLOAT32, FY_FLOAT64, FY_INT64, FY_INT32, FY_UINT8};
enum { SIZES = sizeof sizes / sizeof *sizes, DTYPES = sizeof dtypes / sizeof *dtypes, PLACES = 9 };

// Zeros but for `value` at `places` (some may be equal).
static FyTensor *marked(int64_t n, FyDType dtype, double value, const int64_t *places, int count) {
  double *values = calloc((size_t)n, sizeof *values);
  for (int i = 0; i < count; i++)
    values[places[i]] = value;
  FyTensor *t = fy_to(fy_tensor(values, fy_shape(n)), device, .dtype = dtype);
  free(values);
  return t;
}

static void expect(FyTensor *value, FyTensor *index, double want, int64_t place, int64_t n) {
  double got = fy_item(value), at = fy_item(index);
  if (!(got == want || (isnan(got) && isnan(want))) || at != (double)place)
    fail_msg("of %ld values %g at %ld was expected, and %g at %g found", (long)n, want, (long)place, got, at);
}

// `max`: the marked value is above zero, or below.
static void check(FyTensor *t, double want, int64_t place, bool max) {
  int64_t n = fy_numel(t);
  FyValuesIndices row = max ? fy_max_dim(t, 0, false) : fy_min_dim(t, 0, false);
  expect(row.values, row.indices, want, place, n);
  expect(max ? fy_max(t) : fy_min(t), max ? fy_argmax(t) : fy_argmin(t), want, place, n);
  // The same along columns: (n, 2), of which the second is of zeros.
  FyTensor *columns = fy_stack(fy_list(t, fy_zeros_like(t)), 1);
  FyValuesIndices both = max ? fy_max_dim(columns, 0, false) : fy_min_dim(columns, 0, false);
  expect(fy_select(both.values, 0, 0), fy_select(both.indices, 0, 0), want, place, n);
  expect(fy_select(both.values, 0, 1), fy_select(both.indices, 0, 1), 0, 0, n);
}

static void for_each_place(int64_t n, FyDType dtype, double value, bool max) {
  const int64_t wanted[PLACES] = {0, 1, 62, 63, 64, n / 2, 4096, n - 2, n - 1};
  for (int i = 0; i < PLACES; i++) {
    int64_t place = wanted[i] < 0 ? 0 : wanted[i] < n ? wanted[i] : n - 1, later = (place + n) / 2;
    fy_scope {
      const int64_t places[] = {place, later, n - 1};
      check(marked(n, dtype, value, places, 3), value, place, max);
    }
  }
}

static void test_first_of_equal_values(void **state) {
  (void)state;
  for (int d = 0; d < DTYPES; d++)
    for (int s = 0; s < SIZES; s++) {
      for_each_place(sizes[s], dtypes[d], 7, true);
      if (dtypes[d] != FY_UINT8)
        for_each_place(sizes[s], dtypes[d], -7, false);
    }
}

static void test_first_nan(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int s = 0; s < SIZES; s++) {
      for_each_place(sizes[s], dtypes[d], NAN, true);
      for_each_place(sizes[s], dtypes[d], NAN, false);
    }
}

// The sum of both infinities is a NaN, which none of the elements is.
static void test_both_infinities(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int s = 0; s < SIZES; s++)
      fy_scope {
        const int64_t n = sizes[s], high = n / 3, low = n - 1;
        FyTensor *t = marked(n, dtypes[d], INFINITY, &high, 1);
        if (low != high)
          t = fy_add(t, marked(n, dtypes[d], -INFINITY, &low, 1));
        expect(fy_max(t), fy_argmax(t), INFINITY, high, n);
        if (low != high)
          expect(fy_min(t), fy_argmin(t), -INFINITY, low, n);
      }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_of_equal_values), cmocka_unit_test(test_first_nan),
                                     cmocka_unit_test(test_both_infinities)};
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
