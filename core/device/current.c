// SPDX-License-Identifier: MIT
// The device and the streams that each thread has made current. Guards (guard.c), cuBLAS handles (blas.c) and the thread's end
// (thread.c) build on this.
#include "device/impl.h"
#include <pthread.h>

_Thread_local FyThreadDevices fy_thread_devices = {.device = -1, .applied = -1};

// ---- registration ----------------------------------------------------------------------------------------------------

static pthread_key_t key;

static void make_key(void) {
  if (pthread_key_create(&key, fy_end_thread_devices) != 0)
    fy_panic("no thread key left for devices");
}

FyThreadDevices *fy_thread_devices_registered(void) {
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
  fy_end_thread_devices(&fy_thread_devices);
}

// ---- the device ------------------------------------------------------------------------------------------------------

int fy_cuda_index(FyDevice device) {
  fy_check(device.type != FY_MPS, FY_NOT_IMPLEMENTED_ERROR, "The mps device is not available in this build of Ferry");
  return device.index == -1 ? fy_cuda_current_device() : fy_check_cuda_index(device.index);
}

int fy_cuda_current_device(void) {
  fy_backend_required();
  return fy_thread_devices.device < 0 ? 0 : fy_thread_devices.device;
}

void fy_cuda_set_device(int index) {
  fy_check_cuda_index(index);
  fy_use_device(index);
  fy_thread_devices.device = index;
}

int fy_try_use_device(int device) {
  if (fy_thread_devices.applied == device)
    return 0;
  int error = fy_backend()->set_device(device);
  if (!error)
    fy_thread_devices.applied = device;
  return error;
}

void fy_use_device(int device) {
  if (fy_thread_devices.applied == device)
    return;
  fy_backend_required();
  fy_cuda_check(fy_try_use_device(device));
}

void fy_apply_device(int device) {
  fy_thread_devices.device = device;
  const FyBackend *backend = fy_backend_if_chosen();
  int wanted = device < 0 ? 0 : device;
  if (!backend || fy_thread_devices.applied < 0 || fy_thread_devices.applied == wanted)
    return;
  if (backend->set_device(wanted) == 0)
    fy_thread_devices.applied = wanted;
}

// ---- streams ---------------------------------------------------------------------------------------------------------

FyStream *fy_current_stream_of(int device) {
  return fy_thread_devices.stream[device];
}

void fy_make_stream_current(int device, FyStream *stream) {
  FyThreadDevices *t = fy_thread_devices_registered();
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
