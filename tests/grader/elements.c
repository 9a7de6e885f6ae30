// SPDX-License-Identifier: MIT
// The elements of an array, of whatever dtype, as doubles; and how many are not what was wanted.
#include "case.h"
#include <math.h>
#include <string.h>

static double half_to_double(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = exponent == 0    ? ldexp(fraction, -24)
                 : exponent == 31 ? (fraction ? NAN : INFINITY)
                                  : ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

static double bfloat_to_double(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

double array_at(const Array *a, int64_t i) {
  switch (a->dtype) {
  case FY_FLOAT32:
    return a->f32[i];
  case FY_FLOAT64:
    return a->f64[i];
  case FY_INT64:
    return (double)a->i64[i];
  case FY_INT32:
    return a->i32[i];
  case FY_FLOAT16:
    return half_to_double(a->bits16[i]);
  case FY_BFLOAT16:
    return bfloat_to_double(a->bits16[i]);
  default:
    return a->u8[i];
  }
}

// The nearest half, ties to even: of all 16 bit patterns' order, by halving.
static uint16_t double_to_half(double value) {
  uint16_t low = 0, high = 0x7c00, sign = signbit(value) ? 0x8000 : 0;
  double magnitude = fabs(value);
  if (isnan(value))
    return 0x7e00;
  while (high - low > 1) {
    uint16_t middle = (uint16_t)((low + high) / 2);
    if (half_to_double(middle) <= magnitude)
      low = middle;
    else
      high = middle;
  }
  double below = half_to_double(low), above = high == 0x7c00 ? 65536 : half_to_double(high);
  double middle = (below + above) / 2;
  bool up = magnitude > middle || (magnitude == middle && (low & 1));
  return sign | (up ? high : low);
}

static uint16_t double_to_bfloat(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if (isnan(value))
    return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void array_set(Array *a, int64_t i, double value) {
  switch (a->dtype) {
  case FY_FLOAT32:
    a->f32[i] = (float)value;
    break;
  case FY_FLOAT64:
    a->f64[i] = value;
    break;
  case FY_INT64:
    a->i64[i] = (int64_t)value;
    break;
  case FY_INT32:
    a->i32[i] = (int32_t)value;
    break;
  case FY_FLOAT16:
    a->bits16[i] = double_to_half(value);
    break;
  case FY_BFLOAT16:
    a->bits16[i] = double_to_bfloat(value);
    break;
  default:
    a->u8[i] = (uint8_t)value;
  }
}

bool array_is_close(double x, double want, double tolerance) {
  if (x == want)
    return true;
  if (isnan(want) || isnan(x))
    return isnan(want) && isnan(x);
  if (isinf(want) || isinf(x))
    return x == want;
  double size = fabs(want); // not fmax, which is a call, and this is asked a million times
  return fabs(x - want) <= tolerance * (size > 1 ? size : 1);
}

int64_t array_mismatches(const Array *a, const Array *want, double tolerance, int64_t *first) {
  int64_t wrong = 0;
  *first = -1;
  size_t bytes = (size_t)want->count * fy_dtype_size(want->dtype);
  if (a->dtype == want->dtype && memcmp(a->data, want->data, bytes) == 0)
    return 0;
  for (int64_t i = 0; i < want->count; i++)
    if (!array_is_close(array_at(a, i), array_at(want, i), tolerance)) {
      *first = wrong++ ? *first : i;
    }
  return wrong;
}
