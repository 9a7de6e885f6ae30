// SPDX-License-Identifier: MIT
// The chosen CUDA runtime, the allocators on it and what each thread has made current: for core/ only.
#ifndef FERRY_DEVICE_RUNTIME_H
#define FERRY_DEVICE_RUNTIME_H

#include "device/backend.h"
#include "device/counters.h"
#include "device/device.h"
#include "device/memory.h"

// Any thread may call what stands here.

// The runtime picked at first use by FERRY_CUDA=real|sim|off (a real GPU if there is one, else the simulator). Never
// raises: NULL when there is none, where fy_backend_required raises FY_RUNTIME_ERROR "No CUDA GPUs are available: ...".
const FyBackend *fy_backend(void);
const FyBackend *fy_backend_required(void);

// Raises FY_RUNTIME_ERROR "CUDA error: ..." (out of memory: FY_OUT_OF_MEMORY_ERROR) unless error is 0. Also understands
// what kernels return (FY_LAUNCH_NO_MEMORY, cuBLAS's codes below FY_LAUNCH_BLAS).
void fy_cuda_check(int error);

// Makes `device` current for the calling thread (cheap when it is already). Raises when the runtime refuses, and
// without one.
void fy_use_device(int device);

// The raw stream (cudaStream_t) that is current for `device` on this thread. Never raises.
void *fy_raw_stream(int device);

// The calling thread's cuBLAS handle for `device`, which is current, set to the raw stream; made at the first call. Returns
// 0 or an error code. Never raises.
int fy_raw_blas(int device, void *stream, void **handle);

// Streaming multiprocessors of `device`, read once. Raises for a device that is not there.
int fy_multi_processors(int device);

// ---- allocators: the handle `block` identifies the allocation when it is freed ------------------------------------------

// Device memory, from the caching allocator, on `device`'s current stream. Raises FY_OUT_OF_MEMORY_ERROR with PyTorch's
// text. `bytes` 0 gives NULL, NULL. The try form never raises and returns false instead (for kernels' workspaces).
// Freeing never raises, recording only without host memory; both do nothing for NULL. The stream recorded may be any
// device's.
void fy_cuda_alloc(int device, size_t bytes, void **pointer, void **block);
bool fy_cuda_try_alloc(int device, size_t bytes, void **pointer, void **block);
void fy_cuda_free(void *block);
void fy_cuda_record_stream(void *block, int device, void *raw_stream);

// Host memory of CPU tensors: 64-byte aligned, cached. The forms as above, with PyTorch's text for the CPU.
void fy_host_alloc(size_t bytes, void **pointer, void **block);
bool fy_host_try_alloc(size_t bytes, void **pointer, void **block);
void fy_host_free(void *block);

// Pinned host memory: powers of two, returned when the streams that used it have passed. When no more pages can be
// locked it is ordinary memory, with one warning: slower, the same results. Raises without CUDA, and
// FY_OUT_OF_MEMORY_ERROR; freeing never raises, recording only without host memory.
void fy_pinned_alloc(size_t bytes, void **pointer, void **block);
void fy_pinned_free(void *block);
void fy_pinned_record_stream(void *block, int device, void *raw_stream);

// ---- moves and counts -----------------------------------------------------------------------------------------------------

// Copies `bytes` between two places of any kind (device -1 is the host), in the current stream of the CUDA device
// involved. With non_blocking it does not wait for pinned memory; from pageable memory it returns when the bytes are staged, as
// cudaMemcpyAsync does; to pageable memory it always waits. Raises what fy_cuda_check does.
void fy_copy_bytes(void *to, int to_device, bool to_pinned, const void *from, int from_device, bool from_pinned,
                   size_t bytes, bool non_blocking);

// Has `watcher` told of every event of the allocators that a recording would keep, on the thread that caused it and with
// allocators' locks held; `device` is -1 for the CPU. NULL: no longer. Never raises. For profiler/.
void fy_watch_memory(void (*watcher)(int device, const FyMemoryEvent *event));

// FyBackend.trace of the chosen backend: FY_BACKEND_NOT_SUPPORTED where the times on the device cannot be had, and where
// there is no CUDA; a warning then says why, once. Never raises. For profiler/.
int fy_trace_devices(void (*queued)(const FyActivity *activity), void (*ran)(const FyActivity *activity));

// FyBackend.range_push and range_pop of a real GPU's backend, if one has been chosen: a range of the calling thread for tools
// that watch the program. push returns whether somebody was told, and a pop is due. Never raise. For profiler/.
bool fy_device_range_push(const char *name);
void fy_device_range_pop(void);

// Waits for all that is queued on the devices (bit i: device i), and leaves the thread's device as it is; errors are for others to find.
// Never raises. For profiler/.
void fy_drain_devices(unsigned devices);

// To be called after each op whose kernel function succeeded on a device, which is current. Counts the op. With
// CUDA_LAUNCH_BLOCKING=1 it waits for its kernels and raises their error, so that the error appears where its cause is.
void fy_op_launched(void);

#endif
