// SPDX-License-Identifier: MIT
// For drivers of kernels that work in streams: the event trace (event_trace.h) of one call, as the simulator reports it. A GPU reports nothing.
#ifndef GRADER_EVENT_TRACE_SIM_H
#define GRADER_EVENT_TRACE_SIM_H

#include "event_trace.h"
#include "driver.h"
#include <cuda_runtime.h>

#ifdef FERRY_SIM
#include "sim/base/cudasim.h"

static TraceEntry trace_entries[TRACE_MOST];
static unsigned long long trace_ids[TRACE_MOST];
static int64_t trace_entry_count;

static int64_t trace_kind_of(const struct cudasim_activity *a) {
  if (a->kind != CUDASIM_COPY)
    return a->kind == CUDASIM_KERNEL ? TRACE_KERNEL : TRACE_FILL;
  return a->copy_kind == cudaMemcpyHostToDevice   ? TRACE_IN
         : a->copy_kind == cudaMemcpyDeviceToHost ? TRACE_OUT
                                                  : TRACE_WITHIN;
}

static void trace_queued(const struct cudasim_activity *a) {
  if (trace_entry_count == TRACE_MOST)
    return;
  TraceEntry entry = {};
  entry.kind = trace_kind_of(a);
  entry.device = a->device;
  entry.stream = (int64_t)a->stream;
  entry.bytes = (int64_t)a->bytes;
  entry.ran = -1;
  trace_ids[trace_entry_count] = a->id;
  trace_entries[trace_entry_count++] = entry;
}

static void trace_ran(const struct cudasim_activity *a) {
  for (int64_t i = 0; i < trace_entry_count; i++)
    if (trace_ids[i] == a->id)
      trace_entries[i].ran = trace_entry_count;
}

static void trace_follow(bool on) {
  cudasim_trace(on ? trace_queued : NULL, on ? trace_ran : NULL);
}

static void trace_put(Driver *d) {
  Shape shape = {2, {trace_entry_count, TRACE_COLUMNS}};
  driver_put_array(d, "#trace", FY_INT64, shape, trace_entries);
  trace_entry_count = 0; // for the next call
}
#else
static void trace_follow(bool) {
}
static void trace_put(Driver *) {
}
#endif

#endif
