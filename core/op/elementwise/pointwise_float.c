// SPDX-License-Identifier: MIT
// Functions: exp, log, sqrt, tanh, sigmoid, relu, gelu, clamp, and the fused backward kernels of some.
#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise_loops.h"
#include <string.h>

// The record of a function of one floating argument; integers become float32.
#define FUNCTION(OP, GRAD_NAME, SAVE, AUTOCAST)                                                                        \
  const FyOp fy_op_##OP = {                                                                                            \
      .name = #OP,                                                                                                     \
      .grad_name = GRAD_NAME,                                                                                          \
      .flags = FY_OP_CPU_HALF_AS_FLOAT,                                                                                \
      .autocast = {[FY_CUDA] = AUTOCAST},                                                                              \
      .infer = fy_infer_to_float,                                                                                      \
      .cpu = fy_cpu_##OP,                                                                                              \
      .cpu_bfloat16 = fy_all_bfloat16,                                                                                 \
      .save = SAVE,                                                                                                    \
      .backward = OP##_backward,                                                                                       \
      .id = FY_OP_ID_##OP,                                                                                             \
  };

// The kernel: float32 loops vectorize, float64 ones call libm.
#define FUNCTION_KERNEL(OP)                                                                                            \
  FY_MATH_FLOATS(FY_UNARY_LOOPS_, OP)                                                                                  \
  FY_BFLOAT16_UNARY(OP)                                                                                                \
  static int fy_cpu_##OP(FyLaunch *l) {                                                                                \
    static FyLoop *const loops[FY_DTYPE_COUNT] = {FY_LOOPS_OF_FLOATS(OP), FY_BFLOAT16_LOOP(OP)};                       \
    return fy_pointwise_unary(l, loops, l->in[0]->dtype == FY_FLOAT64 ? FY_GRAIN_LIBM : FY_GRAIN_FUNCTION);            \
  }

// ---- exp, log, sqrt ----------------------------------------------------------------------------------------------------

static void exp_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  grad_in[0] = fy_mul(grad_out[0], fy_saved(node, 0));
}

FUNCTION_KERNEL(exp)
FUNCTION(exp, "ExpBackward0", fy_save_result, FY_AUTOCAST_FLOAT32)
FyTensor *fy_exp(FyTensor *a) {
  return fy_run(&fy_op_exp, NULL, FY_INPUTS(a));
}

static void log_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  grad_in[0] = fy_div(grad_out[0], fy_saved(node, 0));
}

FUNCTION_KERNEL(log)
FUNCTION(log, "LogBackward0", fy_save_first_input, FY_AUTOCAST_FLOAT32)
FyTensor *fy_log(FyTensor *a) {
  return fy_run(&fy_op_log, NULL, FY_INPUTS(a));
}

static void sqrt_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  grad_in[0] = fy_div(grad_out[0], fy_mul_scalar(fy_saved(node, 0), 2));
}

FUNCTION_KERNEL(sqrt)
FUNCTION(sqrt, "SqrtBackward0", fy_save_result, FY_AUTOCAST_NONE)
FyTensor *fy_sqrt(FyTensor *a) {
  return fy_run(&fy_op_sqrt, NULL, FY_INPUTS(a));
}

// ---- the fused backward kernels: (grad, saved) -> grad ---------------------------------------------------------------

FY_MATH_FLOATS(FY_BINARY_LOOPS_, relu_backward)
FY_MATH_FLOATS(FY_BINARY_LOOPS_, tanh_backward)
FY_MATH_FLOATS(FY_BINARY_LOOPS_, sigmoid_backward)
FY_MATH_FLOATS(FY_BINARY_LOOPS_, gelu_backward)
FY_BINARY_LOOPS_(bf16, uint16_t, relu_backward)
FY_BFLOAT16_BINARY(tanh_backward)
FY_BFLOAT16_BINARY(sigmoid_backward)
FY_BFLOAT16_BINARY(gelu_backward)
FY_KERNEL_BFLOAT16(binary, relu_backward, FY_LOOPS_OF_FLOATS, FY_GRAIN_CHEAP)
FY_KERNEL_BFLOAT16(binary, tanh_backward, FY_LOOPS_OF_FLOATS, FY_GRAIN_CHEAP)
FY_KERNEL_BFLOAT16(binary, sigmoid_backward, FY_LOOPS_OF_FLOATS, FY_GRAIN_CHEAP)
FY_KERNEL_BFLOAT16(binary, gelu_backward, FY_LOOPS_OF_FLOATS, FY_GRAIN_LIBM)

#define BACKWARD_KERNEL(OP)                                                                                            \
  const FyOp fy_op_##OP##_backward = {                                                                                 \
      .name = #OP "_backward",                                                                                         \
      .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,                                                                \
      .infer = fy_infer_to_float,                                                                                      \
      .cpu = fy_cpu_##OP##_backward,                                                                                   \
      .cpu_bfloat16 = fy_all_bfloat16,                                                                                 \
      .id = FY_OP_ID_##OP##_backward,                                                                                  \
  };                                                                                                                   \
  static void OP##_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {                             \
    grad_in[0] = fy_run(&fy_op_##OP##_backward, NULL, FY_INPUTS(grad_out[0], fy_saved(node, 0)));                      \
  }
BACKWARD_KERNEL(relu)
BACKWARD_KERNEL(tanh)
BACKWARD_KERNEL(sigmoid)
BACKWARD_KERNEL(gelu)

FUNCTION_KERNEL(tanh)
FUNCTION(tanh, "TanhBackward0", fy_save_result, FY_AUTOCAST_NONE)
FyTensor *fy_tanh(FyTensor *a) {
  return fy_run(&fy_op_tanh, NULL, FY_INPUTS(a));
}

FUNCTION_KERNEL(sigmoid)
FUNCTION(sigmoid, "SigmoidBackward0", fy_save_result, FY_AUTOCAST_NONE)
FyTensor *fy_sigmoid(FyTensor *a) {
  return fy_run(&fy_op_sigmoid, NULL, FY_INPUTS(a));
}

// gelu of integers is not defined, as in PyTorch.
static void infer_gelu(FyOpCall *call) {
  const FyDType dtype = (FyDType)call->in[0]->array.dtype;
  if (!fy_dtype_is_floating(dtype))
    fy_raise_not_implemented("GeluKernelImpl", dtype);
  fy_infer_keep(call);
}

FUNCTION_KERNEL(gelu)
const FyOp fy_op_gelu = {
    .name = "gelu",
    .grad_name = "GeluBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_gelu,
    .cpu = fy_cpu_gelu,
    .cpu_bfloat16 = fy_all_bfloat16,
    .save = fy_save_first_input,
    .backward = gelu_backward,
    .id = FY_OP_ID_gelu,
};

FyTensor *fy_gelu(FyTensor *a) {
  return fy_run(&fy_op_gelu, NULL, FY_INPUTS(a));
}

// ---- relu ----------------------------------------------------------------------------------------------------------------

FY_MATH_NUMBERS(FY_UNARY_LOOPS_, relu)
FY_UNARY_LOOPS_(bf16, uint16_t, relu)
FY_KERNEL_BFLOAT16(unary, relu, FY_LOOPS_OF_NUMBERS, FY_GRAIN_CHEAP)

static void infer_relu(FyOpCall *call) {
  fy_check(call->in[0]->array.dtype != FY_BOOL, FY_NOT_IMPLEMENTED_ERROR, "Boolean inputs not supported for relu");
  fy_infer_keep(call);
}

const FyOp fy_op_relu = {
    .name = "relu",
    .grad_name = "ReluBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_relu,
    .cpu = fy_cpu_relu,
    .cpu_bfloat16 = fy_all_bfloat16,
    .save = fy_save_result,
    .backward = relu_backward,
    .id = FY_OP_ID_relu,
};

FyTensor *fy_relu(FyTensor *a) {
  return fy_run(&fy_op_relu, NULL, FY_INPUTS(a));
}

// ---- clamp ---------------------------------------------------------------------------------------------------------------

typedef struct Bounds {
  FyValue low, high;
} Bounds;

static void set_bound(FyValue *value, int dtype, double bound) {
  const int64_t integer = fy_dtype_is_floating((FyDType)dtype) ? 0 : fy_integer_bound(dtype, bound);
  switch (dtype) {
  case FY_INT64:
    value->i64 = integer;
    break;
  case FY_INT32:
    value->i32 = (int32_t)integer;
    break;
  case FY_UINT8:
    value->u8 = (uint8_t)integer;
    break;
  default:
    fy_value_set(value, dtype, bound);
  }
}

#define CLAMP_LOOP(S, T, OP)                                                                                           \
  FY_UNARY_LOOP(loop_##OP##_##S, T, T,                                                                                 \
                fy_clamp_##S(x, ((const Bounds *)context)->low.S, ((const Bounds *)context)->high.S))
FY_MATH_NUMBERS(CLAMP_LOOP, clamp)

static int fy_cpu_clamp(FyLaunch *l) {
  static FyLoop *const loops[FY_DTYPE_COUNT] = {FY_LOOPS_OF_NUMBERS(clamp)};
  const FyPointwise *p = l->params;
  FyLoop *loop = loops[l->in[0]->dtype];
  Bounds bounds;
  if (!loop)
    return FY_LAUNCH_NO_KERNEL;
  set_bound(&bounds.low, l->in[0]->dtype, p->a);
  set_bound(&bounds.high, l->in[0]->dtype, p->b);
  fy_iter_pointwise(l->out[0], 1, l->in, FY_GRAIN_CHEAP, loop, &bounds);
  return FY_LAUNCH_OK;
}

// A lower bound above all that an integer type holds, or an upper one below, is a mistake.
static void check_bounds(FyDType dtype, double min, double max) {
  const double low = (double)fy_integer_bound(dtype, -INFINITY), high = (double)fy_integer_bound(dtype, INFINITY);
  const char *name = fy_dtype_scalar_name(dtype);
  fy_check(isinf(min) || min <= high, FY_RUNTIME_ERROR, "Clamp min value %.0f is outside the representable range of %s",
           min, name);
  fy_check(isinf(max) || max >= low, FY_RUNTIME_ERROR, "Clamp max value %.0f is outside the representable range of %s",
           max, name);
}

// A bound lifts the dtype as any number does; an infinity stands for no bound.
static void infer_clamp(FyOpCall *call) {
  const FyPointwise *p = call->params;
  const FyArray *a = &call->in[0]->array;
  FyDType dtype = (FyDType)a->dtype;
  dtype = isinf(p->a) ? dtype : fy_number_type(dtype, p->a);
  dtype = isinf(p->b) ? dtype : fy_number_type(dtype, p->b);
  if (!fy_dtype_is_floating(dtype))
    check_bounds(dtype, p->a, p->b);
  fy_call_cast(call, 0, dtype);
  fy_call_output(call, 0, dtype, a->ndim, a->shape);
  fy_flatten_on_cuda(call);
}

// The gradient passes between the bounds. At a bound it is 0, as in PyTorch 2.15; versions before had 1 there.
static void clamp_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyPointwise *p = fy_node_params(node, FyPointwise);
  FyTensor *a = fy_saved(node, 0), *grad = grad_out[0], *zero = fy_number(0);
  if (p->a != -INFINITY)
    grad = fy_where(fy_gt(a, fy_number(p->a)), grad, zero);
  if (p->b != INFINITY)
    grad = fy_where(fy_lt(a, fy_number(p->b)), grad, zero);
  grad_in[0] = grad;
}

const FyOp fy_op_clamp = {
    .name = "clamp",
    .grad_name = "ClampBackward1",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_clamp,
    .cpu = fy_cpu_clamp,
    .save = fy_save_first_input,
    .backward = clamp_backward,
    .params_size = sizeof(FyPointwise),
    .id = FY_OP_ID_clamp,
};

FyTensor *fy_clamp(FyTensor *a, double min, double max) {
  return fy_run(&fy_op_clamp, &(FyPointwise){.a = min, .b = max}, FY_INPUTS(a));
}
