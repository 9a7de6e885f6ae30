// SPDX-License-Identifier: MIT
#include "trace/plan.h"
#include "base/threads.h"
#include "device/runtime.h"
#include "op/copy/copy.h"
#include "op/shape/view.h"
#include "trace/record.h"
#include <stdlib.h>
#include <string.h>

// ---- parts ---------------------------------------------------------------------------------------------------------------------

static void free_step(FyPlanStep *step) {
  free(step->params);
  fy_group_free(step->group);
  free(step->chain);
}

static void destroy_plan(void *object) {
  FyPlan *plan = object;
  fy_runners_free(plan->idle);
  for (int i = 0; i < plan->value_count; i++)
    fy_release(plan->values[i].constant);
  for (int i = 0; i < plan->step_count; i++)
    free_step(&plan->steps[i]);
  free(plan->values);
  free(plan->steps);
  free(plan->watched);
  fy_release(plan->program);
  pthread_mutex_destroy(&plan->lock);
  free(plan);
}

static void *with_room(void *items, int count, int *capacity, size_t bytes) {
  if (count < *capacity)
    return items;
  const int wanted = *capacity ? 2 * *capacity : 32;
  items = realloc(items, (size_t)wanted * bytes);
  fy_check(items, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
  *capacity = wanted;
  return items;
}

int fy_plan_add_value(FyPlan *plan, const FyArray *array) {
  plan->values = with_room(plan->values, plan->value_count, &plan->value_capacity, sizeof *plan->values);
  plan->values[plan->value_count] = (FyPlanValue){.array = *array, .root = plan->value_count};
  return plan->value_count++;
}

FyPlanStep *fy_plan_add_step(FyPlan *plan, FyStepKind kind, const FyOp *op, const void *params) {
  plan->steps = with_room(plan->steps, plan->step_count, &plan->step_capacity, sizeof *plan->steps);
  FyPlanStep *step = &plan->steps[plan->step_count];
  *step = (FyPlanStep){.kind = kind, .op = op, .name = op ? op->name : NULL};
  if (op && op->params_size && params) {
    step->params = malloc(op->params_size);
    fy_check(step->params, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
    memcpy(step->params, params, op->params_size);
  }
  plan->step_count++;
  return step;
}

FyArray fy_plan_array(FyDType dtype, FyDevice device, int ndim, const int64_t *shape) {
  FyArray a = {.dtype = (uint8_t)dtype, .ndim = (int16_t)ndim, .host_scalar = ndim == 0 && device.type == FY_CPU};
  int64_t step = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    a.shape[d] = shape[d];
    a.stride[d] = step;
    step *= shape[d] > 1 ? shape[d] : 1;
  }
  fy_array_finish(&a);
  return a;
}

// ---- describing a call -----------------------------------------------------------------------------------------------------------

// A tensor that infer can look at: shape, dtype and device of what will be there.
static FyTensor *stand_in(const FyPlan *plan, int value, FyTensor *t) {
  static FyStorage nowhere;
  if (plan->values[value].constant)
    return plan->values[value].constant;
  memset(t, 0, sizeof *t);
  t->array = plan->values[value].array;
  t->array.data = t->array.numel ? &nowhere : NULL; // never read
  t->storage = &nowhere;
  t->device = plan->device;
  return t;
}

// Views were checked by their functions, for the sizes of the example.
static void check_view(const FyProgramStep *step, const FyArray *in) {
  const FyViewParams *p = step->params;
  const bool part = step->op == &fy_op_select || step->op == &fy_op_slice || step->op == &fy_op_split;
  const int64_t length = step->op == &fy_op_select ? 1 : p->length;
  fy_check(!part || !length || p->start + (length - 1) * (step->op == &fy_op_select ? 1 : p->step) < in->shape[p->dim],
           FY_INDEX_ERROR,
           "a traced module's %s takes elements %lld to %lld of dimension %d, as it was for the example, but for this "
           "input that has size %lld",
           step->op->name, (long long)p->start,
           (long long)(p->start + (length - 1) * (step->op == &fy_op_select ? 1 : p->step)), p->dim,
           (long long)in->shape[p->dim]);
  for (int d = 0; step->op == &fy_op_squeeze && d < in->ndim; d++)
    fy_check(!(p->dim >> d & 1) || in->shape[d] == 1, FY_RUNTIME_ERROR,
             "a traced module's squeeze takes dimension %d away, of size 1 for the example, but for this input it has "
             "size %lld",
             d, (long long)in->shape[d]);
}

void fy_plan_describe(const FyPlan *plan, const FyProgramStep *step, FyDescribed *d) {
  d->call = (FyOpCall){.op = step->op,
                       .params = step->params,
                       .in = d->in,
                       .n_in = step->n_in,
                       .n_out = step->n_out,
                       .device = plan->device,
                       .output = d->output};
  for (int i = 0; i < step->n_out; i++)
    d->output[i].dtype = d->output[i].computed = FY_DEFAULT_DTYPE;
  for (int i = 0; i < step->n_in; i++) {
    d->in[i] = step->in[i] < 0 ? NULL : stand_in(plan, step->in[i], &d->stand_ins[i]);
    if (d->in[i] && !d->in[i]->array.host_scalar)
      fy_check_same_device(plan->device, d->in[i]->device);
  }
  if (step->op->flags & FY_OP_VIEW)
    check_view(step, &d->in[0]->array);
  step->op->infer(&d->call);
  if (!(step->op->flags & FY_OP_VIEW))
    fy_call_widen(&d->call);
}

// ---- kernels ---------------------------------------------------------------------------------------------------------------------

static FyArray array_of(const FyPlan *plan, const FyOutput *o) {
  FyArray a = fy_plan_array((FyDType)o->dtype, plan->device, o->ndim, o->shape);
  if (o->strided)
    memcpy(a.stride, o->stride, (size_t)o->ndim * sizeof *o->stride);
  fy_array_finish(&a);
  return a;
}

static void set_array(FyPlan *plan, int value, const FyArray *array) {
  plan->values[value].array = *array;
  plan->values[value].root = value;
}

static void add_copy(FyPlan *plan, int from, int to) {
  FyPlanStep *step = fy_plan_add_step(plan, FY_STEP_KERNEL, &fy_op_copy, NULL);
  step->n_in = step->n_out = 1;
  step->in[0] = from;
  step->out[0] = to;
}

// `value` row-major in another dtype; of a constant, a constant.
static int copy_of(FyPlan *plan, int value, FyDType dtype) {
  const FyPlanValue *v = &plan->values[value];
  const FyArray array = fy_plan_array(dtype, plan->device, v->array.ndim, v->array.shape);
  const int copy = fy_plan_add_value(plan, &array);
  FyTensor *constant = plan->values[value].constant;
  if (constant) {
    const int scope = fy_scope_open();
    plan->values[copy].constant = fy_retain(fy_copy_of(constant, dtype));
    fy_scope_close(scope);
  } else {
    add_copy(plan, value, copy);
  }
  return copy;
}

int fy_plan_contiguous(FyPlan *plan, int value) {
  const FyArray *array = &plan->values[value].array;
  return array->contiguous ? value : copy_of(plan, value, (FyDType)array->dtype);
}

static void add_view(FyPlan *plan, const FyProgramStep *step, const FyOutput *o) {
  const FyPlanValue from = plan->values[step->in[0]];
  FyPlanValue *to = &plan->values[step->out[0]];
  to->array = from.array;
  to->array.ndim = (int16_t)o->ndim;
  memcpy(to->array.shape, o->shape, (size_t)o->ndim * sizeof *o->shape);
  memcpy(to->array.stride, o->stride, (size_t)o->ndim * sizeof *o->stride);
  fy_array_finish(&to->array);
  to->array.host_scalar = o->ndim == 0 && plan->device.type == FY_CPU;
  to->root = from.root;
  to->from_root = from.from_root + o->offset * (int64_t)fy_dtype_size(from.array.dtype);
}

// Nothing of a program is changed in place: the copy of a row-major value is that value.
static bool is_same(const FyPlan *plan, const FyProgramStep *step, const FyOutput *o) {
  const FyArray *from = &plan->values[step->in[0]].array;
  return step->op == &fy_op_copy && step->n_in == 1 && from->contiguous && from->dtype == o->dtype;
}

static void add_alias(FyPlan *plan, int from, int to) {
  plan->values[to].array = plan->values[from].array;
  plan->values[to].root = plan->values[from].root;
  plan->values[to].from_root = plan->values[from].from_root;
}

// The op's kernel between the copies that it asks for, as the dispatcher does it.
void fy_plan_add_kernel(FyPlan *plan, const FyProgramStep *step) {
  FyDescribed d;
  int in[FY_MAX_INPUTS], out[FY_MAX_OUTPUTS];
  fy_plan_describe(plan, step, &d);
  if (step->op->flags & FY_OP_VIEW) {
    add_view(plan, step, &d.output[0]);
    return;
  }
  if (is_same(plan, step, &d.output[0])) {
    add_alias(plan, step->in[0], step->out[0]);
    return;
  }
  for (int i = 0; i < step->n_in; i++)
    in[i] = d.call.copied >> i & 1 ? copy_of(plan, step->in[i], (FyDType)d.call.wanted[i]) : step->in[i];
  for (int i = 0; i < step->n_out; i++) {
    const FyOutput *o = &d.output[i];
    out[i] = -1;
    if (!o->dtype)
      continue;
    const FyArray array = array_of(plan, o);
    int value = step->out[i];
    if (value >= 0)
      set_array(plan, value, &array);
    else
      value = fy_plan_add_value(plan, &array);
    const FyArray aside = fy_plan_array((FyDType)o->computed, plan->device, o->ndim, o->shape);
    out[i] = d.call.aside >> i & 1 ? fy_plan_add_value(plan, &aside) : value;
  }
  FyPlanStep *made = fy_plan_add_step(plan, FY_STEP_KERNEL, step->op, step->params);
  made->n_in = step->n_in;
  made->n_out = step->n_out;
  memcpy(made->in, in, (size_t)step->n_in * sizeof *in);
  memcpy(made->out, out, (size_t)step->n_out * sizeof *out);
  for (int i = 0; i < step->n_out; i++)
    if (d.call.aside >> i & 1 && step->out[i] >= 0)
      add_copy(plan, out[i], step->out[i]);
}

// ---- the whole -------------------------------------------------------------------------------------------------------------------

static void add_program_values(FyPlan *plan, FyTensor **constants) {
  const FyProgram *program = plan->program;
  for (int i = 0; i < program->value_count; i++) {
    const FyProgramValue *v = &program->values[i];
    FyArray array = fy_plan_array(v->dtype, plan->device, v->ndim, v->shape);
    if (constants[i])
      array = constants[i]->array;
    const int value = fy_plan_add_value(plan, &array);
    plan->values[value].constant = constants[i]; // its reference goes with it
    constants[i] = NULL;
  }
}

static void watch(FyPlan *plan, const FyProgram *program) {
  plan->watched = calloc((size_t)program->value_count + 1, sizeof *plan->watched);
  fy_check(plan->watched, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
  for (int i = 0; i < program->value_count; i++) {
    const FyTensor *t = program->values[i].constant;
    if (t)
      plan->watched[plan->watched_count++] = (FyWatchedState){t, t->storage, fy_version_of(t)};
  }
}

bool fy_plan_holds(const FyPlan *plan) {
  bool same = plan->threads == fy_get_num_threads();
  for (int i = 0; i < plan->watched_count; i++) {
    const FyWatchedState *w = &plan->watched[i];
    same &= w->tensor->storage == w->storage && fy_version_of(w->tensor) == w->version;
  }
  return same;
}

// The result is a value that a step makes: what is the input or a constant, or a part of one, is copied.
static void settle_output(FyPlan *plan) {
  const int value = plan->program->output, root = plan->values[value].root;
  plan->output = value;
  if (!plan->values[root].constant && root != plan->input)
    return;
  const FyArray *from = &plan->values[value].array;
  const FyArray array = fy_plan_array((FyDType)from->dtype, plan->device, from->ndim, from->shape);
  plan->output = fy_plan_add_value(plan, &array);
  add_copy(plan, value, plan->output);
}

static void add_steps(FyPlan *plan, const int *uses, bool *taken) {
  const FyProgram *program = plan->program;
  for (int i = 0; i < program->step_count; i++)
    if (!taken[i] && !fy_fuse_group(plan, i, uses, taken) && !fy_fuse_chain(plan, i, uses, taken) &&
        !fy_fuse_ops(plan, i, uses, taken))
      fy_plan_add_kernel(plan, &program->steps[i]);
}

static FyPlan *blank(FyDevice device) {
  FyPlan *plan = fy_object_new(sizeof *plan, destroy_plan);
  pthread_mutex_init(&plan->lock, NULL);
  plan->device = device;
  plan->threads = fy_get_num_threads();
  return plan;
}

FyPlan *fy_plan_new(const FyProgram *program, FyDevice device, int ndim, const int64_t *shape) {
  const int scope = fy_scope_open();
  FyPlan *plan = blank(device);
  FyTensor **constants;
  watch(plan, program);
  plan->program = fy_retain(fy_program_simplified(program, device, &constants));
  add_program_values(plan, constants);
  free(constants);
  plan->input = plan->program->input;
  plan->values[plan->input].array = fy_plan_array(program->values[program->input].dtype, device, ndim, shape);
  int *uses = fy_program_uses(plan->program);
  bool *taken = calloc((size_t)plan->program->step_count + 1, sizeof *taken);
  FyError error = {0};
  fy_trap(error) {
    fy_check(taken, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
    add_steps(plan, uses, taken);
    settle_output(plan);
    fy_plan_place(plan);
  }
  free(uses);
  free(taken);
  if (error.kind)
    fy_raise_again(&error);
  fy_keep(plan);
  fy_scope_close(scope);
  return plan;
}
