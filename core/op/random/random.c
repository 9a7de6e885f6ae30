// SPDX-License-Identifier: MIT
// Random numbers: uniform, normal, randint, dropout. The records and public functions; random_cpu.c has the CPU kernels.
#include "op/random/random.h"

#include "op/op.h"
#include "op/ops.h"
#include "op/random/random_cpu.h"
#include "op/random/random_state.h"
#include "tensor/half.h"
#include <math.h>

static bool is_wide(const FyTensor *t) {
  return t->array.dtype == FY_FLOAT64;
}

// The kernels write row-major: a target laid out otherwise is computed aside and copied back.
static void infer_random(FyOpCall *call) {
  const FyArray *a = &call->in[0]->array;
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
  fy_call_output_contiguous(call);
}

// What is overwritten has no influence: zeros, so that hooks and leaves behind it hear of it.
static void zero_gradient(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  (void)node;
  grad_in[0] = fy_zeros_like(grad_out[0]);
}

// For t's elements. *base: a second input of the op, NULL unless a CUDA graph is being captured (random_state.h).
static FyRandom reserve(const FyTensor *t, bool wide, FyTensor **base) {
  const FyRngState state = fy_rng_reserve_on(t->device, fy_random_blocks(t->array.numel, wide), base);
  return (FyRandom){.seed = state.seed, .offset = state.offset};
}

static FyTensor *run_random(const FyOp *op, const FyRandom *p, FyTensor *target, FyTensor *base) {
  return fy_run_in_place(op, p, base ? 2 : 1, (FyTensor *const[]){target, base});
}

// ---- uniform, normal -------------------------------------------------------------------------------------------------------

const FyOp fy_op_uniform = {
    .name = "uniform",
    .grad_name = "UniformBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_random,
    .cpu = fy_cpu_uniform,
    .backward = zero_gradient,
    .params_size = sizeof(FyRandom),
    .cost = fy_cost_fill,
    .id = FY_OP_ID_uniform,
};

// One step of a half type towards minus infinity, on its bits.
static uint16_t half_below(uint16_t bits) {
  if ((bits & 0x7fffu) == 0)
    return 0x8001u;
  return (uint16_t)(bits & 0x8000u ? bits + 1 : bits - 1);
}

// The largest value of `dtype` below `high`: [low, high) has to stay open when the result is rounded.
static double largest_below(double high, FyDType dtype) {
  if (dtype == FY_FLOAT64)
    return nextafter(high, -INFINITY);
  if (dtype == FY_FLOAT32) {
    const float rounded = (float)high;
    return (double)rounded < high ? (double)rounded : (double)nextafterf(rounded, -INFINITY);
  }
  if (dtype == FY_FLOAT16) {
    const uint16_t bits = fy_float_to_float16((float)high);
    return (double)fy_float16_to_float((double)fy_float16_to_float(bits) < high ? bits : half_below(bits));
  }
  const uint16_t bits = fy_float_to_bfloat16((float)high);
  return (double)fy_bfloat16_to_float((double)fy_bfloat16_to_float(bits) < high ? bits : half_below(bits));
}

FyTensor *fy_uniform_(FyTensor *a, double low, double high) {
  const FyDType dtype = (FyDType)a->array.dtype;
  if (!fy_dtype_is_floating(dtype))
    fy_raise_not_implemented("check_uniform_bounds", dtype);
  fy_check(low <= high, FY_RUNTIME_ERROR, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g",
           low, high);
  FyTensor *base;
  FyRandom p = reserve(a, is_wide(a), &base);
  p.a = low;
  p.b = high;
  p.limit = low < high ? largest_below(high, dtype) : high;
  p.bits = dtype == FY_FLOAT16 ? 11 : dtype == FY_BFLOAT16 ? 8 : 24;
  return run_random(&fy_op_uniform, &p, a, base);
}

const FyOp fy_op_normal = {
    .name = "normal",
    .grad_name = "NormalBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_random,
    .cpu = fy_cpu_normal,
    .backward = zero_gradient,
    .params_size = sizeof(FyRandom),
    .cost = fy_cost_fill,
    .id = FY_OP_ID_normal,
};

FyTensor *fy_normal_(FyTensor *a, double mean, double std) {
  fy_check(std >= 0, FY_RUNTIME_ERROR, "normal expects std >= 0.0, but found std %g", std);
  if (!fy_dtype_is_floating((FyDType)a->array.dtype) && a->array.numel > 0)
    fy_raise_not_implemented("normal_kernel_cpu", (FyDType)a->array.dtype);
  FyTensor *base;
  FyRandom p = reserve(a, is_wide(a), &base);
  p.a = mean;
  p.b = std;
  return run_random(&fy_op_normal, &p, a, base);
}

// ---- randint ---------------------------------------------------------------------------------------------------------------

const FyOp fy_op_randint = {
    .name = "randint",
    .grad_name = "RandomBackward0",
    .infer = infer_random,
    .cpu = fy_cpu_randint,
    .backward = zero_gradient,
    .params_size = sizeof(FyRandom),
    .cost = fy_cost_fill,
    .id = FY_OP_ID_randint,
};

FyTensor *fy_random_fill(FyTensor *a, int64_t low, int64_t high) {
  const FyDType dtype = (FyDType)a->array.dtype;
  const int64_t least = dtype == FY_INT32 ? INT32_MIN : dtype == FY_UINT8 || dtype == FY_BOOL ? 0 : INT64_MIN;
  const int64_t most = dtype == FY_INT32 ? INT32_MAX : dtype == FY_UINT8 ? UINT8_MAX : dtype == FY_BOOL ? 1 : INT64_MAX;
  const char *type = dtype == FY_INT32 ? "int" : dtype == FY_UINT8 ? "unsigned char" : "bool";
  fy_check(low < high, FY_RUNTIME_ERROR, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
           (long long)low, (long long)high);
  fy_check(low >= least, FY_RUNTIME_ERROR, "from is out of bounds for %s", type);
  fy_check(high - 1 <= most, FY_RUNTIME_ERROR, "to - 1 is out of bounds for %s", type);
  FyTensor *base;
  FyRandom p = reserve(a, true, &base);
  p.low = low;
  p.range = (uint64_t)high - (uint64_t)low;
  return run_random(&fy_op_randint, &p, a, base);
}

// ---- dropout ---------------------------------------------------------------------------------------------------------------
// Elements are multiplied by 1 / (1 - p) or by 0, and a NaN stays one. No mask is stored: backward draws the same numbers
// again, from the seed and offset in the parameters, or with them from those in the second input.

static void infer_dropout(FyOpCall *call) {
  const FyArray *x = &call->in[0]->array;
  fy_check(fy_dtype_is_floating((FyDType)x->dtype), FY_RUNTIME_ERROR,
           "result type Float can't be cast to the desired output type %s", fy_dtype_scalar_name((FyDType)x->dtype));
  fy_call_contiguous(call, 0);
  fy_call_output(call, 0, (FyDType)x->dtype, x->ndim, x->shape);
}

static void dropout_save(FyOpCall *call, FyNode *node) {
  fy_save_input_if(call->n_in > 1, node, call, 1);
}

static FyTensor *run_dropout(const FyRandom *p, FyTensor *x, FyTensor *base) {
  return fy_run(&fy_op_dropout, p, base ? 2 : 1, (FyTensor *const[]){x, base});
}

static void dropout_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *base = fy_saved(node, 0); // an error after the first backward: PyTorch has saved a mask
  grad_in[0] = run_dropout(fy_node_params(node, FyRandom), grad_out[0], base);
}

const FyOp fy_op_dropout = {
    .name = "dropout",
    .grad_name = "NativeDropoutBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_dropout,
    .cpu = fy_cpu_dropout,
    .save = dropout_save,
    .backward = dropout_backward,
    .params_size = sizeof(FyRandom),
    .id = FY_OP_ID_dropout,
};

FyTensor *fy_dropout(FyTensor *x, double p, bool training) {
  fy_check(p >= 0 && p <= 1, FY_VALUE_ERROR, "dropout probability has to be between 0 and 1, but got %g", p);
  if (!training || p == 0)
    return x;
  FyTensor *base;
  FyRandom params = reserve(x, false, &base);
  params.a = p;
  return run_dropout(&params, x, base);
}
