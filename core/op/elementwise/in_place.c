// SPDX-License-Identifier: MIT
// The public in-place forms of the pointwise ops.
#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise.h"

static FyTensor *with_tensor(const FyOp *op, FyTensor *a, FyTensor *b) {
  return fy_run_in_place(op, &(FyPointwise){0}, FY_INPUTS(a, b));
}
static FyTensor *with_number(const FyOp *op, FyTensor *a, double b) {
  return fy_run_in_place(op, &(FyPointwise){.a = b}, FY_INPUTS(a));
}
static FyTensor *alone(const FyOp *op, FyTensor *a) {
  return fy_run_in_place(op, NULL, FY_INPUTS(a));
}

FyTensor *fy_add_(FyTensor *a, FyTensor *b) {
  return with_tensor(&fy_op_add, a, b);
}
FyTensor *fy_sub_(FyTensor *a, FyTensor *b) {
  return with_tensor(&fy_op_sub, a, b);
}
FyTensor *fy_mul_(FyTensor *a, FyTensor *b) {
  return with_tensor(&fy_op_mul, a, b);
}
FyTensor *fy_div_(FyTensor *a, FyTensor *b) {
  return with_tensor(&fy_op_div, a, b);
}

FyTensor *fy_add_scalar_(FyTensor *a, double b) {
  return with_number(&fy_op_add, a, b);
}
FyTensor *fy_sub_scalar_(FyTensor *a, double b) {
  return with_number(&fy_op_sub, a, b);
}
FyTensor *fy_mul_scalar_(FyTensor *a, double b) {
  return with_number(&fy_op_mul, a, b);
}
FyTensor *fy_div_scalar_(FyTensor *a, double b) {
  return with_number(&fy_op_div, a, b);
}
FyTensor *fy_pow_scalar_(FyTensor *a, double b) {
  return with_number(&fy_op_pow, a, b);
}

FyTensor *fy_neg_(FyTensor *a) {
  return alone(&fy_op_neg, a);
}
FyTensor *fy_exp_(FyTensor *a) {
  return alone(&fy_op_exp, a);
}
FyTensor *fy_log_(FyTensor *a) {
  return alone(&fy_op_log, a);
}
FyTensor *fy_sqrt_(FyTensor *a) {
  return alone(&fy_op_sqrt, a);
}
FyTensor *fy_tanh_(FyTensor *a) {
  return alone(&fy_op_tanh, a);
}
FyTensor *fy_sigmoid_(FyTensor *a) {
  return alone(&fy_op_sigmoid, a);
}
FyTensor *fy_relu_(FyTensor *a) {
  return alone(&fy_op_relu, a);
}

FyTensor *fy_clamp_(FyTensor *a, double min, double max) {
  return fy_run_in_place(&fy_op_clamp, &(FyPointwise){.a = min, .b = max}, FY_INPUTS(a));
}
