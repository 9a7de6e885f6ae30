// SPDX-License-Identifier: MIT
// Arithmetic: sub, mul, div, pow, neg, abs (add is in add.c); and what all pointwise ops share on the CPU.
#include "op/elementwise/pointwise.h"

#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise_loops.h"

// ---- shared ------------------------------------------------------------------------------------------------------------

void fy_value_set(FyValue *value, int dtype, double number) {
  switch (dtype) {
  case FY_FLOAT32:
    value->f32 = (float)number;
    break;
  case FY_INT64:
    value->i64 = (int64_t)number;
    break;
  case FY_INT32:
    value->i32 = (int32_t)(int64_t)number;
    break;
  case FY_UINT8:
    value->u8 = (uint8_t)(int64_t)number;
    break;
  case FY_BOOL:
    value->b8 = number != 0;
    break;
  default:
    value->f64 = number;
  }
}

bool fy_two_bfloat16(const FyOpCall *call) {
  return call->n_in == 2 && fy_all_bfloat16(call);
}

bool fy_is_whole(double number) {
  return number == floor(number) && fabs(number) < 0x1p63;
}

int fy_pointwise_unary(FyLaunch *l, FyLoop *const *loops, int64_t grain) {
  FyLoop *loop = loops[l->in[0]->dtype];
  if (!loop)
    return FY_LAUNCH_NO_KERNEL;
  fy_iter_pointwise(l->out[0], 1, l->in, grain, loop, l->params);
  return FY_LAUNCH_OK;
}

int fy_pointwise_binary(FyLaunch *l, FyLoop *const *loops, int64_t grain) {
  FyLoop *loop = loops[l->in[0]->dtype];
  FyValue value;
  FyArray number;
  const FyArray *in[2] = {l->in[0], l->in[1]};
  if (!loop)
    return FY_LAUNCH_NO_KERNEL;
  if (l->n_in == 1) {
    number.data = &value;
    number.numel = 1;
    number.ndim = 0;
    number.dtype = l->in[0]->dtype;
    fy_value_set(&value, l->in[0]->dtype, ((const FyPointwise *)l->params)->a);
    in[1] = &number;
  }
  fy_iter_pointwise(l->out[0], 2, in, grain, loop, NULL);
  return FY_LAUNCH_OK;
}

FyDType fy_number_type(FyDType a, double number) {
  if (fy_dtype_is_floating(a))
    return a;
  if (!fy_is_whole(number))
    return FY_FLOAT32;
  return a == FY_BOOL ? FY_INT64 : a;
}

static void infer_number(FyOpCall *call, bool to_float) {
  const FyArray *a = &call->in[0]->array;
  FyDType dtype = fy_number_type((FyDType)a->dtype, ((const FyPointwise *)call->params)->a);
  if (to_float && !fy_dtype_is_floating(dtype))
    dtype = FY_FLOAT32;
  fy_call_cast(call, 0, dtype);
  fy_call_output(call, 0, dtype, a->ndim, a->shape);
}

void fy_infer_arithmetic(FyOpCall *call) {
  if (call->n_in == 1)
    infer_number(call, false);
  else
    fy_infer_pointwise(call, false, FY_DEFAULT_DTYPE);
}

void fy_flatten_on_cuda(FyOpCall *call) {
  if (call->device.type != FY_CUDA)
    return;
  fy_call_contiguous(call, 0);
  fy_call_output_contiguous(call);
}

void fy_infer_to_float(FyOpCall *call) {
  fy_infer_pointwise(call, true, FY_DEFAULT_DTYPE);
  if (call->n_in == 1)
    fy_flatten_on_cuda(call);
}

void fy_infer_keep(FyOpCall *call) {
  const FyArray *a = &call->in[0]->array;
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
  fy_flatten_on_cuda(call);
}

void fy_save_first_input(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
}
void fy_save_result(FyOpCall *call, FyNode *node) {
  fy_save_output(node, call, 0);
}

static FyTensor *run_number(const FyOp *op, FyTensor *a, double number) {
  return fy_run(op, &(FyPointwise){.a = number}, FY_INPUTS(a));
}

// For products: each factor is kept if the other one needs a gradient.
static void save_factors(FyOpCall *call, FyNode *node) {
  if (call->n_in == 1) {
    fy_save_nothing(node);
    return;
  }
  fy_save_input_if(fy_node_needs(node, 1), node, call, 0);
  fy_save_input_if(fy_node_needs(node, 0), node, call, 1);
}

// ---- sub ---------------------------------------------------------------------------------------------------------------

FY_MATH_NUMBERS(FY_BINARY_LOOPS_, sub)
FY_BFLOAT16_BINARY(sub)
FY_KERNEL_BFLOAT16(binary, sub, FY_LOOPS_OF_NUMBERS, FY_GRAIN_CHEAP)

static void infer_sub(FyOpCall *call) {
  const bool a = call->in[0]->array.dtype == FY_BOOL;
  const bool b = call->n_in > 1 && call->in[1]->array.dtype == FY_BOOL;
  fy_check(!(a && b), FY_NOT_IMPLEMENTED_ERROR,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
           "operator instead.");
  fy_check(
      !a && !b, FY_NOT_IMPLEMENTED_ERROR,
      "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
      "the `~` or `logical_not()` operator instead.");
  fy_infer_arithmetic(call);
}

static void sub_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  if (fy_node_needs(node, 0))
    grad_in[0] = grad_out[0];
  if (node->n_in > 1 && fy_node_needs(node, 1))
    grad_in[1] = fy_neg(grad_out[0]);
}

const FyOp fy_op_sub = {
    .name = "sub",
    .grad_name = "SubBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_sub,
    .cpu = fy_cpu_sub,
    .cpu_bfloat16 = fy_two_bfloat16,
    .backward = sub_backward,
    .params_size = sizeof(FyPointwise),
    .id = FY_OP_ID_sub,
};

FyTensor *fy_sub(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_sub, &(FyPointwise){0}, FY_INPUTS(a, b));
}
FyTensor *fy_sub_scalar(FyTensor *a, double b) {
  return run_number(&fy_op_sub, a, b);
}

// ---- mul, div ----------------------------------------------------------------------------------------------------------

FY_MATH_ALL(FY_BINARY_LOOPS_, mul)
FY_BFLOAT16_BINARY(mul)
FY_KERNEL_BFLOAT16(binary, mul, FY_LOOPS_OF_ALL, FY_GRAIN_CHEAP)

static void mul_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grad = grad_out[0];
  if (node->n_in == 1) {
    fy_check_not_released(node);
    grad_in[0] = fy_mul_scalar(grad, fy_node_params(node, FyPointwise)->a);
    return;
  }
  if (fy_node_needs(node, 0))
    grad_in[0] = fy_mul(grad, fy_saved(node, 1));
  if (fy_node_needs(node, 1))
    grad_in[1] = fy_mul(grad, fy_saved(node, 0));
}

const FyOp fy_op_mul = {
    .name = "mul",
    .grad_name = "MulBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = fy_infer_arithmetic,
    .cpu = fy_cpu_mul,
    .cpu_bfloat16 = fy_two_bfloat16,
    .save = save_factors,
    .backward = mul_backward,
    .params_size = sizeof(FyPointwise),
    .cost = fy_cost_counted,
    .id = FY_OP_ID_mul,
};

FyTensor *fy_mul(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_mul, &(FyPointwise){0}, FY_INPUTS(a, b));
}
FyTensor *fy_mul_scalar(FyTensor *a, double b) {
  return run_number(&fy_op_mul, a, b);
}

FY_MATH_FLOATS(FY_BINARY_LOOPS_, div)
FY_BFLOAT16_BINARY(div)
FY_KERNEL_BFLOAT16(binary, div, FY_LOOPS_OF_FLOATS, FY_GRAIN_CHEAP)

static void infer_div(FyOpCall *call) {
  if (call->n_in == 1)
    infer_number(call, true);
  else
    fy_infer_pointwise(call, true, FY_DEFAULT_DTYPE);
}

static void save_quotient(FyOpCall *call, FyNode *node) {
  if (call->n_in == 1) {
    fy_save_nothing(node);
    return;
  }
  fy_save_input_if(fy_node_needs(node, 1), node, call, 0);
  fy_save_input(node, call, 1);
}

static void div_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grad = grad_out[0];
  if (node->n_in == 1) {
    fy_check_not_released(node);
    grad_in[0] = fy_div_scalar(grad, fy_node_params(node, FyPointwise)->a);
    return;
  }
  FyTensor *b = fy_saved(node, 1);
  if (fy_node_needs(node, 0))
    grad_in[0] = fy_div(grad, b);
  if (fy_node_needs(node, 1)) // -grad (a / b) / b
    grad_in[1] = fy_neg_(fy_mul(grad, fy_div(fy_div(fy_saved(node, 0), b), b)));
}

const FyOp fy_op_div = {
    .name = "div",
    .grad_name = "DivBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_div,
    .cpu = fy_cpu_div,
    .cpu_bfloat16 = fy_two_bfloat16,
    .save = save_quotient,
    .backward = div_backward,
    .params_size = sizeof(FyPointwise),
    .id = FY_OP_ID_div,
};

FyTensor *fy_div(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_div, &(FyPointwise){0}, FY_INPUTS(a, b));
}
FyTensor *fy_div_scalar(FyTensor *a, double b) {
  return run_number(&fy_op_div, a, b);
}

// ---- pow ---------------------------------------------------------------------------------------------------------------

FY_MATH_NUMBERS(FY_BINARY_LOOPS_, pow)

// The exponents that have a shorter way. A root of -infinity is NaN, as in PyTorch, where powf has +infinity.
#define ROOT_LOOPS(S, T, _)                                                                                            \
  FY_UNARY_LOOP(loop_square_##S, T, T, x *x)                                                                           \
  FY_UNARY_LOOP(loop_cube_##S, T, T, x *x *x)                                                                          \
  FY_UNARY_LOOP(loop_root_##S, T, T, fy_sqrt_##S(x))                                                                   \
  FY_UNARY_LOOP(loop_inverse_##S, T, T, 1 / x)                                                                         \
  FY_UNARY_LOOP(loop_inverse_root_##S, T, T, 1 / fy_sqrt_##S(x))                                                       \
  FY_UNARY_LOOP(loop_inverse_square_##S, T, T, 1 / (x * x))
FY_MATH_FLOATS(ROOT_LOOPS, )

typedef struct ShortWay {
  double exponent;
  FyLoop *loops[FY_DTYPE_COUNT];
} ShortWay;

static const ShortWay short_ways[] = {
    {2, {FY_LOOPS_OF_FLOATS(square)}},          {3, {FY_LOOPS_OF_FLOATS(cube)}},
    {0.5, {FY_LOOPS_OF_FLOATS(root)}},          {-1, {FY_LOOPS_OF_FLOATS(inverse)}},
    {-0.5, {FY_LOOPS_OF_FLOATS(inverse_root)}}, {-2, {FY_LOOPS_OF_FLOATS(inverse_square)}},
};

static int fy_cpu_pow(FyLaunch *l) {
  static FyLoop *const loops[FY_DTYPE_COUNT] = {FY_LOOPS_OF_NUMBERS(pow)};
  const int dtype = l->in[0]->dtype;
  if (l->n_in == 1)
    for (size_t i = 0; i < sizeof short_ways / sizeof *short_ways; i++)
      if (short_ways[i].exponent == ((const FyPointwise *)l->params)->a && short_ways[i].loops[dtype])
        return fy_pointwise_unary(l, short_ways[i].loops, FY_GRAIN_CHEAP);
  return fy_pointwise_binary(l, loops, FY_GRAIN_LIBM);
}

static void infer_pow(FyOpCall *call) {
  if (call->n_in == 1) {
    const double exponent = ((const FyPointwise *)call->params)->a;
    fy_check(exponent >= 0 || !fy_is_whole(exponent) || fy_dtype_is_floating((FyDType)call->in[0]->array.dtype),
             FY_RUNTIME_ERROR, "Integers to negative integer powers are not allowed.");
  }
  fy_infer_arithmetic(call);
}

// All three, whichever gradient is wanted: so does PyTorch, and a change in place of any of them is an error.
static void save_pow(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
  if (call->n_in == 1)
    return;
  fy_save_input(node, call, 1);
  fy_save_output(node, call, 0);
}

// exponent == 0 ? 0 : grad exponent base^(exponent - 1): the power alone would be infinite at a base of 0.
static FyTensor *pow_backward_base(FyTensor *grad, FyTensor *base, FyTensor *exponent) {
  FyTensor *zero = fy_number(0);
  FyTensor *slope = fy_mul(exponent, fy_pow(base, fy_sub_scalar(exponent, 1)));
  return fy_where(fy_eq(exponent, zero), zero, fy_mul(grad, slope));
}

// base == 0 and exponent >= 0 ? 0 : grad result log(base).
static FyTensor *pow_backward_exponent(FyTensor *grad, FyTensor *base, FyTensor *exponent, FyTensor *result) {
  FyTensor *zero = fy_number(0);
  FyTensor *flat = fy_mul(fy_eq(base, zero), fy_ge(exponent, zero));
  return fy_mul(grad, fy_where(flat, zero, fy_mul(result, fy_log(base))));
}

static void pow_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyDType dtype = (FyDType)node->outputs[0].dtype;
  FyTensor *grad = grad_out[0], *base = fy_to_dtype(fy_saved(node, 0), dtype);
  if (node->n_in == 1) {
    const double exponent = fy_node_params(node, FyPointwise)->a;
    grad_in[0] =
        exponent == 0 ? fy_zeros_like(grad) : fy_mul(grad, fy_mul_scalar(fy_pow_scalar(base, exponent - 1), exponent));
    return;
  }
  FyTensor *exponent = fy_to_dtype(fy_saved(node, 1), dtype), *result = fy_saved(node, 2);
  if (fy_node_needs(node, 0))
    grad_in[0] = pow_backward_base(grad, base, exponent);
  if (fy_node_needs(node, 1))
    grad_in[1] = pow_backward_exponent(grad, base, exponent, result);
}

static const char *pow_name(const FyNode *node) {
  return node->n_in == 1 ? "PowBackward0" : "PowBackward1";
}

const FyOp fy_op_pow = {
    .name = "pow",
    .grad_name = "PowBackward0",
    .grad_name_of = pow_name,
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = {[FY_CUDA] = FY_AUTOCAST_FLOAT32},
    .infer = infer_pow,
    .cpu = fy_cpu_pow,
    .save = save_pow,
    .backward = pow_backward,
    .params_size = sizeof(FyPointwise),
    .id = FY_OP_ID_pow,
};

FyTensor *fy_pow(FyTensor *a, FyTensor *exponent) {
  return fy_run(&fy_op_pow, &(FyPointwise){0}, FY_INPUTS(a, exponent));
}
FyTensor *fy_pow_scalar(FyTensor *a, double exponent) {
  return run_number(&fy_op_pow, a, exponent);
}

// ---- neg, abs ------------------------------------------------------------------------------------------------------------

FY_MATH_NUMBERS(FY_UNARY_LOOPS_, neg)
FY_KERNEL(unary, neg, FY_LOOPS_OF_NUMBERS, FY_GRAIN_CHEAP)

static void infer_neg(FyOpCall *call) {
  fy_check(call->in[0]->array.dtype != FY_BOOL, FY_NOT_IMPLEMENTED_ERROR,
           "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
           "`~` or `logical_not()` operator instead.");
  fy_infer_keep(call);
}

static void neg_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  (void)node;
  grad_in[0] = fy_neg(grad_out[0]);
}

const FyOp fy_op_neg = {
    .name = "neg",
    .grad_name = "NegBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_neg,
    .cpu = fy_cpu_neg,
    .backward = neg_backward,
    .id = FY_OP_ID_neg,
};

FyTensor *fy_neg(FyTensor *a) {
  return fy_run(&fy_op_neg, NULL, FY_INPUTS(a));
}

FY_MATH_NUMBERS(FY_UNARY_LOOPS_, abs)
FY_KERNEL(unary, abs, FY_LOOPS_OF_NUMBERS, FY_GRAIN_CHEAP)

static void infer_abs(FyOpCall *call) {
  if (call->in[0]->array.dtype == FY_BOOL)
    fy_raise_not_implemented(call->device.type == FY_CUDA ? "abs_cuda" : "abs_cpu", FY_BOOL);
  fy_infer_keep(call);
}

// grad sign(a), the sign being +1, 0 or -1, and 0 of a NaN. A product: an infinite gradient at 0 becomes NaN.
static void abs_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *a = fy_saved(node, 0), *zero = fy_number(0);
  FyTensor *below = fy_where(fy_lt(a, zero), fy_number(-1), zero);
  grad_in[0] = fy_mul(grad_out[0], fy_where(fy_gt(a, zero), fy_number(1), below));
}

const FyOp fy_op_abs = {
    .name = "abs",
    .grad_name = "AbsBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_abs,
    .cpu = fy_cpu_abs,
    .save = fy_save_first_input,
    .backward = abs_backward,
    .id = FY_OP_ID_abs,
};

FyTensor *fy_abs(FyTensor *a) {
  return fy_run(&fy_op_abs, NULL, FY_INPUTS(a));
}
