// SPDX-License-Identifier: MIT
// max and min, argmax and argmin: over all elements, or along one dimension.
#include "op/op.h"
#include "op/ops.h"
#include "op/reduction/reduce.h"
#include <string.h>

int fy_cpu_max(FyLaunch *launch);
int fy_cpu_min(FyLaunch *launch);
int fy_cpu_max_dim(FyLaunch *launch);
int fy_cpu_min_dim(FyLaunch *launch);
int fy_cpu_argmax(FyLaunch *launch);
int fy_cpu_argmin(FyLaunch *launch);

// ---- shapes ----------------------------------------------------------------------------------------------------------

// The first letters of the op's name: "max" for max_dim, as PyTorch's messages say it.
static const char *public_name(const FyOpCall *call) {
  const FyOp *op = call->op;
  return op == &fy_op_max_dim ? "max" : op == &fy_op_min_dim ? "min" : op->name;
}

static int reduced_shape(const FyOpCall *call, int64_t *shape) {
  const FyExtremumParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  int ndim = 0;
  for (int d = 0; d < a->ndim; d++) {
    bool reduced = p->dim < 0 || d == p->dim;
    if (!reduced || p->keepdim)
      shape[ndim++] = reduced ? 1 : a->shape[d];
  }
  return ndim;
}

static void check_dim_not_empty(const FyOpCall *call) {
  const FyExtremumParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  fy_check(a->ndim == 0 || a->shape[p->dim] > 0, FY_INDEX_ERROR,
           "%s(): Expected reduction dim %d to have non-zero size.", public_name(call), p->dim);
}

static void infer_all(FyOpCall *call) {
  fy_check(call->in[0]->array.numel > 0, FY_RUNTIME_ERROR,
           "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
           "'dim' argument.",
           public_name(call));
  fy_call_contiguous(call, 0);
  fy_call_output(call, 0, (FyDType)call->in[0]->array.dtype, 0, NULL);
}

static void infer_dim(FyOpCall *call) {
  check_dim_not_empty(call);
  fy_call_contiguous(call, 0);
  int64_t shape[FY_MAX_DIM];
  int ndim = reduced_shape(call, shape);
  fy_call_output(call, 0, (FyDType)call->in[0]->array.dtype, ndim, shape);
  fy_call_output(call, 1, FY_INT64, ndim, shape);
}

static void infer_arg(FyOpCall *call) {
  const FyExtremumParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  if (p->dim >= 0)
    check_dim_not_empty(call);
  fy_check(p->dim >= 0 || a->numel > 0, FY_INDEX_ERROR,
           "%s(): Expected reduction dim to be specified for input.numel() == 0.", public_name(call));
  fy_call_contiguous(call, 0);
  int64_t shape[FY_MAX_DIM];
  int ndim = reduced_shape(call, shape);
  fy_call_output(call, 0, FY_INT64, ndim, shape);
}

// ---- gradients -------------------------------------------------------------------------------------------------------

static void save_all(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
  fy_save_output(node, call, 0);
}

// Each of the k elements that equal the result gets 1/k of the gradient; all NaNs count as equal.
static void backward_all(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *a = fy_saved(node, 0), *value = fy_saved(node, 1);
  FyTensor *equal = fy_eq(a, value);
  FyTensor *both_nan = fy_mul(fy_ne(a, a), fy_ne(value, value));
  FyTensor *chosen = fy_add(equal, both_nan);
  grad_in[0] = fy_where(chosen, fy_div(grad_out[0], fy_sum(chosen)), fy_number(0));
}

static void save_dim(FyOpCall *call, FyNode *node) {
  fy_save_output(node, call, 1);
}

static void backward_dim(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyExtremumParams *p = fy_node_params(node, FyExtremumParams);
  const FyMeta *input = &node->inputs[0];
  FyTensor *grad = grad_out[0], *index = fy_saved(node, 0);
  if (!grad)
    return;
  if (input->ndim == 0) {
    grad_in[0] = grad;
    return;
  }
  if (!p->keepdim) {
    grad = fy_unsqueeze(grad, p->dim);
    index = fy_unsqueeze(index, p->dim);
  }
  FySize along = {.ndim = input->ndim};
  for (int d = 0; d < input->ndim; d++)
    along.dim[d] = d == p->dim ? input->shape[d] : 1;
  FyTensor *position = fy_reshape(fy_arange((double)input->shape[p->dim], .device = input->device), along);
  grad_in[0] = fy_where(fy_eq(position, index), grad, fy_number(0));
}

// ---- records and public functions --------------------------------------------------------------------------------------

#define EXTREMUM_OPS(NAME, TITLE)                                                                                      \
  const FyOp fy_op_##NAME = {                                                                                          \
      .name = #NAME,                                                                                                   \
      .grad_name = TITLE "Backward1",                                                                                  \
      .flags = FY_OP_CPU_HALF_AS_FLOAT,                                                                                \
      .infer = infer_all,                                                                                              \
      .cpu = fy_cpu_##NAME,                                                                                            \
      .save = save_all,                                                                                                \
      .backward = backward_all,                                                                                        \
      .params_size = sizeof(FyExtremumParams),                                                                         \
      .id = FY_OP_ID_##NAME,                                                                                           \
  };                                                                                                                   \
  const FyOp fy_op_##NAME##_dim = {                                                                                    \
      .name = #NAME "_dim",                                                                                            \
      .grad_name = TITLE "Backward0",                                                                                  \
      .flags = FY_OP_CPU_HALF_AS_FLOAT,                                                                                \
      .infer = infer_dim,                                                                                              \
      .cpu = fy_cpu_##NAME##_dim,                                                                                      \
      .save = save_dim,                                                                                                \
      .backward = backward_dim,                                                                                        \
      .params_size = sizeof(FyExtremumParams),                                                                         \
      .id = FY_OP_ID_##NAME##_dim,                                                                                     \
  };                                                                                                                   \
  const FyOp fy_op_arg##NAME = {                                                                                       \
      .name = "arg" #NAME,                                                                                             \
      .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,                                                                \
      .infer = infer_arg,                                                                                              \
      .cpu = fy_cpu_arg##NAME,                                                                                         \
      .params_size = sizeof(FyExtremumParams),                                                                         \
      .id = FY_OP_ID_arg##NAME,                                                                                        \
  };
EXTREMUM_OPS(max, "Max")
EXTREMUM_OPS(min, "Min")

static FyTensor *run_all(const FyOp *op, FyTensor *a) {
  return fy_run(op, &(FyExtremumParams){.dim = -1}, FY_INPUTS(a));
}

static void check_arg(const FyOp *op, const FyTensor *a) {
  fy_check(a->array.dtype != FY_BOOL, FY_NOT_IMPLEMENTED_ERROR, "%s(): does not support bool input", op->name);
}

static FyTensor *run_arg(const FyOp *op, FyTensor *a, int dim, bool keepdim) {
  check_arg(op, a);
  FyExtremumParams p = {fy_wrap_dim(dim, a->array.ndim), keepdim};
  return fy_run(op, &p, FY_INPUTS(a));
}

static FyValuesIndices run_dim(const FyOp *op, FyTensor *a, int dim, bool keepdim) {
  FyExtremumParams p = {fy_wrap_dim(dim, a->array.ndim), keepdim};
  FyTensor *out[2];
  fy_run_multi(op, &p, FY_INPUTS(a), 2, out);
  return (FyValuesIndices){out[0], out[1]};
}

FyTensor *fy_max(FyTensor *a) {
  return run_all(&fy_op_max, a);
}

FyTensor *fy_min(FyTensor *a) {
  return run_all(&fy_op_min, a);
}

FyTensor *fy_argmax(FyTensor *a) {
  check_arg(&fy_op_argmax, a);
  return run_all(&fy_op_argmax, a);
}

FyTensor *fy_argmin(FyTensor *a) {
  check_arg(&fy_op_argmin, a);
  return run_all(&fy_op_argmin, a);
}

FyTensor *fy_argmax_dim(FyTensor *a, int dim, bool keepdim) {
  return run_arg(&fy_op_argmax, a, dim, keepdim);
}

FyTensor *fy_argmin_dim(FyTensor *a, int dim, bool keepdim) {
  return run_arg(&fy_op_argmin, a, dim, keepdim);
}

FyValuesIndices fy_max_dim(FyTensor *a, int dim, bool keepdim) {
  return run_dim(&fy_op_max_dim, a, dim, keepdim);
}

FyValuesIndices fy_min_dim(FyTensor *a, int dim, bool keepdim) {
  return run_dim(&fy_op_min_dim, a, dim, keepdim);
}
