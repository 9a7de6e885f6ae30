// SPDX-License-Identifier: MIT
// What Ferry's views, cat and index_select make of ONNX's ops on shapes.
#include "onnx/read.h"
#include "op/indexing/index.h"
#include "op/ops.h"
#include "op/shape/cat.h"
#include "op/shape/view.h"
#include <string.h>

static int ndim_of(const FyOnnxReader *r, int value) {
  return fy_onnx_array(r, value)->ndim;
}

static int view(FyOnnxReader *r, const FyOp *op, FyViewParams p, int value) {
  return fy_onnx_emit(r, op, &p, FY_VALUES(value));
}

// ---- reshape ---------------------------------------------------------------------------------------------------------------

// 0 keeps a size, unless allowzero; -1 is what the others leave.
static void complete(const FyArray *a, bool allowzero, int n, int64_t *shape) {
  int64_t rest = 1;
  int unknown = -1;
  for (int d = 0; d < n; d++) {
    if (shape[d] == 0 && !allowzero && d >= a->ndim)
      fy_onnx_malformed("a size is to be kept that the input does not have: dimension %d of %d", d, a->ndim);
    shape[d] = shape[d] == 0 && !allowzero ? a->shape[d] : shape[d];
    if (shape[d] == -1 && unknown >= 0)
      fy_onnx_malformed("two dimensions are -1");
    if (shape[d] == -1)
      unknown = d;
    else if (shape[d] < 0 || shape[d] > FY_ONNX_MAX_ELEMENTS || (rest && shape[d] > FY_ONNX_MAX_ELEMENTS / rest))
      fy_onnx_malformed("a dimension is %lld", (long long)shape[d]);
    else
      rest *= shape[d];
  }
  if (unknown < 0)
    return;
  if (rest == 0)
    fy_onnx_malformed("-1 beside a dimension of 0 may be any size");
  shape[unknown] = a->numel / rest;
}

static void read_reshape(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0);
  int64_t shape[FY_MAX_DIM];
  const int n = fy_onnx_integers_of(r, fy_onnx_input(r, 1), "the shape", shape, FY_MAX_DIM);
  complete(fy_onnx_array(r, x), fy_onnx_read_int(r, "allowzero", 0), n, shape);
  fy_onnx_result(r, 0, fy_onnx_view(r, x, n, shape));
}

static void read_flatten(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), ndim = ndim_of(r, x);
  const int64_t axis = fy_onnx_read_int(r, "axis", 1);
  const int split = axis == ndim ? ndim : fy_onnx_axis(axis, ndim);
  int64_t shape[2] = {1, 1};
  for (int d = 0; d < ndim; d++)
    shape[d >= split] *= fy_onnx_array(r, x)->shape[d];
  fy_onnx_result(r, 0, fy_onnx_view(r, x, 2, shape));
}

static void read_transpose(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), ndim = ndim_of(r, x);
  int64_t perm[FY_MAX_DIM];
  const int n = fy_onnx_read_ints(r, "perm", perm, FY_MAX_DIM);
  uint32_t seen = 0;
  if (n >= 0 && n != ndim)
    fy_onnx_malformed("perm has %d dimensions, its input %d", n, ndim);
  for (int d = 0; d < ndim; d++) {
    perm[d] = n < 0 ? ndim - 1 - d : perm[d];
    if (perm[d] < 0 || perm[d] >= ndim || seen >> perm[d] & 1)
      fy_onnx_malformed("perm does not name each dimension once");
    seen |= 1u << perm[d];
  }
  fy_onnx_result(r, 0, ndim ? fy_onnx_permute(r, x, perm) : x);
}

static void read_squeeze(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), ndim = ndim_of(r, x);
  int64_t axes[FY_MAX_DIM];
  const int n = fy_onnx_read_axes(r, "axes", 13, 1, axes, FY_MAX_DIM);
  FyViewParams p = {0};
  for (int i = 0; i < n; i++)
    p.dim |= 1 << fy_onnx_axis(axes[i], ndim);
  for (int d = 0; d < ndim; d++) {
    const bool one = fy_onnx_array(r, x)->shape[d] == 1;
    if (n < 0)
      p.dim |= one << d;
    else if (p.dim >> d & 1 && !one)
      fy_onnx_malformed("dimension %d has the size %lld, not 1", d, (long long)fy_onnx_array(r, x)->shape[d]);
  }
  fy_onnx_result(r, 0, p.dim ? view(r, &fy_op_squeeze, p, x) : x);
}

static void read_unsqueeze(FyOnnxReader *r) {
  int x = fy_onnx_input(r, 0);
  int64_t axes[FY_MAX_DIM];
  const int n = fy_onnx_read_axes(r, "axes", 13, 1, axes, FY_MAX_DIM), ndim = ndim_of(r, x) + n;
  uint32_t fresh = 0;
  if (n < 0)
    fy_onnx_malformed("it has no axes");
  if (ndim > FY_MAX_DIM)
    fy_onnx_unsupported("a tensor would have %d dimensions, at most %d are supported", ndim, FY_MAX_DIM);
  for (int i = 0; i < n; i++) {
    const uint32_t bit = 1u << fy_onnx_axis(axes[i], ndim);
    if (fresh & bit)
      fy_onnx_malformed("an axis comes twice");
    fresh |= bit;
  }
  for (int d = 0; d < ndim; d++)
    if (fresh >> d & 1)
      x = view(r, &fy_op_unsqueeze, (FyViewParams){.dim = d}, x);
  fy_onnx_result(r, 0, x);
}

static void read_expand(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0);
  const FyArray a = *fy_onnx_array(r, x);
  FyViewParams p = {0};
  int64_t given[FY_MAX_DIM];
  const int n = fy_onnx_integers_of(r, fy_onnx_input(r, 1), "the shape", given, FY_MAX_DIM);
  p.ndim = n > a.ndim ? n : a.ndim;
  for (int d = 0; d < p.ndim; d++) { // both broadcast: a 1 on either side is what the other has
    const int64_t wanted = d < p.ndim - n ? 1 : given[d - (p.ndim - n)];
    const int64_t had = d < p.ndim - a.ndim ? 1 : a.shape[d - (p.ndim - a.ndim)];
    if (wanted < 0 || (wanted != 1 && had != 1 && wanted != had))
      fy_onnx_malformed("%s cannot be expanded to %s", fy_sizes_string(a.ndim, a.shape), fy_sizes_string(n, given));
    p.shape[d] = wanted == 1 ? had : wanted;
  }
  fy_onnx_check_shape(p.ndim, p.shape);
  const bool same = p.ndim == a.ndim && memcmp(p.shape, a.shape, (size_t)a.ndim * sizeof *a.shape) == 0;
  fy_onnx_result(r, 0, same ? x : view(r, &fy_op_expand, p, x));
}

// ---- slices ----------------------------------------------------------------------------------------------------------------

static int64_t clip(int64_t value, int64_t size) {
  value = value < 0 ? (value < -size ? 0 : value + size) : value;
  return value > size ? size : value;
}

static int sliced(FyOnnxReader *r, int x, int dim, int64_t start, int64_t end, int64_t step) {
  const int64_t size = fy_onnx_array(r, x)->shape[dim];
  start = clip(start, size);
  end = clip(end, size);
  const int64_t length = end > start ? (end - start - 1) / step + 1 : 0;
  if (length == size)
    return x;
  return view(r, &fy_op_slice, (FyViewParams){.dim = dim, .start = start, .step = step, .length = length}, x);
}

// Attributes before opset 10, then inputs.
static void read_slice(FyOnnxReader *r) {
  int64_t starts[FY_MAX_DIM], ends[FY_MAX_DIM], axes[FY_MAX_DIM], steps[FY_MAX_DIM];
  int x = fy_onnx_input(r, 0);
  const int ndim = ndim_of(r, x), n = fy_onnx_read_axes(r, "starts", 10, 1, starts, FY_MAX_DIM);
  const int m = fy_onnx_read_axes(r, "ends", 10, 2, ends, FY_MAX_DIM);
  const int a = fy_onnx_read_axes(r, "axes", 10, 3, axes, FY_MAX_DIM);
  const int s = r->opset < 10 ? -1 : fy_onnx_read_axes(r, "steps", 10, 4, steps, FY_MAX_DIM);
  if (n < 0 || m != n || (a >= 0 && a != n) || (s >= 0 && s != n))
    fy_onnx_malformed("starts, ends, axes and steps are not equally many");
  for (int i = 0; i < n; i++) {
    const int64_t step = s < 0 ? 1 : steps[i];
    if (step <= 0)
      fy_onnx_unsupported("a step of %lld is not supported: slices in Ferry go forwards", (long long)step);
    x = sliced(r, x, fy_onnx_axis(a < 0 ? i : axes[i], ndim), starts[i], ends[i], step);
  }
  fy_onnx_result(r, 0, x);
}

// Into as many parts as it has outputs: of sizes that are given, or of the same size, the last one maybe smaller.
static void read_split(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0);
  const int dim = fy_onnx_axis(fy_onnx_read_int(r, "axis", 0), ndim_of(r, x));
  const int64_t size = fy_onnx_array(r, x)->shape[dim], parts = (int64_t)r->node->n_output;
  enum { MOST = 256 };
  int64_t sizes[MOST], begin = 0;
  const int n = fy_onnx_read_axes(r, "split", 13, 1, sizes, MOST);
  if (n >= 0 && n != parts)
    fy_onnx_malformed("it has %lld outputs, but split has %d sizes", (long long)parts, n);
  if (r->opset >= 18 && fy_onnx_read_int(r, "num_outputs", parts) != parts)
    fy_onnx_malformed("num_outputs is not the number of its outputs");
  for (int64_t i = 0; i < parts; i++) {
    const int64_t even = (size + parts - 1) / parts, rest = size - begin;
    const int64_t length = n >= 0 ? sizes[i] : even < rest ? even : rest;
    if (length < 0 || length > rest)
      fy_onnx_malformed("its parts take more than the %lld elements of the dimension", (long long)size);
    if (fy_onnx_is_wanted(r, (size_t)i))
      fy_onnx_result(r, (size_t)i,
                     length == size ? x
                                    : view(r, &fy_op_slice,
                                           (FyViewParams){.dim = dim, .start = begin, .step = 1, .length = length}, x));
    begin += length;
  }
}

// ---- joining ---------------------------------------------------------------------------------------------------------------

// As many at a time as a call takes.
static int joined(FyOnnxReader *r, int n, const int *in, int dim) {
  const FyArray *first = fy_onnx_array(r, in[0]);
  FyCatParams p = {.ndim = first->ndim, .dim = dim, .dtype = first->dtype};
  memcpy(p.shape, first->shape, sizeof p.shape);
  p.shape[dim] = 0;
  for (int i = 0; i < n; i++) {
    const FyArray *a = fy_onnx_array(r, in[i]);
    for (int d = 0; d < p.ndim; d++)
      if (a->ndim != p.ndim || a->dtype != p.dtype || (d != dim && a->shape[d] != p.shape[d]))
        fy_onnx_malformed("its inputs do not fit: %s and %s", fy_sizes_string(p.ndim, first->shape),
                          fy_sizes_string(a->ndim, a->shape));
    p.shape[dim] += a->shape[dim];
    fy_onnx_check_shape(p.ndim, p.shape);
  }
  return fy_onnx_emit(r, &fy_op_cat, &p, n, in);
}

static void read_concat(FyOnnxReader *r) {
  const Onnx__AttributeProto *axis = fy_onnx_attribute(r, "axis", FY_ONNX_INT);
  int in[FY_MAX_INPUTS] = {fy_onnx_input(r, 0)}, n = 1;
  if (!axis)
    fy_onnx_malformed("it has no axis");
  const int dim = fy_onnx_axis(axis->i, ndim_of(r, in[0]));
  for (size_t i = 1; i < r->node->n_input; i++) {
    in[n++] = fy_onnx_input(r, i);
    if (n == FY_MAX_INPUTS) {
      in[0] = joined(r, n, in, dim);
      n = 1;
    }
  }
  fy_onnx_result(r, 0, n > 1 ? joined(r, n, in, dim) : in[0]);
}

// ---- picking ---------------------------------------------------------------------------------------------------------------

// Indices that the file fixes are checked here; those that count from the end are written anew.
static int checked_indices(FyOnnxReader *r, int given, int64_t size) {
  FyTensor *constant = fy_onnx_constant(r, given);
  bool from_end = false;
  fy_onnx_take(r, constant->array.numel, FY_INT64);
  const int scope = fy_scope_open();
  FyTensor *indices = fy_to(constant, FY_CPU_DEVICE, .dtype = FY_INT64, .copy = true);
  int64_t *at = fy_data_ptr(indices);
  for (int64_t i = 0; i < indices->array.numel; i++) {
    if (at[i] < -size || at[i] >= size)
      fy_onnx_malformed("index %lld of %lld", (long long)at[i], (long long)size);
    from_end |= at[i] < 0;
    at[i] += at[i] < 0 ? size : 0;
  }
  if (from_end)
    fy_keep(indices);
  fy_scope_close(scope);
  return from_end ? fy_onnx_add_constant(r, NULL, indices) : fy_onnx_row_major(r, given);
}

// Of one dimension at indices of any shape, which takes its place.
static void read_gather(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), given = fy_onnx_input(r, 1);
  const FyArray a = *fy_onnx_array(r, x), i = *fy_onnx_array(r, given);
  if (i.dtype != FY_INT64 && i.dtype != FY_INT32)
    fy_onnx_malformed("indices are int32 or int64, but these are %s", fy_dtype_name(i.dtype));
  const int dim = fy_onnx_axis(fy_onnx_read_int(r, "axis", 0), a.ndim);
  int index = fy_onnx_constant(r, given) ? checked_indices(r, given, a.shape[dim]) : fy_onnx_row_major(r, given);
  if (fy_onnx_constant(r, index) && i.ndim == 0) {
    const int64_t at = fy_item_int64(fy_onnx_constant(r, index));
    fy_onnx_result(r, 0, view(r, &fy_op_select, (FyViewParams){.dim = dim, .start = at}, x));
    return;
  }
  if (a.ndim == 2 && dim == 0) {
    fy_onnx_result(r, 0, fy_onnx_emit(r, &fy_op_embedding, &(FyIndexParams){0}, FY_VALUES(index, x)));
    return;
  }
  if (i.ndim != 1)
    index = fy_onnx_view(r, index, 1, &i.numel);
  const int out = fy_onnx_emit(r, &fy_op_index_select, &(FyIndexParams){dim}, FY_VALUES(x, index));
  int64_t shape[2 * FY_MAX_DIM];
  int n = 0;
  for (int d = 0; d < a.ndim; d++) {
    for (int k = 0; d == dim && k < i.ndim; k++)
      shape[n++] = i.shape[k];
    if (d != dim)
      shape[n++] = a.shape[d];
  }
  if (n > FY_MAX_DIM)
    fy_onnx_unsupported("a tensor would have %d dimensions, at most %d are supported", n, FY_MAX_DIM);
  fy_onnx_result(r, 0, i.ndim == 1 ? out : fy_onnx_view(r, out, n, shape));
}

FyOnnxRead *fy_onnx_shape_reader(const char *op) {
  static const struct {
    const char *name;
    FyOnnxRead *read;
  } readers[] = {
      {"Reshape", read_reshape}, {"Flatten", read_flatten},     {"Transpose", read_transpose},
      {"Squeeze", read_squeeze}, {"Unsqueeze", read_unsqueeze}, {"Expand", read_expand},
      {"Slice", read_slice},     {"Split", read_split},         {"Concat", read_concat},
      {"Gather", read_gather},
  };
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strcmp(readers[i].name, op) == 0)
      return readers[i].read;
  return NULL;
}
