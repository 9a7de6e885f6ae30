// SPDX-License-Identifier: MIT
// fy_traced_check: the trace of another input has the same ops, and the results are the same.
#include "trace/check.h"
#include "autograd/autograd.h"
#include "base/text.h"
#include "op/host/host.h"
#include "tensor/impl.h"
#include "trace/record.h"
#include "trace/trace.h"
#include "trace/traced.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the results ---------------------------------------------------------------------------------------------------------

typedef struct Difference {
  int64_t count, mismatched;
  double greatest, relative;
  int64_t greatest_at, relative_at;
} Difference;

static Difference difference_of(const double *a, const double *b, int64_t count) {
  enum { NOWHERE = -1 };
  Difference d = {.count = count, .greatest_at = NOWHERE, .relative_at = NOWHERE};
  for (int64_t i = 0; i < count; i++) {
    const bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
    const double absolute = same ? 0 : fabs(a[i] - b[i]), relative = same ? 0 : absolute / fabs(b[i]);
    if (!(absolute <= 1e-5 + 1e-5 * fabs(b[i])))
      d.mismatched++;
    if (d.greatest_at < 0 || absolute > d.greatest || isnan(absolute)) {
      d.greatest = absolute;
      d.greatest_at = i;
    }
    if (d.relative_at < 0 || relative > d.relative || isnan(relative)) {
      d.relative = relative;
      d.relative_at = i;
    }
  }
  return d;
}

// "(0, 1)": where the element is, row-major.
static const char *index_text(const FyArray *a, int64_t element, char out[160]) {
  int64_t index[FY_MAX_DIM];
  for (int d = a->ndim - 1; d >= 0; d--) {
    index[d] = element % a->shape[d];
    element /= a->shape[d];
  }
  size_t at = (size_t)snprintf(out, 160, "(");
  for (int d = 0; d < a->ndim; d++)
    at += (size_t)snprintf(out + at, 160 - at, d ? ", %lld" : "%lld", (long long)index[d]);
  snprintf(out + at, 160 - at, a->ndim == 1 ? ",)" : ")");
  return out;
}

static double *elements(FyTensor *t) {
  FyTensor *wide = fy_contiguous(fy_to_dtype(fy_cpu(t), FY_FLOAT64));
  return wide->array.data;
}

static bool agree(FyTensor *a, FyTensor *b, char *difference, size_t size) {
  if (!fy_same_shape(&a->array, &b->array) || a->array.dtype != b->array.dtype) {
    snprintf(difference, size, "The values for attribute 'shape' do not match: %s != %s.", fy_shape_string(a),
             fy_shape_string(b));
    if (fy_same_shape(&a->array, &b->array))
      snprintf(difference, size, "The values for attribute 'dtype' do not match: %s != %s.",
               fy_dtype_scalar_name(a->array.dtype), fy_dtype_scalar_name(b->array.dtype));
    return false;
  }
  const Difference d = difference_of(elements(a), elements(b), a->array.numel);
  char greatest[160], relative[160];
  if (d.mismatched)
    snprintf(difference, size,
             "Tensor-likes are not close!\n\nMismatched elements: %lld / %lld (%.1f%%)\n"
             "Greatest absolute difference: %.9g at index %s (up to 1e-05 allowed)\n"
             "Greatest relative difference: %.9g at index %s (up to 1e-05 allowed)",
             (long long)d.mismatched, (long long)d.count, 100.0 * (double)d.mismatched / (double)d.count, d.greatest,
             index_text(&b->array, d.greatest_at, greatest), d.relative,
             index_text(&b->array, d.relative_at, relative));
  return d.mismatched == 0;
}

bool fy_outputs_agree(FyModule *traced, FyModule *model, FyTensor *input, char *difference, size_t size) {
  bool same = true;
  fy_scope {
    fy_no_grad {
      FyTensor *expected = fy_forward_of(model, fy_clone(input));
      same = agree(fy_forward_of(traced, fy_clone(input)), expected, difference, size);
    }
  }
  return same;
}

// ---- the ops -------------------------------------------------------------------------------------------------------------

static const char *op_at(const FyProgram *program, int i) {
  return i < program->step_count ? program->steps[i].op->name : "return";
}

static bool same_constant(const FyProgram *a, int x, const FyProgram *b, int y) {
  FyTensor *s = x < 0 ? NULL : a->values[x].constant, *t = y < 0 ? NULL : b->values[y].constant;
  if (!s || !t)
    return !s == !t;
  return s == t || fy_equal(s, t);
}

// Seeds and sizes of the example aside, what a step was called with.
static bool same_params(const FyProgramStep *a, const FyProgramStep *b) {
  const bool follows_input = a->op->flags & FY_OP_VIEW || fy_program_is_random(a->op);
  return follows_input || !a->op->params_size || memcmp(a->params, b->params, a->op->params_size) == 0;
}

static bool same_step(const FyProgram *a, const FyProgram *b, int i) {
  const FyProgramStep *s = i < a->step_count ? &a->steps[i] : NULL, *t = i < b->step_count ? &b->steps[i] : NULL;
  if (!s || !t)
    return s == t;
  if (s->op != t->op || s->n_in != t->n_in || !same_params(s, t))
    return false;
  for (int k = 0; k < s->n_in; k++)
    if (!same_constant(a, s->in[k], b, t->in[k]))
      return false;
  return true;
}

static void check_ops(const FyProgram *traced, const FyProgram *again) {
  for (int i = 0; i < traced->step_count || i < again->step_count; i++)
    fy_check(
        same_step(traced, again, i), FY_RUNTIME_ERROR,
        "Tracing failed sanity checks!\nERROR: Graphs differed across invocations!\n\tFirst diverging operator, number "
        "%d: fy::%s in the trace, fy::%s for this input%s",
        i + 1, op_at(traced, i), op_at(again, i),
        op_at(traced, i) == op_at(again, i) ? ", with other numbers or constants" : "");
}

void fy_traced_check_with(FyModule *traced, FyModule *model, FyTensors inputs) {
  const FyProgram *program = fy_traced_program(traced);
  fy_check(model, FY_TYPE_ERROR, "fy_traced_check: the model is NULL");
  for (int i = 0; i < inputs.count; i++) {
    fy_check(inputs.items[i], FY_TYPE_ERROR, "fy_traced_check: an input is NULL");
    fy_scope {
      char difference[1024];
      check_ops(program, fy_record_program(model, inputs.items[i], false));
      if (!fy_outputs_agree(traced, model, inputs.items[i], difference, sizeof difference))
        fy_raise(FY_RUNTIME_ERROR,
                 "Tracing failed sanity checks!\nERROR: outputs differed for an input of shape %s:\n%s",
                 fy_shape_string(inputs.items[i]), difference);
    }
  }
}
