// SPDX-License-Identifier: MIT
// torch.matmul and F.linear.
#include "op/product/matmul.h"
#include "base/threads.h"
#include "graph/place.h"
#include "op/elementwise/pointwise_math.h"
#include "op/product/matmul_bfloat16.h"
#include "op/op.h"
#include "op/ops.h"
#include <string.h>

// Multiply-adds of one matrix of a batch below which the batch, not the matrix, is what threads share.
enum { SMALL_MATRIX = 1 << 20, BATCH_GRAIN = 1 << 18 };

// ---- checks ------------------------------------------------------------------------------------------------------------

static long long at(const FyTensor *t, int from_end) {
  return (long long)t->array.shape[t->array.ndim - from_end];
}

// Rows of a tensor folded to two dimensions.
static long long folded_rows(const FyTensor *t) {
  long long rows = 1;
  for (int d = 0; d < t->array.ndim - 1; d++)
    rows *= (long long)t->array.shape[d];
  return rows;
}

static void check_matmul_dtypes(const FyTensor *a, const FyTensor *b) {
  FyDType x = a->array.dtype, y = b->array.dtype;
  if (x == y)
    return;
  if (a->array.ndim > 2 && b->array.ndim > 2)
    fy_raise(FY_RUNTIME_ERROR, "expected scalar type %s but found %s", fy_dtype_scalar_name(x),
             fy_dtype_scalar_name(y));
  fy_raise(FY_RUNTIME_ERROR, "expected m1 and m2 to have the same dtype, but got: %s != %s", fy_dtype_cpp_name(x),
           fy_dtype_cpp_name(y));
}

// The name of PyTorch's kernel: a batch times a matrix is folded into one product.
static const char *kernel_name(const FyOpCall *call) {
  int a = call->in[0]->array.ndim, b = call->in[1]->array.ndim;
  bool linear = call->op == &fy_op_linear;
  if (call->device.type == FY_CUDA)
    return "addmm_cuda";
  if (!linear && b == 1)
    return a == 1 ? "dot" : "addmv_impl_cpu";
  return !linear && a > 2 && b > 2 ? "bmm" : "addmm_impl_cpu_";
}

// Integers multiply on the CPU only, bools nowhere, as in PyTorch. Where there is nothing to multiply, none is refused.
static void check_implemented(const FyOpCall *call, bool empty) {
  FyDType dtype = call->in[0]->array.dtype;
  bool cuda = call->device.type == FY_CUDA;
  if (!empty && (dtype == FY_BOOL || (cuda && !fy_dtype_is_floating(dtype))))
    fy_raise_not_implemented(kernel_name(call), dtype);
}

static void check_vectors(const FyTensor *a, const FyTensor *b) {
  FyDType x = a->array.dtype, y = b->array.dtype;
  long long n = at(a, 1), m = at(b, 1);
  fy_check(x == y, FY_RUNTIME_ERROR, "dot : expected both vectors to have same dtype, but found %s and %s",
           fy_dtype_scalar_name(x), fy_dtype_scalar_name(y));
  fy_check(
      n == m, FY_RUNTIME_ERROR,
      "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of elements, but got "
      "%lld and %lld elements respectively",
      n, m, n, m);
}

// A batch on at least one side: sizes are those after the batch dimensions were broadcast to `batch`.
static void check_batched(const FyTensor *a, const FyTensor *b, int ndim, const int64_t *batch) {
  long long batches = 1;
  for (int d = 0; d < ndim; d++)
    batches *= (long long)batch[d];
  long long k = at(a, 1), rows = b->array.ndim == 1 ? at(b, 1) : at(b, 2);
  fy_check(rows == k, FY_RUNTIME_ERROR,
           "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
           batches, k, batches, rows);
}

static void check_matmul_shapes(const FyTensor *a, const FyTensor *b, int batch_ndim, const int64_t *batch) {
  if (a->array.ndim == 1 && b->array.ndim == 1)
    check_vectors(a, b);
  else if (b->array.ndim == 1)
    fy_check(at(a, 1) == at(b, 1), FY_RUNTIME_ERROR, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
             folded_rows(a), folded_rows(a), at(a, 1), at(b, 1));
  else if (b->array.ndim == 2)
    fy_check(at(a, 1) == at(b, 2), FY_RUNTIME_ERROR,
             "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", folded_rows(a), at(a, 1), at(b, 2),
             at(b, 1));
  else
    check_batched(a, b, batch_ndim, batch);
}

// ---- matmul --------------------------------------------------------------------------------------------------------------

// The broadcast of the dimensions before the last two; returns their number.
static int batch_shape_of(const FyTensor *a, const FyTensor *b, int64_t *shape) {
  FyArray x = {.ndim = (int16_t)(a->array.ndim > 2 ? a->array.ndim - 2 : 0)};
  FyArray y = {.ndim = (int16_t)(b->array.ndim > 2 ? b->array.ndim - 2 : 0)};
  memcpy(x.shape, a->array.shape, (size_t)x.ndim * sizeof *x.shape);
  memcpy(y.shape, b->array.shape, (size_t)y.ndim * sizeof *y.shape);
  return fy_broadcast_shapes(&x, &y, shape);
}

static void matmul_infer(FyOpCall *call) {
  FyTensor *a = call->in[0], *b = call->in[1];
  int64_t shape[FY_MAX_DIM + 2];
  FyMatrix matrix;
  fy_check(a->array.ndim > 0 && b->array.ndim > 0, FY_RUNTIME_ERROR,
           "both arguments to matmul need to be at least 1D, but they are %dD and %dD", a->array.ndim, b->array.ndim);
  int ndim = batch_shape_of(a, b, shape);
  check_matmul_shapes(a, b, ndim, shape);
  check_matmul_dtypes(a, b);
  check_implemented(call, a->array.numel == 0 || b->array.numel == 0);
  if (a->array.ndim > 1)
    shape[ndim++] = at(a, 2);
  if (b->array.ndim > 1)
    shape[ndim++] = at(b, 1);
  if (!fy_matrix_of_array(&a->array, true, &matrix))
    fy_call_contiguous(call, 0);
  if (!fy_matrix_of_array(&b->array, false, &matrix))
    fy_call_contiguous(call, 1);
  fy_call_output(call, 0, a->array.dtype, ndim, shape);
}

typedef struct Batch {
  const FyMatmulPlan *plan;
  FyDType dtype;
  const char *a, *b;
  char *c;
  int (*gemm)(FyDType, bool, bool, int64_t, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t,
              double, void *, int64_t);
  int status;
} Batch;

static void run_batch(int64_t begin, int64_t end, void *context) {
  Batch *batch = context;
  const FyMatmulPlan *p = batch->plan;
  int64_t size = (int64_t)fy_dtype_size(batch->dtype);
  for (int64_t i = begin; i < end; i++) {
    int64_t a, b;
    fy_matmul_plan_offsets(p, i, &a, &b);
    int status = batch->gemm(batch->dtype, p->a.trans, p->b.trans, p->m, p->n, p->k, 1, batch->a + a * size, p->a.ld,
                             batch->b + b * size, p->b.ld, 0, batch->c + i * p->m * p->n * size, p->n);
    if (status != FY_LAUNCH_OK)
      batch->status = status;
  }
}

// Small bfloat16 products are made in float32.
static bool matmul_in_bfloat16(const FyOpCall *call) {
  const FyArray *a = &call->in[0]->array, *b = &call->in[1]->array;
  if (!fy_all_bfloat16(call) || a->numel == 0 || b->numel == 0)
    return false;
  int64_t k = a->shape[a->ndim - 1], n = b->ndim == 1 ? 1 : b->shape[b->ndim - 1];
  int64_t m = b->ndim <= 2 ? a->numel / k : a->ndim == 1 ? 1 : a->shape[a->ndim - 2];
  return fy_takes_bfloat16(m, n, k);
}

static int fy_cpu_matmul(FyLaunch *l) {
  const FyArray *a = l->in[0], *b = l->in[1];
  FyArray *c = l->out[0];
  FyMatmulPlan p = fy_matmul_plan(a, b, c->ndim - (a->ndim > 1) - (b->ndim > 1), c->shape);
  Batch batch = {.plan = &p, .dtype = c->dtype, .a = a->data, .b = b->data, .c = c->data, .gemm = fy_gemm};
  int64_t work = p.m * p.n * p.k;
  if (c->numel == 0)
    return FY_LAUNCH_OK;
  if (p.k == 0) { // of any dtype, bool too
    fy_array_clear(c);
    return FY_LAUNCH_OK;
  }
  if (c->dtype == FY_BFLOAT16 && fy_multiplies_bfloat16(p.m, p.n, p.k))
    return fy_bfloat16_matmul(l, &p, a->data, b->data, NULL, false, c->data);
  if (p.batches == 1 || work >= SMALL_MATRIX) {
    run_batch(0, p.batches, &batch);
    return batch.status;
  }
  batch.gemm = fy_gemm_serial;
  fy_parallel_for(p.batches, BATCH_GRAIN / (work + 1) + 1, run_batch, &batch);
  return batch.status;
}

// Each operand is kept if the other one needs a gradient.
static void matmul_save(FyOpCall *call, FyNode *node) {
  fy_save_input_if(fy_node_needs(node, 1), node, call, 0);
  fy_save_input_if(fy_node_needs(node, 0), node, call, 1);
}

// x (..., columns) as a matrix: its rows together, however many dimensions they had.
static FyTensor *rows_of(FyTensor *x) {
  int last = x->array.ndim - 1;
  int64_t rows = 1;
  for (int d = 0; d < last; d++)
    rows *= x->array.shape[d];
  return last == 1 ? x : fy_reshape(x, fy_shape(rows, x->array.shape[last]));
}

// dA (..., m, k) of A (..., m, k) B (..., k, n): grad (..., m, n) times B transposed. Vectors are the matrices they stand for.
static FyTensor *grad_of_left(FyTensor *grad, FyTensor *b, bool row, bool column) {
  b = column ? fy_unsqueeze(b, -1) : b;
  FyTensor *result = fy_matmul(grad, fy_transpose(b, -2, -1));
  return row ? fy_squeeze_dim(result, -2) : result;
}

// dB: A transposed times grad. One B (k, n) for a whole batch of A's: one product over all rows.
static FyTensor *grad_of_right(FyTensor *a, FyTensor *grad, bool row, bool column, bool shared) {
  a = row ? fy_unsqueeze(a, 0) : a;
  FyTensor *result = shared ? fy_matmul(fy_t(rows_of(a)), rows_of(grad)) : fy_matmul(fy_transpose(a, -2, -1), grad);
  return column ? fy_squeeze_dim(result, -1) : result;
}

static void matmul_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grad = grad_out[0];
  bool row = node->inputs[0].ndim == 1, column = node->inputs[1].ndim == 1;
  if (row && column) {
    grad_in[0] = fy_node_needs(node, 0) ? fy_mul(grad, fy_saved(node, 1)) : NULL;
    grad_in[1] = fy_node_needs(node, 1) ? fy_mul(grad, fy_saved(node, 0)) : NULL;
    return;
  }
  grad = column ? fy_unsqueeze(grad, -1) : grad;
  grad = row ? fy_unsqueeze(grad, -2) : grad;
  if (fy_node_needs(node, 0))
    grad_in[0] = grad_of_left(grad, fy_saved(node, 1), row, column);
  if (fy_node_needs(node, 1))
    grad_in[1] = grad_of_right(fy_saved(node, 0), grad, row, column, node->inputs[1].ndim <= 2);
}

// PyTorch composes matmul of other ops; the name is that of the last one.
static const char *matmul_grad_name(const FyNode *node) {
  int a = node->inputs[0].ndim, b = node->inputs[1].ndim;
  if (a == 2 && b == 2)
    return "MmBackward0";
  if (a == 1 && b == 1)
    return "DotBackward0";
  if (a == 2 && b == 1)
    return "MvBackward0";
  return a == 1 && b == 2 ? "SqueezeBackward4" : "UnsafeViewBackward0";
}

static void matmul_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyArray *a = launch->in[0], *b = launch->in[1];
  const double m = a->ndim < 2 ? 1 : (double)a->shape[a->ndim - 2], n = b->ndim < 2 ? 1 : (double)b->shape[b->ndim - 1];
  const double out = (double)launch->out[0]->numel, batch = m * n > 0 ? out / (m * n) : 0;
  const double k = a->ndim ? (double)a->shape[a->ndim - 1] : 0;
  if (b->ndim <= 2) // one for all: the batch is more rows
    fy_cost_product(launch, cost, m * batch, n, k, 1);
  else
    fy_cost_product(launch, cost, m, n, k, batch);
  cost->counted = true;
}

const FyOp fy_op_matmul = {
    .name = "matmul",
    .grad_name = "MmBackward0",
    .grad_name_of = matmul_grad_name,
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_DEVICE_FIRST,
    .autocast = FY_AUTOCAST_EVERYWHERE(FY_AUTOCAST_LOWER),
    .infer = matmul_infer,
    .cpu = fy_cpu_matmul,
    .cpu_bfloat16 = matmul_in_bfloat16,
    .save = matmul_save,
    .backward = matmul_backward,
    .cost = matmul_cost,
    .id = FY_OP_ID_matmul,
};

FyTensor *fy_matmul(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_matmul, NULL, FY_INPUTS(a, b));
}

// ---- linear --------------------------------------------------------------------------------------------------------------

// The bias is expanded to the result's rows and columns.
static void check_bias(const FyTensor *bias, long long rows, long long columns) {
  long long size = bias->array.ndim ? at(bias, 1) : 1;
  fy_check(bias->array.ndim <= 1, FY_RUNTIME_ERROR, "linear(): expected a bias of at most 1 dimension, but it has %d",
           bias->array.ndim);
  fy_check(size == 1 || size == columns, FY_RUNTIME_ERROR,
           "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension 1.  "
           "Target sizes: [%lld, %lld].  Tensor sizes: [%lld]",
           columns, size, rows, columns, size);
}

static void check_linear_dtypes(const FyTensor *x, const FyTensor *weight, const FyTensor *bias) {
  FyDType a = x->array.dtype, b = weight->array.dtype, c = bias ? (FyDType)bias->array.dtype : b;
  fy_check(b == c, FY_RUNTIME_ERROR, "self and mat2 must have the same dtype, but got %s and %s",
           fy_dtype_scalar_name(c), fy_dtype_scalar_name(b));
  fy_check(a == b || bias, FY_RUNTIME_ERROR, "expected m1 and m2 to have the same dtype, but got: %s != %s",
           fy_dtype_cpp_name(a), fy_dtype_cpp_name(b));
  fy_check(a == b, FY_RUNTIME_ERROR, "mat1 and mat2 must have the same dtype, but got %s and %s",
           fy_dtype_scalar_name(a), fy_dtype_scalar_name(b));
}

static void check_linear(const FyOpCall *call) {
  const FyTensor *x = call->in[0], *weight = call->in[1], *bias = call->in[2];
  bool relu = ((const FyLinearParams *)call->params)->relu;
  fy_check(x->array.ndim > 0 && weight->array.ndim > 0, FY_RUNTIME_ERROR,
           "both arguments to linear need to be at least 1D, but they are %dD and %dD", x->array.ndim,
           weight->array.ndim);
  fy_check(weight->array.ndim == 2, FY_RUNTIME_ERROR, "linear(): expected a weight of 2 dimensions, but it has %d",
           weight->array.ndim);
  check_linear_dtypes(x, weight, bias);
  if (bias)
    check_bias(bias, folded_rows(x), at(weight, 2));
  fy_check(at(x, 1) == at(weight, 1), FY_RUNTIME_ERROR,
           "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", folded_rows(x), at(x, 1),
           at(weight, 1), at(weight, 2));
  check_implemented(call, folded_rows(x) == 0 || at(weight, 2) == 0 || (call->device.type == FY_CPU && at(x, 1) == 0));
  fy_check(!relu || x->array.dtype != FY_BOOL, FY_NOT_IMPLEMENTED_ERROR, "Boolean inputs not supported for relu");
}

static void linear_infer(FyOpCall *call) {
  const FyTensor *x = call->in[0], *weight = call->in[1];
  int64_t shape[FY_MAX_DIM];
  int ndim = x->array.ndim;
  FyMatrix matrix;
  check_linear(call);
  memcpy(shape, x->array.shape, (size_t)ndim * sizeof *shape);
  shape[ndim - 1] = at(weight, 2);
  if (ndim != 2 || !fy_matrix_of_array(&x->array, true, &matrix))
    fy_call_contiguous(call, 0);
  if (!fy_matrix_of_array(&weight->array, false, &matrix))
    fy_call_contiguous(call, 1);
  fy_call_contiguous(call, 2);
  fy_call_output(call, 0, x->array.dtype, ndim, shape);
}

static void fill_rows(const FyArray *bias, FyArray *out) {
  size_t bytes = (size_t)bias->numel * fy_dtype_size(out->dtype);
  char *row = out->data;
  for (int64_t i = 0; i < out->numel; i += bias->numel, row += bytes)
    memcpy(row, bias->data, bytes);
}

typedef struct BiasRelu {
  FyArray *out;
  const FyArray *bias; // or NULL
  int64_t columns;
} BiasRelu;

// out (rows, columns) = relu(out + bias).
#define BIAS_RELU_ROWS(S, T, _)                                                                                        \
  static void bias_relu_##S(int64_t begin, int64_t end, void *context) {                                               \
    const BiasRelu *job = context;                                                                                     \
    const T *restrict bias = job->bias ? job->bias->data : NULL;                                                       \
    for (int64_t r = begin; r < end; r++) {                                                                            \
      T *restrict row = (T *)job->out->data + r * job->columns;                                                        \
      for (int64_t i = 0; i < job->columns; i++)                                                                       \
        row[i] = fy_relu_##S(bias ? fy_add_##S(row[i], bias[i]) : row[i]);                                             \
    }                                                                                                                  \
  }
FY_MATH_NUMBERS(BIAS_RELU_ROWS, )

static void relu_bf16(int64_t begin, int64_t end, void *context) { // there is no bias
  const BiasRelu *job = context;
  uint16_t *out = job->out->data;
  for (int64_t i = begin * job->columns; i < end * job->columns; i++)
    out[i] = fy_relu_bf16(out[i]);
}

static int add_bias_and_relu(FyArray *out, const FyArray *bias, int64_t columns) {
  enum { GRAIN = 32768 };
  static void (*const bodies[FY_DTYPE_COUNT])(int64_t, int64_t, void *) = {
      [FY_FLOAT32] = bias_relu_f32, [FY_FLOAT64] = bias_relu_f64, [FY_INT64] = bias_relu_i64,
      [FY_INT32] = bias_relu_i32,   [FY_UINT8] = bias_relu_u8,    [FY_BFLOAT16] = relu_bf16,
  };
  BiasRelu job = {out, bias, columns};
  if (!bodies[out->dtype])
    return FY_LAUNCH_NO_KERNEL;
  fy_parallel_for(out->numel / columns, GRAIN / columns + 1, bodies[out->dtype], &job);
  return FY_LAUNCH_OK;
}

static bool linear_in_bfloat16(const FyOpCall *call) {
  const FyArray *x = &call->in[0]->array, *weight = &call->in[1]->array;
  return fy_all_bfloat16(call) && x->numel > 0 && weight->numel > 0 &&
         fy_takes_bfloat16(x->numel / weight->shape[1], weight->shape[0], weight->shape[1]);
}

static int fy_cpu_linear(FyLaunch *l) {
  bool relu = ((const FyLinearParams *)l->params)->relu;
  const FyArray *bias = l->in[2];
  FyArray *out = l->out[0];
  FyMatmulPlan p = fy_linear_plan(l->in[0], l->in[1]);
  bool add_first = bias && (!relu || out->dtype == FY_BFLOAT16);
  if (p.k == 0) // of any dtype, bool too
    fy_array_clear(out);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  if (out->dtype == FY_BFLOAT16 && fy_multiplies_bfloat16(p.m, p.n, p.k))
    return fy_bfloat16_matmul(l, &p, l->in[0]->data, l->in[1]->data, bias ? bias->data : NULL, relu, out->data);
  if (add_first)
    fill_rows(bias, out);
  int status = p.k == 0 ? FY_LAUNCH_OK
                        : fy_gemm(out->dtype, p.a.trans, p.b.trans, p.m, p.n, p.k, 1, l->in[0]->data, p.a.ld,
                                  l->in[1]->data, p.b.ld, add_first, out->data, p.n);
  return status == FY_LAUNCH_OK && relu ? add_bias_and_relu(out, add_first ? NULL : bias, p.n) : status;
}

enum { SAVED_X, SAVED_WEIGHT, SAVED_RESULT };

static void linear_save(FyOpCall *call, FyNode *node) {
  fy_save_input_if(fy_node_needs(node, 1), node, call, 0);
  fy_save_input_if(fy_node_needs(node, 0), node, call, 1);
  if (fy_node_params(node, FyLinearParams)->relu)
    fy_save_output(node, call, 0);
}

static FySize size_of_input(const FyNode *node, int i) {
  FySize size = {.ndim = node->inputs[i].ndim};
  memcpy(size.dim, node->inputs[i].shape, (size_t)size.ndim * sizeof *size.dim);
  return size;
}

static void linear_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grad = grad_out[0];
  if (fy_node_params(node, FyLinearParams)->relu)
    grad = fy_run(&fy_op_relu_backward, NULL, FY_INPUTS(grad, fy_saved(node, SAVED_RESULT)));
  grad = rows_of(grad);
  if (fy_node_needs(node, 0)) {
    grad_in[0] = fy_matmul(grad, fy_saved(node, SAVED_WEIGHT));
    if (node->inputs[0].ndim != 2)
      grad_in[0] = fy_view(grad_in[0], size_of_input(node, 0));
  }
  if (fy_node_needs(node, 1))
    grad_in[1] = fy_run_into(&fy_op_matmul, NULL, FY_INPUTS(fy_t(grad), rows_of(fy_saved(node, SAVED_X))),
                             fy_node_place(node, 1));
  if (fy_node_needs(node, 2))
    grad_in[2] = fy_sum_dim(grad, 0, false);
}

static const char *linear_grad_name(const FyNode *node) {
  bool bias = fy_node_params(node, FyLinearParams)->bias;
  if (fy_node_params(node, FyLinearParams)->relu)
    return "ReluBackward0";
  switch (node->inputs[0].ndim) {
  case 1:
    return bias ? "AddBackward0" : "SqueezeBackward4";
  case 2:
    return bias ? "AddmmBackward0" : "MmBackward0";
  default:
    return bias ? "ViewBackward0" : "UnsafeViewBackward0";
  }
}

static void linear_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyArray *weight = launch->in[1];
  const double n = (double)weight->shape[0], out = (double)launch->out[0]->numel;
  fy_cost_product(launch, cost, n > 0 ? out / n : 0, n, (double)weight->shape[1], 1);
  cost->counted = true;
}

const FyOp fy_op_linear = {
    .name = "linear",
    .grad_name = "AddmmBackward0",
    .grad_name_of = linear_grad_name,
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_DEVICE_FIRST,
    .autocast = FY_AUTOCAST_EVERYWHERE(FY_AUTOCAST_LOWER),
    .infer = linear_infer,
    .cpu = fy_cpu_linear,
    .cpu_bfloat16 = linear_in_bfloat16,
    .save = linear_save,
    .backward = linear_backward,
    .params_size = sizeof(FyLinearParams),
    .cost = linear_cost,
    .id = FY_OP_ID_linear,
};

static FyTensor *run_linear(FyTensor *x, FyTensor *weight, FyTensor *bias, bool relu) {
  FyLinearParams p = {.bias = bias != NULL, .relu = relu};
  if (x->array.ndim > 0 && weight->array.ndim == 1) { // one output, whose dimension is left out
    fy_check(!bias, FY_RUNTIME_ERROR, "addmm: mat2 must be a matrix, got 1-D tensor");
    return relu ? fy_relu(fy_matmul(x, weight)) : fy_matmul(x, weight);
  }
  if (bias && bias->array.ndim <= 1 && bias->array.numel == 1 && weight->array.ndim == 2 && at(weight, 2) != 1)
    bias = fy_expand(bias, fy_shape(at(weight, 2))); // one number for all
  return fy_run(&fy_op_linear, &p, FY_INPUTS(x, weight, bias));
}

FyTensor *fy_linear(FyTensor *x, FyTensor *weight, FyTensor *bias) {
  return run_linear(x, weight, bias, false);
}

FyTensor *fy_linear_relu(FyTensor *x, FyTensor *weight, FyTensor *bias) {
  return run_linear(x, weight, bias, true);
}
