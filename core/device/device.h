// SPDX-License-Identifier: MIT
// Devices, streams and events: torch.device, torch.cuda.
//
// Any thread may call these functions. Each thread has its own current device, current streams and guards. Several
// threads may use a stream at the same time, but only one thread at a time may use an event.
#ifndef FERRY_DEVICE_DEVICE_H
#define FERRY_DEVICE_DEVICE_H

#include "base/scope.h"

typedef enum FyDeviceType { FY_CPU = 0, FY_CUDA = 1, FY_MPS = 2 } FyDeviceType;

// A device, passed by value. A zeroed FyDevice is the CPU. A CUDA device without an index ("cuda") means the device
// that is current when it is used.
typedef struct FyDevice {
  int16_t type;  // FyDeviceType
  int16_t index; // CUDA: 0.., or -1 for the current device; CPU: 0
} FyDevice;

#define FY_CPU_DEVICE ((FyDevice){FY_CPU, 0})

// Returns the device with that name: "cpu", "cuda", "cuda:N" or "mps". Does not check whether the device exists; this
// is checked when it is used. Using "mps" raises FY_NOT_IMPLEMENTED_ERROR. Raises FY_RUNTIME_ERROR for any other name.
// PyTorch: torch.device("cuda:1").
FY_API FyDevice fy_device(const char *name);

// Returns the CUDA device with that index; -1 means the current device. Raises FY_RUNTIME_ERROR if the index is below
// -1 or above 127. PyTorch: torch.device("cuda", index).
FY_API FyDevice fy_cuda_device(int index);

// Returns the name of the device as PyTorch prints it ("cuda:1"), a static string. fy_device_equal returns whether both
// are the same device.
FY_API const char *fy_device_name_of(FyDevice device);
FY_API bool fy_device_equal(FyDevice a, FyDevice b);

// Returns whether Apple's Metal is available: always false in this build. PyTorch: torch.backends.mps.is_available().
FY_API bool fy_mps_is_available(void);

// Returns whether there is a CUDA runtime (real or simulated) with at least one device. Never raises. PyTorch:
// torch.cuda.is_available().
FY_API bool fy_cuda_is_available(void);

// Returns the number of CUDA devices; 0 without CUDA. Never raises. PyTorch: torch.cuda.device_count().
FY_API int fy_cuda_device_count(void);

// Returns whether the CUDA devices are simulated on the CPU. Times of simulated devices say nothing about a GPU, unless
// the devices model a GPU (fy_cuda_model).
FY_API bool fy_cuda_is_simulated(void);

// Returns a label for the times of simulated devices that model a GPU (FERRY_SIM_GPU): "modeled, not measured: computed
// from counts and the data sheet of NVIDIA A100". Show this label with every modeled time. Returns NULL if no GPU is
// modeled; then times are measured. The string lives as long as the program. Any thread may call it; never raises.
// PyTorch has no such function.
FY_API const char *fy_cuda_model(void);

// Returns the time in seconds on the clock that times work on `device`, like time.perf_counter() in Python. This is
// usually the machine's clock. For CUDA devices that model a GPU, it is the calling thread's modeled time, which
// advances with CUDA calls and waits, but not with other work of the host. Only differences between two times are
// meaningful; call fy_synchronize before you read the clock. Any thread may call it; never raises.
FY_API double fy_device_seconds(FyDevice device);

// Returns a sentence for the user that says which CUDA runtime was chosen, or why there is none. The string is static.
FY_API const char *fy_cuda_description(void);

// Return and set the index of the current CUDA device of the calling thread. Raise FY_RUNTIME_ERROR without CUDA;
// fy_cuda_set_device also raises it for an index out of range ("... invalid device ordinal"). PyTorch:
// torch.cuda.current_device() and torch.cuda.set_device(index).
FY_API int fy_cuda_current_device(void);
FY_API void fy_cuda_set_device(int index);

// Runs the following block with device `index` as the current device. PyTorch: with torch.cuda.device(index).
#define fy_cuda_device_guard(index)                                                                                    \
  for (FY_AT_END(fy_device_guard_close) FyDeviceGuard fy_guard = fy_device_guard_open(index); fy_guard.open;           \
       fy_device_guard_close(&fy_guard))

// Returns the name of a device; -1 means the current device. The string lives as long as the program. Raises the errors
// of fy_cuda_set_device. PyTorch: torch.cuda.get_device_name(index).
FY_API const char *fy_cuda_get_device_name(int index);

// Returns the properties of a device; -1 means the current device. cuda_cores, memory_bandwidth and clock_rate are 0 if
// they are unknown, and for a simulated device that does not model a GPU. Raises the errors of fy_cuda_set_device.
// PyTorch: torch.cuda.get_device_properties(index).
typedef struct FyDeviceProperties {
  char name[256];
  int major, minor;          // compute capability
  int multi_processor_count; // streaming multiprocessors
  int cuda_cores;            // multiprocessors times the cores per multiprocessor of this compute capability
  int warp_size, max_threads_per_block, max_threads_per_multi_processor;
  size_t total_memory;                           // bytes
  size_t shared_memory_per_block, l2_cache_size; // bytes
  double memory_bandwidth;                       // bytes per second, computed from bus width and memory clock
  double clock_rate;                             // Hz
  bool simulated;
} FyDeviceProperties;
FY_API FyDeviceProperties fy_cuda_get_device_properties(int index);

// Returns whether the compute capability of a device is at least major.minor; index -1 means the current device. Raises
// the errors of fy_cuda_set_device. PyTorch: torch.cuda.get_device_capability(index) >= (major, minor).
FY_API bool fy_cuda_has_capability(int index, int major, int minor);

// Return the versions of the CUDA runtime, the driver and cuBLAS as major * 1000 + minor * 10, the form that CUDA uses;
// 0 if there is none. Never raise.
FY_API int fy_cuda_runtime_version(void);
FY_API int fy_cuda_driver_version(void);
FY_API int fy_cublas_version(void);

// Returns the version of the library, "0.1.0".
FY_API const char *fy_version(void);

// Waits until all work on the device is complete. For the CPU it returns immediately. Raises FY_RUNTIME_ERROR for an
// error of earlier asynchronous work. PyTorch: torch.cuda.synchronize(device).
FY_API void fy_synchronize(FyDevice device);

// Returns whether `device` can access the memory of `peer` directly. Raises the errors of fy_cuda_set_device. PyTorch:
// torch.cuda.can_device_access_peer(device, peer).
FY_API bool fy_cuda_can_device_access_peer(int device, int peer);

// ---- streams ---------------------------------------------------------------------------------------------------------

typedef struct FyStream FyStream;

// Creates a stream, an object owned by the innermost scope. Priority 0 is the default, and -1 is high. Raises
// FY_VALUE_ERROR for any other priority. PyTorch: torch.cuda.Stream(device, priority).
FY_API FyStream *fy_stream_new(FyDevice device, int priority);

// Return the device's current stream and its default stream. Both are borrowed. The current stream is valid while it is
// current, and the default stream as long as the program. PyTorch: torch.cuda.current_stream(device) and
// torch.cuda.default_stream(device).
FY_API FyStream *fy_current_stream(FyDevice device);
FY_API FyStream *fy_default_stream(FyDevice device);

// Makes `stream` the current stream of its device, and makes this device current, for the calling thread. Raises
// FY_VALUE_ERROR for NULL. PyTorch: torch.cuda.set_stream(stream).
FY_API void fy_set_stream(FyStream *stream);

// Runs the following block with `stream` and its device as the current ones. PyTorch: with torch.cuda.stream(stream).
#define fy_stream_guard(stream)                                                                                        \
  for (FY_AT_END(fy_stream_guard_close) FyStreamGuard fy_guard = fy_stream_guard_open(stream); fy_guard.open;          \
       fy_stream_guard_close(&fy_guard))

FY_API FyDevice fy_stream_device(FyStream *stream);

// Returns the handle of the stream in the CUDA runtime (a cudaStream_t; NULL is the device's default stream), so that
// you can launch your own kernels:
//
//   kernel<<<blocks, threads, 0, (cudaStream_t)fy_stream_raw(fy_current_stream(device))>>>(...);
//
// The handle is borrowed from the stream. Never raises. PyTorch: stream.cuda_stream.
FY_API void *fy_stream_raw(const FyStream *stream);

// Wait for the work on a stream, or query whether it is complete. Raise FY_RUNTIME_ERROR for an error of earlier
// asynchronous work.
FY_API void fy_stream_synchronize(FyStream *stream);                  // stream.synchronize()
FY_API bool fy_stream_query(FyStream *stream);                        // stream.query(): is all its work complete?
FY_API void fy_stream_wait_stream(FyStream *stream, FyStream *other); // stream.wait_stream(other)

// ---- events ----------------------------------------------------------------------------------------------------------

typedef struct FyEvent FyEvent;

// Create, record and wait for an event. An event is an object owned by the innermost scope. Its first record binds it
// to the stream's device; recording it on a stream of a different device raises FY_RUNTIME_ERROR. If `stream` is NULL,
// the current stream is used. All raise FY_RUNTIME_ERROR for an error of earlier asynchronous work. PyTorch:
// torch.cuda.Event(enable_timing=...).
FY_API FyEvent *fy_event_new(bool enable_timing);
FY_API void fy_event_record(FyEvent *event, FyStream *stream); // event.record(stream)
FY_API void fy_event_wait(FyEvent *event, FyStream *stream);   // stream.wait_event(event)
FY_API void fy_event_synchronize(FyEvent *event);              // event.synchronize()
FY_API bool fy_event_query(FyEvent *event);                    // event.query(); true if never recorded
// Returns the time between two events in milliseconds. Raises FY_VALUE_ERROR if an event was created without timing or
// never recorded, and FY_RUNTIME_ERROR if an event is not complete or the events are on different devices. PyTorch:
// start.elapsed_time(end).
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
