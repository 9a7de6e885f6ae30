// The child's half for kernels: device memory with guards on both sides, and counts from the CUDA runtime. It stands on the
// runtime alone, so that it is built against the simulator and, with nvcc, against NVIDIA's.
#include "child.h"
#include "driver.h"
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef FERRY_SIM
#include "sim/cudasim.h"
#endif

enum { GUARD_BYTES = 4096, GUARD_BYTE = 0xA5, UNWRITTEN_BYTE = 0xFF, MAX_PLACED = 32 };

typedef struct Placed {
  char name[NAME_BYTES];
  FyDType dtype;
  Shape shape;
  size_t bytes;
  unsigned char *base; // guard, elements, guard
} Placed;

static Placed placed[MAX_PLACED];
static int placed_count;

// What the runtime reports is the answer's error: an illegal address, a launch that could not be.
static void check(Driver *d, cudaError_t error) {
  if (error == cudaSuccess || message_find(&d->reply, 'e', "error"))
    return;
  char text[512];
  snprintf(text, sizeof text, "RuntimeError: CUDA error: %s", cudaGetErrorString(error));
  child_error(d, text);
}

static Placed *find(const char *name) {
  for (int i = 0; i < placed_count; i++)
    if (strcmp(placed[i].name, name) == 0)
      return &placed[i];
  return NULL;
}

static Placed *reserve(Driver *d, const char *name, FyDType dtype, Shape shape) {
  if (placed_count == MAX_PLACED || strlen(name) >= NAME_BYTES)
    child_bug("no room for", name);
  Placed *p = &placed[placed_count++];
  strcpy(p->name, name);
  p->dtype = dtype;
  p->shape = shape;
  p->bytes = (size_t)shape_count(shape) * fy_dtype_size(dtype);
  size_t all = p->bytes + 2 * GUARD_BYTES;
  check(d, cudaMalloc((void **)&p->base, all));
  check(d, cudaMemset(p->base, GUARD_BYTE, all));
  check(d, cudaMemset(p->base + GUARD_BYTES, UNWRITTEN_BYTE, p->bytes));
  if (inspect_array) {
    check(d, cudaDeviceSynchronize()); // the fills are done
    inspect_array(p->base + GUARD_BYTES, p->bytes, p->name, true);
  }
  return p;
}

extern "C" void *driver_device(Driver *d, const char *name) {
  Placed *p = find(name);
  if (!p) {
    const Array *a = driver_array(d, name);
    p = reserve(d, name, a->dtype, a->shape);
    check(d, cudaMemcpy(p->base + GUARD_BYTES, a->data, p->bytes, cudaMemcpyHostToDevice));
  }
  return p->base + GUARD_BYTES;
}

extern "C" void *driver_device_new(Driver *d, const char *name, FyDType dtype, Shape shape) {
  Placed *p = find(name);
  if (!p)
    p = reserve(d, name, dtype, shape);
  check(d, cudaDeviceSynchronize());
  return p->base + GUARD_BYTES;
}

static bool guard_is_whole(const unsigned char *guard) {
  for (int i = 0; i < GUARD_BYTES; i++)
    if (guard[i] != GUARD_BYTE)
      return false;
  return true;
}

extern "C" void driver_put_device(Driver *d, const char *name) {
  driver_stop(d);
  Placed *p = find(name);
  if (!p)
    child_bug("no device memory is called", name);
  size_t all = p->bytes + 2 * GUARD_BYTES;
  unsigned char *host = (unsigned char *)malloc(all);
  if (!host)
    child_bug("no memory for", name);
  check(d, cudaGetLastError());
  cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess)
    error = cudaMemcpy(host, p->base, all, cudaMemcpyDeviceToHost);
  check(d, error);
  if (error == cudaSuccess) {
    driver_put_array(d, name, p->dtype, p->shape, host + GUARD_BYTES);
    Array *sent = &d->reply.items[d->reply.count - 1].array;
    sent->device = 0;
    if (!guard_is_whole(host) || !guard_is_whole(host + GUARD_BYTES + p->bytes))
      sent->flags |= ARRAY_GUARD_BROKEN;
  }
  free(host);
}

// A grid or blocks of a size that cannot be: why nothing ran, and what a person wants to hear first.
static void tell_refused(Driver *d) {
#ifdef FERRY_SIM
  unsigned grid[3], block[3];
  char text[200];
  if (!cudasim_refused_launch(grid, block))
    return;
  snprintf(text, sizeof text, "a grid of %u x %u x %u blocks of %u x %u x %u threads", grid[0], grid[1], grid[2],
           block[0], block[1], block[2]);
  driver_put_text(d, REFUSED_LAUNCH, text);
#else
  (void)d;
#endif
}

extern "C" void place_run(Driver *d) {
  drive(d);
  check(d, cudaGetLastError());
  tell_refused(d);
}

extern "C" void place_count_begin(void) {
}

#ifdef FERRY_SIM
extern "C" void place_counts(Counts *now) {
  struct cudasim_stats s;
  cudasim_get_stats(&s);
  memset(now, 0, sizeof *now);
  now->host_to_device = (int64_t)s.copies_host_to_device;
  now->device_to_host = (int64_t)s.copies_device_to_host;
  now->device_to_device = (int64_t)s.copies_device_to_device;
  now->host_to_device_bytes = (int64_t)s.bytes_host_to_device;
  now->device_to_host_bytes = (int64_t)s.bytes_device_to_host;
  now->device_to_device_bytes = (int64_t)s.bytes_device_to_device;
  now->launches = (int64_t)s.launches;
  now->synchronizations = (int64_t)s.synchronizations;
  now->cuda_allocations = (int64_t)s.allocations;
  now->operations = (int64_t)(s.launches + s.matrix_products + s.fills + s.copies_host_to_device +
                              s.copies_device_to_host + s.copies_device_to_device + s.copies_host_to_host);
}
#else
// NVIDIA's runtime does not count, so the linker sends the calls that count through here (--wrap).
static Counts real;

static void count_operation(int64_t *kind) {
  *kind += 1;
  real.operations++;
  ledger_add(LEDGER_OPERATION, 0);
}

extern "C" cudaError_t __real_cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
                                               cudaStream_t stream);
extern "C" cudaError_t __wrap_cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
                                               cudaStream_t stream) {
  count_operation(&real.launches);
  return __real_cudaLaunchKernel(f, grid, block, args, shared, stream);
}

// What `kernel<<<...>>>(...)` calls since CUDA 13; its first argument is a cudaKernel_t.
extern "C" cudaError_t __real___cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                                 cudaStream_t stream);
extern "C" cudaError_t __wrap___cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                                 cudaStream_t stream) {
  count_operation(&real.launches);
  return __real___cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

extern "C" cudaError_t __real_cudaDeviceSynchronize(void);
extern "C" cudaError_t __wrap_cudaDeviceSynchronize(void) {
  real.synchronizations++;
  return __real_cudaDeviceSynchronize();
}

extern "C" cudaError_t __real_cudaMalloc(void **pointer, size_t bytes);
extern "C" cudaError_t __wrap_cudaMalloc(void **pointer, size_t bytes) {
  real.cuda_allocations++;
  return __real_cudaMalloc(pointer, bytes);
}

static void count_copy(enum cudaMemcpyKind kind, size_t bytes) {
  int64_t *copies = kind == cudaMemcpyHostToDevice ? &real.host_to_device
                    : kind == cudaMemcpyDeviceToHost ? &real.device_to_host
                                                     : &real.device_to_device;
  int64_t *copied = kind == cudaMemcpyHostToDevice ? &real.host_to_device_bytes
                    : kind == cudaMemcpyDeviceToHost ? &real.device_to_host_bytes
                                                     : &real.device_to_device_bytes;
  count_operation(copies);
  *copied += (int64_t)bytes;
}

extern "C" cudaError_t __real_cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
extern "C" cudaError_t __wrap_cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  count_copy(kind, bytes);
  return __real_cudaMemcpy(to, from, bytes, kind);
}

extern "C" cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                              cudaStream_t stream);
extern "C" cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                              cudaStream_t stream) {
  count_copy(kind, bytes);
  return __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

extern "C" void place_counts(Counts *now) {
  *now = real;
}
#endif
