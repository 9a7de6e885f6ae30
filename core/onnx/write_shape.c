// SPDX-License-Identifier: MIT
// How views, cat and index_select are said in ONNX.
#include "onnx/write.h"
#include "op/indexing/index.h"
#include "op/shape/cat.h"
#include "op/shape/view.h"
#include <string.h>

static const FyProgramValue *input(const FyOnnxWriter *w, const FyProgramStep *step) {
  return fy_onnx_value(w, step->in[0]);
}

static bool is_open(const FyOnnxWriter *w, int value, int dim) {
  return w->open[value * FY_MAX_DIM + dim];
}

// The open size is -1: what the others leave.
static void write_view(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyProgramValue *out = fy_onnx_value(w, step->out[0]);
  int64_t shape[FY_MAX_DIM];
  bool empty = false, open = false;
  for (int d = 0; d < out->ndim; d++) {
    shape[d] = is_open(w, step->out[0], d) ? -1 : out->shape[d];
    open |= shape[d] == -1;
    empty |= shape[d] == 0;
  }
  fy_check(!open || !empty, FY_NOT_IMPLEMENTED_ERROR,
           "fy_onnx_save: a view to %s, whose batch is open and which has no elements, cannot be written",
           fy_sizes_string(out->ndim, out->shape));
  const char *x = fy_onnx_name(w, step->in[0]);
  Onnx__NodeProto *node = fy_onnx_last(w, step, "Reshape", FY_NAMES(x, fy_onnx_integers(w, out->ndim, shape)));
  if (empty)
    fy_onnx_int(w, node, "allowzero", 1);
}

static void write_transpose(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyViewParams *p = step->params;
  const int ndim = input(w, step)->ndim;
  int64_t perm[FY_MAX_DIM];
  for (int d = 0; d < ndim; d++)
    perm[d] = step->op == &fy_op_permute ? p->shape[d] : d == p->dim ? p->dim1 : d == p->dim1 ? p->dim : d;
  const char *x = fy_onnx_name(w, step->in[0]);
  if (ndim)
    fy_onnx_ints(w, fy_onnx_last(w, step, "Transpose", FY_NAMES(x)), "perm", ndim, perm);
  else
    fy_onnx_alias(w, step, x);
}

static void write_select(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyViewParams *p = step->params;
  const char *index = fy_onnx_number(w, FY_INT64, (double)p->start);
  Onnx__NodeProto *node = fy_onnx_last(w, step, "Gather", FY_NAMES(fy_onnx_name(w, step->in[0]), index));
  fy_onnx_int(w, node, "axis", p->dim);
}

static void write_slice(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyViewParams *p = step->params;
  const int64_t end = p->length ? p->start + (p->length - 1) * p->step + 1 : p->start;
  const char *start = fy_onnx_integers(w, 1, &p->start), *ends = fy_onnx_integers(w, 1, &end);
  const char *axes = fy_onnx_integers(w, 1, (int64_t[]){p->dim}), *steps = fy_onnx_integers(w, 1, &p->step);
  fy_onnx_last(w, step, "Slice", FY_NAMES(fy_onnx_name(w, step->in[0]), start, ends, axes, steps));
}

// Sizes that stay are 1, which Expand broadcasts.
static void write_expand(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyProgramValue *in = input(w, step), *out = fy_onnx_value(w, step->out[0]);
  const int before = out->ndim - in->ndim;
  int64_t shape[FY_MAX_DIM];
  for (int d = 0; d < out->ndim; d++)
    shape[d] = d >= before && in->shape[d - before] == out->shape[d] ? 1 : out->shape[d];
  fy_onnx_last(w, step, "Expand", FY_NAMES(fy_onnx_name(w, step->in[0]), fy_onnx_integers(w, out->ndim, shape)));
}

static void write_squeeze(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyViewParams *p = step->params;
  int64_t axes[FY_MAX_DIM];
  int n = 0;
  for (int d = 0; d < input(w, step)->ndim; d++)
    if (p->dim >> d & 1)
      axes[n++] = d;
  const char *x = fy_onnx_name(w, step->in[0]);
  if (n)
    fy_onnx_last(w, step, "Squeeze", FY_NAMES(x, fy_onnx_integers(w, n, axes)));
  else
    fy_onnx_alias(w, step, x);
}

static void write_unsqueeze(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyViewParams *p = step->params;
  const char *axis = fy_onnx_integers(w, 1, (int64_t[]){p->dim});
  fy_onnx_last(w, step, "Unsqueeze", FY_NAMES(fy_onnx_name(w, step->in[0]), axis));
}

// ---- cat -----------------------------------------------------------------------------------------------------------------

static void write_cat(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyCatParams *p = step->params;
  const char *names[FY_MAX_INPUTS];
  int n = 0;
  for (int i = 0; i < step->n_in; i++) {
    const FyProgramValue *v = fy_onnx_value(w, step->in[i]);
    if (v->ndim == 1 && v->shape[0] == 0 && p->ndim != 1) // passed over
      continue;
    names[n] = fy_onnx_name_as(w, step->in[i], (FyDType)p->dtype);
    if (p->stack)
      names[n] =
          fy_onnx_output(fy_onnx_node(w, "Unsqueeze", FY_NAMES(names[n], fy_onnx_integers(w, 1, (int64_t[]){p->dim}))));
    n++;
  }
  fy_onnx_int(w, fy_onnx_last(w, step, "Concat", n, names), "axis", p->dim);
}

// ---- picking ---------------------------------------------------------------------------------------------------------------

static void write_index_select(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyIndexParams *p = step->params;
  const FyProgramValue *index = fy_onnx_value(w, step->in[1]);
  const char *a = fy_onnx_name(w, step->in[0]), *i = fy_onnx_name(w, step->in[1]);
  if (input(w, step)->ndim == 0) {
    fy_onnx_alias(w, step, a);
    return;
  }
  if (index->ndim == 0) // one index keeps the dimension
    i = fy_onnx_output(fy_onnx_node(w, "Unsqueeze", FY_NAMES(i, fy_onnx_integers(w, 1, (int64_t[]){0}))));
  fy_onnx_int(w, fy_onnx_last(w, step, "Gather", FY_NAMES(a, i)), "axis", p->dim);
}

static void write_embedding(FyOnnxWriter *w, const FyProgramStep *step) {
  const char *indices = fy_onnx_name(w, step->in[0]), *weight = fy_onnx_name(w, step->in[1]);
  fy_onnx_int(w, fy_onnx_last(w, step, "Gather", FY_NAMES(weight, indices)), "axis", 0);
}

FyOnnxWrite *fy_onnx_shape_writer(const FyOp *op) {
  switch (op->id) {
  case FY_OP_ID_view:
    return write_view;
  case FY_OP_ID_transpose:
  case FY_OP_ID_permute:
    return write_transpose;
  case FY_OP_ID_select:
    return write_select;
  case FY_OP_ID_slice:
  case FY_OP_ID_split:
    return write_slice;
  case FY_OP_ID_expand:
    return write_expand;
  case FY_OP_ID_squeeze:
    return write_squeeze;
  case FY_OP_ID_unsqueeze:
    return write_unsqueeze;
  case FY_OP_ID_cat:
    return write_cat;
  case FY_OP_ID_index_select:
    return write_index_select;
  case FY_OP_ID_embedding:
    return write_embedding;
  default:
    return NULL;
  }
}
