// SPDX-License-Identifier: MIT
// The end of a thread and of the program, and what an error or a worker thread restores: current device and streams, guards,
// captures.
#include "base/state.h"
#include "device/capture.h"
#include "device/impl.h"
#include <string.h>

// ---- a thread's end --------------------------------------------------------------------------------------------------

void fy_end_thread_devices(void *thread) {
  FyThreadDevices *t = thread;
  fy_abandon_captures(0);
  fy_drop_guards(t);
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    FyStream *stream = t->stream[d];
    t->stream[d] = NULL;
    fy_release(stream);
  }
  fy_release_blas_handles(t);
  t->registered = false;
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
  fy_close_guards(s->guards);
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    if (fy_thread_devices.stream[d] == s->stream[d])
      continue;
    FyStream *stream = fy_stream_if_alive(s->stream[d]);
    fy_make_stream_current(d, stream);
    fy_release(stream);
  }
  fy_apply_device(s->device);
}

// Gives back the host memory that is cached, after the last scope has closed; what is still in use stays usable. Device memory,
// streams and cuBLAS handles end with the process: when a program ends, the CUDA runtime may have shut down before this is
// called, and calls of it then fail or never return.
static void shut_down(void) {
  fy_thread_devices_end();
  fy_host_empty_cache();
}

__attribute__((constructor)) static void register_part(void) {
  static const FyThreadPart part = {
      .room = "device", .height = 1, .bytes = sizeof(Saved), .save = save, .restore = restore, .shut_down = shut_down};
  fy_thread_part_register(&part);
}
