// SPDX-License-Identifier: MIT
// Traced modules: a program as a module.
#include "trace/traced.h"
#include "autograd/autograd.h"
#include "nn/impl.h"
#include "trace/plan.h"
#include <string.h>

// Plans of the shapes that were used last, the newest first.
enum { MOST_PLANS = 8 };

typedef struct Traced {
  FyModule base;
  FyProgram *program; // counted
  pthread_mutex_t lock;
  FyPlan *plans[MOST_PLANS]; // counted
} Traced;

// ---- plans -----------------------------------------------------------------------------------------------------------------

static bool fits(const FyPlan *plan, const FyTensor *x) {
  return plan && fy_same_shape(&plan->values[plan->input].array, &x->array) &&
         fy_device_equal(plan->device, x->device) && fy_plan_holds(plan);
}

// The plan at `place`, now the first; its new reference is the caller's. The lock is held.
static FyPlan *to_front(Traced *self, int place) {
  FyPlan *plan = self->plans[place];
  memmove(&self->plans[1], &self->plans[0], (size_t)place * sizeof plan);
  self->plans[0] = plan;
  return fy_retain(plan);
}

static FyPlan *find_plan(Traced *self, const FyTensor *x) {
  FyPlan *plan = NULL;
  pthread_mutex_lock(&self->lock);
  for (int i = 0; i < MOST_PLANS && !plan; i++)
    if (fits(self->plans[i], x))
      plan = to_front(self, i);
  pthread_mutex_unlock(&self->lock);
  return plan;
}

// Keeps a new plan in the place of one that no longer holds, or of the one that was used the longest time ago.
static void keep_plan(Traced *self, FyPlan *plan) {
  pthread_mutex_lock(&self->lock);
  int place = MOST_PLANS - 1;
  for (int i = 0; i < MOST_PLANS; i++)
    if (!self->plans[i] || !fy_plan_holds(self->plans[i]))
      place = i;
  FyPlan *old = self->plans[place];
  self->plans[place] = fy_retain(plan);
  fy_release(to_front(self, place));
  pthread_mutex_unlock(&self->lock);
  fy_release(old);
}

static void check_input(const FyProgram *program, const FyTensor *x) {
  const FyProgramValue *example = &program->values[program->input];
  fy_check(x->array.ndim == example->ndim, FY_RUNTIME_ERROR,
           "a traced module takes inputs of %d dimensions, as its example %s had, but got %s: trace the model with an "
           "example of this shape",
           example->ndim, fy_sizes_string(example->ndim, example->shape), fy_sizes_of(x));
  fy_check(x->array.dtype == example->dtype, FY_RUNTIME_ERROR,
           "a traced module takes inputs of dtype %s, as its example had, but got %s",
           fy_dtype_scalar_name(example->dtype), fy_dtype_scalar_name((FyDType)x->array.dtype));
}

// Owned by the innermost scope.
static FyPlan *plan_for(Traced *self, const FyTensor *x) {
  FyPlan *plan = find_plan(self, x);
  if (plan)
    return fy_adopt(plan);
  plan = fy_plan_new(self->program, x->device, x->array.ndim, x->array.shape);
  keep_plan(self, plan);
  return plan;
}

static FyTensor *traced_forward(FyModule *module, FyTensor *x) {
  Traced *self = (Traced *)module;
  check_input(self->program, x);
  FyPlan *plan = plan_for(self, x);
  if (!x->array.contiguous)
    x = fy_copy_of(x, (FyDType)x->array.dtype);
  return fy_plan_run(plan, x);
}

static void destroy_traced(FyModule *module) {
  Traced *self = (Traced *)module;
  for (int i = 0; i < MOST_PLANS; i++)
    fy_release(self->plans[i]);
  fy_release(self->program);
  pthread_mutex_destroy(&self->lock);
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
static void add_state(FyModule *self, const char *path, FyFieldKind kind, FyTensor *tensor) {
  const char *dot = strchr(path, '.');
  if (dot && dot > path && dot[1]) {
    const size_t length = (size_t)(dot - path);
    char name[length + 1];
    memcpy(name, path, length);
    name[length] = '\0';
    add_state(child_named(self, name), dot + 1, kind, tensor);
    return;
  }
  if (!*path || dot)
    return; // no name that a module could have
  const bool frozen = kind == FY_PARAMETER && !fy_requires_grad(tensor);
  fy_module_add_tensor(self, path, kind, tensor, -1);
  if (frozen) // it was not a parameter's turn to ask for gradients
    fy_set_requires_grad(tensor, false);
}

static void add_field(FyModule *owner, FyField *field, const char *name, void *context) {
  (void)owner;
  add_state(context, name, field->kind, field->tensor);
}

static void add_constants(FyModule *self, const FyProgram *program) {
  for (int i = 0; i < program->value_count; i++) {
    FyTensor *t = program->values[i].constant;
    if (program->values[i].name && t)
      add_state(self, program->values[i].name, fy_is_leaf(t) && fy_requires_grad(t) ? FY_PARAMETER : FY_BUFFER, t);
  }
}

// ---- making one ------------------------------------------------------------------------------------------------------------

static FyModule *new_traced(FyProgram *program) {
  Traced *self = fy_module_new_of(sizeof *self, &traced_class);
  self->program = fy_retain(program);
  pthread_mutex_init(&self->lock, NULL);
  self->base.training = false;
  return &self->base;
}

FyModule *fy_traced_new(FyProgram *program) {
  FyModule *self = new_traced(program);
  add_constants(self, program);
  return self;
}

FyModule *fy_traced_new_of(FyProgram *program, FyModule *model) {
  FyModule *self = new_traced(program);
  fy_module_visit(model, 1u << FY_PARAMETER | 1u << FY_BUFFER, add_field, self);
  return self;
}

static Traced *traced_of(FyModule *module) {
  fy_check(module, FY_TYPE_ERROR, "the traced module is NULL");
  fy_check(module->type == &traced_class, FY_TYPE_ERROR, "'%s' object is not a traced module: fy_trace makes one",
           module->type->name);
  return (Traced *)module;
}

FyProgram *fy_traced_program(FyModule *traced) {
  return traced_of(traced)->program;
}

FyPlan *fy_traced_plan(FyModule *traced) {
  Traced *self = traced_of(traced);
  pthread_mutex_lock(&self->lock);
  FyPlan *plan = fy_retain(self->plans[0]);
  pthread_mutex_unlock(&self->lock);
  if (plan)
    return fy_adopt(plan);
  const FyProgramValue *example = &self->program->values[self->program->input];
  return fy_plan_new(self->program, self->program->device, example->ndim, example->shape);
}
