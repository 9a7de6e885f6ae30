// SPDX-License-Identifier: MIT
// An event is a node: recording puts a point into a stream, which others can wait for and which knows when it was
// passed.
#include <stdlib.h>
#include <string.h>

#include "sim/base/plugin.h"
#include "sim/runtime/clock.h"
#include "sim/runtime/graph.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

struct CUevent_st {
  int device;
  unsigned int flags;
  struct sim_node *node;            // retained; NULL until it is recorded
  atomic_ullong capture;            // the capture it was recorded in; 0: none
  struct sim_indices capture_after; // what the capture had led to
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_sticky(sim_current_device));
  SIM_TRY(sim_known_flags(flags, cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess));
  if (event == NULL || (flags & cudaEventInterprocess && !(flags & cudaEventDisableTiming)))
    return sim_fail(cudaErrorInvalidValue);
  *event = sim_allocate(sizeof **event);
  **event = (struct CUevent_st){.device = sim_current_device, .flags = flags};
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  SIM_TRY(sim_enter());
  if (event == NULL)
    return sim_fail(cudaErrorInvalidResourceHandle);
  sim_node_release(event->node);
  free(event->capture_after.items);
  free(event);
  return cudaSuccess;
}

static void set_node(struct CUevent_st *event, struct sim_node *node) {
  sim_lock();
  struct sim_node *before = event->node;
  event->node = node;
  sim_unlock();
  sim_node_release(before);
}

// The flag of recording and waiting, whose name is cudaEventRecordExternal and cudaEventWaitExternal: a node of the graph
// for an event from outside, so only within a capture. Graphs here have no such nodes.
static cudaError_t check_external(struct CUstream_st *stream, unsigned int flags) {
  SIM_TRY(sim_known_flags(flags, stream->capture ? cudaEventWaitExternal : 0));
  return flags ? sim_graph_spoil(stream, cudaErrorNotSupported) : cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (event == NULL || event->device != stream->device)
    return sim_fail(cudaErrorInvalidResourceHandle);
  event->capture = sim_graph_id(stream);
  if (event->capture) {
    sim_indices_assign(&event->capture_after, &stream->capture_after);
    return cudaSuccess;
  }
  struct sim_node *node;
  SIM_TRY(sim_submit(stream, NULL, &node));
  set_node(event, node);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int flags) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  SIM_TRY(check_external(stream, flags));
  if (event == NULL)
    return sim_fail(cudaErrorInvalidResourceHandle);
  if (event->capture)
    return sim_fail(sim_graph_join(stream, event->capture, &event->capture_after));
  if (stream->capture)
    return sim_fail(sim_graph_spoil(stream, cudaErrorStreamCaptureIsolation));
  sim_lock();
  sim_stream_add_wait(stream, event->node);
  sim_unlock();
  SIM_NOTIFY(call_made, (false));
  return cudaSuccess;
}

// The event's node, retained; NULL when it was never recorded.
static struct sim_node *get_node(struct CUevent_st *event) {
  sim_lock();
  struct sim_node *node = sim_node_retain(event->node);
  sim_unlock();
  return node;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  SIM_TRY(sim_enter());
  if (event == NULL)
    return sim_fail(cudaErrorInvalidResourceHandle);
  if (event->capture)
    return sim_fail(cudaErrorCapturedEvent);
  SIM_COUNT(synchronizations, 1);
  struct sim_node *node = get_node(event);
  sim_node_wait(node);
  sim_node_release(node);
  return sim_fail(sim_sticky(event->device));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  SIM_TRY(sim_enter());
  if (event == NULL)
    return sim_fail(cudaErrorInvalidResourceHandle);
  if (event->capture)
    return sim_fail(cudaErrorCapturedEvent);
  SIM_TRY(sim_capture_forbids());
  struct sim_node *node = get_node(event);
  sim_node_queried(node);
  bool done = node == NULL || atomic_load(&node->done);
  if (node && done)
    sim_node_waited(node);
  sim_node_release(node);
  cudaError_t error = sim_sticky(event->device);
  return error ? sim_fail(error) : done ? cudaSuccess : cudaErrorNotReady;
}

static cudaError_t elapsed(float *ms, struct sim_node *start, struct sim_node *end) {
  if (start == NULL || end == NULL)
    return cudaErrorInvalidResourceHandle;
  if (!atomic_load(&start->done) || !atomic_load(&end->done))
    return cudaErrorNotReady;
  if (sim.config.gpu) {
    sim_clock_label();
    *ms = (float)((sim_clock_finish(end) - sim_clock_finish(start)) * 1e3);
    return cudaSuccess;
  }
  const struct timespec *a = &start->finished, *b = &end->finished;
  *ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
  SIM_TRY(sim_enter());
  if (ms == NULL || start == NULL || end == NULL)
    return sim_fail(cudaErrorInvalidResourceHandle);
  if (((start->flags | end->flags) & cudaEventDisableTiming) || start->device != end->device)
    return sim_fail(cudaErrorInvalidResourceHandle);
  struct sim_node *first = get_node(start), *last = get_node(end); // another thread may record them again meanwhile
  const cudaError_t error = elapsed(ms, first, last);
  sim_node_release(first);
  sim_node_release(last);
  return sim_fail(error);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned int flags) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  SIM_TRY(check_external(stream, flags));
  return cudaEventRecord(event, handle);
}
