// SPDX-License-Identifier: MIT
// The event trace (event_trace.h): the simulator tells what is queued and what runs, and the linker sends the calls of streams and events
// through here (--wrap). A real GPU reports nothing, so there is no trace.
#include "event_trace.h"
#include "child.h"
#include "device/impl.h"
#include "device/runtime.h"
#include "driver.h"
#include "sim/base/cudasim.h"
#include <pthread.h>

enum { REMEMBERED = 1 << 15 }; // works whose end is kept: by id, the later ones in the place of the earlier

static struct {
  pthread_mutex_t lock;
  bool open;
  int64_t count;
  TraceEntry entries[TRACE_MOST];
  unsigned long long ids[TRACE_MOST];
  struct {
    unsigned long long id;
    int64_t at;
  } ran[REMEMBERED];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t add(TraceEntry entry, unsigned long long id) {
  int64_t at = -1;
  pthread_mutex_lock(&trace.lock);
  const TraceEntry *last = trace.count > 0 && trace.count <= TRACE_MOST ? &trace.entries[trace.count - 1] : NULL;
  bool polls = entry.kind == TRACE_QUERY && last && last->kind == TRACE_QUERY && last->number == entry.number;
  if (trace.open && !polls && trace.count < TRACE_MOST) {
    at = trace.count++;
    entry.ran = -1;
    trace.entries[at] = entry;
    trace.ids[at] = id;
  } else if (trace.open && !polls) {
    trace.count = TRACE_MOST + 1; // too long: it says nothing
  }
  pthread_mutex_unlock(&trace.lock);
  return at;
}

static int64_t kind_of(const struct cudasim_activity *a) {
  if (a->kind != CUDASIM_COPY)
    return a->kind == CUDASIM_KERNEL ? TRACE_KERNEL : TRACE_FILL;
  return a->copy_kind == 1 ? TRACE_IN : a->copy_kind == 2 ? TRACE_OUT : TRACE_WITHIN; // cudaMemcpyKind
}

static _Thread_local bool from_pinned_memory; // what the library is about to copy

static void queued(const struct cudasim_activity *a) {
  add((TraceEntry){.kind = kind_of(a),
                   .device = a->device,
                   .stream = (int64_t)a->stream,
                   .bytes = (int64_t)a->bytes,
                   .number = kind_of(a) == TRACE_IN && from_pinned_memory},
      a->id);
}

void __real_fy_copy_bytes(void *to, int to_device, bool to_pinned, const void *from, int from_device, bool from_pinned,
                          size_t bytes, bool non_blocking);
void __wrap_fy_copy_bytes(void *to, int to_device, bool to_pinned, const void *from, int from_device, bool from_pinned,
                          size_t bytes, bool non_blocking);

void __wrap_fy_copy_bytes(void *to, int to_device, bool to_pinned, const void *from, int from_device, bool from_pinned,
                          size_t bytes, bool non_blocking) {
  from_pinned_memory = from_device < 0 && from_pinned;
  __real_fy_copy_bytes(to, to_device, to_pinned, from, from_device, from_pinned, bytes, non_blocking);
  from_pinned_memory = false;
}

static void ran(const struct cudasim_activity *a) {
  pthread_mutex_lock(&trace.lock);
  trace.ran[a->id % REMEMBERED].id = a->id;
  trace.ran[a->id % REMEMBERED].at = trace.count;
  pthread_mutex_unlock(&trace.lock);
}

void trace_begin(void) {
  pthread_mutex_lock(&trace.lock);
  trace.open = true;
  trace.count = 0;
  pthread_mutex_unlock(&trace.lock);
  cudasim_trace(queued, ran);
}

void trace_end(Driver *d) {
  pthread_mutex_lock(&trace.lock);
  bool told = trace.open && trace.count <= TRACE_MOST && fy_cuda_is_available() && fy_cuda_is_simulated();
  trace.open = false;
  for (int64_t i = 0; told && i < trace.count; i++)
    if (trace.ids[i] && trace.ran[trace.ids[i] % REMEMBERED].id == trace.ids[i])
      trace.entries[i].ran = trace.ran[trace.ids[i] % REMEMBERED].at;
  pthread_mutex_unlock(&trace.lock);
  cudasim_trace(NULL, NULL);
  Shape s = {.rank = 2, .size = {trace.count, TRACE_COLUMNS}};
  if (told)
    driver_put_array(d, "#trace", FY_INT64, s, trace.entries);
}

void driver_mark(Driver *d, int64_t number) {
  (void)d;
  add((TraceEntry){.kind = TRACE_MARK, .number = number}, 0);
}

void trace_waited(void) {
  add((TraceEntry){.kind = TRACE_WAIT}, 0);
}

int64_t driver_stream(FyStream *stream) {
  return (int64_t)(uintptr_t)fy_stream_raw(stream);
}

void driver_copies_first(Driver *d) {
  (void)d;
  for (int64_t i = 0; i < trace.count && i < TRACE_MOST; i++)
    if (trace.entries[i].kind == TRACE_IN && trace.entries[i].stream) {
      fy_use_device((int)trace.entries[i].device);
      fy_backend_required()->stream_synchronize((void *)(uintptr_t)trace.entries[i].stream);
    }
}

// ---- what an answer calls --------------------------------------------------------------------------------------------------

void __real_fy_event_record(FyEvent *event, FyStream *stream);
void __real_fy_event_wait(FyEvent *event, FyStream *stream);
bool __real_fy_event_query(FyEvent *event);
double __real_fy_event_elapsed_time(FyEvent *start, FyEvent *end);
bool __real_fy_stream_query(FyStream *stream);
void __real_fy_stream_wait_stream(FyStream *stream, FyStream *other);
void __real_fy_step(FyOptimizer *optimizer);
void __wrap_fy_event_record(FyEvent *event, FyStream *stream);
void __wrap_fy_event_wait(FyEvent *event, FyStream *stream);
bool __wrap_fy_event_query(FyEvent *event);
double __wrap_fy_event_elapsed_time(FyEvent *start, FyEvent *end);
bool __wrap_fy_stream_query(FyStream *stream);
void __wrap_fy_stream_wait_stream(FyStream *stream, FyStream *other);
void __wrap_fy_step(FyOptimizer *optimizer);

// The stream that NULL stands for, and its device.
static TraceEntry on_stream(int64_t kind, FyStream *stream) {
  if (!stream && fy_cuda_is_available())
    stream = fy_current_stream(fy_cuda_device(-1));
  FyDevice device = stream ? fy_stream_device(stream) : FY_CPU_DEVICE;
  return (TraceEntry){
      .kind = kind, .device = device.type == FY_CUDA ? device.index : -1, .stream = stream ? driver_stream(stream) : 0};
}

static int64_t named(const void *object) {
  return (int64_t)(uintptr_t)object;
}

void __wrap_fy_event_record(FyEvent *event, FyStream *stream) {
  TraceEntry entry = on_stream(TRACE_RECORD, stream);
  entry.number = named(event);
  add(entry, 0);
  __real_fy_event_record(event, stream);
}

void __wrap_fy_event_wait(FyEvent *event, FyStream *stream) {
  TraceEntry entry = on_stream(TRACE_WAIT_EVENT, stream);
  entry.number = named(event);
  add(entry, 0);
  __real_fy_event_wait(event, stream);
}

void __wrap_fy_stream_wait_stream(FyStream *stream, FyStream *other) {
  add(on_stream(TRACE_WAIT_EVENT, stream), 0);
  __real_fy_stream_wait_stream(stream, other);
}

bool __wrap_fy_event_query(FyEvent *event) {
  add((TraceEntry){.kind = TRACE_QUERY, .number = named(event)}, 0);
  return __real_fy_event_query(event);
}

bool __wrap_fy_stream_query(FyStream *stream) {
  add(on_stream(TRACE_QUERY, stream), 0);
  return __real_fy_stream_query(stream);
}

double __wrap_fy_event_elapsed_time(FyEvent *start, FyEvent *end) {
  int64_t at = add((TraceEntry){.kind = TRACE_ELAPSED, .number = named(start), .other = named(end)}, 0);
  double milliseconds = __real_fy_event_elapsed_time(start, end);
  if (at >= 0)
    trace.entries[at].result = (int64_t)(milliseconds * 1e6 + (milliseconds < 0 ? -0.5 : 0.5));
  return milliseconds;
}

void __wrap_fy_step(FyOptimizer *optimizer) {
  add((TraceEntry){.kind = TRACE_STEP}, 0);
  __real_fy_step(optimizer);
}
