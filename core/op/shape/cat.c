// SPDX-License-Identifier: MIT
// cat and stack: any number of tensors into one, each copied once.
#include "op/shape/cat.h"
#include "op/kernel/iter.h"
#include "op/op.h"
#include "op/ops.h"
#include <string.h>

// ---- CPU -------------------------------------------------------------------------------------------------------------

#define DEFINE_COPY(BITS)                                                                                              \
  static void copy_##BITS(char *const *data, const int64_t *stride, int64_t n, const void *context) {                  \
    uint##BITS##_t *out = (uint##BITS##_t *)(void *)data[0];                                                           \
    const uint##BITS##_t *in = (const uint##BITS##_t *)(const void *)data[1];                                          \
    (void)context;                                                                                                     \
    if (stride[0] == 1 && stride[1] == 1) {                                                                            \
      memcpy(out, in, (size_t)n * sizeof *out);                                                                        \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t i = 0; i < n; i++)                                                                                    \
      out[i * stride[0]] = in[i * stride[1]];                                                                          \
  }
DEFINE_COPY(8)
DEFINE_COPY(16)
DEFINE_COPY(32)
DEFINE_COPY(64)

static int fy_cpu_cat(FyLaunch *launch) {
  const FyCatParams *p = launch->params;
  const FyArray *out = launch->out[0];
  int size = (int)fy_dtype_size(out->dtype);
  FyLoop *copy = size == 1 ? copy_8 : size == 2 ? copy_16 : size == 4 ? copy_32 : copy_64;
  int64_t offset = p->offset;
  for (int i = p->first; i < launch->n_in; i++) {
    const FyArray *in = launch->in[i];
    if (in->numel) {
      FyArray slice = fy_cat_slice(out, in, p, size, offset);
      FyIter iter;
      fy_iter_of(&iter, &slice, 1, &in);
      fy_iter_run(&iter, FY_ITER_GRAIN, copy, NULL);
    }
    offset += fy_cat_length(p, in->ndim, in->shape);
  }
  return FY_LAUNCH_OK;
}

// ---- record ------------------------------------------------------------------------------------------------------------

static bool is_passed_over(const FyArray *a) {
  return a->ndim == 1 && a->numel == 0;
}

static void check_sizes(const FyArray *first, const FyArray *a, int dim, int number) {
  fy_check(first->ndim == a->ndim, FY_RUNTIME_ERROR, "Tensors must have same number of dimensions: got %d and %d",
           first->ndim, a->ndim);
  for (int d = 0; d < a->ndim; d++)
    fy_check(
        d == dim || first->shape[d] == a->shape[d], FY_RUNTIME_ERROR,
        "Sizes of tensors must match except in dimension %d. Expected size %lld but got size %lld for tensor number "
        "%d in the list.",
        dim, (long long)first->shape[d], (long long)a->shape[d], number);
}

static void check_equal(int count, FyTensor *const *tensors) {
  for (int i = 1; i < count; i++)
    fy_check(fy_same_shape(&tensors[i]->array, &tensors[0]->array), FY_RUNTIME_ERROR,
             "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d",
             fy_sizes_of(tensors[0]), fy_sizes_of(tensors[i]), i);
}

// The sizes that follow the inputs', which a recorded call has for other inputs than those of its parameters.
static void sizes_for(const FyOpCall *call, int64_t *shape) {
  const FyCatParams *p = call->params;
  const FyArray *model = NULL;
  memcpy(shape, p->shape, sizeof p->shape);
  if (p->stack)
    check_equal(call->n_in, call->in);
  else
    shape[p->dim] = 0;
  for (int i = 0; i < call->n_in; i++) {
    const FyArray *a = &call->in[i]->array;
    if (!p->stack)
      shape[p->dim] += fy_cat_length(p, a->ndim, a->shape);
    if (is_passed_over(a) && !p->stack)
      continue;
    if (!p->stack && model)
      check_sizes(model, a, p->dim, i);
    model = model ? model : a;
  }
  for (int d = 0; model && d < p->ndim; d++)
    if (d != p->dim)
      shape[d] = model->shape[p->stack && d > p->dim ? d - 1 : d];
}

static void infer(FyOpCall *call) {
  const FyCatParams *p = call->params;
  int64_t shape[FY_MAX_DIM];
  for (int i = p->first; i < call->n_in; i++)
    fy_call_cast(call, i, (FyDType)p->dtype);
  if (!p->first)
    sizes_for(call, shape);
  fy_call_output(call, 0, (FyDType)p->dtype, p->ndim, p->first ? p->shape : shape);
}

static FyTensor *part_of(FyTensor *grad, const FyCatParams *p, const FyMeta *input, int64_t offset, int64_t length) {
  if (p->stack)
    return fy_select(grad, p->dim, offset);
  if (!length && input->ndim != p->ndim) // passed over
    return fy_zeros(fy_shape(0), .dtype = (FyDType)input->dtype, .device = input->device);
  return fy_narrow(grad, p->dim, offset, length);
}

static void backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyCatParams *p = fy_node_params(node, FyCatParams);
  int64_t offset = p->offset;
  if (p->first)
    grad_in[0] = grad_out[0]; // what lies beyond `offset` there is read by nobody
  for (int i = p->first; i < node->n_in; i++) {
    int64_t length = fy_cat_length(p, node->inputs[i].ndim, node->inputs[i].shape);
    if (fy_node_needs(node, i))
      grad_in[i] = part_of(grad_out[0], p, &node->inputs[i], offset, length);
    offset += length;
  }
}

static const char *grad_name(const FyNode *node) {
  return fy_node_params(node, FyCatParams)->stack ? "StackBackward0" : "CatBackward0";
}

const FyOp fy_op_cat = {
    .name = "cat",
    .grad_name = "CatBackward0",
    .autocast = {[FY_CPU] = FY_AUTOCAST_WIDEST},
    .infer = infer,
    .cpu = fy_cpu_cat,
    .backward = backward,
    .params_size = sizeof(FyCatParams),
    .id = FY_OP_ID_cat,
    .grad_name_of = grad_name,
};

// ---- joining lists -------------------------------------------------------------------------------------------------------

static FyTensor *join_in_place(FyCatParams *p, FyTensors list) {
  FySize size = {.ndim = p->ndim};
  memcpy(size.dim, p->shape, sizeof p->shape);
  FyTensor *out = fy_empty(size, .dtype = (FyDType)p->dtype, .device = list.items[0]->device);
  p->first = 1;
  for (int i = 0; i < list.count; i += FY_MAX_INPUTS - 1) {
    int n = list.count - i < FY_MAX_INPUTS - 1 ? list.count - i : FY_MAX_INPUTS - 1;
    FyTensor *in[FY_MAX_INPUTS] = {out};
    memcpy(in + 1, list.items + i, (size_t)n * sizeof *in);
    fy_run_in_place(&fy_op_cat, p, n + 1, in);
    for (int k = 1; k <= n; k++)
      p->offset += fy_cat_length(p, in[k]->array.ndim, in[k]->array.shape);
  }
  atomic_store_explicit(&out->storage->version, 0, memory_order_relaxed); // filling it was no change of it
  return out;
}

static FyTensor *join(FyCatParams *p, FyTensors list) {
  FyDevice device = list.items[0]->device;
  for (int i = 1; i < list.count; i++)
    fy_check_same_device(device, list.items[i]->device);
  p->dtype = (uint8_t)fy_result_type(list.count, list.items);
  return list.count <= FY_MAX_INPUTS ? fy_run(&fy_op_cat, p, list.count, list.items) : join_in_place(p, list);
}

// Autocast looks at the whole list before anything else does.
static void check_halves(FyTensors tensors) {
  if (fy_autocast_on)
    fy_autocast_widest(FY_CPU, tensors.count, tensors.items);
}

// The first tensor that the others must fit.
static const FyArray *model_of(FyTensors tensors) {
  const FyArray *model = NULL;
  fy_check(tensors.count > 0, FY_RUNTIME_ERROR, "torch.cat(): expected a non-empty list of Tensors");
  for (int i = 0; i < tensors.count; i++) {
    const FyArray *a = &tensors.items[i]->array;
    fy_check(a->ndim > 0, FY_RUNTIME_ERROR, "zero-dimensional tensor (at position %d) cannot be concatenated", i);
    if (!model && !is_passed_over(a))
      model = a;
  }
  return model ? model : &tensors.items[0]->array;
}

FyTensor *fy_cat(FyTensors tensors, int dim) {
  check_halves(tensors);
  const FyArray *model = model_of(tensors);
  // Of vectors without elements alone, `dim` is not looked at.
  FyCatParams p = {.ndim = model->ndim, .dim = is_passed_over(model) ? 0 : fy_wrap_dim(dim, model->ndim)};
  memcpy(p.shape, model->shape, (size_t)p.ndim * sizeof *p.shape);
  p.shape[p.dim] = 0;
  for (int i = 0; i < tensors.count; i++) {
    const FyArray *a = &tensors.items[i]->array;
    if (!is_passed_over(a))
      check_sizes(model, a, p.dim, i);
    p.shape[p.dim] += fy_cat_length(&p, a->ndim, a->shape);
  }
  return join(&p, tensors);
}

FyTensor *fy_stack(FyTensors tensors, int dim) {
  check_halves(tensors);
  fy_check(tensors.count > 0, FY_RUNTIME_ERROR, "stack expects a non-empty TensorList");
  const FyArray *model = &tensors.items[0]->array;
  const int at = fy_wrap_dim(dim, model->ndim + 1);
  check_equal(tensors.count, tensors.items);
  fy_check(model->ndim < FY_MAX_DIM, FY_RUNTIME_ERROR, "stack: the result would have more than %d dimensions",
           FY_MAX_DIM);
  FyCatParams p = {.ndim = model->ndim + 1, .dim = at, .stack = true};
  for (int d = 0; d < p.ndim; d++)
    p.shape[d] = d == p.dim ? tensors.count : model->shape[d < p.dim ? d : d - 1];
  return join(&p, tensors);
}
