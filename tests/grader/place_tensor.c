// The child's half for exercises on the library: tensors from a request, tensors into a reply, errors caught, counts.
#include "child.h"
#include "driver.h"
#include "device/runtime.h"
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

static FySize size_of(Shape s) {
  FySize size = {.ndim = s.rank};
  for (int i = 0; i < s.rank; i++)
    size.dim[i] = s.size[i];
  return size;
}

// Every second column of a tensor that is twice as wide: the gaps hold zeros, which a reader of them would give away.
static FyTensor *with_gaps(FyTensor *t) {
  int dim = fy_dim(t) - 1;
  FySize wide = fy_size(t);
  if (dim < 0)
    return t;
  wide.dim[dim] *= 2;
  FyTensor *base = fy_zeros(wide, .dtype = fy_dtype_of(t), .device = fy_device_of(t));
  FyTensor *view = fy_slice(base, dim, 0, wide.dim[dim], 2);
  fy_copy_(view, t);
  return view;
}

static FyTensor *with_swapped_strides(FyTensor *t) {
  int n = fy_dim(t);
  return n < 2 ? t : fy_transpose(fy_contiguous(fy_transpose(t, n - 2, n - 1)), n - 2, n - 1);
}

static FyTensor *placed(const Array *a) {
  FyDevice device = a->device < 0 ? FY_CPU_DEVICE : fy_cuda_device(a->device);
  FyTensor *t = fy_tensor_with(a->data, a->dtype, (FyFactory){.size = size_of(a->shape), .device = device});
  if (a->flags & ARRAY_STRIDED)
    t = with_gaps(t);
  if (a->flags & ARRAY_TRANSPOSED)
    t = with_swapped_strides(t);
  if (a->flags & ARRAY_PINNED)
    t = fy_pin_memory(t);
  if (a->flags & ARRAY_REQUIRES_GRAD)
    t = fy_set_requires_grad(fy_detach(t), true);
  return fy_retain(t);
}

FyTensor *driver_tensor(Driver *d, const char *name) {
  static struct {
    char name[NAME_BYTES];
    FyTensor *tensor;
  } known[MAX_ITEMS];
  static int count;
  for (int i = 0; i < count; i++)
    if (strcmp(known[i].name, name) == 0)
      return known[i].tensor;
  FyTensor *t = placed(driver_array(d, name));
  strcpy(known[count].name, name);
  known[count++].tensor = t;
  return t;
}

void driver_put(Driver *d, const char *name, FyTensor *t) {
  if (!t) {
    Array *none = &child_add(d, 'a', name)->array;
    *none = (Array){.dtype = FY_FLOAT32, .device = -1, .flags = ARRAY_NULL};
    return;
  }
  FySize size = fy_size(t);
  Array a = {.dtype = fy_dtype_of(t), .count = fy_numel(t), .device = fy_get_device(t)};
  if (size.ndim > MAX_RANK)
    child_bug("the answer's tensor has too many dimensions:", name);
  a.shape.rank = size.ndim;
  for (int i = 0; i < size.ndim; i++)
    a.shape.size[i] = size.dim[i];
  a.flags = (fy_is_contiguous(t) ? ARRAY_CONTIGUOUS : 0) | (fy_requires_grad(t) ? ARRAY_REQUIRES_GRAD : 0) |
            (fy_is_pinned(t) ? ARRAY_PINNED : 0);
  a.data = malloc(fy_nbytes(t) + 1);
  if (!a.data)
    child_bug("no memory for", name);
  fy_copy_to_host(t, a.data);
  child_add(d, 'a', name)->array = a;
}

void place_run(Driver *d) {
  FyError error;
  fy_trap(error) {
    drive(d);
  }
  if (error.kind) {
    char text[sizeof error.message + 256];
    int used = snprintf(text, sizeof text, "%s: %s", fy_error_name(error.kind), error.message);
    if (error.file && !strchr(error.file, '/')) // the answer's own line: it is compiled where it lies
      snprintf(text + used, sizeof text - (size_t)used, " (%.100s:%d)", error.file, error.line);
    child_error(d, text);
  }
}

void place_counts(Counts *now) {
  FyCounters c = fy_counters();
  *now = (Counts){
      .host_to_device = c.host_to_device,
      .device_to_host = c.device_to_host,
      .device_to_device = c.device_to_device,
      .host_to_device_bytes = c.host_to_device_bytes,
      .device_to_host_bytes = c.device_to_host_bytes,
      .device_to_device_bytes = c.device_to_device_bytes,
      .launches = c.launches,
      .synchronizations = c.synchronizations,
      .cpu_allocations = fy_memory_stats(FY_CPU_DEVICE).allocations,
  };
  for (int i = 0; i < fy_cuda_device_count(); i++) {
    FyMemoryStats stats = fy_memory_stats(fy_cuda_device(i));
    now->cuda_allocations += stats.allocations;
    now->cuda_peak_bytes += (int64_t)stats.allocated_peak;
    now->cuda_live_bytes += (int64_t)stats.allocated;
  }
}

// The linker sends the library's own calls of what it counts with through here (--wrap).
void __real_fy_count_copy(int kind, size_t bytes);
void __real_fy_count_launch(void);
void __real_fy_count_synchronization(void);
void __wrap_fy_count_copy(int kind, size_t bytes);
void __wrap_fy_count_launch(void);
void __wrap_fy_count_synchronization(void);

void __wrap_fy_count_copy(int kind, size_t bytes) {
  ledger_lock();
  __real_fy_count_copy(kind, bytes);
  ledger_write(kind == FY_COPY_HOST_TO_DEVICE   ? LEDGER_HOST_TO_DEVICE
               : kind == FY_COPY_DEVICE_TO_HOST ? LEDGER_DEVICE_TO_HOST
                                                : LEDGER_DEVICE_TO_DEVICE,
               bytes);
  ledger_unlock();
}

void __wrap_fy_count_launch(void) {
  ledger_lock();
  __real_fy_count_launch();
  ledger_write(LEDGER_LAUNCH, 0);
  ledger_unlock();
}

void __wrap_fy_count_synchronization(void) {
  ledger_lock();
  __real_fy_count_synchronization();
  ledger_write(LEDGER_SYNCHRONIZATION, 0);
  ledger_unlock();
}

void place_count_begin(void) {
  for (int i = 0; i < fy_cuda_device_count(); i++)
    fy_reset_peak_memory_stats(fy_cuda_device(i));
}
