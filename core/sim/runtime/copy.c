// SPDX-License-Identifier: MIT
// Copies and fills. What returns when follows CUDA: pageable sources are staged before the call returns, pageable
// destinations make it wait, pinned memory and device memory are left to the stream.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/runtime/clock.h"
#include "sim/base/cudasim.h"
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "model/kernel.h"
#include "sim/runtime/node.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

struct copy {
  char *dst;
  const char *src;
  size_t dpitch, spitch, width, height; // bytes, bytes, bytes, rows
  enum cudaMemcpyKind kind;
};

struct copy_work {
  struct sim_work base;
  struct copy copy;
  char *staged; // owned; NULL when it reads the source itself
};

// The bytes from the beginning of the first of `rows`, at least one, to the end of the last. False when a size_t cannot hold them.
static bool reach(size_t pitch, size_t width, size_t rows, size_t *bytes) {
  size_t last;
  return !__builtin_mul_overflow(pitch, rows - 1, &last) && !__builtin_add_overflow(last, width, bytes);
}

// Does not wrap once check has passed: the rows reach at least as far.
static size_t copy_bytes(const struct copy *copy) {
  return copy->width * copy->height;
}

static cudaError_t run_copy(struct sim_work *base) {
  const struct copy *copy = &((struct copy_work *)base)->copy;
  if (copy->height == 1)
    memmove(copy->dst, copy->src, copy->width);
  else
    for (size_t row = 0; row < copy->height; row++)
      memmove(copy->dst + row * copy->dpitch, copy->src + row * copy->spitch, copy->width);
  const struct sim_region to = {copy->dst, copy->width, copy->dpitch, copy->height};
  const struct sim_region from = {copy->src, copy->width, copy->spitch, copy->height};
  SIM_NOTIFY(copied, (&to, &from));
  return cudaSuccess;
}

static void destroy_copy(struct sim_work *base) {
  free(((struct copy_work *)base)->staged);
}

static void count_copy(const struct sim_work *base) {
  const struct copy *copy = &((const struct copy_work *)base)->copy;
  bool within_device = copy->kind == cudaMemcpyDeviceToDevice && sim_device_of(copy->dst) == sim_device_of(copy->src);
  sim_count_copy(copy->kind, copy_bytes(copy), within_device);
}

static void describe_copy(const struct sim_work *base, struct cudasim_activity *activity) {
  const struct copy *copy = &((const struct copy_work *)base)->copy;
  activity->kind = CUDASIM_COPY;
  activity->copy_kind = copy->kind;
  activity->bytes = copy_bytes(copy);
}

static void cost_copy(const struct sim_work *base, struct sim_cost *cost) {
  const struct copy_work *work = (const struct copy_work *)base;
  const struct copy *copy = &work->copy;
  const struct model_gpu *gpu = sim.config.gpu;
  const double bytes = (double)copy_bytes(copy);
  const bool in = copy->kind == cudaMemcpyHostToDevice, out = copy->kind == cudaMemcpyDeviceToHost;
  if (in || out) {
    const bool pageable = work->staged || !sim_is_pinned(in ? copy->src : copy->dst);
    cost->engine = in ? MODEL_COPY_IN : MODEL_COPY_OUT;
    cost->seconds = model_copy_seconds(gpu, bytes, pageable);
    cost->host_waits = work->staged != NULL;
  } else if (copy->kind == cudaMemcpyHostToHost) {
    cost->seconds = bytes / (gpu->pageable.value * 1e9);
  } else if (sim_device_of(copy->src) != sim_device_of(copy->dst)) {
    cost->engine = MODEL_PEER;
    cost->from = sim_device_of(copy->src);
    cost->to = sim_device_of(copy->dst);
    cost->seconds = model_peer_copy_seconds(gpu, bytes);
  } else {
    cost->engine = MODEL_KERNELS;
    cost->seconds = model_streaming(gpu, bytes, bytes, 0).seconds;
  }
}

static void stage_source(struct copy_work *work) {
  struct copy *copy = &work->copy;
  work->staged = sim_allocate(copy_bytes(copy));
  for (size_t row = 0; row < copy->height; row++)
    memcpy(work->staged + row * copy->width, copy->src + row * copy->spitch, copy->width);
  copy->src = work->staged;
  copy->spitch = copy->width;
}

static enum cudaMemcpyKind kind_of(bool dst_device, bool src_device) {
  if (dst_device)
    return src_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
  return src_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

static bool is_empty(const struct copy *copy) {
  return copy->width == 0 || copy->height == 0;
}

// Of memory that is both the host's and the device's, any kind is right.
static cudaError_t check(struct copy *copy) {
  if (copy->kind < cudaMemcpyHostToHost || copy->kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (copy->height > 1 && (copy->dpitch < copy->width || copy->spitch < copy->width))
    return cudaErrorInvalidPitchValue;
  if (is_empty(copy))
    return cudaSuccess;
  size_t written, read;
  if (!reach(copy->dpitch, copy->width, copy->height, &written) ||
      !reach(copy->spitch, copy->width, copy->height, &read))
    return cudaErrorInvalidValue;
  enum cudaMemcpyKind kind = kind_of(sim_device_of(copy->dst) >= 0, sim_device_of(copy->src) >= 0);
  if (copy->kind != cudaMemcpyDefault && copy->kind != kind && !sim_is_managed(copy->dst) && !sim_is_managed(copy->src))
    return cudaErrorInvalidValue;
  copy->kind = kind;
  if (copy->dst == NULL || copy->src == NULL)
    return cudaErrorInvalidValue;
  cudaError_t error = sim_range_check(copy->dst, written);
  return error ? error : sim_range_check(copy->src, read);
}

static bool is_of_host(const void *pointer) {
  return sim_device_of(pointer) < 0;
}

// Host memory that the copy reads or writes after the call has returned.
static void notify_host_memory(const struct copy *copy, bool staged, const void *caller,
                               const struct sim_vector_clock *clock) {
  const struct sim_region to = {copy->dst, copy->width, copy->dpitch, copy->height};
  const struct sim_region from = {copy->src, copy->width, copy->spitch, copy->height};
  if (is_of_host(copy->dst))
    SIM_NOTIFY(host_queued, (&to, true, caller, clock));
  if (is_of_host(copy->src) && !staged)
    SIM_NOTIFY(host_queued, (&from, false, caller, clock));
}

static cudaError_t submit(struct CUstream_st *stream, struct copy copy, bool staged, bool wait) {
  struct copy_work *work = sim_work_new(sizeof *work, run_copy, destroy_copy);
  work->base.count = count_copy;
  work->base.describe = describe_copy;
  work->base.cost = cost_copy;
  work->base.caller = sim_api_caller;
  work->copy = copy;
  work->staged = NULL;
  if (staged)
    stage_source(work);
  struct sim_node *node;
  const void *const caller = sim_api_caller;
  cudaError_t error = sim_submit(stream, &work->base, &node);
  if (error == cudaSuccess && !wait && node && node->vector_clock && !stream->capture)
    notify_host_memory(&copy, staged, caller, node->vector_clock);
  if (error == cudaSuccess && wait) {
    SIM_COUNT(synchronizations, 1);
    sim_node_wait(node);
    error = sim_sticky(stream->device);
  }
  sim_node_release(node);
  return error;
}

static cudaError_t copy_async(struct copy copy, cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  SIM_TRY(sim_sticky(stream->device));
  SIM_TRY(check(&copy));
  if (is_empty(&copy))
    return cudaSuccess;
  if (stream->capture) // the graph's copies read and write this memory when they run
    return sim_fail(submit(stream, copy, false, false));
  bool src_pageable = sim_device_of(copy.src) < 0 && !sim_is_pinned(copy.src);
  bool dst_pageable = sim_device_of(copy.dst) < 0 && !sim_is_pinned(copy.dst);
  return sim_fail(submit(stream, copy, src_pageable && !dst_pageable, dst_pageable));
}

static cudaError_t copy_sync(struct copy copy) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_sticky(sim_current_device));
  SIM_TRY(sim_capture_forbids());
  SIM_TRY(check(&copy));
  if (is_empty(&copy))
    return cudaSuccess;
  bool wait = copy.kind != cudaMemcpyDeviceToDevice; // CUDA does not wait within a device either
  return sim_fail(submit(sim.device[sim_current_device].legacy, copy, false, wait));
}

static struct copy linear(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
  return (struct copy){dst, src, bytes, bytes, bytes, 1, kind};
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
  SIM_CALLED();
  return copy_sync(linear(dst, src, bytes, kind));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  SIM_CALLED();
  return copy_async(linear(dst, src, bytes, kind), stream);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
  SIM_CALLED();
  return copy_sync((struct copy){dst, src, dpitch, spitch, width, height, kind});
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  SIM_CALLED();
  return copy_async((struct copy){dst, src, dpitch, spitch, width, height, kind}, stream);
}

// ---- between devices ----

static cudaError_t check_peers(const void *dst, int dst_device, const void *src, int src_device) {
  SIM_TRY(sim_enter());
  if (!sim_is_device(dst_device) || !sim_is_device(src_device))
    return sim_fail(cudaErrorInvalidDevice);
  if (sim_device_of(dst) != dst_device || sim_device_of(src) != src_device)
    return sim_fail(cudaErrorInvalidValue);
  return cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                                cudaStream_t stream) {
  SIM_CALLED();
  cudaError_t error = check_peers(dst, dst_device, src, src_device);
  return error ? error : copy_async(linear(dst, src, bytes, cudaMemcpyDeviceToDevice), stream);
}

// Ordered after everything queued on both devices, and waited for.
cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes) {
  SIM_CALLED();
  cudaError_t error = check_peers(dst, dst_device, src, src_device);
  if (error != cudaSuccess)
    return error;
  SIM_TRY(sim_capture_forbids());
  sim_stream_drain(src_device);
  sim_stream_drain(dst_device);
  error = copy_sync(linear(dst, src, bytes, cudaMemcpyDeviceToDevice));
  if (error == cudaSuccess)
    sim_stream_drain(sim_current_device);
  return sim_fail(error ? error : sim_sticky(sim_current_device));
}

// ---- __device__ and __constant__ variables: ordinary variables here, one for all devices ----

cudaError_t cudasim_check_symbol(size_t size, size_t bytes, size_t offset) {
  return offset <= size && bytes <= size - offset ? cudaSuccess : sim_fail(cudaErrorInvalidValue);
}

static cudaError_t copy_symbol(struct copy copy) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_sticky(sim_current_device));
  SIM_TRY(sim_capture_forbids());
  if (copy.dst == NULL || copy.src == NULL)
    return sim_fail(cudaErrorInvalidValue);
  return sim_fail(submit(sim.device[sim_current_device].legacy, copy, false, true));
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind) {
  SIM_CALLED();
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return sim_fail(cudaErrorInvalidMemcpyDirection);
  enum cudaMemcpyKind counted = kind_of(true, sim_device_of(src) >= 0);
  return copy_symbol(linear((char *)(uintptr_t)symbol + offset, src, bytes, counted));
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
  SIM_CALLED();
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return sim_fail(cudaErrorInvalidMemcpyDirection);
  enum cudaMemcpyKind counted = kind_of(sim_device_of(dst) >= 0, true);
  return copy_symbol(linear(dst, (const char *)symbol + offset, bytes, counted));
}

static cudaError_t copy_symbol_async(struct copy copy, cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  SIM_TRY(sim_sticky(stream->device));
  if (copy.dst == NULL || copy.src == NULL)
    return sim_fail(cudaErrorInvalidValue);
  return sim_fail(submit(stream, copy, false, false));
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
  SIM_CALLED();
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return sim_fail(cudaErrorInvalidMemcpyDirection);
  enum cudaMemcpyKind counted = kind_of(true, sim_device_of(src) >= 0);
  return copy_symbol_async(linear((char *)(uintptr_t)symbol + offset, src, bytes, counted), stream);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
  SIM_CALLED();
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return sim_fail(cudaErrorInvalidMemcpyDirection);
  enum cudaMemcpyKind counted = kind_of(sim_device_of(dst) >= 0, true);
  return copy_symbol_async(linear(dst, (const char *)symbol + offset, bytes, counted), stream);
}

// ---- fills ----

struct fill_work {
  struct sim_work base;
  char *pointer;
  int value;
  size_t pitch, bytes, rows; // bytes: of a row
};

static cudaError_t run_fill(struct sim_work *base) {
  struct fill_work *work = (struct fill_work *)base;
  const struct sim_region region = {work->pointer, work->bytes, work->pitch, work->rows};
  for (size_t row = 0; row < work->rows; row++)
    memset(work->pointer + row * work->pitch, work->value, work->bytes);
  SIM_NOTIFY(wrote, (&region));
  return cudaSuccess;
}

static void count_fill(const struct sim_work *base) {
  (void)base;
  sim_count_kernel(&sim.counters.fills);
}

static void describe_fill(const struct sim_work *base, struct cudasim_activity *activity) {
  activity->kind = CUDASIM_FILL;
  activity->bytes = ((const struct fill_work *)base)->bytes * ((const struct fill_work *)base)->rows;
}

static void cost_fill(const struct sim_work *base, struct sim_cost *cost) {
  cost->engine = MODEL_KERNELS;
  const struct fill_work *work = (const struct fill_work *)base;
  cost->seconds = model_streaming(sim.config.gpu, 0, (double)(work->bytes * work->rows), 0).seconds;
}

static cudaError_t fill_async(void *pointer, size_t pitch, int value, size_t bytes, size_t rows, cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  SIM_TRY(sim_sticky(stream->device));
  if (bytes == 0 || rows == 0)
    return cudaSuccess;
  if (rows > 1 && pitch < bytes)
    return sim_fail(cudaErrorInvalidPitchValue);
  if (sim_device_of(pointer) < 0 && !sim_is_pinned(pointer))
    return sim_fail(cudaErrorInvalidValue);
  size_t written;
  if (!reach(pitch, bytes, rows, &written))
    return sim_fail(cudaErrorInvalidValue);
  SIM_TRY(sim_range_check(pointer, written));
  struct fill_work *work = sim_work_new(sizeof *work, run_fill, NULL);
  work->base.count = count_fill;
  work->base.describe = describe_fill;
  work->base.cost = cost_fill;
  work->base.caller = sim_api_caller;
  work->pointer = pointer;
  work->value = value;
  work->pitch = pitch;
  work->bytes = bytes;
  work->rows = rows;
  return sim_fail(sim_submit(stream, &work->base, NULL));
}

static cudaError_t fill_sync(void *pointer, size_t pitch, int value, size_t bytes, size_t rows) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_capture_forbids());
  return fill_async(pointer, pitch, value, bytes, rows, cudaStreamLegacy);
}

cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t bytes, size_t rows, cudaStream_t stream) {
  SIM_CALLED();
  return fill_async(pointer, pitch, value, bytes, rows, stream);
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream) {
  SIM_CALLED();
  return fill_async(pointer, bytes, value, bytes, 1, stream);
}

cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t bytes, size_t rows) {
  SIM_CALLED();
  return fill_sync(pointer, pitch, value, bytes, rows);
}

cudaError_t cudaMemset(void *pointer, int value, size_t bytes) {
  SIM_CALLED();
  return fill_sync(pointer, bytes, value, bytes, 1);
}
