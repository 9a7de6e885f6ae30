// SPDX-License-Identifier: MIT
// The child's half for kernels: device memory with guards on both sides, and counts from the CUDA runtime. It stands on the
// runtime alone, so that it is built against the simulator and, with nvcc, against NVIDIA's.
#include "child.h"
#include "driver.h"
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef FERRY_SIM
#include "sim/base/cudasim.h"
#endif

// Guards are wider than a tile's rows of the matrices that most tests draw: who reads past an array's end reads no other array.
enum { GUARD_BYTES = 32 << 10, GUARD_BYTE = 0xA5, UNWRITTEN_BYTE = 0xFF, MAX_PLACED = 32 };

// The NaN of floats in the memory that a simulated device hands out; those of arrays are the numbers below it.
static const uint32_t FILLING = 0xffffffffu, SIGN = 0x80000000u;

typedef struct Placed {
  char name[NAME_BYTES];
  FyDType dtype;
  Shape shape;
  size_t bytes;
  uint32_t filling;     // the NaN that floats nobody has written hold, another in each array; 0: it was given
  unsigned char *base;  // guard, elements, guard
  size_t front, behind; // bytes of the guards
  bool put;             // what is in it was sent back, and whether its guards are whole
} Placed;

static Placed placed[MAX_PLACED];
static int placed_count;

// What the runtime reports is the answer's error: an illegal address, a launch that could not be.
static void check(Driver *d, cudaError_t error) {
  if (error == cudaSuccess || message_find(&d->reply, 'e', "error"))
    return;
  char text[1024];
#ifdef FERRY_SIM
  const char *fault = cudasim_fault();
#else
  const char *fault = "";
#endif
  snprintf(text, sizeof text, "RuntimeError: CUDA error: %s%s%s", cudaGetErrorString(error), *fault ? "\n" : "", fault);
  child_error(d, text);
}

// A simulated device may have an inaccessible page on one side of each allocation, where even a read is an error. Then there is no
// guard on that side, but for what makes the size a multiple of 16 bytes.
static void choose_guards(Placed *p) {
  const char *page = getenv("FERRY_SIM_GUARD_PAGE");
  p->front = p->behind = GUARD_BYTES;
  if (page && strcmp(page, "before") == 0)
    p->front = 0;
  if (page && strcmp(page, "after") == 0)
    p->behind = (16 - p->bytes % 16) % 16;
}

static Placed *find(const char *name) {
  for (int i = 0; i < placed_count; i++)
    if (strcmp(placed[i].name, name) == 0)
      return &placed[i];
  return NULL;
}

// A NaN is handed on as it is by whatever is computed from it. With a filling of its own in each array it is seen whether an element was
// never written, or computed from other memory that was not.
static void fill(Driver *d, Placed *p) {
  if (p->dtype != FY_FLOAT32) {
    check(d, cudaMemset(p->base + p->front, UNWRITTEN_BYTE, p->bytes));
    return;
  }
  p->filling = FILLING - 1 - (uint32_t)(p - placed);
  uint32_t *host = (uint32_t *)malloc(p->bytes + 1);
  if (!host)
    child_bug("no memory for", p->name);
  for (size_t i = 0; i < p->bytes / sizeof *host; i++)
    host[i] = p->filling;
  check(d, cudaMemcpy(p->base + p->front, host, p->bytes, cudaMemcpyHostToDevice));
  free(host);
}

// As the grader knows them (wire.h), with the sign that they have, which a kernel may have turned.
static void put_fillings(Driver *d, const Placed *p, uint32_t *floats) {
  const uint32_t *before = p->filling ? NULL : (const uint32_t *)driver_array(d, p->name)->data;
  for (size_t i = 0; i < p->bytes / sizeof *floats; i++) {
    uint32_t bits = floats[i] | SIGN, sign = floats[i] & SIGN;
    if (bits >= FILLING - MAX_PLACED && !(before && before[i] == floats[i]))
      floats[i] = (bits == p->filling ? WIRE_UNWRITTEN : WIRE_HANDED_ON) & (sign | ~SIGN);
  }
}

static Placed *reserve(Driver *d, const char *name, FyDType dtype, Shape shape) {
  if (placed_count == MAX_PLACED || strlen(name) >= NAME_BYTES)
    child_bug("no room for", name);
  Placed *p = &placed[placed_count++];
  strcpy(p->name, name);
  p->dtype = dtype;
  p->shape = shape;
  p->bytes = (size_t)shape_count(shape) * fy_dtype_size(dtype);
  choose_guards(p);
  size_t all = p->front + p->bytes + p->behind;
  check(d, cudaMalloc((void **)&p->base, all));
  check(d, cudaMemset(p->base, GUARD_BYTE, all));
  return p;
}

// To the inspector and the simulator, once it has been filled.
static void declare(Driver *d, const Placed *p) {
  if (inspect_array) {
    check(d, cudaDeviceSynchronize()); // the fills are done
    inspect_array(p->base + p->front, p->bytes, p->name, true);
  }
#ifdef FERRY_SIM
  cudasim_name_array(p->base + p->front, p->bytes / fy_dtype_size(p->dtype), fy_dtype_size(p->dtype), p->name);
#endif
}

extern "C" void *driver_device(Driver *d, const char *name) {
  Placed *p = find(name);
  if (!p) {
    const Array *a = driver_array(d, name);
    p = reserve(d, name, a->dtype, a->shape);
    declare(d, p);
    check(d, cudaMemcpy(p->base + p->front, a->data, p->bytes, cudaMemcpyHostToDevice));
  }
  return p->base + p->front;
}

extern "C" void *driver_device_new(Driver *d, const char *name, FyDType dtype, Shape shape) {
  Placed *p = find(name);
  if (!p) {
    p = reserve(d, name, dtype, shape);
    fill(d, p);
    declare(d, p);
  }
  check(d, cudaDeviceSynchronize());
  return p->base + p->front;
}

static bool guard_is_whole(const unsigned char *guard, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (guard[i] != GUARD_BYTE)
      return false;
  return true;
}

extern "C" void driver_put_device(Driver *d, const char *name) {
  driver_stop(d);
  Placed *p = find(name);
  if (!p)
    child_bug("no device memory is called", name);
  p->put = true;
  size_t all = p->front + p->bytes + p->behind;
  unsigned char *host = (unsigned char *)malloc(all);
  if (!host)
    child_bug("no memory for", name);
  check(d, cudaGetLastError());
  cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess)
    error = cudaMemcpy(host, p->base, all, cudaMemcpyDeviceToHost);
  check(d, error);
  if (error == cudaSuccess) {
    driver_put_array(d, name, p->dtype, p->shape, host + p->front);
    Array *sent = &d->reply.items[d->reply.count - 1].array;
    sent->device = 0;
    if (p->dtype == FY_FLOAT32)
      put_fillings(d, p, (uint32_t *)sent->data);
    if (!guard_is_whole(host, p->front) || !guard_is_whole(host + p->front + p->bytes, p->behind))
      sent->flags |= ARRAY_GUARD_BROKEN;
  }
  free(host);
}

// Of the arrays whose elements nobody asks for, those whose guards are not whole: they are sent without elements.
static void put_broken_guards(Driver *d) {
  for (int i = 0; i < placed_count; i++) {
    const Placed *p = &placed[i];
    if (p->put || message_find(&d->reply, 'e', "error"))
      continue;
    driver_stop(d);
    unsigned char *host = (unsigned char *)malloc(p->front + p->behind + 1);
    if (!host)
      child_bug("no memory for", p->name);
    check(d, cudaMemcpy(host, p->base, p->front, cudaMemcpyDeviceToHost));
    check(d, cudaMemcpy(host + p->front, p->base + p->front + p->bytes, p->behind, cudaMemcpyDeviceToHost));
    if (!message_find(&d->reply, 'e', "error") && !guard_is_whole(host, p->front + p->behind)) {
      driver_put_array(d, p->name, p->dtype, Shape{1, {0}}, NULL);
      d->reply.items[d->reply.count - 1].array.flags |= ARRAY_GUARD_BROKEN;
    }
    free(host);
  }
}

#ifdef FERRY_SIM
// The shapes of the first launches while it was counted: grid x, y, z and block x, y, z of each.
enum { MAX_SHAPES = 8 };
static int64_t shapes[MAX_SHAPES][6];
static int64_t shape_rows;
static bool shapes_wanted;

static void note_launch(const struct cudasim_activity *activity) {
  if (activity->kind != CUDASIM_KERNEL || !shapes_wanted || shape_rows == MAX_SHAPES)
    return;
  for (int i = 0; i < 3; i++) {
    shapes[shape_rows][i] = activity->grid[i];
    shapes[shape_rows][3 + i] = activity->block[i];
  }
  shape_rows++;
}

static void put_shapes(Driver *d) {
  struct cudasim_stats s;
  cudasim_get_stats(&s);
  Shape size = {2, {shape_rows, 6}}, one = {2, {1, 6}};
  if (shape_rows > 0)
    driver_put_array(d, "launch shapes", FY_INT64, size, shapes);
  int64_t refused[6];
  for (int i = 0; i < 3; i++) {
    refused[i] = s.refused_grid[i];
    refused[3 + i] = s.refused_block[i];
  }
  if (s.refused_launches > 0)
    driver_put_array(d, "refused launch", FY_INT64, one, refused);
}

extern "C" void buffers_count_begin(void) {
  shape_rows = 0;
  shapes_wanted = true;
  cudasim_trace(note_launch, NULL);
}
#else
static void put_shapes(Driver *) {
}

extern "C" void buffers_count_begin(void) {
}
#endif

// What the answer keeps of the first call comes back in the second. The first's arrays stay where they are, so that none of the
// second lies where one of the first did.
static void drive_first(Driver *first, Driver *d) {
  drive(first);
  check(d, cudaDeviceSynchronize());
  message_free(&first->reply);
  memset(placed, 0, sizeof placed);
  placed_count = 0;
}

extern "C" void buffers_run(Driver *d) {
  if (d->first)
    drive_first(d->first, d);
  drive(d);
  check(d, cudaGetLastError());
  put_broken_guards(d);
  put_shapes(d);
}

#ifdef FERRY_SIM
extern "C" void buffers_counts(Counts *now) {
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

extern "C" void buffers_counts(Counts *now) {
  *now = real;
}
#endif
