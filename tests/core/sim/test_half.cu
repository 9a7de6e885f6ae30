// SPDX-License-Identifier: MIT
// half and bfloat16: conversions are exact or rounded to nearest even, for every bit pattern; arithmetic rounds once.
// run check: FERRY_SIM_MODE=lazy
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "check.h"

__global__ void half_to_float(float *out) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __half2float(__ushort_as_half((unsigned short)i));
}

__global__ void bfloat16_to_float(float *out) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
}

__global__ void float_to_short_floats(const float *in, unsigned short *half, unsigned short *bfloat16, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    half[i] = __half_as_ushort(__float2half_rn(in[i]));
    bfloat16[i] = __bfloat16_as_ushort(__float2bfloat16_rn(in[i]));
  }
}

// The value of a short float by its definition.
static double value_of(unsigned int bits, int exponent_bits, int mantissa_bits) {
  unsigned int mantissa = bits & ((1u << mantissa_bits) - 1);
  unsigned int exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
  if (exponent == (1u << exponent_bits) - 1)
    return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * ldexp(mantissa + (1u << mantissa_bits), (int)exponent - bias - mantissa_bits);
}

static void every_pattern_to_float(void **state) {
  (void)state;
  enum { COUNT = 65536 };
  float *got = (float *)malloc(COUNT * sizeof *got), *out = (float *)device_copy(NULL, COUNT * sizeof *got);
  for (int kind = 0; kind < 2; kind++) {
    if (kind == 0)
      half_to_float<<<COUNT / 256, 256>>>(out);
    else
      bfloat16_to_float<<<COUNT / 256, 256>>>(out);
    to_host(got, out, COUNT * sizeof *got);
    for (unsigned int i = 0; i < COUNT; i++) {
      double want = kind == 0 ? value_of(i, 5, 10) : value_of(i, 8, 7);
      assert_true(isnan(want) ? isnan(got[i]) : got[i] == (float)want && signbit(got[i]) == signbit(want));
    }
  }
  check_cuda(cudaFree(out));
  free(got);
}

// The neighbors of a value among the finite short floats, found by search, and the rounding by its definition.
static unsigned int round_by_definition(float value, int exponent_bits, int mantissa_bits) {
  if (isnan(value))
    return 0x7fff;
  unsigned int sign = signbit(value) ? 0x8000u : 0;
  unsigned int infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  unsigned int low = 0, high = infinity;
  double magnitude = fabs((double)value);
  if (isinf(value))
    return sign | infinity;
  while (high - low > 1) {
    unsigned int middle = (low + high) / 2;
    if (value_of(middle, exponent_bits, mantissa_bits) <= magnitude)
      low = middle;
    else
      high = middle;
  }
  double below = value_of(low, exponent_bits, mantissa_bits);
  double step =
      low == 0 ? value_of(1, exponent_bits, mantissa_bits) : below - value_of(low - 1, exponent_bits, mantissa_bits);
  double above = high == infinity ? below + step : value_of(high, exponent_bits, mantissa_bits);
  double middle = below + (above - below) / 2;
  unsigned int rounded = magnitude < middle ? low : magnitude > middle ? high : low % 2 == 0 ? low : high;
  return sign | rounded;
}

// Every short float, the points halfway to its neighbor, and the floats just beside those.
static int tricky_floats(float *out, int exponent_bits, int mantissa_bits) {
  int count = 0;
  unsigned int infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  for (unsigned int i = 0; i < infinity; i++) {
    double here = value_of(i, exponent_bits, mantissa_bits);
    double next = i + 1 < infinity ? value_of(i + 1, exponent_bits, mantissa_bits)
                                   : 2 * here - value_of(i - 1, exponent_bits, mantissa_bits);
    float halfway = (float)(here + (next - here) / 2);
    float around[4] = {(float)here, halfway, nextafterf(halfway, INFINITY), nextafterf(halfway, 0.0f)};
    for (int k = 0; k < 4; k++)
      out[count++] = i % 2 ? -around[k] : around[k];
  }
  return count;
}

static void check_rounding(const float *in, int count) {
  unsigned short *half = (unsigned short *)malloc(count * sizeof *half);
  unsigned short *bfloat16 = (unsigned short *)malloc(count * sizeof *half);
  float *din = (float *)device_copy(in, count * sizeof *in);
  unsigned short *dhalf = (unsigned short *)device_copy(NULL, count * sizeof *half);
  unsigned short *dbfloat16 = (unsigned short *)device_copy(NULL, count * sizeof *half);
  float_to_short_floats<<<(count + 255) / 256, 256>>>(din, dhalf, dbfloat16, count);
  to_host(half, dhalf, count * sizeof *half);
  to_host(bfloat16, dbfloat16, count * sizeof *half);
  for (int i = 0; i < count; i++) {
    if (half[i] != round_by_definition(in[i], 5, 10))
      fail_msg("%a as half: %04x, not %04x", in[i], half[i], round_by_definition(in[i], 5, 10));
    if (bfloat16[i] != round_by_definition(in[i], 8, 7))
      fail_msg("%a as bfloat16: %04x, not %04x", in[i], bfloat16[i], round_by_definition(in[i], 8, 7));
  }
  check_cuda(cudaFree(din));
  check_cuda(cudaFree(dhalf));
  check_cuda(cudaFree(dbfloat16));
  free(half);
  free(bfloat16);
}

static void floats_round_to_nearest_even(void **state) {
  (void)state;
  float *in = (float *)malloc(4 * 32768 * sizeof *in);
  check_rounding(in, tricky_floats(in, 5, 10));
  check_rounding(in, tricky_floats(in, 8, 7));
  const float special[] = {0.0f,       -0.0f,    INFINITY,  -INFINITY,     NAN,
                           65519.996f, 65520.0f, -65520.0f, 3.4028235e38f, 1e-45f};
  check_rounding(special, sizeof special / sizeof *special);
  free(in);
}

__global__ void half_arithmetic(const __half *a, const __half *b, __half *out, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  out[0 * n + i] = a[i] + b[i];
  out[1 * n + i] = a[i] - b[i];
  out[2 * n + i] = a[i] * b[i];
  out[3 * n + i] = a[i] / b[i];
  out[4 * n + i] = __hfma(a[i], b[i], a[i]);
  out[5 * n + i] = __hlt(a[i], b[i]) ? a[i] : -b[i];
}

static void half_arithmetic_rounds_once(void **state) {
  (void)state;
  enum { COUNT = 64 };
  unsigned short a[COUNT], b[COUNT], got[6 * COUNT];
  for (unsigned int i = 0; i < COUNT; i++) {
    a[i] = (unsigned short)round_by_definition((float)sin(i * 1.7) * 30.0f, 5, 10);
    b[i] = (unsigned short)round_by_definition((float)cos(i * 0.9) * 3.0f + 0.01f, 5, 10);
  }
  void *da = device_copy(a, sizeof a), *db = device_copy(b, sizeof b), *dout = device_copy(NULL, sizeof got);
  half_arithmetic<<<1, COUNT>>>((const __half *)da, (const __half *)db, (__half *)dout, COUNT);
  check_cuda(cudaGetLastError());
  to_host(got, dout, sizeof got);
  for (int i = 0; i < COUNT; i++) {
    double x = value_of(a[i], 5, 10), y = value_of(b[i], 5, 10);
    const double exact[6] = {x + y, x - y, x * y, x / y, x * y + x, x < y ? x : -y};
    for (int k = 0; k < 6; k++)
      assert_int_equal(got[k * COUNT + i], round_by_definition((float)exact[k], 5, 10));
  }
  check_cuda(cudaFree(da));
  check_cuda(cudaFree(db));
  check_cuda(cudaFree(dout));
}

__global__ void add_up(__half *half, __nv_bfloat16 *bfloat16) {
  atomicAdd(half, __float2half(1.0f));
  atomicAdd(bfloat16, __float2bfloat16(0.5f));
}

static void atomic_sums(void **state) {
  (void)state;
  unsigned short zero = 0, got;
  void *half = device_copy(&zero, sizeof zero), *bfloat16 = device_copy(&zero, sizeof zero);
  add_up<<<4, 32>>>((__half *)half, (__nv_bfloat16 *)bfloat16);
  check_cuda(cudaGetLastError());
  to_host(&got, half, sizeof got);
  assert_true(value_of(got, 5, 10) == 128);
  to_host(&got, bfloat16, sizeof got);
  assert_true(value_of(got, 8, 7) == 64);
  check_cuda(cudaFree(half));
  check_cuda(cudaFree(bfloat16));
}

__global__ void pairs(float *out) {
  __half2 a = __floats2half2_rn(1.5f, -2.0f), b = __float2half2_rn(4.0f);
  __half2 c = __hfma2(a, b, __halves2half2(__float2half(1.0f), __float2half(2.0f)));
  float2 f = __half22float2(__hadd2(c, b));
  out[0] = f.x;
  out[1] = f.y;
  out[2] = __low2float(a);
  out[3] = __half2float(__high2half(a));
}

static void pairs_of_halves(void **state) {
  (void)state;
  const float want[4] = {1.5f * 4 + 1 + 4, -2.0f * 4 + 2 + 4, 1.5f, -2.0f};
  float got[4], *out = (float *)device_copy(NULL, sizeof got);
  pairs<<<1, 1>>>(out);
  to_host(got, out, sizeof got);
  assert_memory_equal(got, want, sizeof got);
  check_cuda(cudaFree(out));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pattern_to_float),
      cmocka_unit_test(floats_round_to_nearest_even),
      cmocka_unit_test(half_arithmetic_rounds_once),
      cmocka_unit_test(atomic_sums),
      cmocka_unit_test(pairs_of_halves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
