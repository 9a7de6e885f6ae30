// SPDX-License-Identifier: MIT
// What Ferry's layers make of ONNX's products, convolutions, pooling, normalization and reductions.
#include "onnx/read.h"
#include "op/convolution/conv.h"
#include "op/convolution/pool.h"
#include "op/elementwise/pointwise.h"
#include "op/loss/loss.h"
#include "op/normalization/layer_norm.h"
#include "op/normalization/norm.h"
#include "op/normalization/softmax.h"
#include "op/ops.h"
#include "op/product/matmul.h"
#include "op/reduction/reduce.h"
#include "op/shape/view.h"
#include <string.h>

static bool is_op(const FyOnnxReader *r, const char *op) {
  return strcmp(r->node->op_type, op) == 0;
}

static int number(FyOnnxReader *r, const FyOp *op, int a, double b) {
  return fy_onnx_emit(r, op, &(FyPointwise){.a = b}, FY_VALUES(a));
}
static int binary(FyOnnxReader *r, const FyOp *op, int a, int b) {
  return fy_onnx_emit(r, op, &(FyPointwise){0}, FY_VALUES(a, b));
}

// ---- products --------------------------------------------------------------------------------------------------------------

static const FyProgramStep *maker_of(const FyOnnxReader *r, int value) {
  return r->known[value]->maker < 0 ? NULL : &r->program->steps[r->known[value]->maker];
}

// The weight whose transpose it is, (out, in); -1: it is none.
static int weight_of(const FyOnnxReader *r, int value) {
  const FyProgramStep *maker = maker_of(r, value);
  const bool turned = maker && maker->op == &fy_op_permute && fy_onnx_array(r, value)->ndim == 2 &&
                      ((const FyViewParams *)maker->params)->shape[0] == 1;
  return turned ? maker->in[0] : -1;
}

// By a transposed weight it is a linear layer.
static void read_matmul(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), other = fy_onnx_input(r, 1), weight = weight_of(r, other);
  const FyLinearParams p = {0};
  fy_onnx_result(r, 0,
                 weight < 0 || fy_onnx_array(r, x)->ndim == 0
                     ? fy_onnx_emit(r, &fy_op_matmul, NULL, FY_VALUES(x, other))
                     : fy_onnx_emit(r, &fy_op_linear, &p, FY_VALUES(x, weight, -1)));
}

// Of rows of rows; that of a matrix is in its Gemm, and what is added to that is another thing.
bool fy_onnx_reads_as_bias(FyOnnxReader *r, int a, int b) {
  const FyProgramStep *maker = maker_of(r, a);
  const FyArray *out = fy_onnx_array(r, a), *bias = fy_onnx_array(r, b);
  const FyLinearParams p = {.bias = true};
  const FyProgramValue *value = &r->program->values[b];
  if (!maker || maker->op != &fy_op_linear || maker->in[2] >= 0 || !value->name || !value->constant || out->ndim == 2 ||
      bias->ndim != 1 || bias->dtype != out->dtype || bias->shape[0] != out->shape[out->ndim - 1] ||
      strcmp(r->node->op_type, "Add") != 0)
    return false;
  fy_onnx_result(r, 0, fy_onnx_emit(r, &fy_op_linear, &p, FY_VALUES(maker->in[0], maker->in[1], b)));
  return true;
}

static int transposed(FyOnnxReader *r, int value) {
  return fy_onnx_emit(r, &fy_op_transpose, &(FyViewParams){.dim = 0, .dim1 = 1}, FY_VALUES(value));
}

// alpha A B + beta C: a linear layer where C is a row. A weight that lies the other way round is a view of itself.
static void read_gemm(FyOnnxReader *r) {
  const double alpha = fy_onnx_read_float(r, "alpha", 1), beta = fy_onnx_read_float(r, "beta", 1);
  int a = fy_onnx_input(r, 0), b = fy_onnx_input(r, 1), c = fy_onnx_optional(r, 2);
  if (fy_onnx_array(r, a)->ndim != 2 || fy_onnx_array(r, b)->ndim != 2)
    fy_onnx_malformed("Gemm takes two matrices, but they have %d and %d dimensions", fy_onnx_array(r, a)->ndim,
                      fy_onnx_array(r, b)->ndim);
  a = fy_onnx_read_int(r, "transA", 0) ? transposed(r, a) : a;
  b = fy_onnx_read_int(r, "transB", 0) ? b : transposed(r, b);
  if (c >= 0 && beta != 1)
    c = number(r, &fy_op_mul, c, beta);
  const FyArray *row = c < 0 ? NULL : fy_onnx_array(r, c);
  const int64_t columns = fy_onnx_array(r, b)->shape[0];
  const bool flat = row && row->ndim == 2 && row->shape[0] == 1 && row->shape[1] == columns;
  if (flat)
    c = fy_onnx_view(r, c, 1, &columns);
  const bool fits = c >= 0 && alpha == 1 && (flat || (row->ndim == 1 && row->shape[0] == columns));
  const FyLinearParams p = {.bias = fits};
  int out = fy_onnx_emit(r, &fy_op_linear, &p, FY_VALUES(a, b, fits ? c : -1));
  if (alpha != 1)
    out = number(r, &fy_op_mul, out, alpha);
  if (c >= 0 && !fits)
    out = binary(r, &fy_op_add, out, c);
  fy_onnx_result(r, 0, out);
}

// ---- windows ---------------------------------------------------------------------------------------------------------------

// One number for both edges. Ferry's windows are square, with the same padding on all sides.
static int both(FyOnnxReader *r, const char *name, int otherwise, int n) {
  int64_t values[4];
  const int found = fy_onnx_read_ints(r, name, values, 4);
  if (found < 0)
    return otherwise;
  if (found != n)
    fy_onnx_unsupported("%s has %d numbers; only images (N, C, H, W) are supported, which need %d", name, found, n);
  for (int i = 0; i < n; i++) {
    if (values[i] < 0 || values[i] > FY_ONNX_MAX_WINDOW)
      fy_onnx_malformed("%s is %lld", name, (long long)values[i]);
    if (values[i] != values[0])
      fy_onnx_unsupported("%s differs from side to side (%lld and %lld): only one number for all sides is supported",
                          name, (long long)values[0], (long long)values[i]);
  }
  return (int)values[0];
}

static int image(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0);
  if (fy_onnx_array(r, x)->ndim != 4)
    fy_onnx_unsupported("its input has %d dimensions; only images (N, C, H, W) are supported",
                        fy_onnx_array(r, x)->ndim);
  if (!fy_onnx_text_is(r, "auto_pad", "NOTSET", true) && !fy_onnx_text_is(r, "auto_pad", "VALID", false))
    fy_onnx_unsupported("auto_pad is not supported: export with explicit pads");
  return x;
}

static void read_conv(FyOnnxReader *r) {
  const int x = image(r), weight = fy_onnx_input(r, 1), bias = fy_onnx_optional(r, 2);
  const int64_t groups = fy_onnx_read_int(r, "group", 1);
  FyConv2dParams p = {
      .stride = both(r, "strides", 1, 2), .padding = both(r, "pads", 0, 4), .dilation = both(r, "dilations", 1, 2)};
  int64_t edges[FY_MAX_DIM];
  const int n = fy_onnx_read_ints(r, "kernel_shape", edges, FY_MAX_DIM);
  const FyArray *w = fy_onnx_array(r, weight);
  if (groups < 1 || groups > FY_ONNX_MAX_WINDOW)
    fy_onnx_malformed("group is %lld", (long long)groups);
  p.groups = (int)groups;
  if (w->ndim == 4 && (w->shape[2] > FY_ONNX_MAX_WINDOW || w->shape[3] > FY_ONNX_MAX_WINDOW))
    fy_onnx_malformed("its kernel has the shape %s", fy_sizes_string(w->ndim, w->shape));
  if (n >= 0 && (n != 2 || w->ndim != 4 || edges[0] != w->shape[2] || edges[1] != w->shape[3]))
    fy_onnx_malformed("kernel_shape is not that of its weight, %s", fy_sizes_string(w->ndim, w->shape));
  fy_onnx_result(r, 0, fy_onnx_emit(r, &fy_op_conv2d, &p, FY_VALUES(x, weight, bias)));
}

// With ceil_mode the last window may hang over; where it would not, it is none the less what it says.
static void check_no_ceiling(FyOnnxReader *r, int x, const FyPool2dParams *p) {
  if (!fy_onnx_read_int(r, "ceil_mode", 0))
    return;
  for (int d = 2; d < 4; d++)
    if (p->stride && (fy_onnx_array(r, x)->shape[d] + 2 * p->padding - p->kernel) % p->stride)
      fy_onnx_unsupported("ceil_mode is not supported: windows that hang over the edge are left out in Ferry");
}

static void read_pool(FyOnnxReader *r) {
  const bool average = is_op(r, "AveragePool");
  const int x = image(r), kernel = both(r, "kernel_shape", 0, 2);
  const FyPool2dParams p = {.kernel = kernel, .stride = both(r, "strides", 1, 2), .padding = both(r, "pads", 0, 4)};
  if (both(r, "dilations", 1, 2) != 1)
    fy_onnx_unsupported("dilations are not supported in pooling");
  check_no_ceiling(r, x, &p);
  if (average && !fy_onnx_read_int(r, "count_include_pad", 0) && p.padding)
    fy_onnx_unsupported("an average that leaves the padding out is not supported: export with count_include_pad=True");
  fy_onnx_read_int(r, "storage_order", 0); // of the indices, which are not supported
  fy_onnx_result(r, 0,
                 average ? fy_onnx_emit(r, &fy_op_avg_pool2d, &p, FY_VALUES(x))
                         : fy_onnx_emit_output(r, &fy_op_max_pool2d, &p, FY_VALUES(x), 2, 0));
}

// ---- normalization ---------------------------------------------------------------------------------------------------------

static int plain_row(FyOnnxReader *r, size_t input) {
  return fy_onnx_row_major(r, fy_onnx_input(r, input));
}

static void read_batch_norm(FyOnnxReader *r) {
  const FyBatchNormParams p = {.eps = fy_onnx_read_float(r, "epsilon", 1e-5), .momentum = 0.1};
  fy_onnx_read_float(r, "momentum", 0.9); // for training
  if (fy_onnx_read_int(r, "training_mode", 0))
    fy_onnx_unsupported("it is in training mode: export the network in evaluation mode");
  if (fy_onnx_is_wanted(r, 1))
    fy_onnx_unsupported("only its first output is supported");
  const int in[] = {fy_onnx_input(r, 0), plain_row(r, 1), plain_row(r, 2), plain_row(r, 3), plain_row(r, 4)};
  for (int i = 3; i < 5; i++)
    if (fy_onnx_constant(r, in[i]))
      r->known[in[i]]->is_buffer = true;
  fy_onnx_result(r, 0, fy_onnx_emit_output(r, &fy_op_batch_norm, &p, 5, in, 3, 0));
}

// Before opset 13 it is of a matrix: the dimensions before the axis by those from it on.
static void read_softmax(FyOnnxReader *r) {
  const bool flattens = r->opset < 13;
  int x = fy_onnx_input(r, 0);
  const FyArray a = *fy_onnx_array(r, x);
  const FyOp *op = is_op(r, "Softmax") ? &fy_op_softmax : &fy_op_log_softmax;
  const int axis = fy_onnx_axis(fy_onnx_read_int(r, "axis", flattens ? 1 : -1), a.ndim);
  FySoftmaxParams p = {.dim = axis};
  int64_t matrix[2] = {1, 1};
  for (int d = 0; d < a.ndim; d++)
    matrix[d >= axis] *= a.shape[d];
  if (!flattens || axis == a.ndim - 1) {
    fy_onnx_result(r, 0, fy_onnx_emit(r, op, &p, FY_VALUES(x)));
    return;
  }
  p.dim = 1;
  x = fy_onnx_emit(r, op, &p, FY_VALUES(fy_onnx_view(r, x, 2, matrix)));
  fy_onnx_result(r, 0, fy_onnx_view(r, x, a.ndim, a.shape));
}

// Whether a parameter of layer_norm has the shape and dtype that the op asks for.
static bool is_of_layer_norm(const FyOnnxReader *r, int value, const FyLayerNormParams *p, FyDType dtype) {
  return value < 0 ||
         (fy_has_shape(fy_onnx_array(r, value), p->dims, p->shape) && (FyDType)fy_onnx_array(r, value)->dtype == dtype);
}

// Over the axis and all after it. Where a parameter is broadcast, and where the batch is normalized over, by parts:
// (x - mean) / sqrt(variance + epsilon) * scale + bias.
static void read_layer_norm(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), scale = fy_onnx_input(r, 1), bias = fy_onnx_optional(r, 2);
  const FyArray a = *fy_onnx_array(r, x);
  const int ndim = a.ndim, axis = fy_onnx_axis(fy_onnx_read_int(r, "axis", -1), ndim);
  const FyReduceParams p = {.dims = (1u << ndim) - (1u << axis), .keepdim = true};
  const double epsilon = fy_onnx_read_float(r, "epsilon", 1e-5);
  FyLayerNormParams whole = {.dims = ndim - axis, .eps = epsilon};
  memcpy(whole.shape, a.shape + axis, (size_t)whole.dims * sizeof *whole.shape);
  fy_onnx_read_int(r, "stash_type", 1);
  if (axis > 0 && is_of_layer_norm(r, scale, &whole, (FyDType)a.dtype) &&
      is_of_layer_norm(r, bias, &whole, (FyDType)a.dtype)) {
    const int in[] = {x, fy_onnx_row_major(r, scale), bias < 0 ? bias : fy_onnx_row_major(r, bias)};
    fy_onnx_result(r, 0, fy_onnx_emit_output(r, &fy_op_layer_norm, &whole, 3, in, 3, 0));
    return;
  }
  const int centered = binary(r, &fy_op_sub, x, fy_onnx_emit(r, &fy_op_mean, &p, FY_VALUES(x)));
  const int squares = binary(r, &fy_op_mul, centered, centered);
  const int variance = fy_onnx_emit(r, &fy_op_mean, &p, FY_VALUES(squares));
  const int root = fy_onnx_emit(r, &fy_op_sqrt, NULL, FY_VALUES(number(r, &fy_op_add, variance, epsilon)));
  int out = binary(r, &fy_op_mul, binary(r, &fy_op_div, centered, root), scale);
  if (bias >= 0)
    out = binary(r, &fy_op_add, out, bias);
  fy_onnx_result(r, 0, out);
}

// ---- reductions ------------------------------------------------------------------------------------------------------------

// The dimensions as a mask; 0 and all of them are told apart by *none.
static uint32_t read_dims(FyOnnxReader *r, int ndim, bool *none) {
  const int64_t since = is_op(r, "ReduceSum") ? 13 : 18;
  int64_t axes[FY_MAX_DIM];
  uint32_t dims = 0;
  const int n = fy_onnx_read_axes(r, "axes", since, 1, axes, FY_MAX_DIM);
  const bool noop = r->opset >= since && fy_onnx_read_int(r, "noop_with_empty_axes", 0);
  for (int i = 0; i < n; i++)
    dims |= 1u << fy_onnx_axis(axes[i], ndim);
  *none = n <= 0 && noop;
  return n <= 0 ? (1u << ndim) - 1 : dims;
}

// One dimension after the other, from the last on.
static int extremes(FyOnnxReader *r, int x, uint32_t dims, bool keepdim) {
  const FyOp *op = is_op(r, "ReduceMin") ? &fy_op_min_dim : &fy_op_max_dim;
  for (int d = fy_onnx_array(r, x)->ndim - 1; d >= 0; d--)
    if (dims >> d & 1)
      x = fy_onnx_emit_output(r, op, &(FyExtremumParams){.dim = d, .keepdim = keepdim}, FY_VALUES(x), 2, 0);
  return x;
}

static void read_reduce(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), ndim = fy_onnx_array(r, x)->ndim;
  const FyDType dtype = (FyDType)fy_onnx_array(r, x)->dtype;
  const bool keepdim = fy_onnx_read_int(r, "keepdims", 1);
  bool none;
  const uint32_t dims = read_dims(r, ndim, &none);
  const FyReduceParams p = {.dims = dims, .keepdim = keepdim};
  const bool all = dims == (1u << ndim) - 1 && !keepdim;
  int out = x;
  if (none || !ndim)
    out = x;
  else if (is_op(r, "ReduceMax") || is_op(r, "ReduceMin"))
    out = all ? fy_onnx_emit(r, is_op(r, "ReduceMax") ? &fy_op_max : &fy_op_min, &(FyExtremumParams){.dim = -1},
                             FY_VALUES(x))
              : extremes(r, x, dims, keepdim);
  else
    out = fy_onnx_emit(r, is_op(r, "ReduceSum") ? &fy_op_sum : &fy_op_mean, &p, FY_VALUES(x));
  fy_onnx_result(r, 0, fy_onnx_converted(r, out, dtype));
}

static void read_arg(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0);
  const FyExtremumParams p = {.dim = fy_onnx_axis(fy_onnx_read_int(r, "axis", 0), fy_onnx_array(r, x)->ndim),
                              .keepdim = fy_onnx_read_int(r, "keepdims", 1)};
  if (fy_onnx_read_int(r, "select_last_index", 0))
    fy_onnx_unsupported("select_last_index is not supported: of equal elements the first is taken");
  fy_onnx_result(r, 0, fy_onnx_emit(r, is_op(r, "ArgMax") ? &fy_op_argmax : &fy_op_argmin, &p, FY_VALUES(x)));
}

static void read_global_pool(FyOnnxReader *r) {
  const int x = image(r);
  const FyReduceParams p = {.dims = 1u << 2 | 1u << 3, .keepdim = true};
  fy_onnx_result(
      r, 0, is_op(r, "GlobalMaxPool") ? extremes(r, x, p.dims, true) : fy_onnx_emit(r, &fy_op_mean, &p, FY_VALUES(x)));
}

// ---- losses ----------------------------------------------------------------------------------------------------------------

static void read_cross_entropy(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), target = fy_onnx_input(r, 1);
  FyLossParams p = {.reduction = FY_REDUCE_MEAN, .ignore_index = fy_onnx_read_int(r, "ignore_index", -100)};
  if (fy_onnx_text_is(r, "reduction", "sum", false))
    p.reduction = FY_REDUCE_SUM;
  else if (fy_onnx_text_is(r, "reduction", "none", false))
    p.reduction = FY_REDUCE_NONE;
  if (fy_onnx_optional(r, 2) >= 0 || fy_onnx_array(r, x)->ndim != 2)
    fy_onnx_unsupported("weights of classes, and inputs that are not (N, C), are not supported");
  fy_onnx_result(r, 0, fy_onnx_emit_output(r, &fy_op_cross_entropy, &p, FY_VALUES(x, target), 3, 0));
}

FyOnnxRead *fy_onnx_layer_reader(const char *op) {
  static const struct {
    const char *name;
    FyOnnxRead *read;
  } readers[] = {
      {"MatMul", read_matmul},
      {"Gemm", read_gemm},
      {"Conv", read_conv},
      {"MaxPool", read_pool},
      {"AveragePool", read_pool},
      {"GlobalAveragePool", read_global_pool},
      {"GlobalMaxPool", read_global_pool},
      {"BatchNormalization", read_batch_norm},
      {"LayerNormalization", read_layer_norm},
      {"Softmax", read_softmax},
      {"LogSoftmax", read_softmax},
      {"ReduceSum", read_reduce},
      {"ReduceMean", read_reduce},
      {"ReduceMax", read_reduce},
      {"ReduceMin", read_reduce},
      {"ArgMax", read_arg},
      {"ArgMin", read_arg},
      {"SoftmaxCrossEntropyLoss", read_cross_entropy},
  };
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strcmp(readers[i].name, op) == 0)
      return readers[i].read;
  return NULL;
}
