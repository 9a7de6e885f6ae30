// SPDX-License-Identifier: MIT
// F.layer_norm, written out in full. x is seen as rows of n values: n is the product of the last `dims` sizes, which are
// normalized_shape.
//
//   mean = sum of x / n                    of each row                       (rows)
//   rstd = 1 / sqrt(sum of (x - mean)^2 / n + eps)                           (rows)
//   xhat = (x - mean) * rstd                                                 as x
//   out  = xhat * weight + bias            both (n), along the row           as x
//
// Backward, with grad as out and s = grad * weight; the sums of the first line run along a row, the others over all rows:
//
//   grad_x      = (s - sum of s / n - xhat * sum of s * xhat / n) * rstd     as x
//   grad_weight = sum of grad * xhat                                         (n)
//   grad_bias   = sum of grad                                                (n)
//
// Kept for it: x, weight, mean and rstd.
#include "op/normalization/layer_norm.h"
#include "base/integers.h"
#include "base/threads.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/reduction/reduce_cpu.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

// ---- CPU ---------------------------------------------------------------------------------------------------------------

// Backward cuts the rows into at most CHUNKS chunks, by the shape alone: so sums have one order for any number of threads.
enum { GRAIN = 1 << 12, CHUNK_VALUES = 1 << 14, CHUNKS = 32, GATHERED = 64, SCRATCH_ROWS = 4 };

typedef struct LayerNorm {
  FyLayerNormShape s;
  double eps;
  const void *x, *weight, *bias, *grad;
  void *mean, *rstd; // written by the forward, read by the backward
  void *out;         // the output, or the gradient of x
  void *grad_weight, *grad_bias;
  int64_t chunks;
  double *parts; // sums of each chunk: grad_weight's (n), then grad_bias's (n); NULL: not wanted
  void *scratch; // SCRATCH_ROWS rows for each thread
  atomic_int next_thread;
} LayerNorm;

// squares_block_T(x, &mean, n)
#define CENTERED_SQUARE(V, i) ((*(const V *)(x + (i)) - *y) * (*(const V *)(x + (i)) - *y))
FY_DEFINE_VECTOR_SUM_(squares_block_float, float, FyFloats, CENTERED_SQUARE)
FY_DEFINE_VECTOR_SUM_(squares_block_double, double, FyDoubles, CENTERED_SQUARE)

#define T float
#define NAME(x) f32_##x
#include "op/normalization/layer_norm_rows.h"

#define T double
#define NAME(x) f64_##x
#include "op/normalization/layer_norm_rows.h"

static int fy_cpu_layer_norm(FyLaunch *l) {
  const FyArray *x = l->in[FY_LAYER_NORM_X];
  const FyLayerNormParams *params = l->params;
  LayerNorm p = {
      .s = fy_layer_norm_shape(x, params),
      .eps = params->eps,
      .x = x->data,
      .weight = fy_array_data(l->in[FY_LAYER_NORM_WEIGHT]),
      .bias = fy_array_data(l->in[FY_LAYER_NORM_BIAS]),
      .out = l->out[FY_LAYER_NORM_OUT]->data,
      .mean = l->out[FY_LAYER_NORM_MEAN]->data,
      .rstd = l->out[FY_LAYER_NORM_RSTD]->data,
  };
  if (x->numel == 0)
    return FY_LAUNCH_OK;
  if (x->dtype != FY_FLOAT32 && x->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  fy_parallel_for(p.s.rows, GRAIN / (p.s.n + 1) + 1, x->dtype == FY_FLOAT32 ? f32_forward : f64_forward, &p);
  return FY_LAUNCH_OK;
}

static int64_t chunks_of(const FyLayerNormShape *s) {
  const int64_t chunks = fy_smaller(fy_smaller(s->rows * s->n / CHUNK_VALUES, s->rows), CHUNKS);
  return chunks < 1 ? 1 : chunks;
}

// Memory for the sums and for each thread's rows.
static int make_room(FyLaunch *l, LayerNorm *p, size_t element) {
  const size_t n = (size_t)p->s.n;
  p->scratch = l->workspace(l, (size_t)fy_get_num_threads() * SCRATCH_ROWS * n * element);
  if (!p->scratch)
    return FY_LAUNCH_NO_MEMORY;
  if (l->n_out == 1)
    return FY_LAUNCH_OK;
  const size_t bytes = (size_t)p->chunks * 2 * n * sizeof *p->parts;
  p->parts = l->workspace(l, bytes);
  if (!p->parts)
    return FY_LAUNCH_NO_MEMORY;
  memset(p->parts, 0, bytes);
  p->grad_weight = l->out[1]->data;
  p->grad_bias = l->out[2]->data;
  return FY_LAUNCH_OK;
}

static int no_rows(FyLaunch *l) {
  for (int i = 1; i < l->n_out; i++)
    fy_array_clear(l->out[i]);
  return FY_LAUNCH_OK;
}

static int fy_cpu_layer_norm_backward(FyLaunch *l) {
  const FyArray *x = l->in[FY_LAYER_NORM_GRAD_X];
  LayerNorm p = {
      .s = fy_layer_norm_shape(x, l->params),
      .x = x->data,
      .grad = l->in[FY_LAYER_NORM_GRAD]->data,
      .mean = l->in[FY_LAYER_NORM_GRAD_MEAN]->data,
      .rstd = l->in[FY_LAYER_NORM_GRAD_RSTD]->data,
      .weight = fy_array_data(l->in[FY_LAYER_NORM_GRAD_WEIGHT]),
      .out = l->out[0]->data,
  };
  const bool single = x->dtype == FY_FLOAT32;
  if (x->numel == 0)
    return no_rows(l);
  if (!single && x->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  p.chunks = chunks_of(&p.s);
  const int result = make_room(l, &p, fy_dtype_size(x->dtype));
  if (result != FY_LAUNCH_OK)
    return result;
  fy_parallel_for(p.chunks, 1, single ? f32_backward : f64_backward, &p);
  if (p.parts)
    fy_parallel_for(p.s.n, GRAIN / p.chunks, single ? f32_join : f64_join, &p);
  return FY_LAUNCH_OK;
}

// ---- checks ------------------------------------------------------------------------------------------------------------

// [*, 3, 4]
static const char *any_rows_of(const FyLayerNormParams *p) {
  return fy_sizes_string(p->dims, p->shape) + 1;
}

static void check_parameter(const FyTensor *t, const char *name, const FyLayerNormParams *p) {
  if (t)
    fy_check(fy_has_shape(&t->array, p->dims, p->shape), FY_RUNTIME_ERROR,
             "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and normalized_shape = %s",
             name, name, fy_sizes_of(t), fy_sizes_string(p->dims, p->shape));
}

static void check_shapes(const FyOpCall *call, const FyLayerNormParams *p) {
  const FyArray *x = &call->in[FY_LAYER_NORM_X]->array;
  fy_check(p->dims > 0, FY_RUNTIME_ERROR,
           "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
           "normalized_shape = []");
  check_parameter(call->in[FY_LAYER_NORM_WEIGHT], "weight", p);
  check_parameter(call->in[FY_LAYER_NORM_BIAS], "bias", p);
  bool fits = x->ndim >= p->dims;
  for (int d = 0; fits && d < p->dims; d++)
    fits = x->shape[x->ndim - p->dims + d] == p->shape[d];
  fy_check(fits, FY_RUNTIME_ERROR,
           "Given normalized_shape=%s, expected input with shape [*, %s, but got input of size%s",
           fy_sizes_string(p->dims, p->shape), any_rows_of(p), fy_sizes_string(x->ndim, x->shape));
}

// Parameters have x's dtype, or on the CPU float32 beside a half type.
static void check_dtypes(const FyOpCall *call) {
  const FyTensor *x = call->in[FY_LAYER_NORM_X], *weight = call->in[FY_LAYER_NORM_WEIGHT];
  const FyTensor *bias = call->in[FY_LAYER_NORM_BIAS], *first = weight ? weight : bias;
  const FyDType dtype = (FyDType)x->array.dtype;
  const bool mixed = call->device.type == FY_CPU && first && first->array.dtype != dtype;
  for (int i = FY_LAYER_NORM_WEIGHT; i <= FY_LAYER_NORM_BIAS; i++)
    if (call->in[i]) {
      const FyDType found = (FyDType)call->in[i]->array.dtype;
      fy_check(!mixed || found == FY_FLOAT32, FY_RUNTIME_ERROR,
               "mixed dtype (CPU): expect parameter to have scalar type of Float");
      fy_check(mixed || found == dtype, FY_RUNTIME_ERROR, "expected scalar type %s but found %s",
               fy_dtype_scalar_name(dtype), fy_dtype_scalar_name(found));
    }
  fy_check(!mixed || dtype == FY_FLOAT16 || dtype == FY_BFLOAT16, FY_RUNTIME_ERROR,
           "mixed dtype (CPU): all inputs must share same datatype.");
  if (!fy_dtype_is_floating(dtype))
    fy_raise_not_implemented("LayerNormKernelImpl", dtype);
}

// ---- shapes and dtypes -------------------------------------------------------------------------------------------------

static void layer_norm_infer(FyOpCall *call) {
  const FyLayerNormParams *p = call->params;
  const FyTensor *x = call->in[FY_LAYER_NORM_X];
  const FyDType dtype = fy_dtype_of_sums(x->array.dtype);
  check_shapes(call, p);
  const int64_t rows = fy_layer_norm_shape(&x->array, p).rows;
  for (int i = FY_LAYER_NORM_WEIGHT; i <= FY_LAYER_NORM_BIAS; i++) {
    fy_call_own_device(call, i);
    fy_call_cast(call, i, dtype);
    fy_call_contiguous(call, i);
  }
  check_dtypes(call);
  fy_call_contiguous(call, FY_LAYER_NORM_X);
  fy_call_output(call, FY_LAYER_NORM_OUT, (FyDType)x->array.dtype, x->array.ndim, x->array.shape);
  fy_call_output(call, FY_LAYER_NORM_MEAN, dtype, 1, &rows);
  fy_call_output(call, FY_LAYER_NORM_RSTD, dtype, 1, &rows);
}

// Outputs 1 and 2 are left out where no parameter wants its gradient.
static void layer_norm_backward_infer(FyOpCall *call) {
  const FyLayerNormParams *p = call->params;
  const FyTensor *x = call->in[FY_LAYER_NORM_GRAD_X];
  const FyDType dtype = fy_dtype_of_sums(x->array.dtype);
  fy_call_cast(call, FY_LAYER_NORM_GRAD, (FyDType)x->array.dtype);
  fy_call_contiguous(call, FY_LAYER_NORM_GRAD);
  fy_call_contiguous(call, FY_LAYER_NORM_GRAD_X);
  fy_call_cast(call, FY_LAYER_NORM_GRAD_WEIGHT, dtype);
  fy_call_contiguous(call, FY_LAYER_NORM_GRAD_WEIGHT);
  fy_call_output(call, 0, (FyDType)x->array.dtype, x->array.ndim, x->array.shape);
  for (int i = 1; i < call->n_out; i++)
    fy_call_output(call, i, dtype, p->dims, p->shape);
}

// ---- the gradient ------------------------------------------------------------------------------------------------------

enum { SAVED_X, SAVED_WEIGHT, SAVED_MEAN, SAVED_RSTD, SAVED_BIAS };

// The bias as PyTorch keeps it: a change of it in place is an error.
static void layer_norm_save(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, FY_LAYER_NORM_X);
  fy_save_input(node, call, FY_LAYER_NORM_WEIGHT);
  fy_save_output(node, call, FY_LAYER_NORM_MEAN);
  fy_save_output(node, call, FY_LAYER_NORM_RSTD);
  fy_save_input(node, call, FY_LAYER_NORM_BIAS);
}

static void layer_norm_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grads[3] = {0}, *x = fy_saved(node, SAVED_X), *weight = fy_saved(node, SAVED_WEIGHT);
  FyTensor *mean = fy_saved(node, SAVED_MEAN), *rstd = fy_saved(node, SAVED_RSTD);
  const bool parameters = fy_node_needs(node, FY_LAYER_NORM_WEIGHT) || fy_node_needs(node, FY_LAYER_NORM_BIAS);
  fy_saved(node, SAVED_BIAS); // raises if it was changed
  fy_run_multi(&fy_op_layer_norm_backward, fy_node_params(node, FyLayerNormParams),
               FY_INPUTS(grad_out[0], x, mean, rstd, weight), parameters ? 3 : 1, grads);
  for (int i = FY_LAYER_NORM_X; i <= FY_LAYER_NORM_BIAS; i++)
    grad_in[i] = fy_node_needs(node, i) ? grads[i] : NULL;
}

// The parameters' gradients are a second kernel, which reads grad and x again.
static void backward_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyArray *x = launch->in[FY_LAYER_NORM_GRAD_X];
  if (launch->n_out > 1)
    cost->before = 2 * (double)x->numel * (double)fy_dtype_size(x->dtype);
}

// ---- records and the public function -----------------------------------------------------------------------------------

const FyOp fy_op_layer_norm = {
    .name = "layer_norm",
    .grad_name = "NativeLayerNormBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = {[FY_CUDA] = FY_AUTOCAST_FLOAT32},
    .infer = layer_norm_infer,
    .cpu = fy_cpu_layer_norm,
    .save = layer_norm_save,
    .backward = layer_norm_backward,
    .params_size = sizeof(FyLayerNormParams),
    .id = FY_OP_ID_layer_norm,
};

const FyOp fy_op_layer_norm_backward = {
    .name = "layer_norm_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = layer_norm_backward_infer,
    .cpu = fy_cpu_layer_norm_backward,
    .cost = backward_cost,
    .params_size = sizeof(FyLayerNormParams),
    .id = FY_OP_ID_layer_norm_backward,
};

FyTensor *fy_layer_norm(FyTensor *x, FySize normalized_shape, FyTensor *weight, FyTensor *bias, double eps) {
  FyLayerNormParams p = {.dims = normalized_shape.ndim, .eps = eps};
  FyTensor *out[3];
  memcpy(p.shape, normalized_shape.dim, (size_t)p.dims * sizeof *p.shape);
  fy_run_multi(&fy_op_layer_norm, &p, FY_INPUTS(x, weight, bias), 3, out);
  fy_drop(out[FY_LAYER_NORM_MEAN]);
  fy_drop(out[FY_LAYER_NORM_RSTD]);
  return out[FY_LAYER_NORM_OUT];
}
