// SPDX-License-Identifier: MIT
// Streams: CUDA's rules of what waits for what, as edges between nodes.
#include "sim/runtime/stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/block_internal.h"
#include "sim/runtime/graph.h"
#include "sim/base/plugin.h"
#include "sim/runtime/tsan_fiber.h"
#include "sim/runtime/memory.h"
#include "sim/engine/nested.h"
#include "sim/base/sim.h"

enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

// ---- handles ----

struct CUstream_st *sim_stream_new(int device, unsigned int flags, int priority) {
  struct CUstream_st *stream = sim_allocate(sizeof *stream);
  memset(stream, 0, sizeof *stream);
  stream->device = device;
  stream->flags = flags;
  stream->blocking = !(flags & cudaStreamNonBlocking);
  stream->priority = priority;
  stream->tsan_fiber = sim_tsan_fiber_new();
  return stream;
}

static void link_stream(struct CUstream_st *stream) {
  sim_lock();
  stream->next = sim.device[stream->device].streams;
  sim.device[stream->device].streams = stream;
  sim_unlock();
}

static pthread_key_t own_streams_key;
static pthread_once_t own_streams_once = PTHREAD_ONCE_INIT;

static void destroy(struct CUstream_st *stream);

static void free_own_streams(void *memory) {
  struct CUstream_st **own = memory;
  for (int device = 0; device < SIM_MAX_DEVICES; device++)
    if (own[device])
      destroy(own[device]);
  free(own);
}

static void make_own_streams_key(void) {
  pthread_key_create(&own_streams_key, free_own_streams);
}

// cudaStreamPerThread: one stream for each thread and device.
static struct CUstream_st *own_stream(int device) {
  pthread_once(&own_streams_once, make_own_streams_key);
  struct CUstream_st **own = pthread_getspecific(own_streams_key);
  if (own == NULL) {
    own = sim_allocate(SIM_MAX_DEVICES * sizeof *own);
    memset(own, 0, SIM_MAX_DEVICES * sizeof *own);
    pthread_setspecific(own_streams_key, own);
  }
  if (own[device] == NULL) {
    own[device] = sim_stream_new(device, cudaStreamDefault, LEAST_PRIORITY);
    link_stream(own[device]);
  }
  return own[device];
}

static bool exists(const struct CUstream_st *stream) {
  bool found = false;
  sim_lock();
  for (int device = 0; !found && device < sim.config.devices; device++)
    for (struct CUstream_st *s = sim.device[device].streams; !found && s; s = s->next)
      found = s == stream;
  sim_unlock();
  return found;
}

cudaError_t sim_stream_get(cudaStream_t handle, struct CUstream_st **stream) {
  if (handle == NULL || handle == cudaStreamLegacy)
    *stream = sim.device[sim_current_device].legacy;
  else if (handle == cudaStreamPerThread)
    *stream = own_stream(sim_current_device);
  else if (exists(handle))
    *stream = handle;
  else
    return cudaErrorInvalidResourceHandle;
  return cudaSuccess;
}

// ---- queueing ----

// The node will wait for all that the stream has to do, the events that it waits for included. sim.lock is held.
static void after_stream(struct sim_node *node, struct CUstream_st *stream) {
  sim_node_after(node, stream->last);
  for (size_t i = 0; i < stream->waits.count; i++)
    sim_node_after(node, stream->waits.items[i]);
}

// The legacy stream and the blocking streams wait for each other; non-blocking streams have no part in it.
static void after_other_streams(struct CUstream_st *stream, struct sim_node *node) {
  struct sim_device *device = &sim.device[stream->device];
  if (stream != device->legacy) {
    if (stream->blocking)
      after_stream(node, device->legacy);
    return;
  }
  for (struct CUstream_st *other = device->streams; other; other = other->next)
    if (other->blocking)
      after_stream(node, other);
}

void sim_stream_add_wait(struct CUstream_st *stream, struct sim_node *node) {
  if (node)
    sim_node_list_add(&stream->waits, sim_node_retain(node));
}

void sim_stream_append(struct CUstream_st *stream, struct sim_node *node) {
  after_stream(node, stream);
  for (size_t i = 0; i < stream->waits.count; i++)
    sim_node_release(stream->waits.items[i]);
  stream->waits.count = 0;
  after_other_streams(stream, node);
  sim_node_release(stream->last);
  stream->last = sim_node_retain(node);
  sim_node_unhold(node);
}

// Work that a kernel queues, such as a copy, runs at once, so that it is done when the kernel is.
static cudaError_t run_in_kernel(struct sim_work *work) {
  struct sim_executor *e = sim_executor;
  sim_critical_begin(e, work->caller);
  const cudaError_t error = work->run(work);
  sim_work_release(work);
  sim_critical_end(e);
  return error;
}

unsigned long long sim_stream_handle(const struct CUstream_st *stream) {
  return stream == sim.device[stream->device].legacy ? 0 : (unsigned long long)(uintptr_t)stream;
}

cudaError_t sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **result) {
  if (result)
    *result = NULL;
  if (work)
    SIM_NOTIFY(work_created, (work, stream->device));
  if (stream->capture && work)
    return sim_graph_add(stream, work);
  cudaError_t error = sim_sticky(stream->device);
  if (error != cudaSuccess) {
    sim_work_release(work);
    return error;
  }
  if (work && work->count)
    work->count(work);
  if (sim_block_running()) {
    sim_nested_finish();
    if (work)
      return run_in_kernel(work);
  }
  sim_worker_start();
  struct sim_node *node = sim_node_new(stream->device, work, stream->tsan_fiber);
  node->priority = stream->priority;
  SIM_NOTIFY(node_queuing, (node, sim_stream_handle(stream), NULL));
  bool sync = sim.config.mode == SIM_SYNC;
  if (sync)
    sim_execution_lock();
  sim_lock();
  sim_stream_append(stream, node);
  sim_unlock();
  sim_node_run_if_sync(node);
  if (sync)
    sim_execution_unlock();
  SIM_NOTIFY(node_queued, (node, 0));
  if (result)
    *result = node;
  else
    sim_node_release(node);
  return cudaSuccess;
}

// ---- waiting ----

// Adds, retained, what the stream itself has to do: its last node and the events it waits for. sim.lock is held.
static void add_outstanding(struct sim_node_list *list, struct CUstream_st *stream) {
  if (stream->last)
    sim_node_list_add(list, sim_node_retain(stream->last));
  for (size_t i = 0; i < stream->waits.count; i++)
    sim_node_list_add(list, sim_node_retain(stream->waits.items[i]));
}

// The nodes that must be done for the stream to be done: for the legacy stream also those of blocking streams. Retained.
static struct sim_node_list outstanding(struct CUstream_st *stream) {
  struct sim_node_list list = {0};
  struct sim_device *device = &sim.device[stream->device];
  sim_lock();
  add_outstanding(&list, stream);
  for (struct CUstream_st *other = device->streams; stream == device->legacy && other; other = other->next)
    if (other->blocking)
      add_outstanding(&list, other);
  sim_unlock();
  return list;
}

struct sim_node *sim_streams_ready(const struct sim_node *except) {
  static unsigned int searches;
  const unsigned int search = ++searches ? searches : ++searches;
  struct sim_node *ready = NULL;
  for (int i = 0; ready == NULL && i < sim.config.devices; i++) {
    ready = sim_node_ready(sim.device[i].legacy->last, except, search);
    for (const struct CUstream_st *stream = sim.device[i].streams; ready == NULL && stream; stream = stream->next)
      ready = sim_node_ready(stream->last, except, search);
  }
  return ready;
}

static void release_all(struct sim_node_list list) {
  for (size_t i = 0; i < list.count; i++)
    sim_node_release(list.items[i]);
  free(list.items);
}

static void wait_for(struct sim_node_list list) {
  for (size_t i = 0; i < list.count; i++)
    sim_node_wait(list.items[i]);
  release_all(list);
}

// A kernel only waits for its own launches: anything else would include itself.
void sim_stream_drain(int device) {
  if (sim_block_running()) {
    sim_nested_finish();
    return;
  }
  struct sim_node_list list = {0};
  sim_lock();
  add_outstanding(&list, sim.device[device].legacy);
  for (struct CUstream_st *stream = sim.device[device].streams; stream; stream = stream->next)
    add_outstanding(&list, stream);
  sim_unlock();
  wait_for(list);
}

void sim_finish_work(void) {
  for (int i = 0; sim.arena && i < sim.config.devices; i++)
    sim_stream_drain(i);
}

cudaError_t cudaDeviceSynchronize(void) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_capture_forbids());
  SIM_COUNT(synchronizations, 1);
  sim_stream_drain(sim_current_device);
  return sim_fail(sim_sticky(sim_current_device));
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (stream->capture)
    return sim_fail(sim_graph_spoil(stream, cudaErrorStreamCaptureUnsupported));
  SIM_COUNT(synchronizations, 1);
  if (sim_block_running())
    sim_nested_finish();
  else
    wait_for(outstanding(stream));
  return sim_fail(sim_sticky(stream->device));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (stream->capture)
    return sim_fail(sim_graph_spoil(stream, cudaErrorStreamCaptureUnsupported));
  struct sim_node_list list = outstanding(stream);
  bool done = true;
  for (size_t i = 0; i < list.count; i++) {
    sim_node_queried(list.items[i]);
    done = done && atomic_load(&list.items[i]->done);
  }
  for (size_t i = 0; done && i < list.count; i++)
    sim_node_waited(list.items[i]);
  release_all(list);
  cudaError_t error = sim_sticky(stream->device);
  return error ? sim_fail(error) : done ? cudaSuccess : cudaErrorNotReady;
}

// ---- creating and destroying ----

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_sticky(sim_current_device));
  SIM_TRY(sim_known_flags(flags, cudaStreamNonBlocking));
  if (stream == NULL)
    return sim_fail(cudaErrorInvalidValue);
  priority = priority > LEAST_PRIORITY ? LEAST_PRIORITY : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
  *stream = sim_stream_new(sim_current_device, flags, priority);
  link_stream(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, LEAST_PRIORITY);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, LEAST_PRIORITY);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  SIM_TRY(sim_enter());
  if (least)
    *least = LEAST_PRIORITY;
  if (greatest)
    *greatest = GREATEST_PRIORITY;
  return cudaSuccess;
}

static void destroy(struct CUstream_st *stream) {
  wait_for(outstanding(stream));
  sim_lock();
  struct CUstream_st **link = &sim.device[stream->device].streams;
  while (*link && *link != stream)
    link = &(*link)->next;
  if (*link)
    *link = stream->next;
  sim_unlock();
  sim_node_release(stream->last);
  for (size_t i = 0; i < stream->waits.count; i++)
    sim_node_release(stream->waits.items[i]);
  free(stream->waits.items);
  free(stream->capture_after.items);
  sim_tsan_fiber_free(stream->tsan_fiber);
  free(stream);
}

// CUDA returns at once and frees the stream when its work is done; here the host waits for it.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  SIM_TRY(sim_enter());
  if (handle == NULL || handle == cudaStreamLegacy || handle == cudaStreamPerThread || !exists(handle))
    return sim_fail(cudaErrorInvalidResourceHandle);
  if (handle->capture && handle->capture_origin)
    sim_graph_abandon(handle);
  else if (handle->capture)
    sim_graph_part(handle);
  destroy(handle);
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  *flags = stream->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  *priority = stream->priority;
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *device) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  *device = stream->device;
  return cudaSuccess;
}

// ---- host functions ----

static __thread bool in_host_function;

bool sim_running_host_function(void) {
  return in_host_function;
}

// Host code does not touch device memory there either.
static int begin_host_function(void) {
  in_host_function = true;
  return sim_access_pause();
}

static void end_host_function(int paused) {
  sim_access_resume(paused);
  in_host_function = false;
}

struct host_work {
  struct sim_work base;
  cudaHostFn_t function;
  void *data;
};

static cudaError_t run_host_function(struct sim_work *base) {
  struct host_work *work = (struct host_work *)base;
  SIM_NOTIFY(host_function_begins, (sim_node_running()));
  const int paused = begin_host_function();
  work->function(work->data);
  end_host_function(paused);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *data) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (function == NULL)
    return sim_fail(cudaErrorInvalidValue);
  struct host_work *work = sim_work_new(sizeof *work, run_host_function, NULL);
  work->function = function;
  work->data = data;
  return sim_fail(sim_submit(stream, &work->base, NULL));
}

struct callback_work {
  struct sim_work base;
  cudaStream_t stream;
  cudaStreamCallback_t callback;
  void *data;
};

static cudaError_t run_callback(struct sim_work *base) {
  struct callback_work *work = (struct callback_work *)base;
  SIM_NOTIFY(host_function_begins, (sim_node_running()));
  const int paused = begin_host_function();
  work->callback(work->stream, cudaSuccess, work->data);
  end_host_function(paused);
  return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void *data, unsigned int flags) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (callback == NULL || flags != 0)
    return sim_fail(cudaErrorInvalidValue);
  struct callback_work *work = sim_work_new(sizeof *work, run_callback, NULL);
  work->stream = handle;
  work->callback = callback;
  work->data = data;
  return sim_fail(sim_submit(stream, &work->base, NULL));
}
