// SPDX-License-Identifier: MIT
// F.scaled_dot_product_attention, written out in full. query (*, L, E), key (*, S, E), value (*, S, Ev):
//
//   score[i][j]  = scale * sum of query[i][e] * key[j][e]                    (*, L, S)
//   lse[i]       = log(sum over j of e^score[i][j])                          (*, L)
//   weight[i][j] = e^(score[i][j] - lse[i]), the softmax of the scores       (*, L, S)
//   out[i]       = sum over j of weight[i][j] * value[j]                     (*, L, Ev)
//
// With is_causal, the sums of query i run over the keys j <= i. The scores are never stored as a whole, as in FlashAttention
// (Dao et al., 2022): a tile of queries meets one tile of keys after the other, and out is multiplied by e^(old max - new max)
// where a row's maximum grows. Backward computes the weights again from lse, with grad as out:
//
//   level[i]      = sum of grad[i][e] * out[i][e]
//   grad_value[j] = sum over i of weight[i][j] * grad[i]
//   g[i][j]       = weight[i][j] * (sum of grad[i][e] * value[j][e] - level[i]) * scale
//   grad_query[i] = sum over j of g[i][j] * key[j]        grad_key[j] = sum over i of g[i][j] * query[i]
//
// Kept for it: query, key, value, out and lse.
#include "op/attention/attention.h"
#include "base/integers.h"
#include "base/threads.h"
#include "op/elementwise/pointwise_math.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/product/gemm.h"
#include "op/product/matmul.h"
#include "op/reduction/reduce_cpu.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

// ---- CPU ---------------------------------------------------------------------------------------------------------------

enum { QUERIES = 64, KEYS = 512 }; // of a tile; its scores fit in the L2 cache

// An input, whose rows are `ld` elements apart.
typedef struct Operand {
  const FyArray *array;
  int64_t ld;
} Operand;

typedef struct Attention {
  FyAttentionShape s;
  Operand query, key, value;
  bool causal;
  double scale;
  int64_t tiles; // of queries
  void *out, *lse;
  const void *grad;
  void *grad_query, *grad_key, *grad_value;
  void *scratch; // scratch_elements for each thread
  int64_t scratch_elements;
  atomic_int next_thread, status;
} Attention;

// How many of the keys from .. from + n query i sees.
static int64_t seen_by(const Attention *p, int64_t i, int64_t from, int64_t n) {
  const int64_t seen = p->causal ? i + 1 - from : n;
  return seen < 0 ? 0 : fy_smaller(seen, n);
}

#define T float
#define DTYPE FY_FLOAT32
#define S f32
#include "op/attention/attention_tiles.h"
#define T double
#define DTYPE FY_FLOAT64
#define S f64
#include "op/attention/attention_tiles.h"

static Operand operand(const FyArray *a) {
  FyMatrix matrix = {.ld = 1};
  fy_matrix_of_array(a, true, &matrix);
  return (Operand){a, matrix.ld};
}

static Attention attention_of(const FyLaunch *l) {
  const FyAttentionParams *params = l->params;
  const FyArray *query = l->in[FY_ATTENTION_QUERY], *key = l->in[FY_ATTENTION_KEY], *value = l->in[FY_ATTENTION_VALUE];
  return (Attention){.s = fy_attention_shape(query, key, value),
                     .query = operand(query),
                     .key = operand(key),
                     .value = operand(value),
                     .causal = params->is_causal,
                     .scale = params->scale};
}

static int run(FyLaunch *l, Attention *p, int64_t tasks, int arrays, void (*body)(int64_t, int64_t, void *)) {
  p->scratch_elements = arrays * QUERIES * KEYS;
  p->scratch = l->workspace(l, (size_t)(fy_get_num_threads() * p->scratch_elements) * sizeof(double));
  if (!p->scratch)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_for(tasks, 1, body, p);
  return atomic_load(&p->status);
}

static int fy_cpu_scaled_dot_product_attention(FyLaunch *l) {
  const FyArray *out = l->out[FY_ATTENTION_OUT], *lse = l->out[FY_ATTENTION_LSE];
  Attention p = attention_of(l);
  p.out = out->data;
  p.lse = lse->data;
  p.tiles = fy_div_ceil(p.s.l, QUERIES);
  if (out->dtype != FY_FLOAT32 && out->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  if (p.s.s == 0)
    fy_array_clear(out);
  if (out->numel == 0 || p.s.s == 0)
    return FY_LAUNCH_OK;
  return run(l, &p, p.s.batches * p.tiles, 1, out->dtype == FY_FLOAT32 ? forward_f32 : forward_f64);
}

static int fy_cpu_scaled_dot_product_attention_backward(FyLaunch *l) {
  const FyArray *out = l->in[FY_ATTENTION_GRAD_OUT];
  Attention p = attention_of(l);
  p.grad = l->in[FY_ATTENTION_GRAD]->data;
  p.out = out->data;
  p.lse = l->in[FY_ATTENTION_GRAD_LSE]->data;
  p.grad_query = l->out[FY_ATTENTION_QUERY]->data;
  p.grad_key = l->out[FY_ATTENTION_KEY]->data;
  p.grad_value = l->out[FY_ATTENTION_VALUE]->data;
  if (out->dtype != FY_FLOAT32 && out->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  fy_array_clear(l->out[FY_ATTENTION_KEY]); // tiles add to them
  fy_array_clear(l->out[FY_ATTENTION_VALUE]);
  if (out->numel == 0 || p.s.s == 0) {
    fy_array_clear(l->out[FY_ATTENTION_QUERY]);
    return FY_LAUNCH_OK;
  }
  return run(l, &p, p.s.batches, 2, out->dtype == FY_FLOAT32 ? backward_f32 : backward_f64);
}

// ---- checks, shapes and dtypes -----------------------------------------------------------------------------------------

static void check_inputs(const FyTensor *q, const FyTensor *k, const FyTensor *v) {
  const FyArray *query = &q->array, *key = &k->array, *value = &v->array;
  const int ndim = query->ndim;
  fy_check(ndim >= 2 && key->ndim >= 2 && value->ndim >= 2, FY_RUNTIME_ERROR,
           "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: %d key.dim: %d and "
           "value.dim: %d instead.",
           ndim, key->ndim, value->ndim);
  fy_check(query->dtype == key->dtype && query->dtype == value->dtype, FY_RUNTIME_ERROR,
           "Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: %s and "
           "value.dtype: %s instead.",
           fy_dtype_cpp_name((FyDType)query->dtype), fy_dtype_cpp_name((FyDType)key->dtype),
           fy_dtype_cpp_name((FyDType)value->dtype));
  if (!fy_dtype_is_floating((FyDType)query->dtype))
    fy_raise_not_implemented("scaled_dot_product_attention", (FyDType)query->dtype);
  bool fits = key->ndim == ndim && value->ndim == ndim && key->shape[ndim - 1] == query->shape[ndim - 1] &&
              key->shape[ndim - 2] == value->shape[ndim - 2];
  for (int d = 0; fits && d < ndim - 2; d++)
    fits = key->shape[d] == query->shape[d] && value->shape[d] == query->shape[d];
  fy_check(
      fits, FY_RUNTIME_ERROR,
      "scaled_dot_product_attention: expected query (*, L, E), key (*, S, E) and value (*, S, Ev) with the same batch "
      "sizes *, which are not broadcast, but got %s, %s and %s",
      fy_sizes_of(q), fy_sizes_of(k), fy_sizes_of(v));
}

// The CPU kernel takes matrices whose rows are apart; CUDA's takes row-major tensors.
static void call_matrix(FyOpCall *call, int i) {
  FyMatrix matrix;
  if (call->device.type != FY_CPU || !fy_matrix_of_array(&call->in[i]->array, true, &matrix) || matrix.trans)
    fy_call_contiguous(call, i);
}

static void attention_infer(FyOpCall *call) {
  const FyTensor *query = call->in[FY_ATTENTION_QUERY], *value = call->in[FY_ATTENTION_VALUE];
  const int ndim = query->array.ndim;
  int64_t shape[FY_MAX_DIM];
  check_inputs(query, call->in[FY_ATTENTION_KEY], value);
  for (int i = 0; i < 3; i++)
    call_matrix(call, i);
  memcpy(shape, query->array.shape, (size_t)ndim * sizeof *shape);
  fy_call_output(call, FY_ATTENTION_LSE, fy_dtype_of_sums(query->array.dtype), ndim - 1, shape);
  shape[ndim - 1] = value->array.shape[ndim - 1];
  fy_call_output(call, FY_ATTENTION_OUT, (FyDType)query->array.dtype, ndim, shape);
}

static void attention_backward_infer(FyOpCall *call) {
  for (int i = 0; i < 3; i++) {
    const FyArray *a = &call->in[i]->array;
    call_matrix(call, i);
    fy_call_output(call, i, (FyDType)a->dtype, a->ndim, a->shape);
  }
  fy_call_cast(call, FY_ATTENTION_GRAD, (FyDType)call->in[0]->array.dtype);
  fy_call_contiguous(call, FY_ATTENTION_GRAD);
}

// ---- the gradient ------------------------------------------------------------------------------------------------------

enum { SAVED_OUT = 3, SAVED_LSE };

static void attention_save(FyOpCall *call, FyNode *node) {
  for (int i = 0; i < 3; i++)
    fy_save_input(node, call, i);
  fy_save_output(node, call, FY_ATTENTION_OUT);
  fy_save_output(node, call, FY_ATTENTION_LSE);
}

static void attention_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grads[3], *in[3];
  for (int i = 0; i < 3; i++)
    in[i] = fy_saved(node, i);
  fy_run_multi(&fy_op_scaled_dot_product_attention_backward, fy_node_params(node, FyAttentionParams),
               FY_INPUTS(in[0], in[1], in[2], grad_out[0], fy_saved(node, SAVED_OUT), fy_saved(node, SAVED_LSE)), 3,
               grads);
  for (int i = 0; i < 3; i++)
    grad_in[i] = fy_node_needs(node, i) ? grads[i] : NULL;
}

// ---- records and the public function -----------------------------------------------------------------------------------

static void attention_cost(const FyLaunch *l, FyOpCost *cost) {
  const FyAttentionShape s = fy_attention_shape(l->in[0], l->in[1], l->in[2]);
  const double products = l->n_in > 3 ? 2.0 * (double)(3 * s.e + 2 * s.ev) : 2.0 * (double)(s.e + s.ev);
  cost->flops = products * (double)s.batches * (double)s.l * (double)s.s;
}

const FyOp fy_op_scaled_dot_product_attention = {
    .name = "scaled_dot_product_attention",
    .grad_name = "ScaledDotProductFlashAttentionForCpuBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = FY_AUTOCAST_EVERYWHERE(FY_AUTOCAST_LOWER),
    .infer = attention_infer,
    .cpu = fy_cpu_scaled_dot_product_attention,
    .save = attention_save,
    .backward = attention_backward,
    .cost = attention_cost,
    .params_size = sizeof(FyAttentionParams),
    .id = FY_OP_ID_scaled_dot_product_attention,
};

const FyOp fy_op_scaled_dot_product_attention_backward = {
    .name = "scaled_dot_product_attention_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = attention_backward_infer,
    .cpu = fy_cpu_scaled_dot_product_attention_backward,
    .cost = attention_cost,
    .params_size = sizeof(FyAttentionParams),
    .id = FY_OP_ID_scaled_dot_product_attention_backward,
};

FyTensor *fy_scaled_dot_product_attention_with(FyTensor *query, FyTensor *key, FyAttention options) {
  const int ndim = query->array.ndim;
  const double e = ndim ? (double)query->array.shape[ndim - 1] : 1;
  FyAttentionParams p = {.is_causal = options.is_causal, .scale = options.scale ? options.scale : 1 / sqrt(e)};
  FyTensor *out[2];
  fy_run_multi(&fy_op_scaled_dot_product_attention, &p, FY_INPUTS(query, key, options.value), 2, out);
  fy_drop(out[FY_ATTENTION_LSE]);
  return out[FY_ATTENTION_OUT];
}
