// SPDX-License-Identifier: MIT
// Reductions on the host, element by element.
#include "distributed/reduce.h"
#include "tensor/dtype.h"
#include "tensor/half.h"

#define AS_IT_IS(value) (value)
#define REDUCE(name, type, wide, load, store)                                                                          \
  static void name(type *into, const type *from, size_t count, FyReduceOp op) {                                        \
    switch (op) {                                                                                                      \
    case FY_REDUCE_OP_MIN:                                                                                             \
      for (size_t i = 0; i < count; i++) {                                                                             \
        wide a = load(into[i]), b = load(from[i]);                                                                     \
        into[i] = store(b < a || a != a ? b : a); /* a NaN is passed over */                                           \
      }                                                                                                                \
      break;                                                                                                           \
    case FY_REDUCE_OP_MAX:                                                                                             \
      for (size_t i = 0; i < count; i++) {                                                                             \
        wide a = load(into[i]), b = load(from[i]);                                                                     \
        into[i] = store(b > a || a != a ? b : a);                                                                      \
      }                                                                                                                \
      break;                                                                                                           \
    case FY_REDUCE_OP_PRODUCT:                                                                                         \
      for (size_t i = 0; i < count; i++)                                                                               \
        into[i] = store((wide)(load(into[i]) * load(from[i])));                                                        \
      break;                                                                                                           \
    default:                                                                                                           \
      for (size_t i = 0; i < count; i++)                                                                               \
        into[i] = store((wide)(load(into[i]) + load(from[i])));                                                        \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name##_divide(type *data, size_t count, int ranks) {                                                     \
    for (size_t i = 0; i < count; i++)                                                                                 \
      data[i] = store((wide)(load(data[i]) / (wide)ranks));                                                            \
  }

REDUCE(of_uint8, uint8_t, uint8_t, (uint8_t), (uint8_t))
REDUCE(of_int32, int32_t, int32_t, AS_IT_IS, AS_IT_IS)
REDUCE(of_int64, int64_t, int64_t, AS_IT_IS, AS_IT_IS)
REDUCE(of_half, uint16_t, float, fy_float16_to_float, fy_float_to_float16)
REDUCE(of_bfloat, uint16_t, float, fy_bfloat16_to_float, fy_float_to_bfloat16)
REDUCE(of_float, float, float, AS_IT_IS, AS_IT_IS)
REDUCE(of_double, double, double, AS_IT_IS, AS_IT_IS)

void fy_reduce_two(void *into, const void *from, size_t count, int dtype, FyReduceOp op) {
  switch (dtype) {
  case FY_BOOL: // 0 and 1: the sum says whether any is true, the product whether all are
    op = op == FY_REDUCE_OP_SUM ? FY_REDUCE_OP_MAX : op == FY_REDUCE_OP_PRODUCT ? FY_REDUCE_OP_MIN : op;
    of_uint8(into, from, count, op);
    break;
  case FY_UINT8:
    of_uint8(into, from, count, op);
    break;
  case FY_INT32:
    of_int32(into, from, count, op);
    break;
  case FY_INT64:
    of_int64(into, from, count, op);
    break;
  case FY_FLOAT16:
    of_half(into, from, count, op);
    break;
  case FY_BFLOAT16:
    of_bfloat(into, from, count, op);
    break;
  case FY_FLOAT64:
    of_double(into, from, count, op);
    break;
  default:
    of_float(into, from, count, op);
  }
}

void fy_reduce_divide(void *data, size_t count, int dtype, int ranks) {
  switch (dtype) {
  case FY_BOOL:
    break;
  case FY_UINT8:
    of_uint8_divide(data, count, ranks);
    break;
  case FY_INT32:
    of_int32_divide(data, count, ranks);
    break;
  case FY_INT64:
    of_int64_divide(data, count, ranks);
    break;
  case FY_FLOAT16:
    of_half_divide(data, count, ranks);
    break;
  case FY_BFLOAT16:
    of_bfloat_divide(data, count, ranks);
    break;
  case FY_FLOAT64:
    of_double_divide(data, count, ranks);
    break;
  default:
    of_float_divide(data, count, ranks);
  }
}
