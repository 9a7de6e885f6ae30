// SPDX-License-Identifier: MIT
// Copies: between devices, dtypes and layouts. .to(), .clone(), .contiguous(), copy_ and fill_.
//
// On one device the op's kernel converts and walks any strides. Between devices bytes move as they lie: infer asks for a
// row-major source, and for the conversion on the side where it leaves fewer bytes to move.
#include "op/copy/copy.h"

#include "device/capture.h"
#include "device/runtime.h"
#include "op/copy/convert.h"
#include "op/elementwise/pointwise.h"
#include "op/op.h"
#include "op/ops.h"
#include <float.h>
#include <math.h>
#include <string.h>

// ---- infer -------------------------------------------------------------------------------------------------------------

// What crosses has the source's number of elements: a target in place that it broadcasts to gets it from aside.
static void infer_crossing(FyOpCall *call, const FyArray *in) {
  FyOutput *o = &call->output[0];
  const int source = call->n_in - 1;
  const bool narrower = fy_dtype_size((FyDType)o->dtype) < fy_dtype_size((FyDType)in->dtype);
  call->crosses = true;
  fy_call_contiguous(call, source);
  if (narrower)
    fy_call_cast(call, source, (FyDType)o->dtype);
  else
    o->computed = in->dtype;
  fy_call_output_contiguous(call);
  if (o->computed != o->dtype || (call->in_place && call->out[0]->array.numel != in->numel))
    call->aside = 1;
  o->ndim = in->ndim;
  memcpy(o->shape, in->shape, (size_t)in->ndim * sizeof *in->shape);
  // Memory that was not pinned could not be copied to while the host goes on.
  o->pinned = ((const FyCopyParams *)call->params)->non_blocking && call->device.type == FY_CPU;
}

static void infer_copy(FyOpCall *call) {
  const FyCopyParams *p = call->params;
  const FyTensor *source = call->in[call->n_in - 1];
  const FyArray *in = &source->array;
  if (call->in_place) {
    const FyArray *target = &call->out[0]->array;
    int64_t shape[FY_MAX_DIM];
    const int ndim = fy_broadcast_shapes(target, in, shape);
    fy_call_output(call, 0, (FyDType)target->dtype, ndim, shape); // raises unless the source broadcasts to the target
  } else {
    call->device = p->device;
    fy_call_output(call, 0, p->dtype, in->ndim, in->shape);
  }
  if (!fy_device_equal(source->device, call->device))
    infer_crossing(call, in);
}

// ---- the copy ----------------------------------------------------------------------------------------------------------

static int fy_cpu_copy(FyLaunch *l) {
  fy_convert(l->out[0], l->in[l->n_in - 1]);
  return FY_LAUNCH_OK;
}

static int device_index(FyDevice device) {
  return device.type == FY_CUDA ? device.index : -1;
}

// Pinned memory that is still being read or written by the device is kept from reuse when it is freed.
static void guard_pinned(const FyTensor *host, int device) {
  if (host->storage->pinned && host->storage->block)
    fy_pinned_record_stream(host->storage->block, device, fy_raw_stream(device));
}

// A CUDA graph's copies would read and write the host's memory at each replay.
static void check_capture(const FyTensor *to, const FyTensor *from) {
  const FyTensor *host = from->device.type == FY_CPU ? from : to, *other = host == from ? to : from;
  if (!fy_is_capturing() || host->device.type != FY_CPU || other->device.type != FY_CUDA || host->storage->pinned)
    return;
  fy_check(!fy_captured_into(other->device.index, fy_raw_stream(other->device.index)), FY_RUNTIME_ERROR,
           "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned. Please "
           "use tensor.pin_memory() or allocate the tensor with pin_memory=True.");
}

static void cross(const FyOpCall *call) {
  const FyTensor *to = call->out[0], *from = call->in[call->n_in - 1];
  const bool non_blocking = ((const FyCopyParams *)call->params)->non_blocking;
  check_capture(to, from);
  const int to_device = device_index(to->device), from_device = device_index(from->device);
  const size_t bytes = (size_t)from->array.numel * fy_dtype_size((FyDType)from->array.dtype);
  fy_copy_bytes(to->array.data, to_device, to->storage->pinned, from->array.data, from_device, from->storage->pinned,
                bytes, non_blocking);
  if (non_blocking && to_device < 0)
    guard_pinned(to, from_device);
  else if (non_blocking && from_device < 0)
    guard_pinned(from, to_device);
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
  return fy_node_params(node, FyCopyParams)->kind == FY_COPY_CLONE ? "CloneBackward0" : "ToCopyBackward0";
}

const FyOp fy_op_copy = {
    .name = "copy",
    .grad_name = "ToCopyBackward0",
    .grad_name_of = copy_name,
    .infer = infer_copy,
    .cpu = fy_cpu_copy,
    .cross = cross,
    .backward = copy_backward,
    .params_size = sizeof(FyCopyParams),
    .id = FY_OP_ID_copy,
};

// ---- to, clone, contiguous ---------------------------------------------------------------------------------------------

FyTensor *fy_to_with(FyTensor *t, FyTo options) {
  const FyCopyParams params = {
      .device = fy_resolve_device(options.device),
      .dtype = options.dtype ? options.dtype : (FyDType)t->array.dtype,
      .non_blocking = options.non_blocking,
  };
  const bool same = params.dtype == (FyDType)t->array.dtype && fy_device_equal(params.device, t->device);
  return same && !options.copy ? t : fy_run(&fy_op_copy, &params, FY_INPUTS(t));
}

// A row-major copy on the same device.
static FyTensor *copy_here(FyTensor *t, FyCopyKind kind, FyDType dtype) {
  return fy_run(&fy_op_copy, &(FyCopyParams){.kind = kind, .dtype = dtype, .device = t->device}, FY_INPUTS(t));
}

FyTensor *fy_to_dtype(FyTensor *t, FyDType dtype) {
  return dtype == (FyDType)t->array.dtype || !dtype ? t : copy_here(t, FY_COPY_TO, dtype);
}

FyTensor *fy_cuda_current(FyTensor *t) {
  return fy_cuda_at(t, -1);
}
FyTensor *fy_cuda_at(FyTensor *t, int index) {
  return fy_to(t, fy_cuda_device(index));
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

FyTensor *fy_copy_(FyTensor *a, FyTensor *source) {
  return fy_run_in_place(&fy_op_copy, &(FyCopyParams){.kind = FY_COPY_TO}, FY_INPUTS(a, source));
}
FyTensor *fy_copy_async_(FyTensor *a, FyTensor *source) {
  return fy_run_in_place(&fy_op_copy, &(FyCopyParams){.kind = FY_COPY_TO, .non_blocking = true}, FY_INPUTS(a, source));
}

// ---- fill --------------------------------------------------------------------------------------------------------------

// Negative whole numbers wrap around in uint8; no other value may be cut to fit.
static bool is_representable(FyDType dtype, double value) {
  switch (dtype) {
  case FY_UINT8:
    return value < 256 && (value >= 0 || (value >= -255 && fy_is_whole(value)));
  case FY_INT32:
    return value > -0x1p31 - 1 && value < 0x1p31;
  case FY_INT64:
    return value >= -0x1p63 && value < 0x1p63;
  case FY_FLOAT32:
    return !isfinite(value) || fabs(value) <= (double)FLT_MAX;
  default:
    return true;
  }
}

static void infer_fill(FyOpCall *call) {
  const FyArray *a = &call->in[0]->array;
  const FyDType dtype = (FyDType)a->dtype;
  fy_check(is_representable(dtype, ((const FyFill *)call->params)->value), FY_RUNTIME_ERROR,
           "value cannot be converted to type %s without overflow",
           dtype == FY_UINT8   ? "uint8_t"
           : dtype == FY_INT32 ? "int"
           : dtype == FY_INT64 ? "int64_t"
                               : "float");
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

static const char *fill_name(const FyNode *node) {
  return fy_node_params(node, FyFill)->zero ? "ZeroBackward0" : "FillBackward2"; // PyTorch's 2 is for a number
}

const FyOp fy_op_fill = {
    .name = "fill",
    .grad_name = "FillBackward2",
    .grad_name_of = fill_name,
    .flags = FY_OP_OVERLAP,
    .infer = infer_fill,
    .cpu = fy_cpu_fill,
    .backward = fill_backward,
    .params_size = sizeof(FyFill),
    .cost = fy_cost_fill,
    .id = FY_OP_ID_fill,
};

FyTensor *fy_fill_(FyTensor *a, double value) {
  return fy_run_in_place(&fy_op_fill, &(FyFill){.value = value}, FY_INPUTS(a));
}

FyTensor *fy_zero_(FyTensor *a) {
  return fy_run_in_place(&fy_op_fill, &(FyFill){.zero = true}, FY_INPUTS(a));
}
