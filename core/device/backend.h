// SPDX-License-Identifier: MIT
// The seam between Ferry and a CUDA runtime: a table of functions that a backend fills in.
//
// There is one source of it, cuda_backend.cu, written against cudart and cuBLAS. It is built twice: into the library,
// against the simulator (core/sim), and by nvcc into a shared object that is opened when a real GPU is wanted. So nothing
// in this table may depend on the library's own symbols: plain C types only. Every function returns 0 or an error code,
// which `error_string` explains; none raises.
#ifndef FERRY_DEVICE_BACKEND_H
#define FERRY_DEVICE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FY_BACKEND_ABI = 6, FY_MAX_DEVICES = 16 };

enum { FY_COPY_HOST_TO_DEVICE = 1, FY_COPY_DEVICE_TO_HOST = 2, FY_COPY_DEVICE_TO_DEVICE = 3 };

// cudaErrorNotReady, cudaErrorMemoryAllocation, cudaErrorNotSupported
enum { FY_BACKEND_NOT_READY = 600, FY_BACKEND_OUT_OF_MEMORY = 2, FY_BACKEND_NOT_SUPPORTED = 801 };

// Codes below cudaError_t's, which begin with 0 for success. Kernels return them; the table's functions only cuBLAS's.
enum {
  FY_LAUNCH_OK = 0,
  FY_LAUNCH_NO_MEMORY = -1, // `workspace` returned NULL
  FY_LAUNCH_NO_KERNEL = -2, // no kernel for this dtype: the dispatcher raises '"op" not implemented for 'Half''
  FY_LAUNCH_BLAS = -1000,   // minus a cublasStatus_t below this
  FY_LAUNCH_DNN = -2000,    // minus a dnnl_status_t below this
};

// cudaStreamCaptureMode
enum { FY_CAPTURE_GLOBAL = 0, FY_CAPTURE_THREAD_LOCAL = 1, FY_CAPTURE_RELAXED = 2 };

// What a kernel is given stands in op/launch.h. Each backend is linked with a table of the kernels by the ids of their ops,
// NULL for views: op/kernels.cu.
struct FyLaunch;
typedef int FyKernel(struct FyLaunch *launch);
extern FyKernel *const fy_cuda_kernels[];

// NCCL, for processes that work together: distributed/nccl_table.h. Each backend is linked with its own.
extern const struct FyNccl fy_nccl_table;

typedef struct FyBackendProperties {
  char name[256];
  int major, minor, multi_processor_count, warp_size, max_threads_per_block, max_threads_per_multi_processor;
  size_t total_memory, shared_memory_per_block, l2_cache_size;
  int memory_clock_khz, memory_bus_bits, clock_khz; // 0 when unknown
} FyBackendProperties;

typedef enum FyActivityKind { FY_ACTIVITY_KERNEL, FY_ACTIVITY_COPY, FY_ACTIVITY_FILL } FyActivityKind;

// Something that a device did. Times are in nanoseconds of CLOCK_MONOTONIC.
typedef struct FyActivity {
  uint64_t id;     // the same when it is queued and when it has run; from 1
  uint64_t launch; // the same for all that one call has queued, as a graph's launch does: the first one's id
  FyActivityKind kind;
  const char *name; // of a kernel, or of cuBLAS's call; lives as long as the program
  int device;
  int copy_kind;              // FY_COPY_...
  size_t bytes;               // of a copy or fill
  uint64_t stream;            // cudaStream_t, 0 for the default one; on a real GPU CUPTI's number of it
  unsigned grid[3], block[3]; // of a kernel, 0 where it is not known
  int64_t begin, end;         // queued: of the call that queues it, `end` being now; ran: on the device
} FyActivity;

// What an op does, whichever kernels compute it: bytes each way and operations (a multiply-add is two). A product of `batch`
// matrices, m x k and k x n of elements of so many bytes, says so.
typedef struct FyOpCost {
  double bytes_read, bytes_written, flops;
  double blocks; // that a GPU's kernel has, where they are few; 0: as many as the bytes need
  double before; // bytes that a kernel in these blocks reads first, before one that does the above; 0: there is none
  double m, n, k, batch; // m 0: no product
  int element_bytes;
  bool counted; // PyTorch's profiler counts the flops
} FyOpCost;

typedef struct FyBackend {
  int abi; // FY_BACKEND_ABI
  bool simulated;

  // Devices. Calls below that take no device work on the calling thread's current one.
  int (*device_count)(int *count);
  int (*set_device)(int device);
  int (*get_device)(int *device);
  int (*properties)(int device, FyBackendProperties *out);
  int (*versions)(int *runtime, int *driver, int *blas);
  int (*synchronize)(void);
  int (*can_access_peer)(int device, int peer, int *can);
  int (*enable_peer_access)(int peer); // 0 also when enabled already
  const char *(*error_name)(int error);
  const char *(*error_string)(int error);
  int (*last_error)(void); // and clears it

  // Memory, in bytes.
  int (*malloc)(void **pointer, size_t bytes);
  int (*free)(void *pointer);
  int (*host_malloc)(void **pointer, size_t bytes); // pinned
  int (*host_free)(void *pointer);
  int (*mem_get_info)(size_t *free_bytes, size_t *total_bytes);
  int (*copy)(void *to, const void *from, size_t bytes, int kind, void *stream); // asynchronous in the stream
  int (*copy_peer)(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream);
  int (*set)(void *pointer, int byte, size_t bytes, void *stream);

  // Streams (cudaStream_t, NULL is the default one) and events (cudaEvent_t).
  int (*stream_create)(void **stream, int priority);
  int (*stream_synchronize)(void *stream);
  int (*stream_query)(void *stream); // FY_BACKEND_NOT_READY while it works
  int (*stream_wait_event)(void *stream, void *event);
  int (*event_create)(void **event, bool timing);
  int (*event_destroy)(void *event);
  int (*event_record)(void *event, void *stream);
  int (*event_synchronize)(void *event);
  int (*event_query)(void *event);
  int (*event_elapsed)(float *milliseconds, void *start, void *end);

  // Graphs. `capture_info` stores the id of the capture that the stream takes part in, 0 when in none, and whether it can
  // still become a graph. `capture_end` makes the graph ready to be launched (cudaGraphExec_t) and counts its nodes.
  int (*capture_begin)(void *stream, int mode);
  int (*capture_info)(void *stream, uint64_t *id, bool *valid);
  int (*capture_end)(void *stream, void **graph, size_t *nodes);
  int (*capture_mode)(int *mode); // of the calling thread: sets it, and stores the one before
  int (*graph_launch)(void *graph, void *stream);
  int (*graph_destroy)(void *graph);

  // cuBLAS: a handle for the current device; made by the core for each thread and device that multiplies matrices.
  int (*blas_create)(void **handle);
  int (*blas_destroy)(void *handle);
  int (*blas_set_stream)(void *handle, void *stream);
  // Memory that the handle's products may use until blas_set_stream is called again, so that a capture holds none of
  // cuBLAS's own; `blas_workspace` says how much the current device wants, 0: none.
  int (*blas_set_workspace)(void *handle, void *memory, size_t bytes);
  size_t (*blas_workspace)(void);

  FyKernel *const *kernels; // fy_cuda_kernels of this backend

  // Has the core told what is started on a device, at the moment when it has been queued and on the thread that queues it:
  // `kernel` for each kernel launched, each cuBLAS call (of however many kernels that is made), each fill and each copy
  // within one device; `copy` for each copy between the host and a device or between two devices. Neither may raise.
  // Called once, before anything is started.
  void (*observe)(void (*kernel)(void), void (*copy)(int kind, size_t bytes));

  // Has the core told of each activity: `queued` on the thread that queues it, when it has been, and `ran` on whatever thread
  // learns that it has run, before anybody who waits for it goes on; on a real GPU, before the call that ends the trace
  // returns, if the devices have been waited for. A graph's launch is queued once and runs as several activities of its id.
  // Neither may raise. NULL, NULL: no longer. Returns FY_BACKEND_NOT_SUPPORTED where the runtime cannot tell when something
  // ran; `why_not_traced` then says why (NULL: there is nothing to be said).
  int (*trace)(void (*queued)(const FyActivity *activity), void (*ran)(const FyActivity *activity));
  const char *(*why_not_traced)(void);

  // Ranges of the calling thread, for tools that watch the program from outside (NVTX): a range begins, and the innermost ends.
  // NULL where nobody could be told.
  void (*range_push)(const char *name);
  void (*range_pop)(void);

  const struct FyNccl *nccl; // fy_nccl_table of this backend

  // For a simulated device that models a GPU (FERRY_SIM_GPU). model_label: "modeled, not measured: ...", or NULL if no GPU is
  // modeled. model_seconds: the calling thread's modeled time. model_op: the begin of an op, with its cost, or its end (NULL), on
  // the thread that launches its kernels. All are NULL if the devices are real.
  const char *(*model_label)(void);
  double (*model_seconds)(void);
  void (*model_op)(const FyOpCost *cost);
} FyBackend;

// The one symbol of a backend. In the library this is the simulator's; in the shared object, NVIDIA's.
const FyBackend *fy_backend_table(void);

#ifdef __cplusplus
}
#endif

#endif
