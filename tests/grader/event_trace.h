// SPDX-License-Identifier: MIT
// What the answer's process did while it was counted, in its order: kernels, copies, waits and events, each with its stream
// and with when it had run. Kept by the child (event_trace.c), read by checks (event_trace() in exercise.h).
#ifndef GRADER_EVENT_TRACE_H
#define GRADER_EVENT_TRACE_H

#include <stdint.h>

typedef enum TraceKind {
  TRACE_KERNEL = 1, // a kernel, a matrix product
  TRACE_FILL,
  TRACE_IN,         // a copy from the host to a device: `number` is 1 when it was pinned memory that was copied
  TRACE_OUT,        // from a device to the host
  TRACE_WITHIN,     // from a device to a device
  TRACE_WAIT,       // the host waited
  TRACE_RECORD,     // an event was recorded: `number` is the event
  TRACE_WAIT_EVENT, // a stream was told to wait for an event (`number`), or for another stream (then 0)
  TRACE_QUERY,      // an event or a stream was asked whether it is done
  TRACE_ELAPSED, // the time between two events was asked for: `number` and `other`; `result` is the answer in nanoseconds
  TRACE_STEP,    // an optimizer's step
  TRACE_MARK,    // of a driver's own: driver_mark
  TRACE_KINDS
} TraceKind;

// `ran`: so many entries were in the trace when the work had run; -1: not by the end of counting. `stream` is the stream's
// handle, 0 for the default one.
typedef struct TraceEntry {
  int64_t kind, device, stream, bytes, ran, number, other, result;
} TraceEntry;

enum { TRACE_COLUMNS = sizeof(TraceEntry) / sizeof(int64_t), TRACE_MOST = 1 << 14 };

#endif
