// SPDX-License-Identifier: MIT
// What each thread has made current: device, streams, cuBLAS handles, and the guards that will put them back.
#include "base/state.h"
#include "device/capture.h"
#include "device/impl.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct FyGuard {
  int device;        // what was current, -1 when it had never been set
  int stream_device; // the device whose stream the guard changed, -1: none
  FyStream *stream;  // and what was current there; counted
} FyGuard;

_Thread_local FyThreadDevices fy_thread_devices = {.device = -1, .applied = -1};

// ---- the pool of cuBLAS handles: one is dear to make, and threads come and go with every data-parallel step ------------

enum { HANDLES = 64 };
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;
static void *handles[FY_MAX_DEVICES][HANDLES];
static int handle_count[FY_MAX_DEVICES];

static void *pooled_handle(int device) {
  pthread_mutex_lock(&handles_lock);
  void *handle = handle_count[device] ? handles[device][--handle_count[device]] : NULL;
  pthread_mutex_unlock(&handles_lock);
  return handle;
}

static bool pool_handle(int device, void *handle) {
  pthread_mutex_lock(&handles_lock);
  bool room = handle_count[device] < HANDLES;
  if (room)
    handles[device][handle_count[device]++] = handle;
  pthread_mutex_unlock(&handles_lock);
  return room;
}

static void give_handles_back(FyThreadDevices *t) {
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    if (t->blas[d] && !pool_handle(d, t->blas[d]))
      fy_backend()->blas_destroy(t->blas[d]);
    t->blas[d] = NULL;
  }
}

// ---- a thread's end --------------------------------------------------------------------------------------------------

static void end_thread(void *pointer) {
  FyThreadDevices *t = pointer;
  fy_abandon_captures(0);
  while (t->guard_count > 0)
    fy_release(t->guards[--t->guard_count].stream);
  free(t->guards);
  t->guards = NULL;
  t->guard_capacity = 0;
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    FyStream *stream = t->stream[d];
    t->stream[d] = NULL;
    fy_release(stream);
  }
  give_handles_back(t);
  t->registered = false;
}

static pthread_key_t key;

static void make_key(void) {
  if (pthread_key_create(&key, end_thread) != 0)
    fy_panic("no thread key left for devices");
}

// Called before a thread first holds something that its end must give back.
static FyThreadDevices *registered_thread(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  FyThreadDevices *t = &fy_thread_devices;
  if (!t->registered) {
    pthread_once(&once, make_key);
    pthread_setspecific(key, t);
    t->registered = true;
  }
  return t;
}

void fy_thread_devices_end(void) {
  if (!fy_thread_devices.registered)
    return;
  pthread_setspecific(key, NULL);
  end_thread(&fy_thread_devices);
}

// ---- streams and handles ---------------------------------------------------------------------------------------------

FyStream *fy_current_stream_of(int device) {
  return fy_thread_devices.stream[device];
}

void fy_make_stream_current(int device, FyStream *stream) {
  FyThreadDevices *t = registered_thread();
  FyStream *previous = t->stream[device];
  if (previous == stream)
    return;
  t->stream[device] = fy_retain(stream);
  fy_release(previous);
}

void *fy_raw_stream(int device) {
  FyStream *stream = fy_thread_devices.stream[device];
  return stream ? stream->raw : NULL;
}

// A capture writes down where cuBLAS works, too: memory of the graph's own.
static int lend_workspace(int device, void *stream, void *handle) {
  const FyBackend *backend = fy_backend();
  FyCudaGraph *graph = fy_captured_into(device, stream);
  size_t bytes = graph ? backend->blas_workspace() : 0;
  void *memory, *block;
  if (bytes == 0)
    return 0;
  if (!fy_cuda_try_alloc(device, bytes, &memory, &block))
    return FY_BACKEND_OUT_OF_MEMORY;
  if (!fy_capture_keep_block(graph, block)) {
    fy_cuda_free(block);
    return FY_BACKEND_OUT_OF_MEMORY;
  }
  return backend->blas_set_workspace(handle, memory, bytes);
}

// cuBLAS takes memory of its own for a handle, which is no part of a capture that may be under way.
static int create_handle(void **handle) {
  if (!fy_thread_is_capturing())
    return fy_backend()->blas_create(handle);
  int before = fy_set_capture_mode(FY_CAPTURE_RELAXED);
  int error = fy_backend()->blas_create(handle);
  fy_set_capture_mode(before);
  return error;
}

void fy_forget_blas_streams(void) {
  static char unknown;
  for (int d = 0; d < FY_MAX_DEVICES; d++)
    fy_thread_devices.blas_stream[d] = &unknown;
}

int fy_raw_blas(int device, void *stream, void **handle) {
  FyThreadDevices *t = &fy_thread_devices;
  *handle = t->blas[device];
  if (*handle && t->blas_stream[device] == stream)
    return 0;
  registered_thread();
  if (!*handle)
    *handle = pooled_handle(device);
  int error = *handle ? 0 : create_handle(handle);
  if (!error)
    error = fy_backend()->blas_set_stream(*handle, stream);
  if (!error)
    error = lend_workspace(device, stream, *handle);
  if (error && *handle && !t->blas[device])
    fy_backend()->blas_destroy(*handle);
  if (!error) {
    t->blas[device] = *handle;
    t->blas_stream[device] = stream;
  }
  return error;
}

// ---- guards ----------------------------------------------------------------------------------------------------------

static void push_guard(FyGuard guard) {
  FyThreadDevices *t = registered_thread();
  if (t->guard_count == t->guard_capacity) {
    int capacity = t->guard_capacity ? 2 * t->guard_capacity : 8;
    FyGuard *guards = realloc(t->guards, (size_t)capacity * sizeof *guards);
    fy_check(guards, FY_OUT_OF_MEMORY_ERROR, "out of host memory for %d nested device guards", capacity);
    t->guards = guards;
    t->guard_capacity = capacity;
  }
  t->guards[t->guard_count++] = guard;
  fy_retain(guard.stream);
}

static void apply_device(int device) {
  fy_thread_devices.device = device;
  const FyBackend *backend = fy_backend_if_chosen();
  int wanted = device < 0 ? 0 : device;
  if (!backend || fy_thread_devices.applied < 0 || fy_thread_devices.applied == wanted)
    return;
  if (backend->set_device(wanted) == 0)
    fy_thread_devices.applied = wanted;
}

// Puts back what the innermost guard remembers. Runs while an error is on its way, so it raises none.
static void pop_guard(void) {
  FyThreadDevices *t = &fy_thread_devices;
  FyGuard guard = t->guards[--t->guard_count];
  if (guard.stream_device >= 0)
    fy_make_stream_current(guard.stream_device, guard.stream);
  fy_release(guard.stream);
  apply_device(guard.device);
}

FyDeviceGuard fy_device_guard_open(int index) {
  fy_check_cuda_index(index);
  FyDeviceGuard state = {.previous = fy_thread_devices.device, .open = true};
  push_guard((FyGuard){.device = state.previous, .stream_device = -1});
  fy_cuda_set_device(index);
  return state;
}

void fy_device_guard_close(FyDeviceGuard *guard) {
  if (!guard->open)
    return;
  guard->open = false;
  pop_guard();
}

FyStreamGuard fy_stream_guard_open(FyStream *stream) {
  FyStreamGuard state = {.previous_device = fy_thread_devices.device, .open = true};
  int device = stream->device;
  if (device >= 0)
    state.previous = fy_current_stream_of(device);
  push_guard((FyGuard){.device = state.previous_device, .stream_device = device, .stream = state.previous});
  fy_set_stream(stream);
  return state;
}

void fy_stream_guard_close(FyStreamGuard *guard) {
  if (!guard->open)
    return;
  guard->open = false;
  pop_guard();
}

// ---- traps and workers -----------------------------------------------------------------------------------------------

typedef struct Saved {
  int device;
  int16_t guards, captures;
  FyStream *stream[FY_MAX_DEVICES]; // borrowed
} Saved;

static void save(void *saved) {
  const FyThreadDevices *t = &fy_thread_devices;
  Saved *s = saved;
  s->device = t->device;
  s->guards = (int16_t)t->guard_count;
  s->captures = (int16_t)fy_thread_captures();
  memcpy(s->stream, t->stream, sizeof s->stream);
}

// A saved stream is looked up among the living ones before it becomes current again.
static void restore(const void *saved) {
  const Saved *s = saved;
  fy_abandon_captures(s->captures);
  while (fy_thread_devices.guard_count > s->guards)
    pop_guard();
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    if (fy_thread_devices.stream[d] == s->stream[d])
      continue;
    FyStream *stream = fy_stream_if_alive(s->stream[d]);
    fy_make_stream_current(d, stream);
    fy_release(stream);
  }
  apply_device(s->device);
}

__attribute__((constructor)) static void register_part(void) {
  static const FyThreadPart part = {.room = "device",
                                    .height = 1,
                                    .bytes = sizeof(Saved),
                                    .save = save,
                                    .restore = restore,
                                    .shut_down = fy_device_shutdown};
  fy_thread_part_register(&part);
}
