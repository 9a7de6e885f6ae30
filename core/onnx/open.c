// SPDX-License-Identifier: MIT
// Batches that a file leaves open. The graph is read twice, for a batch of two and for a batch of three: what is the same in both
// programs holds for any batch; of the shapes that views are given, the one that differs follows the batch.
#include "onnx/read.h"
#include "op/ops.h"
#include "op/shape/view.h"
#include <string.h>

static _Noreturn void refuse(const char *path, const char *what) {
  fy_raise(
      FY_NOT_IMPLEMENTED_ERROR,
      "%s: its batch is open, but %s depends on it in a way that cannot be kept open: read it for one batch, by .shape "
      "= the whole shape of the input",
      path, what);
}

// -1 where none differs, -2 where several do.
static int differing(int ndim, const int64_t *a, const int64_t *b) {
  int found = -1;
  for (int d = 0; d < ndim; d++)
    if (a[d] != b[d])
      found = found == -1 ? d : -2;
  return found;
}

static void open_view(const char *path, const FyProgramValue *in, const FyProgramValue *other_in, FyViewParams *p,
                      const FyViewParams *other) {
  const int d = p->ndim == other->ndim ? differing(p->ndim, p->shape, other->shape) : -2;
  if (d == -2)
    refuse(path, "the shape of a Reshape");
  const bool keeps = d == 0 && in->ndim && in->shape[0] == p->shape[0] && other_in->shape[0] == other->shape[0];
  p->dim = d < 0 ? FY_VIEW_AS_GIVEN : keeps ? FY_VIEW_KEEP_FIRST : d + 1;
}

// What the input has already is kept.
static void open_expand(const char *path, const FyProgramValue *in, const FyProgramValue *other_in, FyViewParams *p,
                        const FyViewParams *other) {
  for (int d = 0; d < p->ndim; d++) {
    const int from = d - (p->ndim - in->ndim);
    const bool kept = from >= 0 && in->shape[from] == p->shape[d] && other_in->shape[from] == other->shape[d];
    if (kept)
      p->shape[d] = -1;
    else if (p->ndim != other->ndim || p->shape[d] != other->shape[d])
      refuse(path, "the shape of an Expand");
  }
}

// Of a cat the shape in its parameters is not looked at when it runs.
static void open_step(const char *path, FyProgram *program, const FyProgram *other, int i) {
  FyProgramStep *step = &program->steps[i];
  const FyProgramStep *twin = &other->steps[i];
  const FyProgramValue *in = &program->values[step->in[0]], *other_in = &other->values[twin->in[0]];
  if (step->op != twin->op || step->n_in != twin->n_in ||
      memcmp(step->in, twin->in, (size_t)step->n_in * sizeof *step->in) != 0)
    refuse(path, "which ops it has");
  if (step->op == &fy_op_view)
    open_view(path, in, other_in, step->params, twin->params);
  else if (step->op == &fy_op_expand)
    open_expand(path, in, other_in, step->params, twin->params);
  else if (step->op != &fy_op_cat && step->op->params_size &&
           memcmp(step->params, twin->params, step->op->params_size) != 0)
    refuse(path, step->op->name);
}

static bool same_constant(FyTensor *a, FyTensor *b) {
  if (a == b || !a || !b)
    return a == b;
  if (!fy_same_shape(&a->array, &b->array) || a->array.dtype != b->array.dtype)
    return false;
  return a->array.data == b->array.data || fy_equal(a, b);
}

static void check_constant(const char *path, const FyProgram *program, const FyProgram *other, int value) {
  if (value >= 0 && !same_constant(program->values[value].constant, other->values[value].constant))
    refuse(path, "a constant");
}

void fy_onnx_open_batch(const char *path, FyProgram *program, const FyProgram *other) {
  if (program->step_count != other->step_count || program->output != other->output)
    refuse(path, "which ops it has");
  for (int i = 0; i < program->step_count; i++) {
    open_step(path, program, other, i);
    for (int k = 0; k < program->steps[i].n_in; k++)
      check_constant(path, program, other, program->steps[i].in[k]);
  }
  check_constant(path, program, other, program->output);
}
