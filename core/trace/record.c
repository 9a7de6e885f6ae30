// The tracer: turns the dispatcher's calls into steps of a program while a model's forward runs.
//
// A tensor is known when the program has a value for it: the input, what was computed of known tensors, and the model's
// parameters and buffers. All that is computed of other tensors only happens once, now; such a tensor becomes a constant when a
// known one meets it.
//
// Programs have no changes in place. A call in place is written down as one that makes a new value, and from there on the
// target's memory has that value. Other tensors on that memory were views of the old value: when one of them is used again, its
// views are written down once more, on the new one.
#include "trace/record.h"
#include "autograd/autograd.h"
#include "base/state.h"
#include "nn/impl.h"
#include "op/convolution/conv_pool.h"
#include "op/convolution/pool.h"
#include "op/copy/copy.h"
#include "op/normalisation/norm.h"
#include "op/product/matmul.h"
#include "op/shape/cat.h"
#include "op/shape/view.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A tensor of the forward pass, and what it was at this version of its memory: `value`, made by views alone of `whole`, all of it.
typedef struct Known {
  FyTensor *tensor; // counted: nothing else takes its memory while the trace lasts
  int value, whole;
  uint32_t version;
} Known;

typedef struct Tracer {
  FyObject object;
  FyCallTracer hooks;
  pthread_t thread;
  FyProgram *program; // counted
  FyTensorList *state;
  bool follows; // between the two hooks of a call in place: whether it is written down, with these
  int operands[FY_MAX_INPUTS], old_whole;
  Known *known;
  int count, capacity;
} Tracer;

static void destroy_tracer(void *object) {
  Tracer *tracer = object;
  for (int i = 0; i < tracer->count; i++)
    fy_release(tracer->known[i].tensor);
  free(tracer->known);
  fy_release(tracer->program);
  fy_release(tracer->state);
  free(tracer);
}

// ---- the thread's tracer -----------------------------------------------------------------------------------------------

static _Thread_local Tracer *current;

typedef struct Saved {
  Tracer *tracer;
  void (*value_leaves)(const FyTensor *t, const char *as);
} Saved;

static void save(void *saved) {
  *(Saved *)saved = (Saved){current, fy_value_leaves};
}

static void restore(const void *saved) {
  const Saved *s = saved;
  current = s->tracer;
  fy_call_tracer = current ? &current->hooks : NULL;
  fy_value_leaves = s->value_leaves;
}

__attribute__((constructor)) static void register_part(void) {
  static const FyThreadPart part = {
      .room = "trace", .height = 8, .bytes = sizeof(Saved), .save = save, .restore = restore};
  fy_thread_part_register(&part);
}

// ---- what is known -----------------------------------------------------------------------------------------------------

static bool same_place(const FyTensor *a, const FyTensor *b) {
  bool same = a->storage == b->storage && a->array.data == b->array.data && a->array.dtype == b->array.dtype &&
              fy_same_shape(&a->array, &b->array);
  for (int d = 0; same && d < a->array.ndim; d++)
    same = a->array.stride[d] == b->array.stride[d];
  return same;
}

static Known *find(const Tracer *tracer, const FyTensor *t) {
  for (int i = tracer->count - 1; i >= 0; i--)
    if (tracer->known[i].tensor == t || same_place(tracer->known[i].tensor, t))
      return &tracer->known[i];
  return NULL;
}

static void remember(Tracer *tracer, FyTensor *t, int value, int whole) {
  Known *known = find(tracer, t);
  if (!known) {
    if (tracer->count == tracer->capacity) {
      const int capacity = tracer->capacity ? 2 * tracer->capacity : 64;
      Known *wider = realloc(tracer->known, (size_t)capacity * sizeof *wider);
      fy_check(wider, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a trace of %d tensors", capacity);
      tracer->known = wider;
      tracer->capacity = capacity;
    }
    known = &tracer->known[tracer->count++];
    known->tensor = fy_retain(t);
  }
  known->value = value;
  known->whole = whole;
  known->version = fy_version_of(t);
}

// Its name among the model's state, NULL: it is none of it.
static const char *state_name(const Tracer *tracer, const FyTensor *t) {
  for (int i = 0; i < tracer->state->count; i++)
    if (tracer->state->items[i] == t || same_place(tracer->state->items[i], t))
      return tracer->state->names[i];
  return NULL;
}

static int add_value(Tracer *tracer, const char *name, const FyTensor *like, FyTensor *constant) {
  return fy_program_add_value(tracer->program, name, (FyDType)like->array.dtype, like->array.ndim, like->array.shape,
                              constant);
}

static int add_constant(Tracer *tracer, FyTensor *t) {
  const char *name = state_name(tracer, t);
  FyTensor *whole = t;
  for (int i = 0; name && i < tracer->state->count; i++)
    if (strcmp(tracer->state->names[i], name) == 0)
      whole = tracer->state->items[i];
  const bool host_number = t->array.ndim == 0 && t->device.type == FY_CPU;
  fy_check(
      host_number || fy_device_equal(t->device, tracer->program->device), FY_RUNTIME_ERROR,
      "fy_trace: the example is on %s, but forward uses a tensor on %s: move the model and all that it uses to one "
      "device first",
      fy_device_name_of(tracer->program->device), fy_device_name_of(t->device));
  const int value = add_value(tracer, name, t, name ? whole : fy_detach(t));
  if (!name)
    tracer->program->values[value].constant->wrapped_number = t->wrapped_number;
  remember(tracer, t, value, value);
  return value;
}

// ---- values of tensors ---------------------------------------------------------------------------------------------------

static const FyProgramStep *maker_of(const FyProgram *program, int value) {
  for (int i = program->step_count - 1; i >= 0; i--)
    for (int k = 0; k < program->steps[i].n_out; k++)
      if (program->steps[i].out[k] == value)
        return &program->steps[i];
  return NULL;
}

// The newest value of all of t's memory.
static int newest_whole(const Tracer *tracer, const FyTensor *t) {
  const Known *newest = NULL;
  for (int i = 0; i < tracer->count; i++) {
    const Known *k = &tracer->known[i];
    if (k->tensor->storage == t->storage && (!newest || k->version >= newest->version))
      newest = k;
  }
  return newest->whole;
}

// The views that made `value` of `old`, once more, on `whole`.
static int again(Tracer *tracer, int value, int old, int whole) {
  if (value == old)
    return whole;
  const FyProgramStep step = *maker_of(tracer->program, value); // a copy: the list of steps may move
  const int in = again(tracer, step.in[0], old, whole);
  const FyProgramValue like = tracer->program->values[value];
  const int out = fy_program_add_value(tracer->program, NULL, like.dtype, like.ndim, like.shape, NULL);
  fy_program_add_step(tracer->program, step.op, step.params, 1, &in, 1, &out);
  return out;
}

static int value_of(Tracer *tracer, FyTensor *t) {
  const Known *known = find(tracer, t);
  if (!known)
    return add_constant(tracer, t);
  if (known->version != fy_version_of(t)) {
    const int whole = newest_whole(tracer, t), value = again(tracer, known->value, known->whole, whole);
    remember(tracer, t, value, whole);
    return value;
  }
  return known->value;
}

static bool is_known(const Tracer *tracer, const FyTensor *t) {
  return t && (find(tracer, t) || state_name(tracer, t));
}

// ---- steps -------------------------------------------------------------------------------------------------------------

bool fy_program_is_random(const FyOp *op) {
  return op == &fy_op_uniform || op == &fy_op_normal || op == &fy_op_randint || op == &fy_op_dropout;
}

static int add_step(Tracer *tracer, const FyOp *op, const void *params, int n_in, const int *in, const FyTensor *like) {
  const int out = add_value(tracer, NULL, like, NULL);
  fy_program_add_step(tracer->program, op, params, n_in, in, 1, &out);
  return out;
}

static int add_shaped(Tracer *tracer, const FyOp *op, const void *params, int n_in, const int *in, FyDType dtype,
                      int ndim, const int64_t *shape) {
  const int out = fy_program_add_value(tracer->program, NULL, dtype, ndim, shape, NULL);
  fy_program_add_step(tracer->program, op, params, n_in, in, 1, &out);
  return out;
}

static int add_cast(Tracer *tracer, int value, FyDType dtype) {
  const FyProgramValue from = tracer->program->values[value];
  const FyCopyParams params = {.kind = FY_COPY_TO, .dtype = dtype, .device = tracer->program->device};
  return add_shaped(tracer, &fy_op_copy, &params, 1, &value, dtype, from.ndim, from.shape);
}

// Convolution, ReLU and pooling in one are three steps: what runs as one is for the plan to say.
static int add_conv_pool(Tracer *tracer, const FyConvPoolParams *p, const int *in, const FyTensor *out) {
  const FyProgramValue x = tracer->program->values[in[0]], weight = tracer->program->values[in[1]];
  const FyConvShape s = fy_conv_pool_shape(p, x.shape, weight.shape).conv;
  const int64_t shape[4] = {s.n, s.o, s.oh, s.ow};
  const FyPool2dParams pool = {.kernel = p->window, .stride = p->window};
  const int conv = add_shaped(tracer, &fy_op_conv2d, &p->conv, 3, in, x.dtype, 4, shape);
  const int relu = add_shaped(tracer, &fy_op_relu, NULL, 1, &conv, x.dtype, 4, shape);
  const int pooled[2] = {add_value(tracer, NULL, out, NULL), -1}; // nobody wants the taps
  fy_program_add_step(tracer->program, &fy_op_max_pool2d, &pool, 1, &relu, 2, pooled);
  return pooled[0];
}

static int add_linear(Tracer *tracer, const FyLinearParams *p, const int *in, const FyTensor *out) {
  const FyLinearParams plain = {.bias = p->bias};
  const int linear = add_step(tracer, &fy_op_linear, &plain, 3, in, out);
  return p->relu ? add_step(tracer, &fy_op_relu, NULL, 1, &linear, out) : linear;
}

// A view's sizes are those of the example. The first one is the batch's where the view keeps it; else one that forward gave as -1
// stays what the others leave.
static int add_view(Tracer *tracer, const FyCall *call, const int *in) {
  FyViewParams p = *(const FyViewParams *)call->params;
  const FyArray *from = &call->in[0]->array, *to = &call->out[0]->array;
  const bool keeps = from->ndim && to->ndim && from->shape[0] == to->shape[0];
  if (call->op == &fy_op_view && keeps)
    p.dim = FY_VIEW_KEEP_FIRST;
  if (call->op == &fy_op_expand)
    for (int d = 0; d < from->ndim; d++)
      if (from->shape[d] == p.shape[p.ndim - from->ndim + d])
        p.shape[p.ndim - from->ndim + d] = -1;
  if (call->op == &fy_op_slice && p.start == 0 && p.step == 1 && p.length == from->shape[p.dim])
    return in[0]; // all of it, however long it is
  return add_step(tracer, call->op, &p, 1, in, call->out[0]);
}

static void check_call(const Tracer *tracer, const FyCall *call) {
  fy_check(
      pthread_equal(tracer->thread, pthread_self()), FY_RUNTIME_ERROR,
      "fy_trace: forward runs %s on a thread of its own, which cannot be recorded: trace the module that it shares "
      "out instead",
      call->op->name);
  fy_check(fy_device_equal(call->device, tracer->program->device), FY_RUNTIME_ERROR,
           "fy_trace: the example is on %s, but forward runs %s on %s: trace the part on each device by itself",
           fy_device_name_of(tracer->program->device), call->op->name, fy_device_name_of(call->device));
  const FyBatchNormParams *norm = call->op == &fy_op_batch_norm ? call->params : NULL;
  fy_check(!norm || !norm->training, FY_RUNTIME_ERROR,
           "fy_trace: batch_norm is in training mode, where it changes its running statistics: call fy_eval(model) "
           "before fy_trace");
}

static void inputs_of(Tracer *tracer, const FyCall *call, FyTensor *const *given, int *in) {
  for (int i = 0; i < call->n_in; i++) {
    FyTensor *t = call->in[i];
    if (t && t != given[i] && !find(tracer, t) && is_known(tracer, given[i])) // autocast's, which nobody was told of
      in[i] = add_cast(tracer, value_of(tracer, given[i]), (FyDType)t->array.dtype);
    else
      in[i] = t ? value_of(tracer, t) : -1;
  }
}

// ---- calls that make new tensors -----------------------------------------------------------------------------------------

static void add_call(Tracer *tracer, const FyCall *call, const int *in) {
  if (call->op == &fy_op_conv2d_relu_max_pool2d) {
    const int value = add_conv_pool(tracer, call->params, in, call->out[0]);
    remember(tracer, call->out[0], value, value);
  } else if (call->op == &fy_op_linear) {
    const int value = add_linear(tracer, call->params, in, call->out[0]);
    remember(tracer, call->out[0], value, value);
  } else if (call->op->flags & FY_OP_VIEW) {
    const int whole = find(tracer, call->in[0])->whole;
    remember(tracer, call->out[0], add_view(tracer, call, in), whole);
  } else {
    int out[FY_MAX_OUTPUTS];
    for (int i = 0; i < call->n_out; i++)
      out[i] = call->out[i] ? add_value(tracer, NULL, call->out[i], NULL) : -1;
    fy_program_add_step(tracer->program, call->op, call->params, call->n_in, in, call->n_out, out);
    for (int i = 0; i < call->n_out; i++)
      if (call->out[i])
        remember(tracer, call->out[i], out[i], out[i]);
  }
}

// ---- calls in place ------------------------------------------------------------------------------------------------------

// A long list is joined a few tensors at a time, each time into the rest of one target. In a program what was joined so far is a
// value of its own, and the few are put behind it.
static int add_cat(Tracer *tracer, const FyCall *call, const int *in) {
  FyCatParams p = *(const FyCatParams *)call->params;
  const bool begins = p.offset == 0;
  int64_t length = 0;
  for (int i = 1; i < call->n_in; i++)
    length += fy_cat_length(&p, call->in[i]->array.ndim, call->in[i]->array.shape);
  const int64_t before = p.offset;
  p.first = 0;
  p.offset = 0;
  p.shape[p.dim] = length;
  const int few = add_shaped(tracer, &fy_op_cat, &p, call->n_in - 1, in + 1, (FyDType)p.dtype, p.ndim, p.shape);
  if (begins)
    return few;
  p.stack = false;
  int joined = in[0];
  if (tracer->program->values[joined].shape[p.dim] != before) { // of constants, in the whole target
    const FyViewParams part = {.dim = p.dim, .step = 1, .length = before};
    p.shape[p.dim] = before;
    joined = add_shaped(tracer, &fy_op_slice, &part, 1, &joined, (FyDType)p.dtype, p.ndim, p.shape);
  }
  p.shape[p.dim] = before + length;
  return add_shaped(tracer, &fy_op_cat, &p, 2, (int[]){joined, few}, (FyDType)p.dtype, p.ndim, p.shape);
}

// The result of a call in place, as a new value of the target's shape and dtype.
static int changed_value(Tracer *tracer, const FyCall *call, const int *in) {
  const FyTensor *target = call->out[0];
  const FyDType dtype = (FyDType)target->array.dtype;
  if (call->op == &fy_op_cat)
    return add_cat(tracer, call, in);
  if (call->op == &fy_op_copy) {
    const FyProgramValue from = tracer->program->values[in[1]];
    int source = from.dtype == dtype ? in[1] : add_cast(tracer, in[1], dtype);
    if (fy_has_shape(&target->array, from.ndim, from.shape))
      return source;
    FyViewParams p = {.ndim = target->array.ndim};
    memcpy(p.shape, target->array.shape, (size_t)p.ndim * sizeof *p.shape);
    return add_step(tracer, &fy_op_expand, &p, 1, &source, target);
  }
  const FyDType computed = (FyDType)call->output[0].dtype;
  const int value =
      add_shaped(tracer, call->op, call->params, call->n_in, in, computed, target->array.ndim, target->array.shape);
  return computed == dtype ? value : add_cast(tracer, value, dtype);
}

// The target was a view: its memory as a whole is the new value in the old shape.
static int whole_of(Tracer *tracer, int value, int old_root, const FyTensor *target) {
  const FyProgramValue root = tracer->program->values[old_root], part = tracer->program->values[value];
  int64_t all = 1, changed = 1;
  for (int d = 0; d < root.ndim; d++)
    all *= root.shape[d];
  for (int d = 0; d < part.ndim; d++)
    changed *= part.shape[d];
  fy_check(all == changed && target->array.contiguous, FY_RUNTIME_ERROR,
           "fy_trace: forward changes a part of a tensor in place (a view of shape %s of a tensor of shape %s), which "
           "cannot be recorded: make a new tensor of the parts, by fy_cat, fy_stack or fy_where",
           fy_shape_string(target), fy_sizes_string(root.ndim, root.shape));
  FyViewParams p = {.ndim = root.ndim};
  memcpy(p.shape, root.shape, sizeof p.shape);
  if (root.ndim && all)
    p.dim = 1; // the batch's size is what the others leave
  return add_shaped(tracer, &fy_op_view, &p, 1, &value, root.dtype, root.ndim, root.shape);
}

// `old` is what the target was, made of old_whole.
static void note_change(Tracer *tracer, const FyCall *call, const int *in, int old_whole) {
  FyTensor *target = call->out[0];
  const int old = in[0], value = changed_value(tracer, call, in);
  if (old == old_whole) {
    remember(tracer, target, value, value);
    return;
  }
  const int whole = whole_of(tracer, value, old_whole, target);
  remember(tracer, target, again(tracer, old, old_whole, whole), whole);
}

// ---- the hooks -------------------------------------------------------------------------------------------------------------

static Tracer *tracer_of(FyCallTracer *hooks) {
  return (Tracer *)(void *)((char *)hooks - offsetof(Tracer, hooks));
}

// Whether the call has to be written down: it reads what is known, or draws numbers.
static bool follows(const Tracer *tracer, const FyCall *call, FyTensor *const *given) {
  bool known = fy_program_is_random(call->op);
  for (int i = 0; i < call->n_in; i++)
    known |= is_known(tracer, call->in[i]) || is_known(tracer, given[i]);
  return known;
}

// What is about to change: a constant that the program has keeps the values that it had.
static void keep_constants(const Tracer *tracer, const FyTensor *target) {
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
static void before_change(FyCallTracer *hooks, const FyCall *call) {
  Tracer *tracer = tracer_of(hooks);
  FyTensor *target = call->out[0];
  for (int i = 0; i < tracer->state->count; i++)
    fy_check(tracer->state->items[i]->storage != target->storage, FY_RUNTIME_ERROR,
             "fy_trace: forward changes '%s' of the model in place (%s), and a traced module changes nothing of it. "
             "Layers that do so in training mode, as batch norm does, need fy_eval(model) before fy_trace",
             tracer->state->names[i], call->op->name);
  tracer->follows = follows(tracer, call, call->in);
  for (int i = 0; tracer->follows && i < call->n_in; i++)
    tracer->operands[i] = call->in[i] ? value_of(tracer, call->in[i]) : -1;
  if (tracer->follows)
    tracer->old_whole = find(tracer, target)->whole;
  keep_constants(tracer, target);
}

static void after(FyCallTracer *hooks, const FyCall *call, FyTensor *const *given) {
  Tracer *tracer = tracer_of(hooks);
  if (call->in_place && tracer->follows) {
    check_call(tracer, call);
    note_change(tracer, call, tracer->operands, tracer->old_whole);
  } else if (!call->in_place && follows(tracer, call, given)) {
    int in[FY_MAX_INPUTS];
    check_call(tracer, call);
    inputs_of(tracer, call, given, in);
    add_call(tracer, call, in);
  }
}

// ---- recording -------------------------------------------------------------------------------------------------------------

static void tell_of_value(const FyTensor *t, const char *as) {
  if (!current || !find(current, t))
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

static Tracer *begin(FyModule *model, FyTensor *example) {
  Tracer *tracer = fy_object_new(sizeof *tracer, destroy_tracer);
  tracer->hooks = (FyCallTracer){before_change, after};
  tracer->thread = pthread_self();
  tracer->state = fy_tensor_list_new();
  fy_retain(tracer->state);
  FyTensorList *parameters = fy_parameters_of(model), *buffers = fy_buffers_of(model);
  for (int i = 0; i < parameters->count; i++)
    fy_list_add(tracer->state, parameters->names[i], parameters->items[i]);
  for (int i = 0; i < buffers->count; i++)
    fy_list_add(tracer->state, buffers->names[i], buffers->items[i]);
  tracer->program = fy_retain(fy_program_new(example->device));
  tracer->program->input = add_value(tracer, "input", example, NULL);
  remember(tracer, example, tracer->program->input, tracer->program->input);
  return tracer;
}

static FyTensor *forward(Tracer *tracer, FyModule *model, FyTensor *example, bool warns) {
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
  Tracer *tracer = begin(model, input);
  FyTensor *y = forward(tracer, model, input, warns);
  tracer->program->output = value_of(tracer, y);
  drop_dead(tracer->program);
  FyProgram *program = fy_keep(fy_adopt(fy_retain(tracer->program)));
  fy_scope_close(scope);
  return program;
}
