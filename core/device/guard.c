// SPDX-License-Identifier: MIT
// Guards: a device or a stream that is current within a block of code.
#include "device/impl.h"
#include <stdlib.h>

typedef struct FyGuard {
  int device;        // what was current, -1 when it had never been set
  int stream_device; // the device whose stream the guard changed, -1: none
  FyStream *stream;  // and what was current there; counted
} FyGuard;

static void push_guard(FyGuard guard) {
  FyThreadDevices *t = fy_thread_devices_registered();
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

// Puts back what the innermost guard remembers. Runs while an error is on its way, so it raises none.
static void pop_guard(void) {
  FyThreadDevices *t = &fy_thread_devices;
  FyGuard guard = t->guards[--t->guard_count];
  if (guard.stream_device >= 0)
    fy_make_stream_current(guard.stream_device, guard.stream);
  fy_release(guard.stream);
  fy_apply_device(guard.device);
}

void fy_close_guards(int count) {
  while (fy_thread_devices.guard_count > count)
    pop_guard();
}

void fy_drop_guards(FyThreadDevices *t) {
  while (t->guard_count > 0)
    fy_release(t->guards[--t->guard_count].stream);
  free(t->guards);
  t->guards = NULL;
  t->guard_capacity = 0;
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
