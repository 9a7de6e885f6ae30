// SPDX-License-Identifier: MIT
// Which dimensions follow the batch: the shapes of all values are worked out once more, for a batch of one more than the
// example's. What is another number then is open in the file. Where an op refuses, the whole file is for the example's batch.
#include "onnx/write.h"
#include <string.h>

static void stand_in_of(FyTensor *t, const FyProgramValue *value) {
  fy_onnx_stand_in(t, value->dtype, value->ndim, value->shape);
  t->wrapped_number = value->constant && value->constant->wrapped_number;
}

static void run_shapes(const FyProgram *program, FyTensor *values) {
  for (int i = 0; i < program->value_count; i++)
    stand_in_of(&values[i], &program->values[i]);
  FyProgramValue input = program->values[program->input];
  input.shape[0]++;
  stand_in_of(&values[program->input], &input);
  for (int i = 0; i < program->step_count; i++) {
    const FyProgramStep *step = &program->steps[i];
    FyTensor *in[FY_MAX_INPUTS];
    FyOutput out[FY_MAX_OUTPUTS];
    for (int k = 0; k < step->n_in; k++)
      in[k] = step->in[k] < 0 ? NULL : &values[step->in[k]];
    fy_onnx_infer(step->op, step->params, step->n_in, in, step->n_out, out);
    for (int k = 0; k < step->n_out; k++)
      if (step->out[k] >= 0)
        fy_onnx_stand_in(&values[step->out[k]], (FyDType)out[k].dtype, out[k].ndim, out[k].shape);
  }
}

// Nothing is open where a value has another rank now, or more than one open dimension, which no Reshape could say.
static bool note(FyOnnxWriter *w, const FyTensor *values) {
  const FyProgram *program = w->program;
  for (int i = 0; i < program->value_count; i++) {
    const FyProgramValue *value = &program->values[i];
    int changed = 0;
    if (value->ndim != values[i].array.ndim)
      return false;
    for (int d = 0; d < value->ndim; d++) {
      w->open[i * FY_MAX_DIM + d] = value->shape[d] != values[i].array.shape[d];
      changed += w->open[i * FY_MAX_DIM + d];
    }
    if (changed > 1)
      return false;
  }
  return true;
}

void fy_onnx_find_open(FyOnnxWriter *w) {
  const FyProgram *program = w->program;
  const FyProgramValue *input = &program->values[program->input];
  const size_t flags = (size_t)program->value_count * FY_MAX_DIM * sizeof *w->open;
  w->open = fy_pool_take(w->pool, flags);
  if (input->ndim == 0)
    return;
  FyTensor *values = fy_pool_take(w->pool, (size_t)program->value_count * sizeof *values);
  FyError error;
  fy_trap(error) {
    run_shapes(program, values);
    w->batch_is_open = note(w, values);
  }
  if (!w->batch_is_open)
    memset(w->open, 0, flags);
}
