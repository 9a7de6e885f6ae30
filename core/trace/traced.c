// Traced modules: a program as a module.
#include "trace/traced.h"
#include "autograd/autograd.h"
#include "op/random/random_state.h"
#include <stdlib.h>
#include <string.h>

typedef struct Traced {
  FyModule base;
  FyProgram *program; // counted
} Traced;

static FyTensor *traced_forward(FyModule *self, FyTensor *x) {
  const FyProgram *program = ((Traced *)self)->program;
  FyTensor **values = calloc((size_t)program->value_count, sizeof *values);
  fy_check(values, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a run of a traced module");
  for (int i = 0; i < program->value_count; i++)
    values[i] = program->values[i].constant;
  values[program->input] = x;
  fy_no_grad {
    for (int i = 0; i < program->step_count; i++) {
      const FyProgramStep *step = &program->steps[i];
      FyTensor *in[FY_MAX_INPUTS], *out[FY_MAX_OUTPUTS];
      for (int k = 0; k < step->n_in; k++)
        in[k] = step->in[k] < 0 ? NULL : values[step->in[k]];
      fy_run_multi(step->op, step->params, step->n_in, in, step->n_out, out);
      for (int k = 0; k < step->n_out; k++)
        if (step->out[k] >= 0)
          values[step->out[k]] = out[k];
    }
  }
  FyTensor *result = values[program->output];
  free(values);
  return result;
}

static void destroy_traced(FyModule *self) {
  fy_release(((Traced *)self)->program);
}

static const FyModuleClass traced_class = {
    .name = "TracedModule", .forward = traced_forward, .destroy = destroy_traced};

// ---- its state -----------------------------------------------------------------------------------------------------------

static FyTensor *no_forward(FyModule *self, FyTensor *x) {
  (void)x;
  fy_raise(FY_NOT_IMPLEMENTED_ERROR, "%s is a part of a traced module, which runs as a whole", self->type->name);
}

static const FyModuleClass part_class = {.name = "TracedPart", .forward = no_forward};

static FyModule *child_named(FyModule *self, const char *name) {
  for (int i = 0; i < self->field_count; i++)
    if (self->fields[i].kind == FY_CHILD && strcmp(self->fields[i].name, name) == 0)
      return self->fields[i].module;
  fy_scope {
    fy_module_add_child(self, name, fy_module_new_of(sizeof(FyModule), &part_class), -1);
  }
  return child_named(self, name);
}

// "conv.weight": the tensor `weight` of the child `conv`.
static void add_state(FyModule *self, const char *path, FyTensor *tensor) {
  const char *dot = strchr(path, '.');
  if (dot && dot > path && dot[1]) {
    const size_t length = (size_t)(dot - path);
    char name[length + 1];
    memcpy(name, path, length);
    name[length] = '\0';
    add_state(child_named(self, name), dot + 1, tensor);
    return;
  }
  if (!*path || dot)
    return; // no name that a module could have
  const FyFieldKind kind = fy_is_leaf(tensor) && fy_requires_grad(tensor) ? FY_PARAMETER : FY_BUFFER;
  fy_module_add_tensor(self, path, kind, tensor, -1);
}

// ---- making one ------------------------------------------------------------------------------------------------------------

FyModule *fy_traced_new(FyProgram *program) {
  Traced *self = fy_module_new_of(sizeof *self, &traced_class);
  self->program = fy_retain(program);
  self->base.training = false;
  for (int i = 0; i < program->value_count; i++)
    if (program->values[i].name && program->values[i].constant)
      add_state(&self->base, program->values[i].name, program->values[i].constant);
  return &self->base;
}

FyProgram *fy_traced_program(FyModule *traced) {
  fy_check(traced, FY_TYPE_ERROR, "fy_traced_program: the module is NULL");
  fy_check(traced->type == &traced_class, FY_TYPE_ERROR, "'%s' object is not a traced module: fy_trace makes one",
           traced->type->name);
  return ((Traced *)traced)->program;
}
