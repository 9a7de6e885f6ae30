// SPDX-License-Identifier: MIT
// The table of functions over cudart and cuBLAS: built against the simulator, and by nvcc for real GPUs (backend.h).
// Over 500 lines: the table of one backend, a function for each entry.
#include "device/backend.h"
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <string.h>
#ifdef FERRY_SIM
#include "sim/base/cudasim.h"
#else
#if __has_include(<cupti.h>)
#define FERRY_CUPTI
#include "device/cupti_trace.h"
#include <cxxabi.h>
#endif
#if __has_include(<nvtx3/nvToolsExt.h>)
#define FERRY_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#endif

// ---- devices ---------------------------------------------------------------------------------------------------------

// An attribute this device or driver does not know counts as 0. The failed question must not linger as the last error.
static int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return value;
}

static int device_count(int *count) {
  return (int)cudaGetDeviceCount(count);
}

static int set_device(int device) {
  return (int)cudaSetDevice(device);
}

static int get_device(int *device) {
  return (int)cudaGetDevice(device);
}

static int properties(int device, FyBackendProperties *out) {
  cudaDeviceProp prop;
  cudaError_t error = cudaGetDeviceProperties(&prop, device);
  if (error != cudaSuccess)
    return (int)error;
  memset(out, 0, sizeof *out);
  memcpy(out->name, prop.name, sizeof out->name);
  out->name[sizeof out->name - 1] = '\0';
  out->major = prop.major;
  out->minor = prop.minor;
  out->multi_processor_count = prop.multiProcessorCount;
  out->warp_size = prop.warpSize;
  out->max_threads_per_block = prop.maxThreadsPerBlock;
  out->max_threads_per_multi_processor = prop.maxThreadsPerMultiProcessor;
  out->total_memory = prop.totalGlobalMem;
  out->shared_memory_per_block = prop.sharedMemPerBlock;
  out->l2_cache_size = (size_t)prop.l2CacheSize;
  out->memory_bus_bits = prop.memoryBusWidth;
  // CUDA 13 took the clocks out of cudaDeviceProp.
  out->memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
  out->clock_khz = attribute(cudaDevAttrClockRate, device);
  return 0;
}

static int blas_error(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? 0 : FY_LAUNCH_BLAS - (int)status;
}

static int versions(int *runtime, int *driver, int *blas) {
  cudaError_t error = cudaRuntimeGetVersion(runtime);
  if (error == cudaSuccess)
    error = cudaDriverGetVersion(driver);
  if (error != cudaSuccess)
    return (int)error;
  // The one this was built with, which is the one loaded up to its patch: asking cuBLAS itself takes a handle.
  *blas = CUBLAS_VER_MAJOR * 1000 + CUBLAS_VER_MINOR * 10;
  return 0;
}

static int synchronize(void) {
  return (int)cudaDeviceSynchronize();
}

static int can_access_peer(int device, int peer, int *can) {
  return (int)cudaDeviceCanAccessPeer(can, device, peer);
}

static int enable_peer_access(int peer) {
  cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();
    return 0;
  }
  return (int)error;
}

static const char *error_name(int error) {
  if (error <= FY_LAUNCH_BLAS)
    return cublasGetStatusName((cublasStatus_t)(FY_LAUNCH_BLAS - error));
  return cudaGetErrorName((cudaError_t)error);
}

static const char *error_string(int error) {
  if (error <= FY_LAUNCH_BLAS)
    return cublasGetStatusString((cublasStatus_t)(FY_LAUNCH_BLAS - error));
  return cudaGetErrorString((cudaError_t)error);
}

static int last_error(void) {
  return (int)cudaGetLastError();
}

// ---- memory ----------------------------------------------------------------------------------------------------------

static int device_malloc(void **pointer, size_t bytes) {
  return (int)cudaMalloc(pointer, bytes);
}

static int device_free(void *pointer) {
  return (int)cudaFree(pointer);
}

// Portable: page-locked for every device, whichever is current now.
static int host_malloc(void **pointer, size_t bytes) {
  return (int)cudaHostAlloc(pointer, bytes, cudaHostAllocPortable);
}

static int host_free(void *pointer) {
  return (int)cudaFreeHost(pointer);
}

static int mem_get_info(size_t *free_bytes, size_t *total_bytes) {
  return (int)cudaMemGetInfo(free_bytes, total_bytes);
}

static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
  return (int)cudaMemcpyAsync(to, from, bytes, (cudaMemcpyKind)kind, (cudaStream_t)stream);
}

static int copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream) {
  return (int)cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, (cudaStream_t)stream);
}

static int set(void *pointer, int byte, size_t bytes, void *stream) {
  return (int)cudaMemsetAsync(pointer, byte, bytes, (cudaStream_t)stream);
}

// ---- streams and events ----------------------------------------------------------------------------------------------

static int stream_create(void **stream, int priority) {
  // [stream]
  return (int)cudaStreamCreateWithPriority((cudaStream_t *)stream, cudaStreamNonBlocking, priority);
  // [end]
}

static int stream_synchronize(void *stream) {
  return (int)cudaStreamSynchronize((cudaStream_t)stream);
}

// "Not ready" is an answer, not a failure, but cudart keeps it as the last error too.
static int query_result(cudaError_t error) {
  if (error == cudaErrorNotReady)
    (void)cudaGetLastError();
  return (int)error;
}

static int stream_query(void *stream) {
  return query_result(cudaStreamQuery((cudaStream_t)stream));
}

static int stream_wait_event(void *stream, void *event) {
  return (int)cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0);
}

static int event_create(void **event, bool timing) {
  return (int)cudaEventCreateWithFlags((cudaEvent_t *)event, timing ? cudaEventDefault : cudaEventDisableTiming);
}

static int event_destroy(void *event) {
  return (int)cudaEventDestroy((cudaEvent_t)event);
}

static int event_record(void *event, void *stream) {
  return (int)cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream);
}

static int event_synchronize(void *event) {
  return (int)cudaEventSynchronize((cudaEvent_t)event);
}

static int event_query(void *event) {
  return query_result(cudaEventQuery((cudaEvent_t)event));
}

static int event_elapsed(float *milliseconds, void *start, void *end) {
  return query_result(cudaEventElapsedTime(milliseconds, (cudaEvent_t)start, (cudaEvent_t)end));
}

// ---- graphs ----------------------------------------------------------------------------------------------------------

// How many captures are under way: what is started while there are may have been written down only.
static int captures;

static int capture_begin(void *stream, int mode) {
  const cudaError_t error = cudaStreamBeginCapture((cudaStream_t)stream, (cudaStreamCaptureMode)mode);
  if (error == cudaSuccess)
    __atomic_fetch_add(&captures, 1, __ATOMIC_RELAXED);
  return (int)error;
}

static int capture_info(void *stream, uint64_t *id, bool *valid) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  const cudaError_t error = cudaStreamGetCaptureInfo((cudaStream_t)stream, &status, &number);
  *id = error == cudaSuccess && status != cudaStreamCaptureStatusNone ? (uint64_t)number : 0;
  *valid = error == cudaSuccess && status == cudaStreamCaptureStatusActive;
  return (int)error;
}

static int capture_end(void *stream, void **graph, size_t *nodes) {
  cudaGraph_t captured = NULL;
  cudaGraphExec_t ready = NULL;
  *graph = NULL;
  *nodes = 0;
  __atomic_fetch_sub(&captures, 1, __ATOMIC_RELAXED);
  cudaError_t error = cudaStreamEndCapture((cudaStream_t)stream, &captured);
  if (error == cudaSuccess)
    error = cudaGraphGetNodes(captured, NULL, nodes);
  if (error == cudaSuccess)
    error = cudaGraphInstantiateWithFlags(&ready, captured, 0);
  if (error == cudaSuccess)
    *graph = ready;
  if (captured)
    (void)cudaGraphDestroy(captured); // the one that is launched needs it no more
  return (int)error;
}

static int capture_mode(int *mode) {
  cudaStreamCaptureMode exchanged = (cudaStreamCaptureMode)*mode;
  const cudaError_t error = cudaThreadExchangeStreamCaptureMode(&exchanged);
  *mode = (int)exchanged;
  return (int)error;
}

static int graph_launch(void *graph, void *stream) {
  return (int)cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream);
}

static int graph_destroy(void *graph) {
  return (int)cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

// ---- cuBLAS ----------------------------------------------------------------------------------------------------------

static int blas_create(void **handle) {
  return blas_error(cublasCreate((cublasHandle_t *)handle));
}

static int blas_destroy(void *handle) {
  return blas_error(cublasDestroy((cublasHandle_t)handle));
}

static int blas_set_stream(void *handle, void *stream) {
  return blas_error(cublasSetStream((cublasHandle_t)handle, (cudaStream_t)stream));
}

static int blas_set_workspace(void *handle, void *memory, size_t bytes) {
  return blas_error(cublasSetWorkspace((cublasHandle_t)handle, memory, bytes));
}

// The sizes that NVIDIA recommends (cublasSetWorkspace): those of cuBLAS's own workspaces. The simulated one needs none.
static size_t blas_workspace(void) {
#ifdef FERRY_SIM
  return 0;
#else
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess)
    return 0;
  return (size_t)(attribute(cudaDevAttrComputeCapabilityMajor, device) >= 9 ? 32 : 4) << 20;
#endif
}

// ---- what is started -------------------------------------------------------------------------------------------------

#ifdef FERRY_SIM
static void (*told_queued)(const FyActivity *activity);
static void (*told_ran)(const FyActivity *activity);

static FyActivity activity_of(const struct cudasim_activity *a) {
  FyActivity activity = {};
  activity.id = a->id;
  activity.launch = a->launch;
  activity.kind = (FyActivityKind)a->kind;
  activity.name = a->name;
  activity.device = a->device;
  activity.copy_kind = a->copy_kind;
  activity.bytes = a->bytes;
  activity.stream = a->stream;
  memcpy(activity.grid, a->grid, sizeof activity.grid);
  memcpy(activity.block, a->block, sizeof activity.block);
  activity.begin = a->begin;
  activity.end = a->end;
  return activity;
}

static void pass_queued(const struct cudasim_activity *a) {
  const FyActivity activity = activity_of(a);
  told_queued(&activity);
}

static void pass_ran(const struct cudasim_activity *a) {
  const FyActivity activity = activity_of(a);
  told_ran(&activity);
}

static int trace(void (*queued)(const FyActivity *activity), void (*ran)(const FyActivity *activity)) {
  if (queued) {
    told_queued = queued;
    told_ran = ran;
  }
  cudasim_trace(queued ? pass_queued : NULL, queued ? pass_ran : NULL);
  return 0;
}

static const char *why_not_traced(void) {
  return NULL;
}

static void observe(void (*kernel)(void), void (*copied)(int kind, size_t bytes)) {
  cudasim_observe(kernel, copied);
}

static const char *model_label(void) {
  return cudasim_model_label();
}

static double model_seconds(void) {
  return cudasim_model_seconds();
}

static void model_op(const FyOpCost *cost) {
  static thread_local struct cudasim_op op; // until the op's end
  if (!cost) {
    cudasim_op_end();
    return;
  }
  op = {cost->bytes_read, cost->bytes_written, cost->flops,        cost->blocks, cost->before, cost->m, cost->n,
        cost->k,          cost->batch,         cost->element_bytes};
  cudasim_op_begin(&op);
}
#else
static const char *(*const model_label)(void) = NULL;
static double (*const model_seconds)(void) = NULL;
static void (*const model_op)(const FyOpCost *cost) = NULL;

#ifdef FERRY_CUPTI
// Kernels' names, as they are shown: kept for good, once each.
typedef struct KernelName {
  struct KernelName *next;
  char *shown;
  char mangled[1];
} KernelName;

static const char *name_of_kernel(const char *mangled) {
  enum { BUCKETS = 256 };
  static KernelName *names[BUCKETS]; // under the trace's lock
  unsigned hash = 2166136261u;
  for (const char *c = mangled; *c; c++)
    hash = (hash ^ (unsigned char)*c) * 16777619u;
  KernelName **bucket = &names[hash % BUCKETS];
  for (const KernelName *known = *bucket; known; known = known->next)
    if (strcmp(known->mangled, mangled) == 0)
      return known->shown;
  int status = 0;
  const size_t length = strlen(mangled);
  KernelName *name = (KernelName *)malloc(sizeof *name + length);
  if (!name)
    return "a kernel";
  memcpy(name->mangled, mangled, length + 1);
  char *demangled = abi::__cxa_demangle(mangled, NULL, NULL, &status);
  name->shown = demangled ? fy_cupti_shorten(demangled) : name->mangled;
  name->next = *bucket;
  *bucket = name;
  return name->shown;
}

static int current_device(void) {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? device : 0;
}

static char why_not[FY_CUPTI_WHY];

static bool find_cupti(void) {
  static bool found;
  static char versioned[32], exact[32];
  snprintf(versioned, sizeof versioned, "libcupti.so.%d", CUDART_VERSION / 1000);
  snprintf(exact, sizeof exact, "libcupti.so.%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  const char *const names[] = {exact, versioned, NULL};
  if (!found)
    found = fy_cupti_load(&fy_cupti_trace.cupti, names, why_not);
  fy_cupti_trace.name = name_of_kernel;
  fy_cupti_trace.current_device = current_device;
  return found;
}

static int trace(void (*queued)(const FyActivity *activity), void (*ran)(const FyActivity *activity)) {
  if (!queued)
    fy_cupti_stop();
  else if (!find_cupti() || !fy_cupti_start(queued, ran, why_not))
    return FY_BACKEND_NOT_SUPPORTED;
  return 0;
}

static const char *why_not_traced(void) {
  return *why_not ? why_not : NULL;
}
#else
static int trace(void (*queued)(const FyActivity *activity), void (*ran)(const FyActivity *activity)) {
  (void)ran;
  return queued ? FY_BACKEND_NOT_SUPPORTED : 0;
}

static const char *why_not_traced(void) {
  return "libferry-cuda.so was built without CUPTI, which tells when something ran on a GPU: its header cupti.h was "
         "not "
         "found; it is a part of NVIDIA's CUDA toolkit";
}
#endif

// NVIDIA's runtime tells nobody, so the linker sends this library's own calls of it through here (--wrap in rules.mk). Every
// kernel<<<...>>> begins with __cudaPushCallConfiguration; cuBLAS's calls are counted where they are made.
static void (*started_kernel)(void);
static void (*started_copy)(int kind, size_t bytes);

static void observe(void (*kernel)(void), void (*copied)(int kind, size_t bytes)) {
  started_kernel = kernel;
  started_copy = copied;
}

static bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (stream == NULL) // the default stream cannot be
    return false;
  return __atomic_load_n(&captures, __ATOMIC_RELAXED) > 0 && cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

extern "C" void fy_cuda_started(void *stream) {
  if (started_kernel && !is_captured((cudaStream_t)stream))
    started_kernel();
}

extern "C" {
unsigned __real___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
cudaError_t __real_cudaMemsetAsync(void *pointer, int byte, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMemsetAsync(void *pointer, int byte, size_t bytes, cudaStream_t stream);
cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __real_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                       cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                       cudaStream_t stream);
}

unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
  const unsigned error = __real___cudaPushCallConfiguration(grid, block, shared, stream);
  if (error == 0)
    fy_cuda_started(stream);
  return error;
}

cudaError_t __wrap_cudaMemsetAsync(void *pointer, int byte, size_t bytes, cudaStream_t stream) {
  const cudaError_t error = __real_cudaMemsetAsync(pointer, byte, bytes, stream);
  if (error == cudaSuccess && bytes > 0)
    fy_cuda_started(stream);
  return error;
}

cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t error = __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
  if (error == cudaSuccess && bytes > 0 && kind == cudaMemcpyDeviceToDevice)
    fy_cuda_started(stream); // all of this library's are within one device
  else if (error == cudaSuccess && bytes > 0 && started_copy && !is_captured(stream))
    started_copy((int)kind, bytes);
  return error;
}

cudaError_t __wrap_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                       cudaStream_t stream) {
  const cudaError_t error = __real_cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream);
  if (error == cudaSuccess && bytes > 0 && started_copy && !is_captured(stream))
    started_copy(FY_COPY_DEVICE_TO_DEVICE, bytes);
  return error;
}
#endif

// ---- ranges for tools outside --------------------------------------------------------------------------------------------

#ifdef FERRY_NVTX
static void nvtx_push(const char *name) {
  nvtxRangePushA(name);
}

static void nvtx_pop(void) {
  nvtxRangePop();
}

static void (*const range_push)(const char *name) = nvtx_push;
static void (*const range_pop)(void) = nvtx_pop;
#else
static void (*const range_push)(const char *name) = NULL;
static void (*const range_pop)(void) = NULL;
#endif

// ---- the table: in FyBackend's order, since nvcc's C++17 has no designated initializers --------------------------------

#ifdef FERRY_SIM
#define SIMULATED true
#else
#define SIMULATED false
#endif

static const FyBackend backend = {
    FY_BACKEND_ABI,
    SIMULATED,
    device_count,
    set_device,
    get_device,
    properties,
    versions,
    synchronize,
    can_access_peer,
    enable_peer_access,
    error_name,
    error_string,
    last_error,
    device_malloc,
    device_free,
    host_malloc,
    host_free,
    mem_get_info,
    copy,
    copy_peer,
    set,
    stream_create,
    stream_synchronize,
    stream_query,
    stream_wait_event,
    event_create,
    event_destroy,
    event_record,
    event_synchronize,
    event_query,
    event_elapsed,
    capture_begin,
    capture_info,
    capture_end,
    capture_mode,
    graph_launch,
    graph_destroy,
    blas_create,
    blas_destroy,
    blas_set_stream,
    blas_set_workspace,
    blas_workspace,
    fy_cuda_kernels,
    observe,
    trace,
    why_not_traced,
    range_push,
    range_pop,
    &fy_nccl_table,
    model_label,
    model_seconds,
    model_op,
};

extern "C" __attribute__((visibility("default"))) const FyBackend *fy_backend_table(void) {
  return &backend;
}
