// SPDX-License-Identifier: MIT
// How the pointwise ops are said in ONNX, whose ops promote nothing: the casts are written out.
#include "onnx/write.h"
#include "op/copy/copy.h"
#include "op/elementwise/pointwise.h"
#include <math.h>
#include <string.h>

// The ONNX op of the same meaning, NULL: none.
static const char *same_op(const FyOp *op) {
  static const struct {
    const FyOp *op;
    const char *name;
  } names[] = {
      {&fy_op_add, "Add"},   {&fy_op_sub, "Sub"},        {&fy_op_mul, "Mul"},    {&fy_op_div, "Div"},
      {&fy_op_pow, "Pow"},   {&fy_op_neg, "Neg"},        {&fy_op_abs, "Abs"},    {&fy_op_exp, "Exp"},
      {&fy_op_log, "Log"},   {&fy_op_sqrt, "Sqrt"},      {&fy_op_tanh, "Tanh"},  {&fy_op_sigmoid, "Sigmoid"},
      {&fy_op_relu, "Relu"}, {&fy_op_gelu, "Gelu"},      {&fy_op_eq, "Equal"},   {&fy_op_ne, "Equal"},
      {&fy_op_lt, "Less"},   {&fy_op_le, "LessOrEqual"}, {&fy_op_gt, "Greater"}, {&fy_op_ge, "GreaterOrEqual"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].op == op)
      return names[i].name;
  return NULL;
}

static FyDType out_dtype(const FyOnnxWriter *w, const FyProgramStep *step) {
  return fy_onnx_value(w, step->out[0])->dtype;
}

// The dtype that two inputs meet in.
static FyDType common_dtype(const FyOnnxWriter *w, int a, int b) {
  FyTensor stand_in[2], *both[2] = {&stand_in[0], &stand_in[1]};
  const int values[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    const FyProgramValue *v = fy_onnx_value(w, values[i]);
    fy_onnx_stand_in(&stand_in[i], v->dtype, v->ndim, v->shape);
    stand_in[i].wrapped_number = v->constant && v->constant->wrapped_number;
  }
  return fy_result_type(2, both);
}

static void write_unary(FyOnnxWriter *w, const FyProgramStep *step) {
  const char *a = fy_onnx_name_as(w, step->in[0], out_dtype(w, step));
  if (step->op == &fy_op_relu && out_dtype(w, step) == FY_UINT8)
    fy_onnx_alias(w, step, a);
  else
    fy_onnx_last(w, step, same_op(step->op), FY_NAMES(a));
}

static void write_arithmetic(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyDType dtype = out_dtype(w, step);
  const char *op = same_op(step->op), *a = fy_onnx_name_as(w, step->in[0], dtype);
  const char *b = step->n_in > 1 ? fy_onnx_name_as(w, step->in[1], dtype)
                                 : fy_onnx_number(w, dtype, ((const FyPointwise *)step->params)->a);
  if (dtype == FY_BOOL)
    op = step->op == &fy_op_add ? "Or" : "And";
  fy_onnx_last(w, step, op, FY_NAMES(a, b));
}

// Of bools only equality is defined; numbers stand for them otherwise.
static void write_comparison(FyOnnxWriter *w, const FyProgramStep *step) {
  FyDType dtype = common_dtype(w, step->in[0], step->in[1]);
  if (dtype == FY_BOOL && step->op != &fy_op_eq && step->op != &fy_op_ne)
    dtype = FY_INT32;
  const char *a = fy_onnx_name_as(w, step->in[0], dtype), *b = fy_onnx_name_as(w, step->in[1], dtype);
  if (step->op == &fy_op_ne)
    fy_onnx_last(w, step, "Not", FY_NAMES(fy_onnx_output(fy_onnx_node(w, "Equal", FY_NAMES(a, b)))));
  else
    fy_onnx_last(w, step, same_op(step->op), FY_NAMES(a, b));
}

static void write_clamp(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyPointwise *p = step->params;
  const FyDType dtype = out_dtype(w, step);
  const char *a = fy_onnx_name_as(w, step->in[0], dtype);
  const char *low = isinf(p->a) && p->a < 0 ? NULL : fy_onnx_number(w, dtype, p->a);
  const char *high = isinf(p->b) && p->b > 0 ? NULL : fy_onnx_number(w, dtype, p->b);
  fy_onnx_last(w, step, "Clip", FY_NAMES(a, low, high));
}

static void write_where(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyDType dtype = out_dtype(w, step);
  const char *a = fy_onnx_name_as(w, step->in[1], dtype), *b = fy_onnx_name_as(w, step->in[2], dtype);
  fy_onnx_last(w, step, "Where", FY_NAMES(fy_onnx_name(w, step->in[0]), a, b));
}

// x - x is 0 of what is finite, and NaN of what is not.
static void write_isfinite(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyDType dtype = fy_onnx_value(w, step->in[0])->dtype;
  const FyDType computed = dtype == FY_BOOL ? FY_INT32 : dtype;
  const char *a = fy_onnx_name_as(w, step->in[0], computed);
  const char *zero = fy_onnx_number(w, computed, 0),
             *difference = fy_onnx_output(fy_onnx_node(w, "Sub", FY_NAMES(a, a)));
  fy_onnx_last(w, step, "Equal", FY_NAMES(difference, zero));
}

// Between dtypes; a clone, and a copy to a device, are the value itself.
static void write_copy(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyDType from = fy_onnx_value(w, step->in[step->n_in - 1])->dtype, to = out_dtype(w, step);
  const char *a = fy_onnx_name(w, step->in[step->n_in - 1]);
  if (from == to)
    fy_onnx_alias(w, step, a);
  else
    fy_onnx_int(w, fy_onnx_last(w, step, "Cast", FY_NAMES(a)), "to", fy_onnx_type(to));
}

// One number in the shape of what is overwritten.
static void write_fill(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyFill *p = step->params;
  const char *shape = fy_onnx_output(fy_onnx_node(w, "Shape", FY_NAMES(fy_onnx_name(w, step->in[0]))));
  fy_onnx_tensor(w, fy_onnx_last(w, step, "ConstantOfShape", FY_NAMES(shape)), "value", out_dtype(w, step),
                 p->zero ? 0 : p->value);
}

FyOnnxWrite *fy_onnx_pointwise_writer(const FyOp *op) {
  switch (op->id) {
  case FY_OP_ID_add:
  case FY_OP_ID_sub:
  case FY_OP_ID_mul:
  case FY_OP_ID_div:
  case FY_OP_ID_pow:
    return write_arithmetic;
  case FY_OP_ID_eq:
  case FY_OP_ID_ne:
  case FY_OP_ID_lt:
  case FY_OP_ID_le:
  case FY_OP_ID_gt:
  case FY_OP_ID_ge:
    return write_comparison;
  case FY_OP_ID_clamp:
    return write_clamp;
  case FY_OP_ID_where:
    return write_where;
  case FY_OP_ID_isfinite:
    return write_isfinite;
  case FY_OP_ID_copy:
    return write_copy;
  case FY_OP_ID_fill:
    return write_fill;
  default:
    return same_op(op) ? write_unary : NULL;
  }
}
