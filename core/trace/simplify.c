// SPDX-License-Identifier: MIT
// What can be done to a program before shapes are known: a batch norm becomes part of the convolution or linear layer before it, and
// what depends on constants alone is computed.
#include "autograd/autograd.h"
#include "op/copy/copy.h"
#include "op/elementwise/pointwise.h"
#include "op/normalization/norm.h"
#include "op/shape/view.h"
#include "trace/plan.h"
#include "trace/record.h"
#include <stdlib.h>
#include <string.h>

int *fy_program_uses(const FyProgram *program) {
  int *uses = malloc((size_t)program->value_count * sizeof *uses);
  fy_check(uses, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a traced program");
  for (int i = 0; i < program->value_count; i++)
    uses[i] = FY_USED_BY_NONE;
  for (int i = 0; i < program->step_count; i++)
    for (int k = 0; k < program->steps[i].n_in; k++) {
      const int value = program->steps[i].in[k];
      if (value >= 0)
        uses[value] = uses[value] == FY_USED_BY_NONE ? i : FY_USED_BY_SEVERAL;
    }
  if (uses[program->output] != FY_USED_BY_NONE)
    uses[program->output] = FY_USED_BY_SEVERAL;
  return uses;
}

typedef struct Simplifier {
  FyObject object;
  const FyProgram *from;
  FyProgram *to; // counted
  int *place;    // of each value of `from` in `to`
  int *uses;
  FyTensor **constants; // of `to`, counted
  int constant_count;
} Simplifier;

static void destroy_simplifier(void *object) {
  Simplifier *s = object;
  for (int i = 0; s->constants && i < s->constant_count; i++)
    fy_release(s->constants[i]);
  free(s->constants);
  free(s->place);
  free(s->uses);
  fy_release(s->to);
  free(s);
}

// ---- values and steps of the new program -------------------------------------------------------------------------------------

static int add_value(Simplifier *s, const char *name, FyDType dtype, int ndim, const int64_t *shape,
                     FyTensor *constant) {
  FyTensor **wider = realloc(s->constants, (size_t)(s->constant_count + 1) * sizeof *wider);
  fy_check(wider, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a traced program");
  s->constants = wider;
  const int value = fy_program_add_value(s->to, name, dtype, ndim, shape, constant);
  s->constants[s->constant_count++] = fy_retain(constant);
  return value;
}

static bool is_known(const Simplifier *s, int value) {
  return value < 0 || s->constants[value];
}

// A step whose inputs are all known is run now.
static void add_step(Simplifier *s, const FyOp *op, const void *params, int n_in, const int *in, int n_out,
                     const int *out) {
  bool known = !fy_program_is_random(op);
  for (int i = 0; i < n_in; i++)
    known &= is_known(s, in[i]);
  if (!known) {
    fy_program_add_step(s->to, op, params, n_in, in, n_out, out);
    return;
  }
  FyTensor *inputs[FY_MAX_INPUTS], *outputs[FY_MAX_OUTPUTS];
  for (int i = 0; i < n_in; i++)
    inputs[i] = in[i] < 0 ? NULL : s->constants[in[i]];
  fy_run_multi(op, params, n_in, inputs, n_out, outputs);
  for (int i = 0; i < n_out; i++)
    if (out[i] >= 0)
      s->constants[out[i]] = fy_retain(outputs[i]);
}

static int one_step(Simplifier *s, const FyOp *op, const void *params, int n_in, const int *in, int like) {
  const FyProgramValue value = s->to->values[like];
  const int out = add_value(s, NULL, value.dtype, value.ndim, value.shape, NULL);
  add_step(s, op, params, n_in, in, 1, &out);
  return out;
}

// ---- batch norm --------------------------------------------------------------------------------------------------------------

// A layer in evaluation that scales and shifts what another layer made: y = (x - mean) / sqrt(var + eps) * weight + bias. With
// x = W z + b this is W' z + b', where W' = W * scale, b' = (b - mean) * scale + bias, and scale = weight / sqrt(var + eps).
static const FyProgramStep *norm_behind(const Simplifier *s, const FyProgramStep *layer) {
  if (layer->op != &fy_op_conv2d && layer->op != &fy_op_linear)
    return NULL;
  const int use = s->uses[layer->out[0]];
  const FyProgramStep *norm = use >= 0 ? &s->from->steps[use] : NULL;
  if (!norm || norm->op != &fy_op_batch_norm || norm->in[FY_NORM_X] != layer->out[0])
    return NULL;
  const FyProgramValue *x = &s->from->values[layer->out[0]];
  bool known = fy_dtype_is_floating(x->dtype) && is_known(s, s->place[layer->in[1]]) &&
               (layer->in[2] < 0 || is_known(s, s->place[layer->in[2]])) &&
               x->ndim == (layer->op == &fy_op_conv2d ? 4 : 2);
  for (int i = FY_NORM_WEIGHT; i <= FY_NORM_RUNNING_VAR; i++)
    known &= norm->in[i] < 0 || (is_known(s, s->place[norm->in[i]]) && s->from->values[norm->in[i]].dtype == x->dtype);
  for (int i = 1; i < norm->n_out; i++)
    known &= norm->out[i] < 0;
  return known && !((const FyBatchNormParams *)norm->params)->training ? norm : NULL;
}

static int placed(const Simplifier *s, int value) {
  return value < 0 ? -1 : s->place[value];
}

static int scale_of(Simplifier *s, const FyProgramStep *norm) {
  const double eps = ((const FyBatchNormParams *)norm->params)->eps;
  const int var = placed(s, norm->in[FY_NORM_RUNNING_VAR]), weight = placed(s, norm->in[FY_NORM_WEIGHT]);
  const int shifted = one_step(s, &fy_op_add, &(FyPointwise){.a = eps}, 1, &var, var);
  const int scale = one_step(s, &fy_op_pow, &(FyPointwise){.a = -0.5}, 1, &shifted, var);
  return weight < 0 ? scale : one_step(s, &fy_op_mul, &(FyPointwise){0}, 2, (int[]){scale, weight}, var);
}

static void fold_norm(Simplifier *s, const FyProgramStep *layer, const FyProgramStep *norm) {
  const int scale = scale_of(s, norm), weight = placed(s, layer->in[1]),
            mean = placed(s, norm->in[FY_NORM_RUNNING_MEAN]);
  int bias = placed(s, layer->in[2]);
  const FyProgramValue w = s->to->values[weight];
  FyViewParams column = {.ndim = w.ndim, .shape = {w.shape[0], 1, 1, 1}};
  const int by_output = add_value(s, NULL, w.dtype, w.ndim, column.shape, NULL);
  add_step(s, &fy_op_view, &column, 1, &scale, 1, &by_output);
  const int scaled = one_step(s, &fy_op_mul, &(FyPointwise){0}, 2, (int[]){weight, by_output}, weight);
  if (bias < 0)
    bias = one_step(s, &fy_op_neg, NULL, 1, &mean, mean);
  else
    bias = one_step(s, &fy_op_sub, &(FyPointwise){0}, 2, (int[]){bias, mean}, mean);
  bias = one_step(s, &fy_op_mul, &(FyPointwise){0}, 2, (int[]){bias, scale}, mean);
  if (norm->in[FY_NORM_BIAS] >= 0)
    bias = one_step(s, &fy_op_add, &(FyPointwise){0}, 2, (int[]){bias, placed(s, norm->in[FY_NORM_BIAS])}, mean);
  const int in[3] = {placed(s, layer->in[0]), scaled, bias}, out = placed(s, norm->out[0]);
  add_step(s, layer->op, layer->params, 3, in, 1, &out);
}

// ---- the whole -----------------------------------------------------------------------------------------------------------------

// A copy to where the value is already. Nothing of a program is changed in place, so one will do.
static bool changes_nothing(const Simplifier *s, const FyProgramStep *step, FyDevice device) {
  const FyCopyParams *p = step->params;
  const FyProgramValue *from = &s->from->values[step->in[0]];
  return step->op == &fy_op_copy && step->n_in == 1 && p->dtype == from->dtype && fy_device_equal(p->device, device) &&
         p->kind == FY_COPY_TO;
}

static void simplify_step(Simplifier *s, const FyProgramStep *step, FyDevice device, bool *folded) {
  int in[FY_MAX_INPUTS], out[FY_MAX_OUTPUTS];
  if (changes_nothing(s, step, device)) {
    s->place[step->out[0]] = placed(s, step->in[0]);
    return;
  }
  const FyProgramStep *norm = norm_behind(s, step);
  if (norm) {
    folded[norm - s->from->steps] = true;
    fold_norm(s, step, norm);
    return;
  }
  for (int i = 0; i < step->n_in; i++)
    in[i] = placed(s, step->in[i]);
  for (int i = 0; i < step->n_out; i++)
    out[i] = placed(s, step->out[i]);
  add_step(s, step->op, step->params, step->n_in, in, step->n_out, out);
}

static Simplifier *begin(const FyProgram *program, FyDevice device) {
  Simplifier *s = fy_object_new(sizeof *s, destroy_simplifier);
  s->from = program;
  s->to = fy_retain(fy_program_new(device));
  s->uses = fy_program_uses(program);
  s->place = malloc((size_t)program->value_count * sizeof *s->place);
  fy_check(s->place, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a traced program");
  for (int i = 0; i < program->value_count; i++) {
    const FyProgramValue *v = &program->values[i];
    s->place[i] = add_value(s, v->name, v->dtype, v->ndim, v->shape, v->constant);
  }
  return s;
}

FyProgram *fy_program_simplified(const FyProgram *program, FyDevice device, FyTensor ***constants) {
  const int scope = fy_scope_open();
  Simplifier *s = begin(program, device);
  bool *folded = fy_object_new(sizeof(FyObject) + (size_t)program->step_count + 1, free);
  folded += sizeof(FyObject);
  fy_no_grad {
    for (int i = 0; i < program->step_count; i++)
      if (!folded[i])
        simplify_step(s, &program->steps[i], device, folded);
  }
  s->to->input = s->place[program->input];
  s->to->output = s->place[program->output];
  *constants = s->constants;
  s->constants = NULL;
  FyProgram *simplified = fy_keep(fy_adopt(fy_retain(s->to)));
  fy_scope_close(scope);
  return simplified;
}
