// SPDX-License-Identifier: MIT
// index_select, embedding, and index_add, which is their gradient.
#include "op/indexing/index.h"
#include "op/op.h"
#include "op/ops.h"
#include <string.h>

int fy_cpu_index_select(FyLaunch *launch);
int fy_cpu_index_add(FyLaunch *launch);
int fy_cpu_embedding(FyLaunch *launch);

// ---- checks ----------------------------------------------------------------------------------------------------------

static bool is_index(const FyTensor *t) {
  return t->array.dtype == FY_INT64 || t->array.dtype == FY_INT32;
}

static void check_devices(const FyOpCall *call) {
  for (int i = 0; i < call->n_in; i++)
    fy_call_own_device(call, i);
}

// Where element i, counted row by row, lies in the memory of `a`.
static int64_t place_of(const FyArray *a, int64_t i) {
  int64_t place = 0;
  for (int d = a->ndim - 1; d >= 0; i /= a->shape[d--])
    place += i % a->shape[d] * a->stride[d];
  return place;
}

// PyTorch has a kernel of its own for the rows of a matrix and for vectors, and another one for the rest.
static _Noreturn void raise_out_of_range(bool first_dim, int64_t at, int64_t n) {
  fy_check(first_dim, FY_RUNTIME_ERROR, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld", (long long)at,
           (long long)n);
  fy_raise(FY_INDEX_ERROR, "index out of range in self");
}

static void check_range(const FyArray *a, int64_t n, int dim) {
  fy_check(n > 0 || a->numel == 0, FY_RUNTIME_ERROR, "index_select(): self indexing axis dim should be positive");
  for (int64_t i = 0; i < a->numel; i++) {
    int64_t place = a->contiguous ? i : place_of(a, i);
    int64_t at = a->dtype == FY_INT64 ? ((const int64_t *)a->data)[place] : ((const int32_t *)a->data)[place];
    if (at < 0 || at >= n)
      raise_out_of_range(dim == 0, at, n);
  }
}

static int64_t size_along(const FyArray *a, int dim) {
  return a->ndim ? a->shape[dim] : 1;
}

static void check_index(const void *params, const FyArray *const *in) {
  const FyIndexParams *p = params;
  check_range(in[1], size_along(in[0], p->dim), p->dim);
}

static void check_indices(const void *params, const FyArray *const *in) {
  (void)params;
  check_range(in[0], in[1]->shape[0], 0);
}

// ---- index_select ------------------------------------------------------------------------------------------------------

static void infer_index_select(FyOpCall *call) {
  const FyIndexParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  FyTensor *index = call->in[1];
  fy_check(index->array.ndim <= 1, FY_INDEX_ERROR, "index_select(): Index is supposed to be a vector");
  fy_check(is_index(index), FY_RUNTIME_ERROR, "index_select(): Expected dtype int32 or int64 for index");
  fy_check(a->ndim > 0 || index->array.numel == 1, FY_RUNTIME_ERROR,
           "index_select(): Index to scalar can have only 1 value, got %lld value(s)", (long long)index->array.numel);
  check_devices(call);
  fy_call_contiguous(call, 0);
  fy_call_contiguous(call, 1);
  int64_t shape[FY_MAX_DIM];
  memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
  if (a->ndim)
    shape[p->dim] = index->array.numel;
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, shape);
}

static void save_index(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, call->op == &fy_op_embedding ? 0 : 1);
}

static FyTensor *scatter(const FyMeta *input, int dim, FyTensor *index, FyTensor *grad) {
  FySize size = {.ndim = input->ndim};
  memcpy(size.dim, input->shape, sizeof input->shape);
  FyTensor *zeros = fy_zeros(size, .dtype = (FyDType)grad->array.dtype, .device = grad->device);
  return fy_run_in_place(&fy_op_index_add, &(FyIndexParams){dim}, FY_INPUTS(zeros, index, grad));
}

static void backward_index_select(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  int dim = fy_node_params(node, FyIndexParams)->dim;
  grad_in[0] = scatter(&node->inputs[0], dim, fy_saved(node, 0), grad_out[0]);
}

// ---- index_add -----------------------------------------------------------------------------------------------------------

static void infer_index_add(FyOpCall *call) {
  const FyIndexParams *p = call->params;
  const FyArray *a = &call->in[0]->array, *index = &call->in[1]->array, *source = &call->in[2]->array;
  fy_check(index->ndim <= 1 && is_index(call->in[1]), FY_RUNTIME_ERROR,
           "index_add_(): Index is supposed to be a vector of int32 or int64");
  fy_check(size_along(source, p->dim) == index->numel, FY_RUNTIME_ERROR,
           "index_add_(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %d",
           (long long)index->numel, (long long)size_along(source, p->dim), p->dim);
  fy_check(a->ndim == source->ndim, FY_RUNTIME_ERROR,
           "source tensor shape must match self tensor shape, excluding the "
           "specified dimension");
  for (int d = 0; d < a->ndim; d++)
    fy_check(d == p->dim || a->shape[d] == source->shape[d], FY_RUNTIME_ERROR,
             "source tensor shape must match self tensor shape, excluding the specified dimension");
  check_devices(call);
  fy_call_cast(call, 2, (FyDType)a->dtype);
  for (int i = 0; i < 3; i++)
    fy_call_contiguous(call, i);
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
  fy_call_output_contiguous(call);
}

static void backward_index_add(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  int dim = fy_node_params(node, FyIndexParams)->dim;
  grad_in[0] = grad_out[0];
  if (fy_node_needs(node, 2))
    grad_in[2] = fy_index_select(grad_out[0], dim, fy_saved(node, 0));
}

// ---- embedding -----------------------------------------------------------------------------------------------------------

static void infer_embedding(FyOpCall *call) {
  const FyArray *indices = &call->in[0]->array, *weight = &call->in[1]->array;
  fy_check(weight->ndim == 2, FY_RUNTIME_ERROR, "'weight' must be 2-D");
  fy_check(is_index(call->in[0]), FY_RUNTIME_ERROR,
           "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
           "torch.%s%sTensor instead (while checking arguments for embedding)",
           call->device.type == FY_CUDA ? "cuda." : "", fy_dtype_scalar_name((FyDType)indices->dtype));
  fy_check(indices->ndim < FY_MAX_DIM, FY_RUNTIME_ERROR, "embedding: the result would have more than %d dimensions",
           FY_MAX_DIM);
  check_devices(call);
  fy_call_contiguous(call, 0);
  fy_call_contiguous(call, 1);
  int64_t shape[FY_MAX_DIM];
  memcpy(shape, indices->shape, (size_t)indices->ndim * sizeof *shape);
  shape[indices->ndim] = weight->shape[1];
  fy_call_output(call, 0, (FyDType)weight->dtype, indices->ndim + 1, shape);
}

static void backward_embedding(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyMeta *weight = &node->inputs[1];
  FyTensor *indices = fy_saved(node, 0);
  int64_t n = indices->array.numel;
  FyTensor *grad = fy_reshape(grad_out[0], fy_shape(n, weight->shape[1]));
  grad_in[1] = scatter(weight, 0, fy_reshape(indices, fy_shape(n)), grad);
}

// ---- records and public functions --------------------------------------------------------------------------------------

// Of the table only the rows that are asked for are read, or written.
static void gather_cost(const FyLaunch *launch, FyOpCost *cost, int index) {
  const FyArray *indices = launch->in[index];
  cost->bytes_read = cost->bytes_written + (double)indices->numel * (double)fy_dtype_size(indices->dtype);
}

static void index_select_cost(const FyLaunch *launch, FyOpCost *cost) {
  gather_cost(launch, cost, 1);
}

static void embedding_cost(const FyLaunch *launch, FyOpCost *cost) {
  gather_cost(launch, cost, 0);
}

static void index_add_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyArray *source = launch->in[2];
  if (launch->out[0]->data != launch->in[0]->data)
    return;
  cost->flops = (double)source->numel;
  cost->bytes_written = (double)source->numel * (double)fy_dtype_size(source->dtype);
  cost->bytes_read = 2 * cost->bytes_written;
}

const FyOp fy_op_index_select = {
    .name = "index_select",
    .grad_name = "IndexSelectBackward0",
    .infer = infer_index_select,
    .check = check_index,
    .cpu = fy_cpu_index_select,
    .save = save_index,
    .backward = backward_index_select,
    .params_size = sizeof(FyIndexParams),
    .cost = index_select_cost,
    .id = FY_OP_ID_index_select,
};

const FyOp fy_op_index_add = {
    .name = "index_add",
    .grad_name = "IndexAddBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_index_add,
    .check = check_index,
    .cpu = fy_cpu_index_add,
    .save = save_index,
    .backward = backward_index_add,
    .params_size = sizeof(FyIndexParams),
    .cost = index_add_cost,
    .id = FY_OP_ID_index_add,
};

const FyOp fy_op_embedding = {
    .name = "embedding",
    .grad_name = "EmbeddingBackward0",
    .infer = infer_embedding,
    .check = check_indices,
    .cpu = fy_cpu_embedding,
    .save = save_index,
    .backward = backward_embedding,
    .params_size = sizeof(FyIndexParams),
    .cost = embedding_cost,
    .id = FY_OP_ID_embedding,
};

FyTensor *fy_index_select(FyTensor *a, int dim, FyTensor *index) {
  FyIndexParams p = {fy_wrap_dim(dim, a->array.ndim)};
  return fy_run(&fy_op_index_select, &p, FY_INPUTS(a, index));
}

FyTensor *fy_embedding(FyTensor *indices, FyTensor *weight) {
  return fy_run(&fy_op_embedding, &(FyIndexParams){0}, FY_INPUTS(indices, weight));
}
