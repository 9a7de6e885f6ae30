// SPDX-License-Identifier: MIT
// The parts of a program: added at its end, freed with it.
#include "trace/program.h"
#include <stdlib.h>
#include <string.h>

static void destroy_program(void *object) {
  FyProgram *program = object;
  for (int i = 0; i < program->value_count; i++) {
    free(program->values[i].name);
    fy_release(program->values[i].constant);
  }
  for (int i = 0; i < program->step_count; i++)
    free(program->steps[i].params);
  free(program->values);
  free(program->steps);
  free(program);
}

FyProgram *fy_program_new(FyDevice device) {
  FyProgram *program = fy_object_new(sizeof *program, destroy_program);
  program->device = device;
  program->input = program->output = -1;
  return program;
}

// `items` with room for one more than `count`; they stay as they are when there is no memory.
static void *with_room(void *items, int count, int *capacity, size_t bytes) {
  if (count < *capacity)
    return items;
  const int wanted = *capacity ? 2 * *capacity : 16;
  items = realloc(items, (size_t)wanted * bytes);
  fy_check(items, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a traced program of %d parts", wanted);
  *capacity = wanted;
  return items;
}

int fy_program_add_value(FyProgram *program, const char *name, FyDType dtype, int ndim, const int64_t *shape,
                         FyTensor *constant) {
  program->values = with_room(program->values, program->value_count, &program->value_capacity, sizeof *program->values);
  FyProgramValue value = {.dtype = dtype, .ndim = ndim, .constant = constant};
  memcpy(value.shape, shape, (size_t)ndim * sizeof *shape);
  if (name) {
    value.name = strdup(name);
    fy_check(value.name, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the name of a traced value");
  }
  fy_retain(constant);
  program->values[program->value_count] = value;
  return program->value_count++;
}

int fy_program_add_step(FyProgram *program, const FyOp *op, const void *params, int n_in, const int *in, int n_out,
                        const int *out) {
  program->steps = with_room(program->steps, program->step_count, &program->step_capacity, sizeof *program->steps);
  FyProgramStep step = {.op = op, .n_in = n_in, .n_out = n_out};
  if (op->params_size) {
    step.params = malloc(op->params_size);
    fy_check(step.params, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a traced call of %s", op->name);
    memcpy(step.params, params, op->params_size);
  }
  memcpy(step.in, in, (size_t)n_in * sizeof *in);
  memcpy(step.out, out, (size_t)n_out * sizeof *out);
  program->steps[program->step_count] = step;
  return program->step_count++;
}
