// SPDX-License-Identifier: MIT
// What the files of the pointwise ops share.
#ifndef FERRY_OP_POINTWISE_H
#define FERRY_OP_POINTWISE_H

#include "op/kernel/iter.h"
#include "op/launch.h"

// Numbers that come with a call: the second operand of `a + 1` (the op then has one input), or clamp's bounds.
typedef struct FyPointwise {
  double a, b;
} FyPointwise;

// A bound of clamp for an integer dtype, cut to the type's range: an infinity is no bound.
static inline int64_t fy_integer_bound(int dtype, double bound) {
  const int64_t low = dtype == FY_UINT8 ? 0 : dtype == FY_INT32 ? INT32_MIN : INT64_MIN;
  const int64_t high = dtype == FY_UINT8 ? UINT8_MAX : dtype == FY_INT32 ? INT32_MAX : INT64_MAX;
  return bound <= (double)low ? low : bound >= (double)high ? high : (int64_t)bound;
}

#ifndef __cplusplus
struct FyOpCall;
struct FyNode;

// One element of any type.
typedef union FyValue {
  double f64;
  float f32;
  int64_t i64;
  int32_t i32;
  uint8_t u8;
  bool b8;
} FyValue;

// Writes `number` as an element of `dtype` (not of a half type).
void fy_value_set(FyValue *value, int dtype, double number);

// Runs the loop for the inputs' dtype over out[0] and the inputs; `loops` is indexed by dtype. A call of a binary op with
// one input takes its number, from params, as the second operand. Returns FY_LAUNCH_NO_KERNEL where there is no loop.
int fy_pointwise_unary(FyLaunch *l, FyLoop *const *loops, int64_t grain);
int fy_pointwise_binary(FyLaunch *l, FyLoop *const *loops, int64_t grain);

// infer of the pointwise ops. _arithmetic promotes and counts in the number of a one-input call; _to_float makes integers
// float32; _keep computes in the input's own dtype.
void fy_infer_arithmetic(struct FyOpCall *call);
void fy_infer_to_float(struct FyOpCall *call);
void fy_infer_keep(struct FyOpCall *call);

// For ops of one input, after the output is described: their CUDA kernels want both sides row-major.
void fy_flatten_on_cuda(struct FyOpCall *call);

// cpu_bfloat16 of arithmetic: of two tensors. A number beside a tensor is not rounded to bfloat16: float32 has both throughout.
bool fy_two_bfloat16(const struct FyOpCall *call);

// Whether `number` acts as a Python int: it is whole and fits.
bool fy_is_whole(double number);

// The dtype of a tensor of dtype `a` and a Python number: one of a higher kind (bool < int < float) lifts it to that kind's
// default.
FyDType fy_number_type(FyDType a, double number);

// save of the usual kinds.
void fy_save_first_input(struct FyOpCall *call, struct FyNode *node);
void fy_save_result(struct FyOpCall *call, struct FyNode *node);
#endif

#endif
