// SPDX-License-Identifier: MIT
// Recording: turns the dispatcher's calls into steps of a program while a model's forward runs.
//
// A tensor is known when the program has a value for it: the input, what was computed of known tensors, and the model's
// parameters and buffers (known.c). All that is computed of other tensors only happens once, now; such a tensor becomes a constant
// when a known one meets it. What becomes of a call: calls.c.
#include "trace/record.h"
#include "autograd/autograd.h"
#include "base/state.h"
#include "nn/impl.h"
#include "trace/tracer.h"
#include <stdio.h>
#include <stdlib.h>

static void destroy_tracer(void *object) {
  FyTracer *tracer = object;
  for (int i = 0; i < tracer->count; i++)
    fy_release(tracer->known[i].tensor);
  free(tracer->known);
  fy_release(tracer->program);
  fy_release(tracer->state);
  free(tracer);
}

// ---- the thread's tracer -----------------------------------------------------------------------------------------------

static _Thread_local FyTracer *current;

typedef struct Saved {
  FyTracer *tracer;
  void (*value_leaves)(const FyTensor *t, const char *as);
} Saved;

static void save(void *saved) {
  *(Saved *)saved = (Saved){current, fy_value_leaves};
}

static void restore(const void *saved) {
  const Saved *s = saved;
  current = s->tracer;
  fy_thread_op_hooks = current ? &current->hooks : NULL;
  fy_value_leaves = s->value_leaves;
}

__attribute__((constructor)) static void register_part(void) {
  static const FyThreadPart part = {
      .room = "trace", .height = 8, .bytes = sizeof(Saved), .save = save, .restore = restore};
  fy_thread_part_register(&part);
}

// ---- the hooks -------------------------------------------------------------------------------------------------------------

static FyTracer *tracer_of(FyOpHooks *hooks) {
  return (FyTracer *)(void *)((char *)hooks - offsetof(FyTracer, hooks));
}

// Whether the call has to be written down: it reads what is known, or draws numbers.
static bool follows(const FyTracer *tracer, const FyOpCall *call, FyTensor *const *given) {
  bool known = fy_program_is_random(call->op);
  for (int i = 0; i < call->n_in; i++)
    known |= fy_tracer_knows(tracer, call->in[i]) || fy_tracer_knows(tracer, given[i]);
  return known;
}

// What is about to change: a constant that the program has keeps the values that it had.
static void keep_constants(const FyTracer *tracer, const FyTensor *target) {
  for (int i = 0; i < tracer->count; i++) {
    FyProgramValue *value = &tracer->program->values[tracer->known[i].value];
    if (tracer->known[i].tensor->storage != target->storage || !value->constant)
      continue;
    FyTensor *copy = fy_retain(fy_copy_of(value->constant, value->dtype));
    copy->wrapped_number = value->constant->wrapped_number;
    fy_release(value->constant);
    value->constant = copy;
  }
}

// Of a call in place the operands are looked up while the target has its old value.
static void before_change(FyOpHooks *hooks, const FyOpCall *call) {
  FyTracer *tracer = tracer_of(hooks);
  FyTensor *target = call->out[0];
  for (int i = 0; i < tracer->state->count; i++)
    fy_check(tracer->state->items[i]->storage != target->storage, FY_RUNTIME_ERROR,
             "fy_trace: forward changes '%s' of the model in place (%s), and a traced module changes nothing of it. "
             "Layers that do so in training mode, as batch norm does, need fy_eval(model) before fy_trace",
             tracer->state->names[i], call->op->name);
  tracer->follows = follows(tracer, call, call->in);
  for (int i = 0; tracer->follows && i < call->n_in; i++)
    tracer->operands[i] = call->in[i] ? fy_tracer_value_of(tracer, call->in[i]) : -1;
  if (tracer->follows)
    tracer->old_whole = fy_tracer_find(tracer, target)->whole;
  keep_constants(tracer, target);
}

static void after(FyOpHooks *hooks, const FyOpCall *call, FyTensor *const *given) {
  FyTracer *tracer = tracer_of(hooks);
  if (call->in_place && tracer->follows)
    fy_tracer_add_change(tracer, call, tracer->operands, tracer->old_whole);
  else if (!call->in_place && follows(tracer, call, given))
    fy_tracer_add_call(tracer, call, given);
}

// ---- recording -------------------------------------------------------------------------------------------------------------

static void tell_of_value(const FyTensor *t, const char *as) {
  if (!current || !fy_tracer_find(current, t))
    return;
  fprintf(
      stderr,
      "TracerWarning: Converting a tensor to a C %s might cause the trace to be incorrect. We can't record the data "
      "flow of C values, so this value will be treated as a constant in the future. This means that the trace might "
      "not generalize to other inputs!\n",
      as);
}

// Steps whose outputs nobody needs go, and so do outputs that nobody needs beside others.
static void drop_dead(FyProgram *program) {
  bool *needed = calloc((size_t)program->value_count, sizeof *needed);
  fy_check(needed, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a traced program");
  needed[program->output] = true;
  for (int i = program->step_count - 1; i >= 0; i--) {
    FyProgramStep *step = &program->steps[i];
    bool wanted = false;
    for (int k = 0; k < step->n_out; k++) {
      if (step->out[k] >= 0 && !needed[step->out[k]])
        step->out[k] = -1;
      wanted |= step->out[k] >= 0;
    }
    for (int k = 0; wanted && k < step->n_in; k++)
      if (step->in[k] >= 0)
        needed[step->in[k]] = true;
  }
  int kept = 0;
  for (int i = 0; i < program->step_count; i++) {
    bool wanted = false;
    for (int k = 0; k < program->steps[i].n_out; k++)
      wanted |= program->steps[i].out[k] >= 0;
    if (wanted)
      program->steps[kept++] = program->steps[i];
    else
      free(program->steps[i].params);
  }
  program->step_count = kept;
  free(needed);
}

static FyTracer *begin(FyModule *model, FyTensor *example) {
  FyTracer *tracer = fy_object_new(sizeof *tracer, destroy_tracer);
  tracer->hooks = (FyOpHooks){.before_change = before_change, .after = after};
  tracer->thread = pthread_self();
  tracer->state = fy_tensor_list_new();
  fy_retain(tracer->state);
  FyTensorList *parameters = fy_parameters_of(model), *buffers = fy_buffers_of(model);
  for (int i = 0; i < parameters->count; i++)
    fy_list_add(tracer->state, parameters->names[i], parameters->items[i]);
  for (int i = 0; i < buffers->count; i++)
    fy_list_add(tracer->state, buffers->names[i], buffers->items[i]);
  tracer->program = fy_retain(fy_program_new(example->device));
  tracer->program->input = fy_tracer_add_value(tracer, "input", example, NULL);
  fy_tracer_remember(tracer, example, tracer->program->input, tracer->program->input);
  return tracer;
}

static FyTensor *forward(FyTracer *tracer, FyModule *model, FyTensor *example, bool warns) {
  FyTensor *result = NULL;
  Saved before;
  save(&before);
  fy_no_grad {
    restore(&(Saved){tracer, warns ? tell_of_value : NULL});
    result = fy_forward_of(model, example);
    restore(&before);
  }
  return result;
}

FyProgram *fy_record_program(FyModule *model, FyTensor *example, bool warns) {
  fy_check(!current, FY_RUNTIME_ERROR, "fy_trace: a trace is under way already in this thread");
  const int scope = fy_scope_open();
  // A copy: what forward changes in place is not the caller's tensor, and its memory holds no parameter.
  FyTensor *input = fy_copy_of(example, (FyDType)example->array.dtype);
  FyTracer *tracer = begin(model, input);
  FyTensor *y = forward(tracer, model, input, warns);
  tracer->program->output = fy_tracer_value_of(tracer, y);
  drop_dead(tracer->program);
  FyProgram *program = fy_keep(fy_adopt(fy_retain(tracer->program)));
  fy_scope_close(scope);
  return program;
}
