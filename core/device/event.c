// SPDX-License-Identifier: MIT
// Events: marks in a stream that others wait for, and that measure time between them.
#include "device/impl.h"
#include <time.h>
#include <stdlib.h>

struct FyEvent {
  FyObject object;
  bool timing;
  bool recorded;
  int device;      // of the first record; -1: the CPU's
  void *raw;       // cudaEvent_t; NULL on the CPU
  double cpu_time; // of a record on the CPU, in milliseconds
};

static void destroy(void *object) {
  FyEvent *event = object;
  if (event->raw)
    fy_backend()->event_destroy(event->raw);
  free(event);
}

FyEvent *fy_event_new(bool enable_timing) {
  FyEvent *event = fy_object_new(sizeof *event, destroy);
  event->timing = enable_timing;
  return event;
}

static FyStream *stream_or_current(FyStream *stream) {
  if (stream)
    return stream;
  return fy_current_stream(fy_cuda_is_available() ? fy_cuda_device(-1) : FY_CPU_DEVICE);
}

static double now_in_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

void fy_event_record(FyEvent *event, FyStream *stream) {
  stream = stream_or_current(stream);
  int device = stream->device;
  fy_check(!event->recorded || event->device == device, FY_RUNTIME_ERROR,
           "Event device %s does not match recording stream's device %s.",
           fy_device_name_of((FyDevice){event->device < 0 ? FY_CPU : FY_CUDA, (int16_t)event->device}),
           fy_device_name_of(fy_stream_device(stream)));
  if (device < 0) {
    event->cpu_time = now_in_milliseconds();
  } else {
    const FyBackend *backend = fy_backend_required();
    fy_use_device(device);
    if (!event->raw)
      fy_cuda_check(backend->event_create(&event->raw, event->timing));
    fy_cuda_check(backend->event_record(event->raw, stream->raw));
  }
  event->device = device;
  event->recorded = true;
}

void fy_event_wait(FyEvent *event, FyStream *stream) {
  stream = stream_or_current(stream);
  if (!event->raw)
    return;
  if (stream->device < 0) {
    fy_event_synchronize(event);
    return;
  }
  fy_use_device(stream->device);
  fy_cuda_check(fy_backend_required()->stream_wait_event(stream->raw, event->raw));
}

void fy_event_synchronize(FyEvent *event) {
  if (!event->raw)
    return;
  fy_count_synchronization();
  fy_use_device(event->device);
  fy_cuda_check(fy_backend_required()->event_synchronize(event->raw));
}

bool fy_event_query(FyEvent *event) {
  if (!event->raw)
    return true;
  fy_use_device(event->device);
  int error = fy_backend_required()->event_query(event->raw);
  if (error == FY_BACKEND_NOT_READY)
    return false;
  fy_cuda_check(error);
  return true;
}

double fy_event_elapsed_time(FyEvent *start, FyEvent *end) {
  fy_check(start->timing && end->timing, FY_VALUE_ERROR,
           "Both events must be created with enable_timing: fy_event_new(true).");
  fy_check(start->recorded && end->recorded, FY_VALUE_ERROR,
           "Both events must be recorded before calculating elapsed time.");
  fy_check(start->device == end->device, FY_RUNTIME_ERROR,
           "Both events must be recorded on the same device before calculating elapsed time.");
  if (start->device < 0)
    return end->cpu_time - start->cpu_time;
  fy_check(fy_event_query(start) && fy_event_query(end), FY_RUNTIME_ERROR,
           "Both events must be completed before calculating elapsed time.");
  float milliseconds = 0;
  fy_use_device(start->device);
  fy_cuda_check(fy_backend_required()->event_elapsed(&milliseconds, start->raw, end->raw));
  return milliseconds;
}
