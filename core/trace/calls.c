// SPDX-License-Identifier: MIT
// Calls of ops as steps of a program.
#include "trace/tracer.h"
#include "op/convolution/conv_pool.h"
#include "op/convolution/pool.h"
#include "op/copy/copy.h"
#include "op/normalization/norm.h"
#include "op/product/matmul.h"
#include "op/shape/cat.h"
#include "op/shape/view.h"
#include "trace/record.h"
#include <string.h>

bool fy_program_is_random(const FyOp *op) {
  return op == &fy_op_uniform || op == &fy_op_normal || op == &fy_op_randint || op == &fy_op_dropout;
}

static int add_step(FyTracer *tracer, const FyOp *op, const void *params, int n_in, const int *in,
                    const FyTensor *like) {
  const int out = fy_tracer_add_value(tracer, NULL, like, NULL);
  fy_program_add_step(tracer->program, op, params, n_in, in, 1, &out);
  return out;
}

static int add_shaped(FyTracer *tracer, const FyOp *op, const void *params, int n_in, const int *in, FyDType dtype,
                      int ndim, const int64_t *shape) {
  const int out = fy_program_add_value(tracer->program, NULL, dtype, ndim, shape, NULL);
  fy_program_add_step(tracer->program, op, params, n_in, in, 1, &out);
  return out;
}

static int add_cast(FyTracer *tracer, int value, FyDType dtype) {
  const FyProgramValue from = tracer->program->values[value];
  const FyCopyParams params = {.kind = FY_COPY_TO, .dtype = dtype, .device = tracer->program->device};
  return add_shaped(tracer, &fy_op_copy, &params, 1, &value, dtype, from.ndim, from.shape);
}

// Convolution, ReLU and pooling in one are three steps: what runs as one is for the plan to say.
static int add_conv_pool(FyTracer *tracer, const FyConvPoolParams *p, const int *in, const FyTensor *out) {
  const FyProgramValue x = tracer->program->values[in[0]], weight = tracer->program->values[in[1]];
  const FyConvShape s = fy_conv_pool_shape(p, x.shape, weight.shape).conv;
  const int64_t shape[4] = {s.n, s.o, s.oh, s.ow};
  const FyPool2dParams pool = {.kernel = p->window, .stride = p->window};
  const int conv = add_shaped(tracer, &fy_op_conv2d, &p->conv, 3, in, x.dtype, 4, shape);
  const int relu = add_shaped(tracer, &fy_op_relu, NULL, 1, &conv, x.dtype, 4, shape);
  const int pooled[2] = {fy_tracer_add_value(tracer, NULL, out, NULL), -1}; // nobody wants the taps
  fy_program_add_step(tracer->program, &fy_op_max_pool2d, &pool, 1, &relu, 2, pooled);
  return pooled[0];
}

static int add_linear(FyTracer *tracer, const FyLinearParams *p, const int *in, const FyTensor *out) {
  const FyLinearParams plain = {.bias = p->bias};
  const int linear = add_step(tracer, &fy_op_linear, &plain, 3, in, out);
  return p->relu ? add_step(tracer, &fy_op_relu, NULL, 1, &linear, out) : linear;
}

// A view's sizes are those of the example. The first one is the batch's where the view keeps it; else one that forward gave as -1
// stays what the others leave.
static int add_view(FyTracer *tracer, const FyOpCall *call, const int *in) {
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

static void check_call(const FyTracer *tracer, const FyOpCall *call) {
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

static void inputs_of(FyTracer *tracer, const FyOpCall *call, FyTensor *const *given, int *in) {
  for (int i = 0; i < call->n_in; i++) {
    FyTensor *t = call->in[i];
    if (t && t != given[i] && !fy_tracer_find(tracer, t) &&
        fy_tracer_knows(tracer, given[i])) // autocast's, which nobody was told of
      in[i] = add_cast(tracer, fy_tracer_value_of(tracer, given[i]), (FyDType)t->array.dtype);
    else
      in[i] = t ? fy_tracer_value_of(tracer, t) : -1;
  }
}

// ---- calls that make new tensors -----------------------------------------------------------------------------------------

void fy_tracer_add_call(FyTracer *tracer, const FyOpCall *call, FyTensor *const *given) {
  int in[FY_MAX_INPUTS];
  check_call(tracer, call);
  inputs_of(tracer, call, given, in);
  if (call->op == &fy_op_conv2d_relu_max_pool2d) {
    const int value = add_conv_pool(tracer, call->params, in, call->out[0]);
    fy_tracer_remember(tracer, call->out[0], value, value);
  } else if (call->op == &fy_op_linear) {
    const int value = add_linear(tracer, call->params, in, call->out[0]);
    fy_tracer_remember(tracer, call->out[0], value, value);
  } else if (call->op->flags & FY_OP_VIEW) {
    const int whole = fy_tracer_find(tracer, call->in[0])->whole;
    fy_tracer_remember(tracer, call->out[0], add_view(tracer, call, in), whole);
  } else {
    int out[FY_MAX_OUTPUTS];
    for (int i = 0; i < call->n_out; i++)
      out[i] = call->out[i] ? fy_tracer_add_value(tracer, NULL, call->out[i], NULL) : -1;
    fy_program_add_step(tracer->program, call->op, call->params, call->n_in, in, call->n_out, out);
    for (int i = 0; i < call->n_out; i++)
      if (call->out[i])
        fy_tracer_remember(tracer, call->out[i], out[i], out[i]);
  }
}

// ---- calls in place ------------------------------------------------------------------------------------------------------

// A long list is joined a few tensors at a time, each time into the rest of one target. In a program what was joined so far is a
// value of its own, and the few are put behind it.
static int add_cat(FyTracer *tracer, const FyOpCall *call, const int *in) {
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
static int changed_value(FyTracer *tracer, const FyOpCall *call, const int *in) {
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
static int whole_of(FyTracer *tracer, int value, int old_root, const FyTensor *target) {
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

void fy_tracer_add_change(FyTracer *tracer, const FyOpCall *call, const int *in, int old_whole) {
  check_call(tracer, call);
  FyTensor *target = call->out[0];
  const int old = in[0], value = changed_value(tracer, call, in);
  if (old == old_whole) {
    fy_tracer_remember(tracer, target, value, value);
    return;
  }
  const int whole = whole_of(tracer, value, old_whole, target);
  fy_tracer_remember(tracer, target, fy_tracer_again(tracer, old, old_whole, whole), whole);
}
