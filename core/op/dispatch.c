// SPDX-License-Identifier: MIT
// The dispatcher: every op of every public function runs through here, down once and back.
//
//   autocast        in a region of it: the inputs in the types that the op is to run in (autocast.c)
//   common_device   where the call runs
//   op->infer       checks shapes and dtypes, and describes the call (op.h, infer.c)
//   make_outputs    new tensors, or aliases for views
//   launch          copies what the kernel wants otherwise, runs the kernel, copies what it wrote elsewhere
//   fy_record       a node for backward (record.c); in place it is begun before the launch, with the old value
//
// Profilers, tracers and tests register hooks (FyOpHooks).
//
// fy_run_multi and fy_run_in_place, at the end, are that way; what stands before them are its steps, in order. An op's record
// (op.h) says what is particular to it. The one op known by name is the copy, which prepares for all.
//
// Whatever raises does so before an input is written, a version counted or a tensor handed to the caller's scope: what was
// made until then belongs to the call's own scope.
#include "base/state.h"
#include "device/runtime.h"
#include "graph/view.h"
#include "op/levels.h"
#include "op/op.h"
#include "op/ops.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

// ---- devices ---------------------------------------------------------------------------------------------------------

// What is wrong with shapes and dtypes besides is told first, as PyTorch does: infer raises it.
static _Noreturn void raise_mixed_devices(FyOpCall *call, FyDevice a, FyDevice b) {
  FyTensor *const *in = call->in;
  call->device = a;
  if (!(call->op->flags & FY_OP_DEVICE_FIRST))
    call->op->infer(call);
  if (call->op->flags & FY_OP_WEIGHTED && in[0]->device.type != in[1]->device.type)
    fy_raise(FY_RUNTIME_ERROR, "Input type (%s) and weight type (%s) should be the same", fy_type_string(in[0]),
             fy_type_string(in[1]));
  fy_raise_two_devices(a, b);
}

// Where a call runs: its inputs' device. A 0-dim CPU tensor may stand beside CUDA ones.
static FyDevice common_device(FyOpCall *call) {
  const FyTensor *first = NULL;
  for (int i = 0; i < call->n_in; i++) {
    const FyTensor *t = call->in[i];
    if (!t)
      continue;
    if (!first) {
      first = t;
    } else if (!fy_device_equal(t->device, first->device)) {
      if (first->array.host_scalar && t->device.type == FY_CUDA)
        first = t;
      else if (!t->array.host_scalar)
        raise_mixed_devices(call, first->device, t->device);
    }
  }
  if (!first)
    fy_panic("%s was called without any tensor", call->op->name);
  return first->device;
}

// The elements of the inputs, where the op cares; a GPU cannot be asked without waiting for it, and its kernels assert.
static void check_elements(const FyOpCall *call) {
  const FyArray *in[FY_MAX_INPUTS];
  if (!call->op->check || call->device.type != FY_CPU)
    return;
  for (int i = 0; i < call->n_in; i++)
    in[i] = call->in[i] ? &call->in[i]->array : NULL;
  call->op->check(call->params, in);
}

// ---- outputs -----------------------------------------------------------------------------------------------------------

static FyTensor *new_output(const FyOpCall *call, const FyOutput *o) {
  if (call->op->flags & FY_OP_VIEW)
    return fy_new_alias(call->in[0], o->ndim, o->shape, o->stride, o->offset);
  FyTensor *t = fy_new_tensor((FyDType)o->dtype, call->device, o->ndim, o->shape, o->pinned);
  if (o->strided) {
    memcpy(t->array.stride, o->stride, (size_t)o->ndim * sizeof *o->stride);
    fy_array_finish(&t->array);
  }
  return t;
}

static bool fits(const FyOpCall *call, const FyOutput *o, const FyTensor *place) {
  return place && !o->strided && !o->pinned && place->array.contiguous && place->array.dtype == o->dtype &&
         fy_device_equal(place->device, call->device) && fy_has_shape(&place->array, o->ndim, o->shape);
}

static void make_outputs(FyOpCall *call) {
  for (int i = 0; i < call->n_out; i++) {
    const FyOutput *o = &call->output[i];
    if (call->places && o->dtype && fits(call, o, call->places[i]))
      call->out[i] = fy_detach(call->places[i]);
    else
      call->out[i] = o->dtype ? new_output(call, o) : NULL;
  }
}

// ---- running a kernel ----------------------------------------------------------------------------------------------------

enum { MAX_SCRATCH = 16 };

typedef struct Scratch {
  FyDevice device;
  void *blocks[MAX_SCRATCH];
  int count;
  size_t refused; // bytes of a request that could not be met
} Scratch;

static void *workspace(FyLaunch *launch, size_t bytes) {
  Scratch *scratch = launch->owner;
  void *pointer = NULL, **block = &scratch->blocks[scratch->count];
  if (scratch->count == MAX_SCRATCH)
    fy_panic("an op asked for more than %d workspaces", MAX_SCRATCH);
  bool met = scratch->device.type == FY_CPU ? fy_host_try_alloc(bytes, &pointer, block)
                                            : fy_cuda_try_alloc(scratch->device.index, bytes, &pointer, block);
  if (met)
    scratch->count++;
  else
    scratch->refused = bytes;
  return pointer;
}

static void free_scratch(const Scratch *scratch) {
  for (int i = 0; i < scratch->count; i++) {
    if (scratch->device.type == FY_CPU)
      fy_host_free(scratch->blocks[i]);
    else
      fy_cuda_free(scratch->blocks[i]);
  }
}

// With the allocator's own words, if it still refuses.
static _Noreturn void raise_no_memory(const FyOpCall *call, const Scratch *scratch) {
  fy_new_tensor(FY_UINT8, scratch->device, 1, (const int64_t[]){(int64_t)scratch->refused}, false);
  fy_raise(FY_OUT_OF_MEMORY_ERROR, "%s out of memory. Tried to allocate %zu bytes as workspace of %s",
           scratch->device.type == FY_CPU ? "CPU" : "CUDA", scratch->refused, call->op->name);
}

void fy_launch_check(const FyOp *op, const FyArray *first, int result) {
  if (result == FY_LAUNCH_OK)
    return;
  if (result == FY_LAUNCH_NO_KERNEL)
    fy_raise_not_implemented(op->name, first ? (FyDType)first->dtype : FY_DEFAULT_DTYPE);
  if (result > 0)
    fy_cuda_check(result);
  if (result <= FY_LAUNCH_DNN)
    fy_raise(FY_RUNTIME_ERROR, "%s: oneDNN failed with status %d", op->name, FY_LAUNCH_DNN - result);
  fy_raise(FY_RUNTIME_ERROR, "CUDA error: cuBLAS failed with status %d in %s", FY_LAUNCH_BLAS - result, op->name);
}

static void check_result(const FyOpCall *call, const Scratch *scratch, int result) {
  if (result == FY_LAUNCH_NO_MEMORY)
    raise_no_memory(call, scratch);
  fy_launch_check(call->op, call->in[0] ? &call->in[0]->array : NULL, result);
}

int fy_launch_alone(const FyLaunch *launch, FyKernel *kernel) {
  FyLaunch alone = *launch;
  Scratch scratch;
  scratch.device = ((const Scratch *)launch->owner)->device;
  scratch.count = 0;
  alone.owner = &scratch;
  int result = kernel(&alone);
  free_scratch(&scratch);
  return result;
}

// Where the op has several ways to compute, and is asked to look for the fastest.
static int run_chosen(const FyOp *op, FyDevice device, FyLaunch *launch, FyKernel *kernel) {
  return op->choose && fy_is_benchmarking() ? op->choose(launch, kernel, device) : kernel(launch);
}

// Makes the device current and tells the launch of it. A device that plays a GPU is told what the op does, and until when.
static int run_on_cuda(const FyOp *op, FyDevice device, FyLaunch *launch, bool choose) {
  launch->device = device.index;
  fy_use_device(device.index);
  launch->stream = fy_raw_stream(device.index);
  launch->blas = fy_raw_blas;
  launch->multi_processors = fy_multi_processors(device.index);
  const FyBackend *backend = fy_backend();
  FyKernel *kernel = backend->kernels[op->id];
  const bool modeled = __builtin_expect(fy_cuda_model() != NULL, false);
  if (modeled) {
    const FyOpCost cost = fy_cost_of(op, launch);
    backend->model_op(&cost);
  }
  const int result = choose ? run_chosen(op, device, launch, kernel) : kernel(launch);
  if (modeled)
    backend->model_op(NULL);
  return result;
}

int fy_launch_on_cuda(const FyOp *op, int device, FyLaunch *launch) {
  return run_on_cuda(op, (FyDevice){FY_CUDA, (int16_t)device}, launch, false);
}

// The kernel on the call's tensors as they are, or what stands for one between devices.
static void run_kernel(const FyOpCall *call) {
  if (call->crosses) {
    call->op->cross(call);
    return;
  }
  FyLaunch launch = {.n_in = call->n_in, .n_out = call->n_out, .params = call->params, .workspace = workspace};
  Scratch scratch; // its blocks need no zeros
  scratch.device = call->device;
  scratch.count = 0;
  scratch.refused = 0;
  launch.owner = &scratch;
  for (int i = 0; i < call->n_in; i++)
    launch.in[i] = call->in[i] ? &call->in[i]->array : NULL;
  for (int i = 0; i < call->n_out; i++)
    launch.out[i] = call->out[i] ? &call->out[i]->array : NULL;
  const int result = call->device.type == FY_CPU ? run_chosen(call->op, call->device, &launch, fy_cpu_kernel(call->op))
                                                 : run_on_cuda(call->op, call->device, &launch, true);
  free_scratch(&scratch);
  check_result(call, &scratch, result);
}

// to[...] = from[...] on one device, whatever their dtypes and layouts: the kernel of the copy, and nothing else.
static void copy(FyTensor *to, FyTensor *from) {
  run_kernel(&(FyOpCall){.op = &fy_op_copy, .in = &from, .out = {to}, .n_in = 1, .n_out = 1, .device = to->device});
}

// ---- launching: what the kernel wants otherwise ------------------------------------------------------------------------

_Thread_local FyOpHooks *fy_thread_op_hooks;
static FyOpHooks *_Atomic op_hooks;
static pthread_mutex_t op_hooks_lock = PTHREAD_MUTEX_INITIALIZER;

void fy_op_hooks_add(FyOpHooks *hooks) {
  pthread_mutex_lock(&op_hooks_lock);
  hooks->next = op_hooks;
  op_hooks = hooks;
  pthread_mutex_unlock(&op_hooks_lock);
}

// hooks->next stays: another thread may be at it.
void fy_op_hooks_remove(FyOpHooks *hooks) {
  pthread_mutex_lock(&op_hooks_lock);
  FyOpHooks *_Atomic *link = &op_hooks;
  while (*link && *link != hooks)
    link = &(*link)->next;
  if (*link)
    *link = hooks->next;
  pthread_mutex_unlock(&op_hooks_lock);
}

// The registered hooks; what a call has begun with it goes on with.
static FyOpHooks *hooks_now(void) {
  return atomic_load_explicit(&op_hooks, memory_order_acquire);
}

#define RUN_HOOKS(list, function, ...)                                                                                 \
  for (FyOpHooks *h = (list); __builtin_expect(h != NULL, false);                                                      \
       h = atomic_load_explicit(&h->next, memory_order_acquire))                                                       \
    if (h->function)                                                                                                   \
  h->function(h, __VA_ARGS__)

static void observe(const FyOpCall *call) {
  RUN_HOOKS(hooks_now(), kernel, call);
}

static bool is_half(int dtype) {
  return dtype == FY_FLOAT16 || dtype == FY_BFLOAT16;
}

// For kernels that know no half types.
static void widen_halves(FyOpCall *call) {
  for (int i = 0; i < call->n_in; i++) {
    const FyTensor *t = call->in[i];
    if (!t || !is_half(call->copied >> i & 1 ? call->wanted[i] : t->array.dtype))
      continue;
    call->copied |= (uint8_t)(1u << i);
    call->wanted[i] = FY_FLOAT32;
  }
  for (int i = 0; i < call->n_out; i++) {
    if (!is_half(call->output[i].computed))
      continue;
    call->aside |= (uint8_t)(1u << i);
    call->output[i].computed = FY_FLOAT32;
  }
}

FyTensor *fy_copy_of(FyTensor *t, FyDType dtype) {
  FyTensor *fresh = fy_new_tensor(dtype, t->device, t->array.ndim, t->array.shape, false);
  copy(fresh, t);
  return fresh;
}

// What the kernel writes in out[i]'s stead. In place that is the copy of in[0] where there is one: the old values are in it.
static FyTensor *set_aside(const FyOpCall *call, const FyOpCall *inner, int i) {
  const FyOutput *o = &call->output[i];
  if (call->in_place && inner->in[0] != call->in[0] && inner->in[0]->array.dtype == o->computed)
    return inner->in[0];
  return fy_new_tensor((FyDType)o->computed, call->device, o->ndim, o->shape, false);
}

// Between copies of the inputs and outputs that the kernel cannot take as they are.
static void launch_prepared(const FyOpCall *call) {
  FyOpCall inner = *call;
  FyTensor *in[FY_MAX_INPUTS];
  inner.in = in;
  for (int i = 0; i < call->n_in; i++)
    in[i] = call->copied >> i & 1 ? fy_copy_of(call->in[i], (FyDType)call->wanted[i]) : call->in[i];
  for (int i = 0; i < call->n_out; i++)
    if (call->aside >> i & 1)
      inner.out[i] = set_aside(call, &inner, i);
  observe(call);
  run_kernel(&inner);
  for (int i = 0; i < call->n_out; i++)
    if (call->aside >> i & 1)
      copy(call->out[i], inner.out[i]);
}

static bool computes_in_float(const FyOpCall *call) {
  const FyOp *op = call->op;
  return call->device.type == FY_CPU && op->flags & FY_OP_CPU_HALF_AS_FLOAT &&
         !(op->cpu_bfloat16 && op->cpu_bfloat16(call));
}

void fy_call_widen(FyOpCall *call) {
  if (computes_in_float(call))
    widen_halves(call);
}

static void launch(FyOpCall *call) {
  fy_call_widen(call);
  if (call->copied | call->aside) {
    launch_prepared(call);
  } else {
    observe(call);
    if (call->op->flags & FY_OP_VIEW)
      return;
    run_kernel(call);
  }
  if (call->device.type == FY_CUDA && !call->crosses)
    fy_op_launched();
}

// ---- the way of a call -----------------------------------------------------------------------------------------------------

static bool wants_grad(const FyOp *op, int n_in, FyTensor *const *in) {
  if (!fy_grad_enabled || !op->backward || op->flags & FY_OP_NO_GRAD)
    return false;
  for (int i = 0; i < n_in; i++)
    if (in[i] && fy_has_gradient(in[i]))
      return true;
  return false;
}

// The call goes on with its inputs cast. Returns what its node leads to.
static FyTensor *const *autocast(FyOpCall *call, FyTensor **cast) {
  FyTensor *const *given = call->in;
  bool recorded;
  call->in = fy_autocast_inputs(call->op, call->n_in, given, cast, &recorded);
  return recorded ? call->in : given;
}

void fy_run_multi_into(const FyOp *op, const void *params, int n_in, FyTensor *const *in, int n_out, FyTensor **out,
                       FyTensor *const *places) {
  FyOutput output[FY_MAX_OUTPUTS]; // infer fills them in
  FyOpCall call = {
      .op = op, .params = params, .in = in, .n_in = n_in, .n_out = n_out, .places = places, .output = output};
  FyTensor *cast[FY_MAX_INPUTS], *const *given = in;
  FyOpHooks *const hooks = hooks_now();
  RUN_HOOKS(hooks, begin, &call);
  for (int i = 0; i < n_out; i++)
    output[i].dtype = output[i].computed = FY_DEFAULT_DTYPE;
  int scope = fy_scope_open(); // of what is made on the way
  if (fy_autocast_on)
    in = autocast(&call, cast);
  call.device = op->cross ? in[0]->device : common_device(&call);
  op->infer(&call);
  check_elements(&call);
  make_outputs(&call);
  launch(&call);
  if (wants_grad(op, n_in, in))
    fy_record(&call, in);
  if (op->flags & FY_OP_VIEW)
    fy_view_link(call.out[0], in[0], op->flags & FY_OP_ONE_OF_SEVERAL, 0);
  RUN_HOOKS(hooks, after, &call, given);
  RUN_HOOKS(fy_thread_op_hooks, after, &call, given);
  for (int i = 0; i < n_out; i++)
    out[i] = fy_keep(call.out[i]);
  fy_scope_close(scope);
  RUN_HOOKS(hooks, end, &call);
}

void fy_run_multi(const FyOp *op, const void *params, int n_in, FyTensor *const *in, int n_out, FyTensor **out) {
  fy_run_multi_into(op, params, n_in, in, n_out, out, NULL);
}

FyTensor *fy_run(const FyOp *op, const void *params, int n_in, FyTensor *const *in) {
  FyTensor *out;
  fy_run_multi_into(op, params, n_in, in, 1, &out, NULL);
  return out;
}

FyTensor *fy_run_into(const FyOp *op, const void *params, int n_in, FyTensor *const *in, FyTensor *place) {
  FyTensor *out;
  fy_run_multi_into(op, params, n_in, in, 1, &out, &place);
  return out;
}

// An operand that shares memory with the target, laid out differently, would be read after parts of it were written.
static void separate_from_target(FyOpCall *call, const FyTensor *target) {
  for (int i = 1; i < call->n_in; i++) {
    const FyTensor *t = call->in[i];
    if (!t || t->storage != target->storage || t->array.numel == 0 || call->copied >> i & 1)
      continue;
    bool same = t->array.data == target->array.data && t->array.ndim == target->array.ndim &&
                memcmp(t->array.stride, target->array.stride, (size_t)t->array.ndim * sizeof(int64_t)) == 0;
    if (same)
      continue;
    call->copied |= (uint8_t)(1u << i);
    call->wanted[i] = t->array.dtype;
  }
}

FyTensor *fy_run_in_place(const FyOp *op, const void *params, int n_in, FyTensor *const *in) {
  FyTensor *target = in[0];
  FyOutput output[1];
  FyOpCall call = {.op = op, .params = params, .in = in, .n_in = n_in, .n_out = 1, .in_place = true, .output = output};
  call.out[0] = target;
  FyOpHooks *const hooks = hooks_now();
  RUN_HOOKS(hooks, begin, &call);
  bool recording = fy_dtype_is_floating(target->array.dtype) &&
                   (wants_grad(op, n_in, in) || (fy_grad_enabled && fy_has_gradient(target)));
  if (recording)
    fy_check_in_place(target);
  if (!(op->flags & FY_OP_OVERLAP))
    fy_check_no_overlap(target);
  call.device = op->cross ? target->device : common_device(&call);
  if (!fy_device_equal(call.device, target->device))
    raise_mixed_devices(&call, call.device, target->device);
  int scope = fy_scope_open();
  op->infer(&call);
  check_elements(&call);
  separate_from_target(&call, target);
  RUN_HOOKS(hooks, before_change, &call);
  RUN_HOOKS(fy_thread_op_hooks, before_change, &call);
  FyNode *node = recording ? fy_record_change(&call, in) : NULL;
  launch(&call);
  fy_bump_version(target);
  if (recording)
    fy_record_changed(target, node);
  RUN_HOOKS(hooks, after, &call, in);
  RUN_HOOKS(fy_thread_op_hooks, after, &call, in);
  fy_scope_close(scope);
  RUN_HOOKS(hooks, end, &call);
  return target;
}
