// SPDX-License-Identifier: MIT
// torch.add, written out in full: what every op in this library consists of.
//
//   out[i] = a[i] + b[i]            forward
//   grad_a = grad_out               backward: out changes as much as a does, and as much as b does
//   grad_b = grad_out
//
// Shapes broadcast: a (3, 1) and b (4) make out (3, 4), where out[r][c] = a[r][0] + b[c]. Backward need not care: the engine
// sums a gradient (3, 4) over the dimension that was stretched, and a's gradient is (3, 1) again (autograd/engine.c).
#include "op/elementwise/pointwise.h"

#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise_loops.h"

// ---- shapes and dtypes -------------------------------------------------------------------------------------------------

// Called first. in[0] is a, in[1] is b; `a + 2` comes with one input and the number in params. Inputs are cast to their
// common dtype (int64 + float32: float32), and out[0] is made, of the broadcast shape and that dtype.
static void add_infer(FyOpCall *call) {
  fy_infer_arithmetic(call);
}

// ---- the kernel for the CPU --------------------------------------------------------------------------------------------
// Its twin for CUDA is fy_cuda_add, in pointwise.cu.

// n elements of float32. data[0] is out, data[1] is a, data[2] is b; stride[k] says how many elements apart the values of
// operand k lie: 1 side by side, 0 the same value each time (a number, or a stretched dimension), anything else in a view.
static void add_floats(char *const *data, const int64_t *stride, int64_t n, const void *unused) {
  float *out = (float *)(void *)data[0];
  const float *a = (const float *)(const void *)data[1], *b = (const float *)(const void *)data[2];
  (void)unused;
  if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1) {
    FY_SIMD for (int64_t i = 0; i < n; i++) // 16 at a time, where the processor has AVX-512
        out[i] = a[i] + b[i];
  } else if (stride[0] == 1 && stride[1] == 1 && stride[2] == 0) {
    const float number = *b;
    FY_SIMD for (int64_t i = 0; i < n; i++) out[i] = a[i] + number;
  } else if (stride[0] == 1 && stride[1] == 0 && stride[2] == 1) {
    const float number = *a;
    FY_SIMD for (int64_t i = 0; i < n; i++) out[i] = number + b[i];
  } else {
    for (int64_t i = 0; i < n; i++)
      out[i * stride[0]] = a[i * stride[1]] + b[i * stride[2]];
  }
}

// The other dtypes have the same loop: pointwise_loops.h writes it for each.
FY_BINARY_LOOPS_(f64, double, add)
FY_MATH_INTEGERS(FY_BINARY_LOOPS_, add)
FY_BINARY_LOOPS_(b8, bool, add) // of bools, "or"
FY_BFLOAT16_BINARY(add)         // the sum in float32, rounded once

// Picks the loop by dtype; fy_pointwise_binary cuts the arrays into runs for it, and shares them among the threads.
static int fy_cpu_add(FyLaunch *launch) {
  static FyLoop *const loops[FY_DTYPE_COUNT] = {
      [FY_FLOAT32] = add_floats, [FY_FLOAT64] = loop_add_f64, [FY_INT64] = loop_add_i64,     [FY_INT32] = loop_add_i32,
      [FY_UINT8] = loop_add_u8,  [FY_BOOL] = loop_add_b8,     [FY_BFLOAT16] = loop_add_bf16,
  };
  return fy_pointwise_binary(launch, loops, FY_GRAIN_CHEAP);
}

// ---- the gradient ------------------------------------------------------------------------------------------------------

// grad_out[0] has out's shape. Nothing of the forward is needed for it, so there is no `save`.
static void add_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  for (int i = 0; i < node->n_in; i++)
    if (fy_node_needs(node, i))
      grad_in[i] = grad_out[0];
}

// ---- the record, which the dispatcher reads, and the public functions --------------------------------------------------

const FyOp fy_op_add = {
    .name = "add",
    .grad_name = "AddBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = add_infer,
    .cpu = fy_cpu_add,
    .cpu_bfloat16 = fy_two_bfloat16,
    .backward = add_backward,
    .params_size = sizeof(FyPointwise),
    .cost = fy_cost_counted,
    .id = FY_OP_ID_add,
};

FyTensor *fy_add(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_add, &(FyPointwise){0}, FY_INPUTS(a, b));
}
FyTensor *fy_add_scalar(FyTensor *a, double b) {
  return fy_run(&fy_op_add, &(FyPointwise){.a = b}, FY_INPUTS(a));
}
