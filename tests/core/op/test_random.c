// SPDX-License-Identifier: MIT
// Random numbers: each element is a known function of the seed and its place, so devices, dtypes, layouts and numbers of
// threads agree; moments and ranges; the generator's state.
//
// run: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda:1
#include "numbers.h"

#include "base/philox.h"
#include "base/threads.h"

static FyDevice device;

// ---- the generator -------------------------------------------------------------------------------------------------------

static void philox_has_its_known_answer(void **state) {
  (void)state;
  FyPhilox block = fy_philox(0, 0); // the first of the vectors that come with Random123
  assert_int_equal(block.word[0], 0x6627e8d5u);
  assert_int_equal(block.word[1], 0xe169c58du);
  assert_int_equal(block.word[2], 0xbc57ac4cu);
  assert_int_equal(block.word[3], 0x9b00dbd8u);
}

static double expected_uniform(FyDType dtype, uint64_t seed, int64_t i) {
  if (dtype == FY_FLOAT64) {
    FyPhilox b = fy_philox(seed, (uint64_t)i / 2);
    uint64_t word = (uint64_t)b.word[i % 2 * 2 + 1] << 32 | b.word[i % 2 * 2];
    return (double)(word >> 11) * 0x1p-53;
  }
  int bits = dtype == FY_FLOAT32 ? 24 : dtype == FY_FLOAT16 ? 11 : 8;
  return ldexp((double)(fy_philox(seed, (uint64_t)i / 4).word[i % 4] >> (32 - bits)), -bits);
}

static void uniform_is_the_generators_words(void **state) {
  (void)state;
  const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 255, 256, 257, 511, 1030, 70001};
  const uint64_t seed = 0x123456789abcdef0u;
  for (int d = 0; d < FLOATS; d++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      fy_scope {
        fy_manual_seed(seed);
        double *x = values_of(fy_rand(fy_shape(sizes[s]), .dtype = floats[d], .device = device));
        for (int64_t i = 0; i < sizes[s]; i++)
          if (x[i] != expected_uniform(floats[d], seed, i))
            fail_msg("%s: element %ld of %ld is %.17g, expected %.17g", fy_dtype_name(floats[d]), (long)i,
                     (long)sizes[s], x[i], expected_uniform(floats[d], seed, i));
        free(x);
      }
}

static FyTensor *draw(int kind, FyDType dtype, FyDevice where, int64_t n) {
  switch (kind) {
  case 0:
    return fy_uniform_(fy_empty(fy_shape(n), .dtype = dtype, .device = where), -3, 5);
  case 1:
    return fy_normal_(fy_empty(fy_shape(n), .dtype = dtype, .device = where), 1, 2);
  case 2:
    return fy_dropout(fy_ones(fy_shape(n), .dtype = dtype, .device = where), 0.3, true);
  case 3:
    return fy_randint(-7, 12, fy_shape(n), .dtype = dtype, .device = where);
  case 4:
    return fy_randint(-7, (int64_t)1 << 62, fy_shape(n), .device = where);
  case 5:
    return fy_randint(0, 200, fy_shape(n), .dtype = FY_UINT8, .device = where);
  case 6:
    return fy_randint(-5, 500000, fy_shape(n), .dtype = FY_INT32, .device = where);
  case 7:
    return fy_randint(0, 2, fy_shape(n), .dtype = FY_BOOL, .device = where);
  default:
    return fy_randperm((double)n, .device = where);
  }
}
enum { KINDS = 9, KINDS_WITH_DTYPES = 4 };

static void every_device_draws_the_same(void **state) {
  (void)state;
  const int64_t sizes[] = {1, 2, 3, 5, 6, 257, 40001};
  if (device.type == FY_CPU) {
    print_message("the run with CUDA compares the devices\n");
    skip();
  }
  for (int kind = 0; kind < KINDS; kind++)
    for (int d = 0; d < (kind < KINDS_WITH_DTYPES ? FLOATS : 1); d++)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        fy_scope {
          fy_manual_seed(77);
          FyTensor *a = draw(kind, floats[d], FY_CPU_DEVICE, sizes[s]), *a_next = draw(0, FY_FLOAT32, FY_CPU_DEVICE, 4);
          fy_manual_seed(77);
          FyTensor *b = draw(kind, floats[d], device, sizes[s]), *b_next = draw(0, FY_FLOAT32, device, 4);
          assert_true(fy_device_equal(fy_device_of(b), device));
          assert_same_numbers(b, a, kind == 1);
          assert_same_numbers(b_next, a_next, false); // the generator went as far
        }
}

static void threads_do_not_matter(void **state) {
  (void)state;
  const int64_t sizes[] = {1001, 300003};
  int before = fy_get_num_threads();
  for (int kind = 0; kind < KINDS; kind++)
    for (int d = 0; d < (kind < KINDS_WITH_DTYPES ? FLOATS : 1); d++)
      for (int s = 0; s < 2; s++)
        fy_scope {
          fy_set_num_threads(1);
          fy_manual_seed(5);
          FyTensor *one = draw(kind, floats[d], FY_CPU_DEVICE, sizes[s]);
          for (int threads = 2; threads <= 7; threads += 5) {
            fy_set_num_threads(threads);
            fy_manual_seed(5);
            assert_same_numbers(draw(kind, floats[d], FY_CPU_DEVICE, sizes[s]), one, false);
          }
        }
  fy_set_num_threads(before);
}

// ---- state -----------------------------------------------------------------------------------------------------------------

static void state_is_taken_and_put_back(void **state) {
  (void)state;
  fy_manual_seed(9);
  assert_int_equal(fy_get_rng_state().seed, 9);
  assert_int_equal(fy_get_rng_state().offset, 0);
  fy_rand(fy_shape(13), .device = device);
  FyRngState there = fy_get_rng_state();
  assert_int_equal(there.offset, 4); // 13 words of four to a block
  FyTensor *a = fy_randn(fy_shape(100), .device = device), *more = fy_randint(0, 9, fy_shape(7), .device = device);
  assert_int_equal(fy_get_rng_state().offset, there.offset + 25 + 4);
  fy_set_rng_state(there);
  assert_true(fy_equal(fy_randn(fy_shape(100), .device = device), a));
  assert_true(fy_equal(fy_randint(0, 9, fy_shape(7), .device = device), more));
}

static void calls_follow_each_other(void **state) {
  (void)state;
  fy_manual_seed(21);
  FyTensor *whole = fy_rand(fy_shape(64), .device = device);
  fy_manual_seed(21);
  FyTensor *first = fy_rand(fy_shape(40), .device = device), *second = fy_rand(fy_shape(24), .device = device);
  assert_true(fy_equal(fy_cat(fy_list(first, second), 0), whole));
  fy_manual_seed(22);
  FyTensor *other = fy_rand(fy_shape(64), .device = device);
  double *a = values_of(whole), *b = values_of(other);
  int equal = 0;
  for (int i = 0; i < 64; i++)
    equal += a[i] == b[i];
  assert_int_equal(equal, 0);
  free(a);
  free(b);
}

static void different_calls_differ(void **state) {
  (void)state;
  fy_manual_seed(1);
  for (int kind = 0; kind < KINDS; kind++)
    assert_false(fy_equal(draw(kind, FY_FLOAT32, device, 200), draw(kind, FY_FLOAT32, device, 200)));
}

// ---- moments and ranges ----------------------------------------------------------------------------------------------------

typedef struct Moments {
  double mean, variance, skewness, kurtosis, least, most, neighbors;
} Moments;

static Moments moments_of(FyTensor *t) {
  int64_t n = fy_numel(t);
  double *x = values_of(t);
  Moments m = {.least = x[0], .most = x[0]};
  for (int64_t i = 0; i < n; i++) {
    m.mean += x[i] / (double)n;
    m.least = fmin(m.least, x[i]);
    m.most = fmax(m.most, x[i]);
  }
  for (int64_t i = 0; i < n; i++) {
    double d = x[i] - m.mean, next = x[(i + 1) % n] - m.mean;
    m.variance += d * d / (double)n;
    m.skewness += d * d * d / (double)n;
    m.kurtosis += d * d * d * d / (double)n;
    m.neighbors += d * next / (double)n;
  }
  m.skewness /= pow(m.variance, 1.5);
  m.kurtosis /= m.variance * m.variance;
  m.neighbors /= m.variance;
  free(x);
  return m;
}

enum { MANY = 1 << 16 };

static void uniform_has_its_moments(void **state) {
  (void)state;
  for (int d = 0; d < FLOATS; d++)
    fy_scope {
      fy_manual_seed(3);
      Moments m = moments_of(fy_rand(fy_shape(MANY), .dtype = floats[d], .device = device));
      // The half types have few values; the mean of multiples of 2^-bits in [0, 1) lies half a step lower.
      double step = floats[d] == FY_BFLOAT16 ? 0x1p-8 : floats[d] == FY_FLOAT16 ? 0x1p-11 : 0;
      assert_true(m.least >= 0 && m.most < 1 && m.least < 0.001 && m.most > 0.996);
      assert_near("mean", floats[d], m.mean, 0.5 - step / 2, 0.005);
      assert_near("variance", floats[d], m.variance, 1.0 / 12, 0.0015);
      assert_near("correlation of neighbors", floats[d], m.neighbors, 0, 0.02);
      m = moments_of(fy_uniform_(fy_empty(fy_shape(MANY), .dtype = floats[d], .device = device), -2, 6));
      assert_true(m.least >= -2 && m.most < 6);
      Moments narrow = moments_of(fy_uniform_(fy_empty(fy_shape(MANY), .dtype = floats[d], .device = device), 1, 2));
      assert_true(narrow.least >= 1 && narrow.most < 2); // where the half types' own rounding would reach 2
      assert_near("mean", floats[d], m.mean, 2, 0.05);
      assert_near("variance", floats[d], m.variance, 64.0 / 12, 0.08);
    }
}

static void normal_has_its_moments(void **state) {
  (void)state;
  for (int d = 0; d < FLOATS; d++)
    fy_scope {
      fy_manual_seed(4);
      FyTensor *t = fy_randn(fy_shape(MANY), .dtype = floats[d], .device = device);
      Moments m = moments_of(t);
      assert_near("mean", floats[d], m.mean, 0, 0.016);
      assert_near("variance", floats[d], m.variance, 1, 0.022);
      assert_near("skewness", floats[d], m.skewness, 0, 0.04);
      assert_near("kurtosis", floats[d], m.kurtosis, 3, 0.08);
      assert_near("correlation of neighbors", floats[d], m.neighbors, 0, 0.016);
      assert_true(m.least < -3.5 && m.most > 3.5 && m.least > -7 && m.most < 7);
      FyTensor *within = fy_mul(fy_lt(t, fy_number(1)), fy_gt(t, fy_number(-1)));
      assert_near("part within one deviation", floats[d], fy_item(fy_sum(within)) / MANY, 0.6827,
                  floats[d] == FY_BFLOAT16 ? 0.012 : 0.008);
      m = moments_of(fy_normal_(fy_empty(fy_shape(MANY), .dtype = floats[d], .device = device), -5, 0.5));
      assert_near("mean", floats[d], m.mean, -5, 0.01);
      assert_near("variance", floats[d], m.variance, 0.25, 0.008);
      m = moments_of(fy_normal_(fy_empty(fy_shape(100), .dtype = floats[d], .device = device), 3, 0));
      assert_true(m.least == 3 && m.most == 3);
    }
}

// Counts of `kinds` equally likely outcomes; a quantile of 1e-6 is about kinds + 5 sqrt(2 kinds) + 12.
static void assert_even(const int *counts, int kinds, int total) {
  double chi = 0, expected = (double)total / kinds;
  for (int k = 0; k < kinds; k++)
    chi += (counts[k] - expected) * (counts[k] - expected) / expected;
  if (chi > kinds + 5 * sqrt(2.0 * kinds) + 12)
    fail_msg("%d outcomes are not equally likely: chi-square is %g", kinds, chi);
}

static void randint_is_even(void **state) {
  (void)state;
  const FyDType dtypes[] = {FY_INT64, FY_INT32, FY_FLOAT32, FY_FLOAT64};
  for (int d = 0; d < 4; d++)
    fy_scope {
      int counts[19] = {0};
      fy_manual_seed(6);
      double *x = values_of(fy_randint(-7, 12, fy_shape(MANY), .dtype = dtypes[d], .device = device));
      for (int i = 0; i < MANY; i++) {
        assert_true(x[i] >= -7 && x[i] < 12 && x[i] == floor(x[i]));
        counts[(int)x[i] + 7]++;
      }
      assert_even(counts, 19, MANY);
      free(x);
    }
}

static void randint_reaches_the_ends(void **state) {
  (void)state;
  fy_manual_seed(8);
  FyTensor *t = fy_randint(INT64_MIN, INT64_MAX, fy_shape(1000), .device = device);
  int64_t x[1000];
  int negative = 0, odd = 0;
  fy_copy_to_host(t, x);
  for (int i = 0; i < 1000; i++) {
    negative += x[i] < 0;
    odd += (int)(x[i] & 1);
  }
  assert_in_range(negative, 420, 580);
  assert_in_range(odd, 420, 580);
  assert_int_equal(fy_item_int64(fy_randint(41, 42, fy_shape(1), .device = device)), 41);
  Moments bytes = moments_of(fy_randint(0, 256, fy_shape(20000), .dtype = FY_UINT8, .device = device));
  assert_true(bytes.least == 0 && bytes.most == 255);
}

static void randperm_is_even(void **state) {
  (void)state;
  int counts[24] = {0};
  fy_manual_seed(10);
  for (int round = 0; round < 2400; round++)
    fy_scope {
      int64_t p[4];
      fy_copy_to_host(fy_randperm(4), p);
      assert_int_equal(1 << p[0] | 1 << p[1] | 1 << p[2] | 1 << p[3], 15);
      int second = (int)(p[1] - (p[1] > p[0])), third = p[2] < p[3] ? 0 : 1;
      counts[(p[0] * 3 + second) * 2 + third]++;
    }
  assert_even(counts, 24, 2400);
}

static void randperm_has_every_number_once(void **state) {
  (void)state;
  enum { N = 5001 };
  static int seen[N];
  memset(seen, 0, sizeof seen);
  double *p = values_of(fy_randperm(N, .device = device, .dtype = FY_INT32));
  for (int i = 0; i < N; i++)
    seen[(int)p[i]]++;
  for (int i = 0; i < N; i++)
    assert_int_equal(seen[i], 1);
  free(p);
  assert_int_equal(fy_numel(fy_randperm(0, .device = device)), 0);
  assert_int_equal(fy_item_int64(fy_randperm(1, .device = device)), 0);
}

// ---- in place --------------------------------------------------------------------------------------------------------------

static FyTensor *fill(FyTensor *t, bool normal) {
  return normal ? fy_normal_(t, 0, 1) : fy_uniform_(t, 0, 1);
}

static void strided_targets(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++)
    for (int d = 0; d < FLOATS; d++)
      fy_scope {
        FyTensor *base = fy_full(7, fy_shape(9, 14), .dtype = floats[d], .device = device);
        FyTensor *view = fy_slice(fy_slice(fy_transpose(base, 0, 1), 0, 2, 12, 3), 1, 1, 8, 2); // 4 by 4
        uint32_t version = fy_version_of(base);
        fy_manual_seed(31);
        assert_ptr_equal(fill(view, kind), view);
        assert_true(fy_version_of(base) > version);
        fy_manual_seed(31);
        FyTensor *row_major = fill(fy_empty(fy_shape(4, 4), .dtype = floats[d], .device = device), kind);
        assert_same_numbers(view, row_major, false);
        fy_zero_(view);
        assert_true(fy_item(fy_sum(fy_to_dtype(base, FY_FLOAT64))) == 7.0 * (9 * 14 - 16)); // the rest is as it was
      }
}

// Row-major parts of a bigger tensor, with sizes around the kernels' own: nothing beside them changes.
static void neighbors_stay(void **state) {
  (void)state;
  const int64_t sizes[] = {1, 3, 125, 126, 127, 128, 253, 254, 255, 257, 511, 1021};
  for (int kind = 0; kind < 2; kind++)
    for (int d = 0; d < FLOATS; d++)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        fy_scope {
          FyTensor *base = fy_full(7, fy_shape(sizes[s] + 16), .dtype = floats[d], .device = device);
          FyTensor *part = fill(fy_narrow(base, 0, 8, sizes[s]), kind);
          double *x = values_of(base);
          for (int i = 0; i < 8; i++)
            assert_true(x[i] == 7 && x[sizes[s] + 8 + i] == 7);
          assert_true(fy_item(fy_max(part)) < 7);
          free(x);
        }
}

static void in_place_cuts_the_gradient(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(5), .device = device, .requires_grad = true);
  FyTensor *y = fy_mul_scalar(x, 2);
  fy_backward(fy_sum(fy_add(fy_uniform_(y, 0, 1), x)));
  assert_values(fy_grad(x), fy_doubles(1, 1, 1, 1, 1), 5, 0);
}

static void wrong_arguments(void **state) {
  (void)state;
  FyTensor *t = fy_zeros(fy_shape(3), .device = device), *whole = fy_arange(3, .device = device);
  assert_raises(FY_RUNTIME_ERROR, "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
                fy_uniform_(t, 2, 1));
  assert_raises_about(FY_RUNTIME_ERROR, "uniform_ expects", fy_uniform_(t, (double)NAN, 1));
  assert_raises(FY_RUNTIME_ERROR, "normal expects std >= 0.0, but found std -1", fy_normal_(t, 0, -1));
  assert_raises(FY_NOT_IMPLEMENTED_ERROR, "\"check_uniform_bounds\" not implemented for 'Long'",
                fy_uniform_(whole, 0, 1));
  assert_raises(FY_NOT_IMPLEMENTED_ERROR, "\"normal_kernel_cpu\" not implemented for 'Long'", fy_normal_(whole, 0, 1));
  FyTensor *leaf = fy_zeros(fy_shape(3), .device = device, .requires_grad = true);
  assert_raises_about(FY_RUNTIME_ERROR, "a leaf Variable that requires grad", fy_uniform_(leaf, 0, 1));
  assert_values(t, fy_doubles(0, 0, 0), 3, 0);
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_has_its_known_answer),
      cmocka_unit_test(uniform_is_the_generators_words),
      cmocka_unit_test(every_device_draws_the_same),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(state_is_taken_and_put_back),
      cmocka_unit_test(calls_follow_each_other),
      cmocka_unit_test(different_calls_differ),
      cmocka_unit_test(uniform_has_its_moments),
      cmocka_unit_test(normal_has_its_moments),
      cmocka_unit_test(randint_is_even),
      cmocka_unit_test(randint_reaches_the_ends),
      cmocka_unit_test(randperm_is_even),
      cmocka_unit_test(randperm_has_every_number_once),
      cmocka_unit_test(strided_targets),
      cmocka_unit_test(neighbors_stay),
      cmocka_unit_test(in_place_cuts_the_gradient),
      cmocka_unit_test(wrong_arguments),
  };
  if (device.type == FY_CUDA && device.index < 0)
    device = fy_cuda_device(0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
