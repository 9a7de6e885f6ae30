// The dispatcher: every op of every public function runs through here.
//
//   device check -> infer (shapes, dtypes, outputs) -> record for backward -> launch
//
// An op's record (op.h) says what is particular to it; nothing here knows any op by name.
#include "base/state.h"
#include "device/runtime.h"
#include "graph/view.h"
#include "op/op.h"
#include "op/ops.h"
#include <string.h>

// ---- devices ---------------------------------------------------------------------------------------------------------

static const char *tensor_type(const FyTensor *t, char *text, size_t size) {
  snprintf(text, size, "torch.%s%sTensor", t->device.type == FY_CUDA ? "cuda." : "",
           fy_dtype_scalar_name(t->array.dtype));
  return text;
}

static _Noreturn void raise_mixed_devices(const FyOp *op, FyTensor *const *in, FyDevice a, FyDevice b) {
  char input[64], weight[64];
  if (op->flags & FY_OP_WEIGHTED && in[0]->device.type != in[1]->device.type)
    fy_raise(FY_RUNTIME_ERROR, "Input type (%s) and weight type (%s) should be the same",
             tensor_type(in[0], input, sizeof input), tensor_type(in[1], weight, sizeof weight));
  bool swap = a.type == FY_CPU; // the CUDA device is named first
  fy_raise(FY_RUNTIME_ERROR,
           "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
           fy_device_name_of(swap ? b : a), fy_device_name_of(swap ? a : b));
}

// Where a call runs: its inputs' device. A 0-dim CPU tensor may stand beside CUDA ones.
static FyDevice common_device(const FyOp *op, int n, FyTensor *const *in) {
  const FyTensor *first = NULL;
  for (int i = 0; i < n; i++) {
    const FyTensor *t = in[i];
    if (!t)
      continue;
    if (!first || op->flags & FY_OP_ANY_DEVICE) {
      first = first ? first : t;
    } else if (!fy_device_equal(t->device, first->device)) {
      if (first->array.host_scalar && t->device.type == FY_CUDA)
        first = t;
      else if (!t->array.host_scalar)
        raise_mixed_devices(op, in, first->device, t->device);
    }
  }
  if (!first)
    fy_panic("%s was called without any tensor", op->name);
  return first->device;
}

// ---- for infer ---------------------------------------------------------------------------------------------------------

_Noreturn void fy_raise_not_implemented(const char *op, FyDType dtype) {
  fy_raise(FY_RUNTIME_ERROR, "\"%s\" not implemented for '%s'", op, fy_dtype_scalar_name(dtype));
}

static int category(FyDType dtype) {
  return fy_dtype_is_floating(dtype) ? 2 : dtype == FY_BOOL ? 0 : 1;
}

// Dimensioned tensors decide within their category; 0-dim ones and then plain numbers only raise the category.
FyDType fy_result_type(int n, FyTensor *const *tensors) {
  FyDType result[3] = {FY_DEFAULT_DTYPE, FY_DEFAULT_DTYPE, FY_DEFAULT_DTYPE};
  for (int i = 0; i < n; i++) {
    const FyTensor *t = tensors[i];
    if (!t)
      continue;
    int priority = t->wrapped_number ? 2 : t->array.ndim == 0 ? 1 : 0;
    FyDType dtype = t->wrapped_number && t->array.dtype == FY_FLOAT64 ? FY_FLOAT32 : (FyDType)t->array.dtype;
    result[priority] = result[priority] ? fy_promote_types(result[priority], dtype) : dtype;
  }
  FyDType type = FY_DEFAULT_DTYPE;
  for (int priority = 0; priority < 3; priority++) {
    FyDType other = result[priority];
    if (other && (!type || category(other) > category(type)))
      type = type ? fy_promote_types(type, other) : other;
  }
  return type;
}

void fy_call_cast(FyCall *call, int i, FyDType dtype) {
  FyTensor *t = call->in[i];
  if (t && t->array.dtype != dtype)
    call->in[i] = fy_to_dtype(fy_detach(t), dtype);
}

void fy_call_contiguous(FyCall *call, int i) {
  FyTensor *t = call->in[i];
  if (t && !t->array.contiguous)
    call->in[i] = fy_contiguous(fy_detach(t));
}

static const char *dims(int ndim, const int64_t *shape, char *text, size_t size) {
  size_t n = (size_t)snprintf(text, size, "[");
  for (int i = 0; i < ndim && n < size; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)shape[i]);
  if (n < size)
    snprintf(text + n, size - n, "]");
  return text;
}

static void check_in_place_output(const FyTensor *out, FyDType dtype, int ndim, const int64_t *shape) {
  char have[FY_MAX_DIM * 21 + 3], want[FY_MAX_DIM * 21 + 3];
  bool same = out->array.ndim == ndim && memcmp(out->array.shape, shape, (size_t)ndim * sizeof *shape) == 0;
  fy_check(same, FY_RUNTIME_ERROR, "output with shape %s doesn't match the broadcast shape %s",
           dims(out->array.ndim, out->array.shape, have, sizeof have), dims(ndim, shape, want, sizeof want));
  fy_check(category(dtype) <= category(out->array.dtype), FY_RUNTIME_ERROR,
           "result type %s can't be cast to the desired output type %s", fy_dtype_scalar_name(dtype),
           fy_dtype_scalar_name(out->array.dtype));
}

void fy_call_output(FyCall *call, int index, FyDType dtype, int ndim, const int64_t *shape) {
  if (call->in_place && index == 0) {
    FyTensor *target = call->out[0];
    check_in_place_output(target, dtype, ndim, shape);
    if ((FyDType)target->array.dtype != dtype) // computed aside and copied back by run_in_place
      call->out[0] = fy_new_tensor(dtype, call->device, ndim, shape, false);
    return;
  }
  call->out[index] = fy_new_tensor(dtype, call->device, ndim, shape, false);
}

// Two inputs of one shape and dtype, as most are: nothing to promote or broadcast.
static bool are_alike(const FyCall *call) {
  const FyTensor *a = call->in[0], *b = call->in[call->n_in - 1];
  return call->n_in == 2 && a->array.dtype == b->array.dtype && a->array.ndim == b->array.ndim && !a->wrapped_number &&
         !b->wrapped_number &&
         memcmp(a->array.shape, b->array.shape, (size_t)a->array.ndim * sizeof *a->array.shape) == 0;
}

void fy_infer_pointwise(FyCall *call, bool to_float, FyDType out_dtype) {
  const FyArray *first = &call->in[0]->array;
  if (are_alike(call) && (!to_float || fy_dtype_is_floating(first->dtype))) {
    fy_call_output(call, 0, out_dtype ? out_dtype : (FyDType)first->dtype, first->ndim, first->shape);
    return;
  }
  FyArray shape;
  shape.ndim = 0;
  FyDType type = fy_result_type(call->n_in, call->in);
  if (to_float && !fy_dtype_is_floating(type))
    type = FY_FLOAT32;
  for (int i = 0; i < call->n_in; i++) {
    int64_t out[FY_MAX_DIM];
    fy_call_cast(call, i, type);
    shape.ndim = (int16_t)fy_broadcast_shapes(&shape, &call->in[i]->array, out);
    memcpy(shape.shape, out, (size_t)shape.ndim * sizeof *out);
  }
  fy_call_output(call, 0, out_dtype ? out_dtype : type, shape.ndim, shape.shape);
}

// ---- launching -----------------------------------------------------------------------------------------------------------

enum { MAX_SCRATCH = 16 };

typedef struct Scratch {
  FyDevice device;
  void *blocks[MAX_SCRATCH];
  int count;
  size_t refused; // bytes of a request that could not be met
} Scratch;

static void *workspace(FyLaunch *launch, size_t bytes) {
  Scratch *scratch = launch->owner;
  void *pointer = NULL;
  if (scratch->count == MAX_SCRATCH)
    fy_panic("an op asked for more than %d workspaces", MAX_SCRATCH);
  if (scratch->device.type == FY_CPU)
    fy_host_alloc(bytes, &pointer, &scratch->blocks[scratch->count]);
  else if (!fy_cuda_try_alloc(scratch->device.index, bytes, &pointer, &scratch->blocks[scratch->count])) {
    scratch->refused = bytes;
    return NULL;
  }
  scratch->count++;
  return pointer;
}

static void check_result(const FyCall *call, const Scratch *scratch, int result) {
  void *pointer, *block;
  if (result == FY_LAUNCH_OK)
    return;
  if (result == FY_LAUNCH_NO_KERNEL)
    fy_raise_not_implemented(call->op->name, call->in[0] ? call->in[0]->array.dtype : FY_DEFAULT_DTYPE);
  if (result == FY_LAUNCH_NO_MEMORY) {
    fy_cuda_alloc(call->device.index, scratch->refused, &pointer, &block); // raises with the allocator's own words
    fy_cuda_free(block);
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "CUDA out of memory. Tried to allocate %zu bytes as workspace of %s",
             scratch->refused, call->op->name);
  }
  if (result > 0)
    fy_cuda_check(result);
  if (result <= FY_LAUNCH_DNN)
    fy_raise(FY_RUNTIME_ERROR, "%s: oneDNN failed with status %d", call->op->name, FY_LAUNCH_DNN - result);
  fy_raise(FY_RUNTIME_ERROR, "CUDA error: cuBLAS failed with status %d in %s", FY_LAUNCH_BLAS - result, call->op->name);
}

void (*fy_call_observer)(const FyCall *call);

static void run_kernel(FyCall *call) {
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
  int result;
  if (call->device.type == FY_CPU) {
    result = call->op->cpu(&launch);
  } else {
    launch.device = call->device.index;
    fy_use_device(launch.device);
    launch.stream = fy_raw_stream(launch.device);
    launch.blas = fy_raw_blas;
    launch.multi_processors = fy_multi_processors(launch.device);
    result = fy_backend()->kernels[call->op->id](&launch);
  }
  for (int i = 0; i < scratch.count; i++) {
    if (call->device.type == FY_CPU)
      fy_host_free(scratch.blocks[i]);
    else
      fy_cuda_free(scratch.blocks[i]);
  }
  check_result(call, &scratch, result);
  if (call->device.type == FY_CUDA)
    fy_op_launched();
}

static bool is_half(const FyTensor *t) {
  return t && (t->array.dtype == FY_FLOAT16 || t->array.dtype == FY_BFLOAT16);
}

// On the CPU the half types compute in float32: cast up, run, cast the results down.
static void run_half_as_float(FyCall *call) {
  FyCall wide = *call;
  for (int i = 0; i < call->n_in; i++)
    if (is_half(call->in[i]))
      wide.in[i] = fy_to_dtype(fy_detach(call->in[i]), FY_FLOAT32);
  for (int i = 0; i < call->n_out; i++) {
    const FyArray *a = call->out[i] ? &call->out[i]->array : NULL;
    if (!is_half(call->out[i]))
      continue;
    bool aliases_input = call->in_place && i == 0;
    wide.out[i] = aliases_input ? wide.in[0] : fy_new_tensor(FY_FLOAT32, call->device, a->ndim, a->shape, false);
  }
  run_kernel(&wide);
  for (int i = 0; i < call->n_out; i++)
    if (wide.out[i] != call->out[i])
      fy_copy_(call->out[i], wide.out[i]);
}

static void launch(FyCall *call) {
  bool half = false;
  if (fy_call_observer)
    fy_call_observer(call);
  if (call->op->flags & FY_OP_VIEW)
    return;
  if (call->device.type == FY_CPU && call->op->flags & FY_OP_CPU_HALF_AS_FLOAT) {
    for (int i = 0; i < call->n_in; i++)
      half |= is_half(call->in[i]);
    for (int i = 0; i < call->n_out; i++)
      half |= is_half(call->out[i]);
  }
  if (!half) {
    run_kernel(call);
    return;
  }
  bool enabled = fy_grad_enabled;
  fy_grad_enabled = false;
  run_half_as_float(call);
  fy_grad_enabled = enabled;
}

// ---- running ---------------------------------------------------------------------------------------------------------------

static bool wants_grad(const FyOp *op, int n_in, FyTensor *const *in) {
  if (!fy_grad_enabled || !op->backward || op->flags & FY_OP_NO_GRAD)
    return false;
  for (int i = 0; i < n_in; i++)
    if (in[i] && fy_has_gradient(in[i]))
      return true;
  return false;
}

void fy_run_multi(const FyOp *op, const void *params, int n_in, FyTensor *const *in, int n_out, FyTensor **out) {
  FyCall call = {.op = op, .params = params, .n_in = n_in, .n_out = n_out};
  memcpy(call.in, in, (size_t)n_in * sizeof *in);
  call.device = common_device(op, n_in, in);
  int scope = fy_scope_open(); // of infer's temporaries
  op->infer(&call);
  launch(&call);
  if (wants_grad(op, n_in, in))
    fy_record(&call, in);
  if (op->flags & FY_OP_VIEW)
    fy_view_link(call.out[0], in[0], op->flags & FY_OP_ONE_OF_SEVERAL, 0);
  for (int i = 0; i < n_out; i++)
    out[i] = fy_keep(call.out[i]);
  fy_scope_close(scope);
}

FyTensor *fy_run(const FyOp *op, const void *params, int n_in, FyTensor *const *in) {
  FyTensor *out;
  fy_run_multi(op, params, n_in, in, 1, &out);
  return out;
}

// An operand that shares memory with the target, laid out differently, is read after parts of it were written.
static void separate_from_target(FyCall *call, const FyTensor *target) {
  for (int i = 1; i < call->n_in; i++) {
    FyTensor *t = call->in[i];
    if (!t || t->storage != target->storage || t->array.numel == 0)
      continue;
    bool same = t->array.data == target->array.data && t->array.ndim == target->array.ndim &&
                memcmp(t->array.stride, target->array.stride, (size_t)t->array.ndim * sizeof(int64_t)) == 0;
    if (!same)
      call->in[i] = fy_clone(fy_detach(t));
  }
}

FyTensor *fy_run_in_place(const FyOp *op, const void *params, int n_in, FyTensor *const *in) {
  FyTensor *target = in[0];
  FyCall call = {.op = op, .params = params, .n_in = n_in, .n_out = 1, .in_place = true};
  memcpy(call.in, in, (size_t)n_in * sizeof *in);
  call.out[0] = call.target = target;
  bool recording = fy_dtype_is_floating(target->array.dtype) &&
                   (wants_grad(op, n_in, in) || (fy_grad_enabled && fy_has_gradient(target)));
  if (recording)
    fy_check_in_place(target);
  if (!(op->flags & FY_OP_OVERLAP))
    fy_check_no_overlap(target);
  call.device = target->device;
  if (!(op->flags & FY_OP_ANY_DEVICE)) {
    FyDevice device = common_device(op, n_in, in);
    if (!fy_device_equal(device, target->device))
      raise_mixed_devices(op, in, device, target->device);
  }
  int scope = fy_scope_open();
  separate_from_target(&call, target);
  op->infer(&call);
  FyNode *node = recording ? fy_record_change(&call, in) : NULL;
  launch(&call);
  if (call.out[0] != target) {
    bool enabled = fy_grad_enabled;
    fy_grad_enabled = false;
    fy_copy_(target, call.out[0]);
    fy_grad_enabled = enabled;
    call.out[0] = target;
  } else {
    fy_bump_version(target);
  }
  if (recording)
    fy_record_changed(target, node);
  fy_scope_close(scope);
  return target;
}
