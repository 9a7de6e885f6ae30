// SPDX-License-Identifier: MIT
// torch.sum and torch.mean, over all elements or over any set of dimensions, written out in full.
//
//   out[kept] = sum of a[kept, reduced] over the reduced dimensions          mean: the same, divided by their number
//
// For a (2, 3, 4), sum over dimension 1: out (2, 4), out[i][k] = a[i][0][k] + a[i][1][k] + a[i][2][k]; with keepdim (2, 1, 4).
// Over all: out (). Integers and bools add up in int64, float16 and bfloat16 in float32.
//
// Backward: each term has the derivative 1 (mean: 1 / n), so grad_out[kept] goes to every element that was summed into it:
//
//   grad_a[kept, reduced] = grad_out[kept]
//
// which costs no memory: an expanded view, with stride 0 along the reduced dimensions. Nothing of the forward is saved.
//
// The CPU kernel is in reduce_cpu.c, that for CUDA in reduce.cu; here are the shapes, the gradients and the functions.
#include "op/reduction/reduce.h"
#include "op/op.h"
#include "op/ops.h"

int fy_cpu_sum(FyLaunch *launch);
int fy_cpu_mean(FyLaunch *launch);

// ---- shapes ----------------------------------------------------------------------------------------------------------

static void infer_reduced(FyOpCall *call, FyDType dtype) {
  const FyReduceParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  int64_t shape[FY_MAX_DIM];
  int ndim = 0;
  for (int d = 0; d < a->ndim; d++) {
    bool reduced = p->dims >> d & 1u;
    if (!reduced || p->keepdim)
      shape[ndim++] = reduced ? 1 : a->shape[d];
  }
  fy_call_output(call, 0, dtype, ndim, shape);
}

static void infer_sum(FyOpCall *call) {
  FyDType dtype = (FyDType)call->in[0]->array.dtype;
  infer_reduced(call, fy_dtype_is_floating(dtype) ? dtype : FY_INT64);
}

static void infer_mean(FyOpCall *call) {
  FyDType dtype = (FyDType)call->in[0]->array.dtype;
  fy_check(
      fy_dtype_is_floating(dtype), FY_NOT_IMPLEMENTED_ERROR,
      "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: %s",
      fy_dtype_scalar_name(dtype));
  infer_reduced(call, dtype);
}

// ---- gradients -------------------------------------------------------------------------------------------------------

// The gradient of an output goes to each element that was summed into it.
static FyTensor *spread(FyNode *node, FyTensor *grad) {
  const FyReduceParams *p = fy_node_params(node, FyReduceParams);
  const FyMeta *input = &node->inputs[0];
  FySize shape = {.ndim = input->ndim};
  for (int d = 0; d < input->ndim; d++) {
    shape.dim[d] = input->shape[d];
    if ((p->dims >> d & 1u) && !p->keepdim && grad->array.ndim > 0) // a single number expands as it is
      grad = fy_unsqueeze(grad, d);
  }
  return fy_expand(grad, shape);
}

static void sum_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  grad_in[0] = spread(node, grad_out[0]);
}

static void mean_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyReduceParams *p = fy_node_params(node, FyReduceParams);
  int64_t count = 1;
  for (int d = 0; d < node->inputs[0].ndim; d++)
    if (p->dims >> d & 1u)
      count *= node->inputs[0].shape[d];
  grad_in[0] = spread(node, fy_div_scalar(grad_out[0], (double)count));
}

static const char *sum_name(const FyNode *node) {
  return fy_node_params(node, FyReduceParams)->all ? "SumBackward0" : "SumBackward1";
}

static const char *mean_name(const FyNode *node) {
  return fy_node_params(node, FyReduceParams)->all ? "MeanBackward0" : "MeanBackward1";
}

// ---- records and public functions --------------------------------------------------------------------------------------

const FyOp fy_op_sum = {
    .name = "sum",
    .grad_name = "SumBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = {[FY_CUDA] = FY_AUTOCAST_FLOAT32_INSIDE},
    .infer = infer_sum,
    .cpu = fy_cpu_sum,
    .cpu_bfloat16 = fy_all_bfloat16,
    .backward = sum_backward,
    .params_size = sizeof(FyReduceParams),
    .id = FY_OP_ID_sum,
    .grad_name_of = sum_name,
};

const FyOp fy_op_mean = {
    .name = "mean",
    .grad_name = "MeanBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_mean,
    .cpu = fy_cpu_mean,
    .cpu_bfloat16 = fy_all_bfloat16,
    .backward = mean_backward,
    .params_size = sizeof(FyReduceParams),
    .id = FY_OP_ID_mean,
    .grad_name_of = mean_name,
};

static FyTensor *reduce_dims(const FyOp *op, FyTensor *a, FySize dims, bool keepdim) {
  int ndim = a->array.ndim;
  FyReduceParams p = {.keepdim = keepdim};
  for (int i = 0; i < dims.ndim; i++) {
    int d = fy_wrap_dim(dims.dim[i], ndim);
    fy_check(!(p.dims >> d & 1u), FY_RUNTIME_ERROR, "dim %d appears multiple times in the list of dims", d);
    p.dims |= 1u << d;
  }
  if (!dims.ndim)
    p.dims = (1u << ndim) - 1;
  return fy_run(op, &p, FY_INPUTS(a));
}

static FyTensor *reduce_all(const FyOp *op, FyTensor *a) {
  FyReduceParams p = {.dims = (1u << a->array.ndim) - 1, .all = true};
  return fy_run(op, &p, FY_INPUTS(a));
}

FyTensor *fy_sum(FyTensor *a) {
  return reduce_all(&fy_op_sum, a);
}

FyTensor *fy_sum_dim(FyTensor *a, int dim, bool keepdim) {
  return reduce_dims(&fy_op_sum, a, fy_shape(dim), keepdim);
}

FyTensor *fy_sum_dims(FyTensor *a, FySize dims, bool keepdim) {
  return reduce_dims(&fy_op_sum, a, dims, keepdim);
}

FyTensor *fy_mean(FyTensor *a) {
  return reduce_all(&fy_op_mean, a);
}

FyTensor *fy_mean_dim(FyTensor *a, int dim, bool keepdim) {
  return reduce_dims(&fy_op_mean, a, fy_shape(dim), keepdim);
}

FyTensor *fy_mean_dims(FyTensor *a, FySize dims, bool keepdim) {
  return reduce_dims(&fy_op_mean, a, dims, keepdim);
}
