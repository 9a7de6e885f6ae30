// SPDX-License-Identifier: MIT
// Devices, streams and events: torch.device, torch.cuda.
//
// Any thread may call these. What is current (device, streams, guards) is the calling thread's own; a stream may be
// used by several threads at a time, an event by one.
#ifndef FERRY_DEVICE_DEVICE_H
#define FERRY_DEVICE_DEVICE_H

#include "base/scope.h"

typedef enum FyDeviceType { FY_CPU = 0, FY_CUDA = 1, FY_MPS = 2 } FyDeviceType;

// A zeroed FyDevice is the CPU. A CUDA device without an index ("cuda") means the current one at the time of use.
typedef struct FyDevice {
  int16_t type;  // FyDeviceType
  int16_t index; // CUDA: 0.., or -1 for the current device; CPU: 0
} FyDevice;

#define FY_CPU_DEVICE ((FyDevice){FY_CPU, 0})

// torch.device("cuda:1"). Accepts "cpu", "cuda", "cuda:N" and "mps"; raises FY_RUNTIME_ERROR for anything else. "mps" is
// parsed, but using it raises FY_NOT_IMPLEMENTED_ERROR. Whether the device exists is checked when it is used.
FY_API FyDevice fy_device(const char *name);

// torch.device("cuda", index), with index -1 for the current device.
FY_API FyDevice fy_cuda_device(int index); // raises FY_RUNTIME_ERROR below -1 and above 127

// The device as PyTorch prints it ("cuda:1"); a static string per device, valid for the program's life.
FY_API const char *fy_device_name_of(FyDevice device);
FY_API bool fy_device_equal(FyDevice a, FyDevice b);

// torch.backends.mps.is_available(): always false in this build.
FY_API bool fy_mps_is_available(void);

// torch.cuda.is_available(): is there a CUDA runtime (real or simulated) with at least one device? Never raises.
FY_API bool fy_cuda_is_available(void);

// torch.cuda.device_count(). 0 without CUDA; never raises.
FY_API int fy_cuda_device_count(void);

// True when the CUDA devices are simulated on the CPU: their times say nothing about a GPU, unless they play one.
FY_API bool fy_cuda_is_simulated(void);

// What the times of simulated devices that play a GPU (FERRY_SIM_GPU) are: "modeled, not measured: computed from counts and the
// data sheet of NVIDIA A100". NULL where no GPU is played: then times are measured. Whoever shows a modeled time says so with it.
// The text lives as long as the program. Never raises; any thread. PyTorch has nothing like it.
FY_API const char *fy_cuda_model(void);

// Seconds on the clock that work on `device` is timed by, as time.perf_counter() has them: the machine's own; for CUDA devices
// that play a GPU the calling thread's time there, which calls and waits move on, and work of the host in between does not. Only
// differences mean something, after fy_synchronize. Never raises; any thread.
FY_API double fy_device_seconds(FyDevice device);

// Why CUDA is what it is, in one sentence for a person: which runtime was picked, or why none. Static string.
FY_API const char *fy_cuda_description(void);

// torch.cuda.current_device() and torch.cuda.set_device(). The setting belongs to the calling thread. Raise
// FY_RUNTIME_ERROR without CUDA ("... invalid device ordinal" for an index out of range).
FY_API int fy_cuda_current_device(void);
FY_API void fy_cuda_set_device(int index);

// with torch.cuda.device(index): runs the following block on another current device.
#define fy_cuda_device_guard(index)                                                                                    \
  for (FY_AT_END(fy_device_guard_close) FyDeviceGuard fy_guard = fy_device_guard_open(index); fy_guard.open;           \
       fy_device_guard_close(&fy_guard))

// torch.cuda.get_device_name(index), with -1 for the current device. Raises as fy_cuda_set_device does. The string
// lives as long as the program.
FY_API const char *fy_cuda_get_device_name(int index);

// torch.cuda.get_device_properties(index), with -1 for the current device. Raises as fy_cuda_set_device does.
typedef struct FyDeviceProperties {
  char name[256];
  int major, minor;          // compute capability
  int multi_processor_count; // streaming multiprocessors
  int cuda_cores; // CUDA cores by the capability's cores per multiprocessor; 0 when unknown, or simulated and no GPU is played
  int warp_size, max_threads_per_block, max_threads_per_multi_processor;
  size_t total_memory;                           // bytes
  size_t shared_memory_per_block, l2_cache_size; // bytes
  double
      memory_bandwidth; // bytes per second by bus width and memory clock; 0 when unknown, or simulated and no GPU is played
  double clock_rate; // Hz; 0 when unknown, or simulated and no GPU is played
  bool simulated;
} FyDeviceProperties;
FY_API FyDeviceProperties fy_cuda_get_device_properties(int index);

// torch.cuda.get_device_capability(index) >= (major, minor)? Raises as fy_cuda_set_device does.
FY_API bool fy_cuda_has_capability(int index, int major, int minor);

// Versions as major * 1000 + minor * 10, CUDA's own form; 0 when there is none. Never raise.
FY_API int fy_cuda_runtime_version(void);
FY_API int fy_cuda_driver_version(void);
FY_API int fy_cublas_version(void);

// Ferry's own version, "0.1.0".
FY_API const char *fy_version(void);

// torch.cuda.synchronize(device): waits for all work of that device; on the CPU it returns immediately. Errors of earlier
// asynchronous work surface here, as FY_RUNTIME_ERROR.
FY_API void fy_synchronize(FyDevice device);

// torch.cuda.can_device_access_peer(device, peer). Raises as fy_cuda_set_device does.
FY_API bool fy_cuda_can_device_access_peer(int device, int peer);

// ---- streams ---------------------------------------------------------------------------------------------------------

typedef struct FyStream FyStream;

// torch.cuda.Stream(device, priority): an object owned by the scope; priority 0 is default, -1 is high.
FY_API FyStream *fy_stream_new(FyDevice device, int priority);

// torch.cuda.current_stream(device), torch.cuda.default_stream(device). Borrowed: valid while it is current / for the
// program's life.
FY_API FyStream *fy_current_stream(FyDevice device);
FY_API FyStream *fy_default_stream(FyDevice device);

// torch.cuda.set_stream(stream): current for this thread, on the stream's device, which becomes current, too. Raises
// FY_VALUE_ERROR for NULL.
FY_API void fy_set_stream(FyStream *stream);

// with torch.cuda.stream(stream): runs the following block with `stream` current (and its device).
#define fy_stream_guard(stream)                                                                                        \
  for (FY_AT_END(fy_stream_guard_close) FyStreamGuard fy_guard = fy_stream_guard_open(stream); fy_guard.open;          \
       fy_stream_guard_close(&fy_guard))

FY_API FyDevice fy_stream_device(FyStream *stream);

// stream.cuda_stream: the stream as the CUDA runtime knows it (a cudaStream_t; NULL is the device's default stream), for a launch
// of your own: kernel<<<blocks, threads, 0, (cudaStream_t)fy_stream_raw(fy_current_stream(device))>>>(...). Borrowed from the
// stream. Never raises.
FY_API void *fy_stream_raw(const FyStream *stream);

// These raise FY_RUNTIME_ERROR for an error of earlier work, as fy_synchronize does.
FY_API void fy_stream_synchronize(FyStream *stream);                  // stream.synchronize()
FY_API bool fy_stream_query(FyStream *stream);                        // stream.query(): is all its work done?
FY_API void fy_stream_wait_stream(FyStream *stream, FyStream *other); // stream.wait_stream(other)

// ---- events ----------------------------------------------------------------------------------------------------------

typedef struct FyEvent FyEvent;

// torch.cuda.Event(enable_timing=...): an object owned by the scope, bound to a device at its first record.
// Recording on a stream of another device raises FY_RUNTIME_ERROR; NULL means the current stream. All raise
// FY_RUNTIME_ERROR for an error of earlier work.
FY_API FyEvent *fy_event_new(bool enable_timing);
FY_API void fy_event_record(FyEvent *event, FyStream *stream); // event.record(stream)
FY_API void fy_event_wait(FyEvent *event, FyStream *stream);   // stream.wait_event(event)
FY_API void fy_event_synchronize(FyEvent *event);              // event.synchronize()
FY_API bool fy_event_query(FyEvent *event);                    // event.query(); true when never recorded
// start.elapsed_time(end), in milliseconds. Raises when either was not recorded with timing or has not passed yet.
FY_API double fy_event_elapsed_time(FyEvent *start, FyEvent *end);

// ---- guards' state ---------------------------------------------------------------------------------------------------

typedef struct FyDeviceGuard {
  int previous;
  bool open;
} FyDeviceGuard;
FY_API FyDeviceGuard fy_device_guard_open(int index);
FY_API void fy_device_guard_close(FyDeviceGuard *guard);

typedef struct FyStreamGuard {
  FyStream *previous;
  int previous_device;
  bool open;
} FyStreamGuard;
FY_API FyStreamGuard fy_stream_guard_open(FyStream *stream);
FY_API void fy_stream_guard_close(FyStreamGuard *guard);

#endif
