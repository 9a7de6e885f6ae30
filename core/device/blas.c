// SPDX-License-Identifier: MIT
// A cuBLAS handle for each thread and device. Creating one is expensive, and threads come and go with every data-parallel step,
// so a pool keeps the handles of threads that have ended.
#include "device/capture.h"
#include "device/impl.h"
#include <pthread.h>

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

void fy_release_blas_handles(FyThreadDevices *t) {
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    if (t->blas[d] && !pool_handle(d, t->blas[d]))
      fy_backend()->blas_destroy(t->blas[d]);
    t->blas[d] = NULL;
  }
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
  fy_thread_devices_registered();
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
