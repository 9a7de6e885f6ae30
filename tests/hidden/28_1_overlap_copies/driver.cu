// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "event_trace_sim.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 8 };

typedef struct Call {
  float *out;
  const float *in;
  float *room;
  int n;
  cudaStream_t *streams;
  int count;
} Call;

#ifdef FERRY_SIM
// Finds out how much work must run before a given operation can run. In the lazy mode, all work is queued first; then the driver waits
// only for this operation. It is the first operation of its kind, except for copies in: there it is the last one.
typedef struct Watch {
  cudaEvent_t after;
  int64_t kind, queued, all;
  int64_t in, kernels; // have run
  bool marked, reached;
} Watch;
static Watch watch;

static void watch_queued(const struct cudasim_activity *a) {
  const int64_t kind = trace_kind_of(a);
  if (kind == watch.kind && (kind == TRACE_IN || !watch.marked))
    watch.marked = cudaEventRecord(watch.after, (cudaStream_t)a->stream) == cudaSuccess;
  if (++watch.queued < watch.all || !watch.marked || watch.reached)
    return;
  cudaEventSynchronize(watch.after);
  watch.reached = true;
}

static void watch_ran(const struct cudasim_activity *a) {
  watch.in += !watch.reached && trace_kind_of(a) == TRACE_IN;
  watch.kernels += !watch.reached && trace_kind_of(a) == TRACE_KERNEL;
}

static void watch_one(Call call, int64_t kind, int64_t all) {
  watch = {};
  watch.kind = kind;
  watch.all = all;
  cudaEventCreateWithFlags(&watch.after, cudaEventDisableTiming);
  cudasim_trace(watch_queued, watch_ran);
  pipeline_on_device(call.out, call.in, call.room, call.n, call.streams, call.count);
  cudasim_trace(NULL, NULL);
  cudaDeviceSynchronize();
  cudaEventDestroy(watch.after);
}

static void put_waits(Driver *d, Call call, int64_t all) {
  watch_one(call, TRACE_KERNEL, all);
  driver_put_number(d, "copies in before the first kernel", watch.reached ? (double)watch.in : -1);
  watch_one(call, TRACE_OUT, all);
  driver_put_number(d, "kernels before the first copy out", watch.reached ? (double)watch.kernels : -1);
  watch_one(call, TRACE_IN, all);
  driver_put_number(d, "kernels before the last copy in", watch.reached ? (double)watch.kernels : -1);
}
#endif

void drive(Driver *d) {
  const Array *x = driver_array(d, "x");
  const int n = (int)x->count, count = (int)driver_number(d, "streams");
  const size_t bytes = (size_t)n * sizeof(float);
  float *in = NULL, *out = NULL, *then = (float *)malloc(bytes),
        *room = (float *)driver_device_new(d, "room", FY_FLOAT32, x->shape);
  cudaStream_t streams[MOST_STREAMS];
  cudaMallocHost(&in, bytes);
  cudaMallocHost(&out, bytes);
  memcpy(in, x->f32, bytes);
  memset(out, 0xff, bytes);
  for (int i = 0; i < count; i++)
    cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  driver_count(d);
  trace_follow(true);
  pipeline_on_device(out, in, room, n, streams, count);
  trace_follow(false);
  memcpy(then, out, bytes); // as it is on return
  driver_stop(d);
#ifdef FERRY_SIM
  const int64_t all = trace_entry_count;
#endif
  trace_put(d);
  driver_put_array(d, "out", FY_FLOAT32, x->shape, then);
  cudaDeviceSynchronize();
  driver_put_array(d, "out later", FY_FLOAT32, x->shape, out);
  driver_put_device(d, "room");
#ifdef FERRY_SIM
  if (driver_has(d, "waits") && strcmp(cudasim_mode(), "lazy") == 0)
    put_waits(d, {out, in, room, n, streams, count}, all);
#endif
}
