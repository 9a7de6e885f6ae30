// SPDX-License-Identifier: MIT
// A backend whose calls a profiler sees: each is a range by CUDA's name for it (base/watch.h).
//
// It stands before the chosen backend from the start. When nobody listens a call costs one test and one jump more, beside
// the microseconds that the CUDA runtime takes for it.
#include "base/watch.h"
#include "device/impl.h"

static const FyBackend *real;

static int device_malloc(void **pointer, size_t bytes) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaMalloc");
  int error = real->malloc(pointer, bytes);
  fy_range_close(watched);
  return error;
}

static int device_free(void *pointer) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaFree");
  int error = real->free(pointer);
  fy_range_close(watched);
  return error;
}

static int host_malloc(void **pointer, size_t bytes) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaHostAlloc");
  int error = real->host_malloc(pointer, bytes);
  fy_range_close(watched);
  return error;
}

static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaMemcpyAsync");
  int error = real->copy(to, from, bytes, kind, stream);
  fy_range_close(watched);
  return error;
}

static int copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaMemcpyPeerAsync");
  int error = real->copy_peer(to, to_device, from, from_device, bytes, stream);
  fy_range_close(watched);
  return error;
}

static int set(void *pointer, int byte, size_t bytes, void *stream) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaMemsetAsync");
  int error = real->set(pointer, byte, bytes, stream);
  fy_range_close(watched);
  return error;
}

static int synchronize(void) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaDeviceSynchronize");
  int error = real->synchronize();
  fy_range_close(watched);
  return error;
}

static int stream_synchronize(void *stream) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaStreamSynchronize");
  int error = real->stream_synchronize(stream);
  fy_range_close(watched);
  return error;
}

static int event_synchronize(void *event) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaEventSynchronize");
  int error = real->event_synchronize(event);
  fy_range_close(watched);
  return error;
}

static int event_record(void *event, void *stream) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaEventRecord");
  int error = real->event_record(event, stream);
  fy_range_close(watched);
  return error;
}

static int stream_wait_event(void *stream, void *event) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaStreamWaitEvent");
  int error = real->stream_wait_event(stream, event);
  fy_range_close(watched);
  return error;
}

static int graph_launch(void *graph, void *stream) {
  const bool watched = fy_range_open(FY_RANGE_RUNTIME, "cudaGraphLaunch");
  int error = real->graph_launch(graph, stream);
  fy_range_close(watched);
  return error;
}

const FyBackend *fy_watched_backend(const FyBackend *backend) {
  static FyBackend table;
  real = backend;
  table = *backend;
  table.malloc = device_malloc;
  table.free = device_free;
  table.host_malloc = host_malloc;
  table.copy = copy;
  table.copy_peer = copy_peer;
  table.set = set;
  table.synchronize = synchronize;
  table.stream_synchronize = stream_synchronize;
  table.event_synchronize = event_synchronize;
  table.event_record = event_record;
  table.stream_wait_event = stream_wait_event;
  table.graph_launch = graph_launch;
  return &table;
}
