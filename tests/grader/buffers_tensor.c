// SPDX-License-Identifier: MIT
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

static struct {
  char name[NAME_BYTES];
  FyTensor *tensor; // held once by the driver's scope, and once from here
  int scope;        // in which it was placed
  bool may_change;
} known[MAX_ITEMS];
static int known_count;

static int scopes_open(void) {
  const int mark = fy_scope_open();
  fy_scope_close(mark);
  return mark;
}

FyTensor *driver_tensor(Driver *d, const char *name) {
  for (int i = 0; i < known_count; i++)
    if (strcmp(known[i].name, name) == 0)
      return known[i].tensor;
  FyTensor *t = placed(driver_array(d, name));
  strcpy(known[known_count].name, name);
  known[known_count].scope = scopes_open();
  known[known_count++].tensor = t;
  return t;
}

void driver_may_change(Driver *d, const char *name) {
  driver_tensor(d, name);
  for (int i = 0; i < known_count; i++)
    known[i].may_change |= strcmp(known[i].name, name) == 0;
}

// What is no longer as it was given, in words; NULL when all is.
static const char *change_of(Driver *d, const char *name, FyTensor *t, bool may_change) {
  const Array *before = driver_array(d, name);
  FySize size = fy_size(t), given = size_of(before->shape);
  bool same_size = size.ndim == given.ndim;
  for (int i = 0; same_size && i < size.ndim; i++)
    same_size = size.dim[i] == given.dim[i];
  if (!same_size || fy_dtype_of(t) != before->dtype)
    return "has a different shape or dtype";
  if (fy_get_device(t) != before->device)
    return "is on a different device";
  if (fy_requires_grad(t) != ((before->flags & ARRAY_REQUIRES_GRAD) != 0))
    return before->flags & ARRAY_REQUIRES_GRAD ? "no longer requires a gradient" : "requires a gradient now";
  if (may_change)
    return NULL;
  size_t bytes = fy_nbytes(t);
  void *now = malloc(bytes + 1);
  if (!now)
    child_bug("no memory for", name);
  fy_copy_to_host(t, now);
  bool same = memcmp(now, before->data, bytes) == 0;
  free(now);
  return same ? NULL : "was changed";
}

// The scope that held it is open, and holds it no longer.
static bool was_given_up(const FyTensor *t, int scope) {
  return scope == scopes_open() && !fy_is_in_scope(t);
}

static void put_changed(Driver *d) {
  char text[256];
  for (int i = 0; i < known_count; i++) {
    if (was_given_up(known[i].tensor, known[i].scope)) {
      driver_put_text(d, "#given up", known[i].name);
      return;
    }
    const char *change = change_of(d, known[i].name, known[i].tensor, known[i].may_change);
    if (change) {
      snprintf(text, sizeof text, "%.63s %s", known[i].name, change);
      driver_put_text(d, "#changed", text);
      return;
    }
  }
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
    fy_raise(FY_VALUE_ERROR, "'%s' has %d dimensions, more than any tensor here. Is fy_shape(...) missing?", name,
             size.ndim);
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

// ---- what has to be after the answer's call as it was before ---------------------------------------------------------

enum { MOST_DEVICES = 16, MOST_MODULES = 256 };

typedef struct Switches {
  int scope, device;
  bool grad, autocast[2];
  FyStream *streams[MOST_DEVICES];
} Switches;

static Switches switches_before;

static struct {
  FyModule *module;
  bool training;
} modes[MOST_MODULES];
static int mode_count;

static Switches switches_now(void) {
  Switches s = {.scope = scopes_open(), .device = fy_cuda_is_available() ? fy_cuda_current_device() : -1};
  s.grad = fy_is_grad_enabled();
  s.autocast[0] = fy_is_autocast_enabled(FY_CPU);
  s.autocast[1] = fy_is_autocast_enabled(FY_CUDA);
  for (int i = 0; i < fy_cuda_device_count() && i < MOST_DEVICES; i++)
    s.streams[i] = fy_current_stream(fy_cuda_device(i));
  return s;
}

static void note_mode(FyModule *module, void *context) {
  (void)context;
  if (mode_count == MOST_MODULES)
    child_bug("too many modules", "");
  modes[mode_count].module = fy_retain(module);
  modes[mode_count++].training = module->training;
}

FyDevice driver_other_gpu(const FyTensor *t) {
  return fy_cuda_device(fy_get_device(t) == 0 && fy_cuda_device_count() > 1 ? 1 : 0);
}

void driver_module(FyModule *module) {
  fy_module_apply_of(module, note_mode, NULL);
}

static const char *left_switched(const Switches *before, const Switches *after) {
  if (before->grad != after->grad)
    return after->grad ? "gradients on" : "gradients off";
  for (int i = 0; i < MOST_DEVICES; i++)
    if (before->streams[i] != after->streams[i])
      return "stream";
  if (before->device != after->device)
    return "device";
  if (before->autocast[0] != after->autocast[0] || before->autocast[1] != after->autocast[1])
    return "autocast";
  for (int i = 0; i < mode_count; i++)
    if (modes[i].module->training != modes[i].training)
      return modes[i].training ? "evaluation" : "training";
  return NULL;
}

static void put_left(Driver *d) {
  Switches after = switches_now();
  const char *left = left_switched(&switches_before, &after);
  if (left || after.scope != switches_before.scope)
    driver_put_text(d, "#left", left ? left : "scope");
}

void buffers_run(Driver *d) {
  FyError error;
  switches_before = switches_now(); // and again where counting begins
  const bool recording = switches_before.grad;
  fy_trap(error) {
    drive(d);
    if (!d->counting)
      put_left(d);
    else if (d->counting != 1 && fy_is_grad_enabled() != recording &&
             !message_find(&d->reply, 't', "#left")) // by a call that was not counted
      driver_put_text(d, "#left", recording ? "gradients off" : "gradients on");
    put_changed(d);
  }
  d->failed = error.kind != 0;
  if (error.kind) {
    char text[sizeof error.message + 256];
    int used = snprintf(text, sizeof text, "%s: %s", fy_error_name(error.kind), error.message);
    if (error.file && !strchr(error.file, '/')) // the answer's own line: it is compiled where it lies
      snprintf(text + used, sizeof text - (size_t)used, " (%.100s:%d)", error.file, error.line);
    child_error(d, text);
  }
}

void buffers_counts(Counts *now) {
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

// An error leaves by another way, and its scopes and guards are closed behind the driver.
void buffers_count_end(Driver *d) {
  if (!d->failed)
    put_left(d);
  trace_end(d);
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
  trace_waited();
}

void buffers_count_begin(void) {
  for (int i = 0; i < fy_cuda_device_count(); i++)
    fy_reset_peak_memory_stats(fy_cuda_device(i));
  switches_before = switches_now();
  trace_begin();
}
