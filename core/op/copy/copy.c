// Copies: between devices, dtypes and layouts. .to(), .clone(), .contiguous(), copy_ and fill_.
//
// On one device a copy is the op `copy`, whose kernel converts and walks any strides. Between devices bytes move as they
// lie, so what is not contiguous is made so first, and a conversion happens on the side where it leaves fewer bytes to move.
#include "op/copy/copy.h"

#include "base/state.h"
#include "device/runtime.h"
#include "graph/view.h"
#include "op/copy/convert.h"
#include "op/op.h"
#include "op/ops.h"

static int device_index(FyDevice device) {
  return device.type == FY_CUDA ? device.index : -1;
}

// ---- the op ------------------------------------------------------------------------------------------------------------

static void infer_copy(FyCall *call) {
  const FyArray *in = &call->in[call->n_in - 1]->array;
  if (!call->in_place) {
    fy_call_output(call, 0, (FyDType)((const FyCopy *)call->params)->dtype, in->ndim, in->shape);
    return;
  }
  const FyArray *out = &call->out[0]->array;
  int64_t shape[FY_MAX_DIM];
  const int ndim = fy_broadcast_shapes(out, in, shape);
  fy_call_output(call, 0, (FyDType)out->dtype, ndim, shape); // raises unless the source broadcasts to the target
}

static int fy_cpu_copy(FyLaunch *l) {
  fy_convert(l->out[0], l->in[l->n_in - 1]);
  return FY_LAUNCH_OK;
}

// The gradient goes back to the source's device and dtype. A target that was overwritten gets zeros.
static void copy_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const int source = node->n_in - 1;
  if (source > 0 && fy_node_needs(node, 0))
    grad_in[0] = fy_zeros_like(grad_out[0]);
  const FyMeta *meta = &node->inputs[source];
  if (fy_node_needs(node, source))
    grad_in[source] = fy_to(grad_out[0], meta->device, .dtype = (FyDType)meta->dtype);
}

static const char *copy_name(const FyNode *node) {
  if (node->n_in == 2)
    return "CopyBackwards";
  return fy_node_params(node, FyCopy)->kind == FY_COPY_CLONE ? "CloneBackward0" : "ToCopyBackward0";
}

const FyOp fy_op_copy = {
    .name = "copy",
    .grad_name = "ToCopyBackward0",
    .grad_name_of = copy_name,
    .infer = infer_copy,
    .cpu = fy_cpu_copy,
    .backward = copy_backward,
    .params_size = sizeof(FyCopy),
    .id = FY_OP_ID_copy,
};

// A row-major copy of another dtype on the same device. No gradient flows out of integers.
static FyTensor *copy_here(FyTensor *t, FyCopyKind kind, FyDType dtype) {
  const FyCopy params = {.kind = (int)kind, .dtype = (int)dtype};
  const bool grad_enabled = fy_grad_enabled;
  fy_grad_enabled = grad_enabled && fy_dtype_is_floating(dtype);
  FyTensor *out = fy_run(&fy_op_copy, &params, FY_INPUTS(t));
  fy_grad_enabled = grad_enabled;
  return out;
}

// ---- between devices ---------------------------------------------------------------------------------------------------

// Pinned memory that is still being read or written by the device is kept from reuse when it is freed.
static void guard_pinned(const FyTensor *host, int device) {
  if (host->storage->pinned && host->storage->block)
    fy_pinned_record_stream(host->storage->block, device, fy_raw_stream(device));
}

// Bytes of a contiguous tensor to a contiguous one of the same dtype and size on another device.
static void move_bytes(FyTensor *to, FyTensor *from, bool non_blocking) {
  const int to_device = device_index(to->device), from_device = device_index(from->device);
  const size_t bytes = (size_t)from->array.numel * fy_dtype_size((FyDType)from->array.dtype);
  fy_copy_bytes(to->array.data, to_device, to->storage->pinned, from->array.data, from_device, from->storage->pinned,
                bytes, non_blocking);
  if (non_blocking && to_device < 0)
    guard_pinned(to, from_device);
  else if (non_blocking && from_device < 0)
    guard_pinned(from, to_device);
}

// to[...] = from[...] across devices, without autograd.
static void transfer(FyTensor *to, FyTensor *from, bool non_blocking) {
  const FyDType dtype = (FyDType)to->array.dtype;
  const bool grad_enabled = fy_grad_enabled;
  const int scope = fy_scope_open();
  fy_grad_enabled = false;
  if (fy_dtype_size(dtype) < fy_dtype_size((FyDType)from->array.dtype))
    from = copy_here(from, FY_COPY_TO, dtype);
  else if (!from->array.contiguous)
    from = copy_here(from, FY_COPY_CLONE, (FyDType)from->array.dtype);
  if (to->array.contiguous && to->array.dtype == from->array.dtype && to->array.numel == from->array.numel) {
    move_bytes(to, from, non_blocking);
  } else {
    FyTensor *landed =
        fy_new_tensor((FyDType)from->array.dtype, to->device, from->array.ndim, from->array.shape, false);
    move_bytes(landed, from, non_blocking);
    fy_run_in_place(&fy_op_copy, &(FyCopy){0}, FY_INPUTS(to, landed));
  }
  fy_grad_enabled = grad_enabled;
  fy_scope_close(scope);
}

static FyTensor *copy_across(FyTensor *t, FyDevice device, FyDType dtype, bool non_blocking) {
  const bool pinned = non_blocking && device.type == FY_CPU; // or the copy could not run by itself
  FyTensor *out = fy_new_tensor(dtype, device, t->array.ndim, t->array.shape, pinned);
  transfer(out, t, non_blocking);
  atomic_store_explicit(&out->storage->version, 0, memory_order_relaxed);
  if (fy_grad_enabled && fy_has_gradient(t) && fy_dtype_is_floating(dtype)) {
    const FyCopy params = {.kind = FY_COPY_TO, .dtype = (int)dtype};
    FyCall call = {.op = &fy_op_copy, .params = &params, .in = {t}, .out = {out}, .n_in = 1, .n_out = 1};
    call.device = device;
    fy_record(&call, &t);
  }
  return out;
}

FyTensor *fy_to_with(FyTensor *t, FyTo options) {
  const FyDevice device = fy_resolve_device(options.device);
  const FyDType dtype = options.dtype ? options.dtype : (FyDType)t->array.dtype;
  if (!fy_device_equal(device, t->device))
    return copy_across(t, device, dtype, options.non_blocking);
  if (dtype == (FyDType)t->array.dtype && !options.copy)
    return t;
  return copy_here(t, FY_COPY_TO, dtype);
}

FyTensor *fy_to_dtype(FyTensor *t, FyDType dtype) {
  return dtype == (FyDType)t->array.dtype || !dtype ? t : copy_here(t, FY_COPY_TO, dtype);
}

FyTensor *fy_cuda(FyTensor *t) {
  return fy_to(t, fy_cuda_device(-1));
}
FyTensor *fy_cpu(FyTensor *t) {
  return fy_to(t, FY_CPU_DEVICE);
}
FyTensor *fy_half(FyTensor *t) {
  return fy_to_dtype(t, FY_FLOAT16);
}
FyTensor *fy_float(FyTensor *t) {
  return fy_to_dtype(t, FY_FLOAT32);
}
FyTensor *fy_double(FyTensor *t) {
  return fy_to_dtype(t, FY_FLOAT64);
}
FyTensor *fy_long(FyTensor *t) {
  return fy_to_dtype(t, FY_INT64);
}

FyTensor *fy_clone(FyTensor *t) {
  return copy_here(t, FY_COPY_CLONE, (FyDType)t->array.dtype);
}

FyTensor *fy_contiguous(FyTensor *t) {
  return t->array.contiguous ? t : fy_clone(t);
}

FyTensor *fy_pin_memory(FyTensor *t) {
  fy_check(t->device.type == FY_CPU, FY_RUNTIME_ERROR,
           "cannot pin 'torch.cuda.%sTensor' only dense CPU tensors can be pinned",
           fy_dtype_scalar_name((FyDType)t->array.dtype));
  if (t->storage->pinned)
    return t;
  FyTensor *out = fy_new_tensor((FyDType)t->array.dtype, t->device, t->array.ndim, t->array.shape, true);
  fy_convert(&out->array, &t->array);
  return out;
}

// ---- copy_ -------------------------------------------------------------------------------------------------------------

static FyTensor *copy_in_place(FyTensor *a, FyTensor *source, bool non_blocking) {
  const FyCopy params = {.kind = FY_COPY_TO, .dtype = a->array.dtype};
  if (fy_device_equal(a->device, source->device))
    return fy_run_in_place(&fy_op_copy, &params, FY_INPUTS(a, source));
  FyTensor *const inputs[2] = {a, source};
  FyCall call = {.op = &fy_op_copy, .params = &params, .in = {a, source}, .out = {a}, .n_in = 2, .n_out = 1};
  call.in_place = true;
  call.target = a;
  call.device = a->device;
  const bool recording =
      fy_grad_enabled && fy_dtype_is_floating(a->array.dtype) && (fy_has_gradient(a) || fy_has_gradient(source));
  if (recording)
    fy_check_in_place(a);
  fy_check_no_overlap(a);
  infer_copy(&call); // checks the shapes
  FyNode *node = recording ? fy_record_change(&call, inputs) : NULL;
  const uint32_t version = atomic_load_explicit(&a->storage->version, memory_order_relaxed);
  transfer(a, source, non_blocking);
  atomic_store_explicit(&a->storage->version, version + 1, memory_order_relaxed);
  if (recording)
    fy_record_changed(a, node);
  return a;
}

FyTensor *fy_copy_(FyTensor *a, FyTensor *source) {
  return copy_in_place(a, source, false);
}
FyTensor *fy_copy_async_(FyTensor *a, FyTensor *source) {
  return copy_in_place(a, source, true);
}

// ---- fill --------------------------------------------------------------------------------------------------------------

static void infer_fill(FyCall *call) {
  const FyArray *a = &call->in[0]->array;
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
}

static int fy_cpu_fill(FyLaunch *l) {
  fy_fill_array(l->out[0], ((const FyFill *)l->params)->value);
  return FY_LAUNCH_OK;
}

// What is overwritten has no influence: zeros, so that hooks and leaves behind it hear of it.
static void fill_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  (void)node;
  grad_in[0] = fy_zeros_like(grad_out[0]);
}

const FyOp fy_op_fill = {
    .name = "fill",
    .grad_name = "FillBackward0",
    .flags = FY_OP_OVERLAP,
    .infer = infer_fill,
    .cpu = fy_cpu_fill,
    .backward = fill_backward,
    .params_size = sizeof(FyFill),
    .id = FY_OP_ID_fill,
};

FyTensor *fy_fill_(FyTensor *a, double value) {
  return fy_run_in_place(&fy_op_fill, &(FyFill){.value = value}, FY_INPUTS(a));
}

FyTensor *fy_zero_(FyTensor *a) {
  return fy_fill_(a, 0);
}
