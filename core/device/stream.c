// SPDX-License-Identifier: MIT
// Streams: queues of work on a device. The CPU has one too, on which everything is done already.
#include "device/impl.h"
#include <pthread.h>
#include <stdlib.h>

// Raw streams are never destroyed while the program runs. The allocators know blocks by the stream they belong to, and a
// new stream at an old one's address would be taken for it; reused, it is ordered after the old work instead.
enum { PRIORITIES = 2, POOLED = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *pool[FY_MAX_DEVICES][PRIORITIES][POOLED];
static int pooled[FY_MAX_DEVICES][PRIORITIES];
static FyStream *alive;

#define DEFAULT_STREAM(index)                                                                                          \
  { .object = {.references = 1}, .device = (index) }
static FyStream cpu_stream = DEFAULT_STREAM(-1);
static FyStream default_streams[FY_MAX_DEVICES] = {
    DEFAULT_STREAM(0),  DEFAULT_STREAM(1),  DEFAULT_STREAM(2),  DEFAULT_STREAM(3),
    DEFAULT_STREAM(4),  DEFAULT_STREAM(5),  DEFAULT_STREAM(6),  DEFAULT_STREAM(7),
    DEFAULT_STREAM(8),  DEFAULT_STREAM(9),  DEFAULT_STREAM(10), DEFAULT_STREAM(11),
    DEFAULT_STREAM(12), DEFAULT_STREAM(13), DEFAULT_STREAM(14), DEFAULT_STREAM(15),
};
_Static_assert(FY_MAX_DEVICES == 16, "one default stream for each device");

// ---- making and ending -----------------------------------------------------------------------------------------------

static void destroy(void *object) {
  FyStream *stream = object;
  pthread_mutex_lock(&lock);
  if (stream->previous)
    stream->previous->next = stream->next;
  else
    alive = stream->next;
  if (stream->next)
    stream->next->previous = stream->previous;
  // Beyond the pool's size the handle is left to the end of the process, for the reason above.
  if (stream->raw && pooled[stream->device][-stream->priority] < POOLED)
    pool[stream->device][-stream->priority][pooled[stream->device][-stream->priority]++] = stream->raw;
  pthread_mutex_unlock(&lock);
  free(stream);
}

FyStream *fy_stream_new(FyDevice device, int priority) {
  fy_check(priority == 0 || priority == -1, FY_VALUE_ERROR, "a stream's priority is 0 (default) or -1 (high), got %d",
           priority);
  int index = device.type == FY_CPU ? -1 : fy_cuda_index(device);
  FyStream *stream = fy_object_new(sizeof *stream, destroy);
  fy_object_know_weakly(stream);
  stream->device = index;
  stream->priority = priority;
  pthread_mutex_lock(&lock);
  stream->next = alive;
  if (alive)
    alive->previous = stream;
  alive = stream;
  if (index >= 0 && pooled[index][-priority])
    stream->raw = pool[index][-priority][--pooled[index][-priority]];
  pthread_mutex_unlock(&lock);
  if (index >= 0 && !stream->raw) {
    fy_use_device(index);
    fy_cuda_check(fy_backend_required()->stream_create(&stream->raw, priority));
  }
  return stream;
}

FyStream *fy_stream_if_alive(void *pointer) {
  FyStream *found = NULL;
  if (!pointer)
    return NULL;
  pthread_mutex_lock(&lock);
  for (FyStream *s = alive; s && !found; s = s->next)
    if (s == pointer)
      found = s;
  // One whose last reference has just gone waits for the lock in `destroy`: it must stay dead.
  found = fy_retain_if_alive(found);
  pthread_mutex_unlock(&lock);
  return found;
}

// ---- which one is current --------------------------------------------------------------------------------------------

FyStream *fy_default_stream(FyDevice device) {
  return device.type == FY_CPU ? &cpu_stream : &default_streams[fy_cuda_index(device)];
}

FyStream *fy_current_stream(FyDevice device) {
  if (device.type == FY_CPU)
    return &cpu_stream;
  int index = fy_cuda_index(device);
  FyStream *stream = fy_current_stream_of(index);
  return stream ? stream : &default_streams[index];
}

void fy_set_stream(FyStream *stream) {
  fy_check(stream, FY_VALUE_ERROR, "fy_set_stream: the stream is NULL; fy_default_stream(device) is the default one");
  if (stream->device < 0)
    return;
  fy_cuda_set_device(stream->device);
  fy_make_stream_current(stream->device, stream == &default_streams[stream->device] ? NULL : stream);
}

FyDevice fy_stream_device(FyStream *stream) {
  return stream->device < 0 ? FY_CPU_DEVICE : (FyDevice){FY_CUDA, (int16_t)stream->device};
}

void *fy_stream_raw(const FyStream *stream) {
  return stream->raw;
}

// ---- waiting ---------------------------------------------------------------------------------------------------------

void fy_stream_synchronize(FyStream *stream) {
  if (stream->device < 0)
    return;
  fy_use_device(stream->device);
  fy_count_synchronization();
  fy_cuda_check(fy_backend_required()->stream_synchronize(stream->raw));
}

bool fy_stream_query(FyStream *stream) {
  if (stream->device < 0)
    return true;
  fy_use_device(stream->device);
  int error = fy_backend_required()->stream_query(stream->raw);
  if (error == FY_BACKEND_NOT_READY)
    return false;
  fy_cuda_check(error);
  return true;
}

void fy_stream_wait_stream(FyStream *stream, FyStream *other) {
  if (stream->device < 0 && other->device >= 0)
    fy_stream_synchronize(other); // the CPU's stream can only wait by waiting
  if (stream->device >= 0 && other->device >= 0)
    fy_cuda_check(fy_order_streams(other->device, other->raw, stream->device, stream->raw));
}

int fy_order_streams(int first_device, void *first, int then_device, void *then) {
  if (first_device == then_device && first == then)
    return 0;
  const FyBackend *backend = fy_backend();
  void *event = NULL;
  int error = fy_try_use_device(first_device);
  if (!error)
    error = fy_event_take(first_device, &event);
  if (error)
    return error;
  error = backend->event_record(event, first);
  if (!error)
    error = fy_try_use_device(then_device);
  if (!error)
    error = backend->stream_wait_event(then, event);
  fy_event_give_back(first_device, event); // a wait keeps what was recorded before, whoever records the event again
  return error;
}
