// SPDX-License-Identifier: MIT
// Bytes from one place to another: host, device, another device.
#include "device/impl.h"
#include <string.h>

// ---- between two devices ---------------------------------------------------------------------------------------------

// Lets `device` read and write the memory of `peer` directly, once per pair and where the hardware can. Without it the
// driver takes the bytes through the host.
static void enable_peer(const FyBackend *backend, int device, int peer) {
  static atomic_bool tried[FY_MAX_DEVICES][FY_MAX_DEVICES];
  if (atomic_exchange(&tried[device][peer], true))
    return;
  int can = 0;
  if (backend->can_access_peer(device, peer, &can) != 0 || !can)
    return;
  fy_use_device(device);
  if (backend->enable_peer_access(peer) != 0)
    backend->last_error();
}

static int copy_and_wait(const FyBackend *backend, int device, void *to, const void *from, size_t bytes, int kind) {
  void *stream = fy_raw_stream(device);
  int error = fy_try_use_device(device);
  if (!error)
    error = backend->copy(to, from, bytes, kind, stream);
  return error ? error : backend->stream_synchronize(stream);
}

// When the runtime refuses a peer copy: through a buffer on the host, waiting at each end.
static void copy_staged(const FyBackend *backend, void *to, int to_device, const void *from, int from_device,
                        size_t bytes) {
  static bool warned;
  fy_warn_once(&warned, "no peer copies between cuda:%d and cuda:%d: copying through host memory, which is slower",
               from_device, to_device);
  void *buffer;
  void *block;
  fy_host_alloc(bytes, &buffer, &block);
  int error = copy_and_wait(backend, from_device, buffer, from, bytes, FY_COPY_DEVICE_TO_HOST);
  if (!error)
    error = copy_and_wait(backend, to_device, to, buffer, bytes, FY_COPY_HOST_TO_DEVICE);
  fy_host_free(block);
  fy_cuda_check(error);
}

// The copy runs on the source's current stream, after what the destination's has queued (whose memory may only just have
// become free there); the destination's stream goes on after it.
static void copy_between(void *to, int to_device, const void *from, int from_device, size_t bytes) {
  const FyBackend *backend = fy_backend_required();
  void *from_stream = fy_raw_stream(from_device);
  void *to_stream = fy_raw_stream(to_device);
  enable_peer(backend, from_device, to_device);
  enable_peer(backend, to_device, from_device);
  fy_cuda_check(fy_order_streams(to_device, to_stream, from_device, from_stream));
  fy_use_device(from_device);
  if (backend->copy_peer(to, to_device, from, from_device, bytes, from_stream) != 0) {
    backend->last_error();
    copy_staged(backend, to, to_device, from, from_device, bytes);
  } else {
    fy_cuda_check(fy_order_streams(from_device, from_stream, to_device, to_stream));
  }
}

// ---- all kinds -------------------------------------------------------------------------------------------------------

void fy_copy_bytes(void *to, int to_device, bool to_pinned, const void *from, int from_device, bool from_pinned,
                   size_t bytes, bool non_blocking) {
  if (bytes == 0)
    return;
  if (to_device < 0 && from_device < 0) {
    memcpy(to, from, bytes);
    return;
  }
  if (to_device >= 0 && from_device >= 0 && to_device != from_device) {
    copy_between(to, to_device, from, from_device, bytes);
    return;
  }
  const FyBackend *backend = fy_backend_required();
  int device = to_device >= 0 ? to_device : from_device;
  int kind = to_device < 0     ? FY_COPY_DEVICE_TO_HOST
             : from_device < 0 ? FY_COPY_HOST_TO_DEVICE
                               : FY_COPY_DEVICE_TO_DEVICE;
  bool pinned = to_device < 0 ? to_pinned : from_pinned;
  void *stream = fy_raw_stream(device);
  fy_use_device(device);
  fy_cuda_check(backend->copy(to, from, bytes, kind, stream));
  // From pageable memory CUDA returns when the bytes are staged, and to pageable memory when they are there: the second is a
  // wait like any other, though the driver does it.
  if (kind == FY_COPY_DEVICE_TO_DEVICE || (non_blocking && (pinned || kind == FY_COPY_HOST_TO_DEVICE)))
    return;
  fy_count_synchronization();
  fy_cuda_check(backend->stream_synchronize(stream));
}
