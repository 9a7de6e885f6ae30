// SPDX-License-Identifier: MIT
// The tensor object: its memory, its shape, and what can be asked of it.
#include "base/checked.h"
#include "base/small.h"
#include "base/watch.h"
#include "device/runtime.h"
#include "tensor/element.h"
#include "tensor/impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- storage -------------------------------------------------------------------------------------------------------

static FyStorage *storage_new(FyDevice device, size_t bytes, bool pinned) {
  FyStorage *s = fy_small_alloc_zeroed(sizeof *s);
  fy_check(s, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a tensor");
  atomic_init(&s->references, 1);
  atomic_init(&s->version, 0);
  s->device = device;
  s->bytes = bytes;
  s->pinned = pinned;
  return s;
}

static void storage_fill(FyStorage *s) {
  if (s->device.type == FY_CUDA)
    fy_cuda_alloc(s->device.index, s->bytes, &s->data, &s->block);
  else if (s->pinned)
    fy_pinned_alloc(s->bytes, &s->data, &s->block);
  else
    fy_host_alloc(s->bytes, &s->data, &s->block);
}

void fy_storage_retain(FyStorage *s) {
  atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
}

void fy_storage_release(FyStorage *s) {
  if (!s || (atomic_load_explicit(&s->references, memory_order_acquire) != 1 &&
             atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1))
    return;
  if (s->block) {
    if (s->device.type == FY_CUDA)
      fy_cuda_free(s->block);
    else if (s->pinned)
      fy_pinned_free(s->block);
    else
      fy_host_free(s->block);
  }
  fy_release(s->owner);
  fy_small_free(s, sizeof *s);
}

void fy_bump_version(FyTensor *t) {
  atomic_fetch_add_explicit(&t->storage->version, 1, memory_order_relaxed);
}

// ---- making and freeing --------------------------------------------------------------------------------------------

FyTensorGraph fy_tensor_graph;

static void tensor_destroy(void *pointer) {
  FyTensor *t = pointer;
  if (t->hooks || t->retains_grad)
    fy_tensor_graph.forget_tensor(t);
  fy_release(t->grad);
  FyTensor *base = t->base;
  struct FyNode *node = t->grad_fn;
  fy_storage_release(t->storage);
  if (!fy_checked || !fy_checked_free(t))
    fy_small_free(t, sizeof *t);
  fy_release(base);
  if (node)
    fy_tensor_graph.release_node(node);
}

static FyTensor *tensor_object(void) {
  FyTensor *checked = fy_checked ? fy_checked_alloc(sizeof *checked) : NULL;
  if (checked) {
    fy_object_init(checked, tensor_destroy);
    return checked;
  }
  return fy_object_new(sizeof(FyTensor), tensor_destroy);
}

void fy_array_finish(FyArray *a) {
  int64_t numel = 1, expected = 1;
  bool contiguous = true;
  for (int i = a->ndim - 1; i >= 0; i--) {
    if (a->shape[i] != 1) {
      contiguous &= a->stride[i] == expected;
      expected *= a->shape[i];
    }
    numel *= a->shape[i];
  }
  a->numel = numel;
  a->contiguous = contiguous || numel == 0;
  if (numel == 0)
    a->data = NULL;
}

// A size has at most 20 characters, and ", " before the next one.
enum { SIZES_TEXT = FY_MAX_DIM * 22 + 3 };

const char *fy_sizes_string(int ndim, const int64_t *sizes) {
  static _Thread_local char ring[8][SIZES_TEXT];
  static _Thread_local int next;
  char *text = ring[next++ & 7], *end = text;
  *end++ = '[';
  for (int i = 0; i < ndim; i++)
    end += sprintf(end, "%s%lld", i ? ", " : "", (long long)sizes[i]);
  strcpy(end, "]");
  return text;
}

const char *fy_shape_string(const FyTensor *t) {
  static _Thread_local char ring[8][SIZES_TEXT + sizeof "torch.Size()"];
  static _Thread_local int next;
  char *text = ring[next++ & 7];
  snprintf(text, sizeof ring[0], "torch.Size(%s)", fy_sizes_of(t));
  return text;
}

const char *fy_type_string(const FyTensor *t) {
  static _Thread_local char ring[8][48];
  static _Thread_local int next;
  char *text = ring[next++ & 7];
  snprintf(text, sizeof ring[0], "torch.%s%sTensor", t->device.type == FY_CUDA ? "cuda." : "",
           fy_dtype_scalar_name(t->array.dtype));
  return text;
}

_Noreturn void fy_raise_two_devices(FyDevice a, FyDevice b) {
  bool swap = a.type == FY_CPU;
  fy_raise(FY_RUNTIME_ERROR,
           "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
           fy_device_name_of(swap ? b : a), fy_device_name_of(swap ? a : b));
}

FyDevice fy_resolve_device(FyDevice device) {
  if (device.type == FY_CPU)
    return FY_CPU_DEVICE;
  fy_check(device.type != FY_MPS, FY_NOT_IMPLEMENTED_ERROR,
           "The device 'mps' (Apple's Metal) is understood but not available in this build of Ferry: choose 'cuda' or "
           "'cpu'. fy_mps_is_available() tells.");
  fy_check(device.type == FY_CUDA, FY_RUNTIME_ERROR, "unknown device type %d", device.type);
  fy_backend_required();
  if (device.index < 0)
    device.index = (int16_t)fy_cuda_current_device();
  fy_check(device.index < fy_cuda_device_count(), FY_RUNTIME_ERROR,
           "CUDA error: invalid device ordinal: cuda:%d was asked for, and there %s %d (cuda:0%s)", device.index,
           fy_cuda_device_count() == 1 ? "is" : "are", fy_cuda_device_count(),
           fy_cuda_device_count() == 1 ? "" : ", ...");
  return device;
}

// The product without zeros is checked: strides are made of it, in an empty tensor too.
static int64_t checked_numel(int ndim, const int64_t *shape) {
  int64_t numel = 1;
  bool empty = false, negative = false, overflow = false;
  fy_check(ndim <= FY_MAX_DIM, FY_RUNTIME_ERROR, "a tensor has at most %d dimensions in Ferry, but got %d", FY_MAX_DIM,
           ndim);
  for (int i = 0; i < ndim; i++) {
    int64_t size = shape[i] ? shape[i] : 1;
    empty |= shape[i] == 0;
    negative |= shape[i] < 0;
    overflow |= __builtin_mul_overflow(numel, size, &numel) || numel > INT64_MAX / 8;
  }
  for (int i = 0; i < ndim && negative; i++)
    fy_check(shape[i] >= 0, FY_RUNTIME_ERROR, "Trying to create tensor with negative dimension %lld: %s",
             (long long)shape[i], fy_sizes_string(ndim, shape));
  fy_check(!overflow, FY_RUNTIME_ERROR, "Storage size calculation overflowed with sizes=%s",
           fy_sizes_string(ndim, shape));
  return empty ? 0 : numel;
}

// Row-major, in the whole of the tensor's storage.
static void lay_out(FyTensor *t, FyDType dtype, int ndim, const int64_t *shape, int64_t numel) {
  FyArray *a = &t->array;
  a->data = t->storage->data;
  a->dtype = (uint8_t)dtype;
  a->ndim = (int16_t)ndim;
  a->numel = numel;
  a->contiguous = true;
  a->host_scalar = ndim == 0 && t->device.type == FY_CPU;
  int64_t stride = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    a->shape[i] = shape[i];
    a->stride[i] = stride;
    stride *= shape[i] > 1 ? shape[i] : 1;
  }
}

FyTensor *fy_new_tensor(FyDType dtype, FyDevice device, int ndim, const int64_t *shape, bool pinned) {
  device = fy_resolve_device(device);
  int64_t numel = checked_numel(ndim, shape);
  FyTensor *t = tensor_object();
  t->device = device;
  t->storage = storage_new(device, (size_t)numel * fy_dtype_size(dtype), pinned && device.type == FY_CPU);
  storage_fill(t->storage);
  lay_out(t, dtype, ndim, shape, numel);
  return t;
}

FyTensor *fy_new_tensor_in(void *data, void *owner, FyDType dtype, int64_t count) {
  FyTensor *t = tensor_object();
  t->device = FY_CPU_DEVICE;
  t->storage = storage_new(t->device, (size_t)count * fy_dtype_size(dtype), false);
  t->storage->data = data;
  t->storage->owner = fy_retain(owner);
  lay_out(t, dtype, 1, &count, count);
  return t;
}

FyTensor *fy_new_alias(const FyTensor *of, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset) {
  FyTensor *t = tensor_object();
  t->device = of->device;
  t->storage = of->storage;
  fy_storage_retain(t->storage);
  FyArray *a = &t->array;
  a->dtype = of->array.dtype;
  a->ndim = (int16_t)ndim;
  a->data = of->array.data ? (char *)of->array.data + offset * (int64_t)fy_dtype_size(a->dtype) : NULL;
  for (int d = 0; d < ndim; d++) { // no memcpy: its wide loads would wait for what was only just stored
    a->shape[d] = shape[d];
    a->stride[d] = stride[d];
  }
  a->host_scalar = ndim == 0 && t->device.type == FY_CPU;
  fy_array_finish(a);
  return t;
}

FyTensor *fy_detach(const FyTensor *t) {
  return fy_new_alias(t, t->array.ndim, t->array.shape, t->array.stride, 0);
}

// ---- shapes --------------------------------------------------------------------------------------------------------

int fy_wrap_dim(int64_t dim, int ndim) {
  int64_t range = ndim ? ndim : 1;
  fy_check(dim >= -range && dim < range, FY_INDEX_ERROR,
           "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)", (long long)-range,
           (long long)range - 1, (long long)dim);
  return (int)(dim < 0 ? dim + range : dim);
}

int fy_broadcast_shapes(const FyArray *a, const FyArray *b, int64_t *out) {
  int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
  for (int i = ndim - 1; i >= 0; i--) {
    int ia = i - (ndim - a->ndim), ib = i - (ndim - b->ndim);
    int64_t na = ia >= 0 ? a->shape[ia] : 1, nb = ib >= 0 ? b->shape[ib] : 1;
    fy_check(na == nb || na == 1 || nb == 1, FY_RUNTIME_ERROR,
             "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
             (long long)na, (long long)nb, i);
    out[i] = na == 1 ? nb : na;
  }
  return ndim;
}

// ---- questions -----------------------------------------------------------------------------------------------------

FyDevice fy_device_of(const FyTensor *t) {
  return t->device;
}
bool fy_is_cuda(const FyTensor *t) {
  return t->device.type == FY_CUDA;
}
int fy_get_device(const FyTensor *t) {
  return t->device.type == FY_CUDA ? t->device.index : -1;
}
FyDType fy_dtype_of(const FyTensor *t) {
  return t->array.dtype;
}
int fy_dim(const FyTensor *t) {
  return t->array.ndim;
}
int64_t fy_numel(const FyTensor *t) {
  return t->array.numel;
}
size_t fy_nbytes(const FyTensor *t) {
  return (size_t)t->array.numel * fy_dtype_size(t->array.dtype);
}
bool fy_is_contiguous(const FyTensor *t) {
  return t->array.contiguous;
}
bool fy_is_pinned(const FyTensor *t) {
  return t->storage->pinned;
}
bool fy_shares_storage(const FyTensor *a, const FyTensor *b) {
  return a->storage == b->storage;
}
uint32_t fy_version_of(const FyTensor *t) {
  return atomic_load_explicit(&t->storage->version, memory_order_relaxed);
}
void *fy_data_ptr(const FyTensor *t) {
  return t->array.data;
}

FySize fy_size(const FyTensor *t) {
  FySize size = {.ndim = t->array.ndim};
  memcpy(size.dim, t->array.shape, (size_t)size.ndim * sizeof *size.dim);
  return size;
}

static int checked_dim(const FyTensor *t, int dim) {
  fy_check(t->array.ndim, FY_INDEX_ERROR, "dimension specified as %d but tensor has no dimensions", dim);
  return fy_wrap_dim(dim, t->array.ndim);
}

int64_t fy_size_at(const FyTensor *t, int dim) {
  return t->array.shape[checked_dim(t, dim)];
}
int64_t fy_stride_at(const FyTensor *t, int dim) {
  return t->array.stride[checked_dim(t, dim)];
}

int64_t fy_storage_offset(const FyTensor *t) {
  if (!t->array.data)
    return 0;
  return ((char *)t->array.data - (char *)t->storage->data) / (int64_t)fy_dtype_size(t->array.dtype);
}

void fy_record_stream(FyTensor *t, FyStream *stream) {
  FyDevice device = fy_stream_device(stream);
  if (!t->storage->block || device.type != FY_CUDA)
    return;
  if (t->device.type == FY_CUDA)
    fy_cuda_record_stream(t->storage->block, device.index, fy_stream_raw(stream));
  else if (t->storage->pinned)
    fy_pinned_record_stream(t->storage->block, device.index, fy_stream_raw(stream));
}

// ---- values on the host --------------------------------------------------------------------------------------------

_Thread_local void (*fy_value_leaves)(const FyTensor *t, const char *as);

static void leaves(const FyTensor *t, const char *as) {
  if (__builtin_expect(fy_value_leaves != NULL, false))
    fy_value_leaves(t, as);
}

static void one_element(const FyTensor *t, void *value) {
  fy_check(t->array.numel == 1, FY_RUNTIME_ERROR, "a Tensor with %lld elements cannot be converted to Scalar",
           (long long)t->array.numel);
  leaves(t, "number");
  const bool watched = fy_range_open(FY_RANGE_LIBRARY, "item");
  if (t->device.type == FY_CPU)
    memcpy(value, t->array.data, fy_dtype_size(t->array.dtype));
  else
    fy_copy_bytes(value, -1, false, t->array.data, t->device.index, false, fy_dtype_size(t->array.dtype), false);
  fy_range_close(watched);
}

double fy_item(const FyTensor *t) {
  int64_t value;
  one_element(t, &value);
  return fy_element_double(&value, t->array.dtype, 0);
}

int64_t fy_item_int64(const FyTensor *t) {
  int64_t value;
  one_element(t, &value);
  return fy_element_int64(&value, t->array.dtype, 0);
}

void *fy_numpy(FyTensor *t) {
  leaves(t, "NumPy array");
  fy_check(!fy_has_gradient(t), FY_RUNTIME_ERROR,
           "Can't call numpy() on Tensor that requires grad. Use fy_numpy(fy_detach(tensor)) instead.");
  fy_check(t->device.type == FY_CPU, FY_TYPE_ERROR,
           "can't convert %s device type tensor to numpy. Use fy_cpu(tensor) to copy the tensor to host memory first.",
           fy_device_name_of(t->device));
  fy_check(t->array.contiguous, FY_RUNTIME_ERROR,
           "fy_numpy hands out row-major memory, and this tensor of shape %s is not contiguous. Use "
           "fy_numpy(fy_contiguous(tensor)).",
           fy_shape_string(t));
  return t->array.data;
}
