// SPDX-License-Identifier: MIT
// The simulated CUDA runtime API: the functions a host program calls, valid in C and in C++.
//
// Signatures and meanings are CUDA 13's; NVIDIA's reference describes them. README.md of core/sim says what differs.
#ifndef CUDASIM_CUDA_RUNTIME_API_H
#define CUDASIM_CUDA_RUNTIME_API_H
#define __CUDA_RUNTIME_API_H__ // what helper headers ask for

#include "cudasim_abi.h"
#include "cudasim_array.h"
#include "driver_types.h"
#include "library_types.h"

#define CUDART_VERSION 13000
#define CUDARTAPI
#define CUDART_CB

CUDASIM_BEGIN_C

// Errors: device.c
cudaError_t cudaGetLastError(void) CUDASIM_SYMBOL(cudaGetLastError);
cudaError_t cudaPeekAtLastError(void) CUDASIM_SYMBOL(cudaPeekAtLastError);
const char *cudaGetErrorName(cudaError_t error) CUDASIM_SYMBOL(cudaGetErrorName);
const char *cudaGetErrorString(cudaError_t error) CUDASIM_SYMBOL(cudaGetErrorString);

// Devices: device.c
cudaError_t cudaRuntimeGetVersion(int *version) CUDASIM_SYMBOL(cudaRuntimeGetVersion);
cudaError_t cudaDriverGetVersion(int *version) CUDASIM_SYMBOL(cudaDriverGetVersion);
cudaError_t cudaGetDeviceCount(int *count) CUDASIM_SYMBOL(cudaGetDeviceCount);
cudaError_t cudaSetDevice(int device) CUDASIM_SYMBOL(cudaSetDevice);
cudaError_t cudaGetDevice(int *device) CUDASIM_SYMBOL(cudaGetDevice);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device) CUDASIM_SYMBOL(cudaGetDeviceProperties);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
    CUDASIM_SYMBOL(cudaDeviceGetAttribute);
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) CUDASIM_SYMBOL(cudaDeviceGetPCIBusId);
cudaError_t cudaDeviceSynchronize(void) CUDASIM_SYMBOL(cudaDeviceSynchronize);
cudaError_t cudaDeviceReset(void) CUDASIM_SYMBOL(cudaDeviceReset);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
    CUDASIM_SYMBOL(cudaDeviceGetStreamPriorityRange);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) CUDASIM_SYMBOL(cudaDeviceCanAccessPeer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) CUDASIM_SYMBOL(cudaDeviceEnablePeerAccess);
cudaError_t cudaDeviceDisablePeerAccess(int peer) CUDASIM_SYMBOL(cudaDeviceDisablePeerAccess);

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device, int peer)
    CUDASIM_SYMBOL(cudaDeviceGetP2PAttribute);

// What tunes a GPU and changes nothing here: settings.c
cudaError_t cudaSetDeviceFlags(unsigned int flags) CUDASIM_SYMBOL(cudaSetDeviceFlags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags) CUDASIM_SYMBOL(cudaGetDeviceFlags);
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) CUDASIM_SYMBOL(cudaInitDevice);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *properties) CUDASIM_SYMBOL(cudaChooseDevice);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) CUDASIM_SYMBOL(cudaDeviceSetLimit);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) CUDASIM_SYMBOL(cudaDeviceGetLimit);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) CUDASIM_SYMBOL(cudaDeviceSetCacheConfig);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) CUDASIM_SYMBOL(cudaDeviceGetCacheConfig);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) CUDASIM_SYMBOL(cudaDeviceSetSharedMemConfig);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) CUDASIM_SYMBOL(cudaDeviceGetSharedMemConfig);
cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
    CUDASIM_SYMBOL(cudaFuncSetCacheConfig);
cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config)
    CUDASIM_SYMBOL(cudaFuncSetSharedMemConfig);
cudaError_t cudaProfilerStart(void) CUDASIM_SYMBOL(cudaProfilerStart);
cudaError_t cudaProfilerStop(void) CUDASIM_SYMBOL(cudaProfilerStop);

// Managed memory is pinned memory, and the addresses of __device__ variables are managed memory: managed.c
cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned int flags CUDASIM_DEFAULT(cudaMemAttachGlobal))
    CUDASIM_SYMBOL(cudaMallocManaged);
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaMemPrefetchAsync);
cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location) CUDASIM_SYMBOL(cudaMemAdvise);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes CUDASIM_DEFAULT(0),
                                     unsigned int flags CUDASIM_DEFAULT(cudaMemAttachSingle))
    CUDASIM_SYMBOL(cudaStreamAttachMemAsync);
// Not CUDA's: the program has algorithms (thrust's) that run on the host here and on a device there.
void cudasim_host_computes(void) CUDASIM_SYMBOL(cudasim_host_computes);
// Not CUDA's: the C++ header's cudaGetSymbolAddress, which knows the variable's size.
cudaError_t cudasim_symbol_address(void **pointer, const void *symbol, size_t bytes)
    CUDASIM_SYMBOL(cudasim_symbol_address);

// Memory: memory.c
cudaError_t cudaMalloc(void **pointer, size_t bytes) CUDASIM_SYMBOL(cudaMalloc);
cudaError_t cudaFree(void *pointer) CUDASIM_SYMBOL(cudaFree);
cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream) CUDASIM_SYMBOL(cudaMallocAsync);
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) CUDASIM_SYMBOL(cudaFreeAsync);
cudaError_t cudaMallocHost(void **pointer, size_t bytes) CUDASIM_SYMBOL(cudaMallocHost);
cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags) CUDASIM_SYMBOL(cudaHostAlloc);
cudaError_t cudaFreeHost(void *pointer) CUDASIM_SYMBOL(cudaFreeHost);
cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags) CUDASIM_SYMBOL(cudaHostRegister);
cudaError_t cudaHostUnregister(void *pointer) CUDASIM_SYMBOL(cudaHostUnregister);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
    CUDASIM_SYMBOL(cudaHostGetDevicePointer);
cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) CUDASIM_SYMBOL(cudaMallocPitch);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host) CUDASIM_SYMBOL(cudaHostGetFlags);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) CUDASIM_SYMBOL(cudaMemGetInfo);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
    CUDASIM_SYMBOL(cudaPointerGetAttributes);

// Copies: copy.c
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) CUDASIM_SYMBOL(cudaMemcpy);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaMemcpyAsync);
cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) CUDASIM_SYMBOL(cudaMemcpy2D);
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMemcpy2DAsync);
cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
    CUDASIM_SYMBOL(cudaMemcpyPeer);
cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                                cudaStream_t stream CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaMemcpyPeerAsync);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset CUDASIM_DEFAULT(0),
                               enum cudaMemcpyKind kind CUDASIM_DEFAULT(cudaMemcpyHostToDevice))
    CUDASIM_SYMBOL(cudaMemcpyToSymbol);
cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset CUDASIM_DEFAULT(0),
                                 enum cudaMemcpyKind kind CUDASIM_DEFAULT(cudaMemcpyDeviceToHost))
    CUDASIM_SYMBOL(cudaMemcpyFromSymbol);
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMemcpyToSymbolAsync);
cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMemcpyFromSymbolAsync);
// Not CUDA's: cudaErrorInvalidValue unless so many bytes from `offset` on are within a variable of `size` bytes. The C++ header knows
// that size; the functions above do not.
cudaError_t cudasim_check_symbol(size_t size, size_t bytes, size_t offset) CUDASIM_SYMBOL(cudasim_check_symbol);
cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)
    CUDASIM_SYMBOL(cudaMemset2D);
cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaMemset2DAsync);
cudaError_t cudaMemset(void *pointer, int value, size_t bytes) CUDASIM_SYMBOL(cudaMemset);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMemsetAsync);

// Streams: stream.c
cudaError_t cudaStreamCreate(cudaStream_t *stream) CUDASIM_SYMBOL(cudaStreamCreate);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
    CUDASIM_SYMBOL(cudaStreamCreateWithFlags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
    CUDASIM_SYMBOL(cudaStreamCreateWithPriority);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags) CUDASIM_SYMBOL(cudaStreamGetFlags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) CUDASIM_SYMBOL(cudaStreamGetPriority);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) CUDASIM_SYMBOL(cudaStreamGetDevice);
cudaError_t cudaStreamDestroy(cudaStream_t stream) CUDASIM_SYMBOL(cudaStreamDestroy);
cudaError_t cudaStreamSynchronize(cudaStream_t stream) CUDASIM_SYMBOL(cudaStreamSynchronize);
cudaError_t cudaStreamQuery(cudaStream_t stream) CUDASIM_SYMBOL(cudaStreamQuery);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaStreamWaitEvent);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
    CUDASIM_SYMBOL(cudaLaunchHostFunc);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags)
    CUDASIM_SYMBOL(cudaStreamAddCallback);

// Events: event.c
cudaError_t cudaEventCreate(cudaEvent_t *event) CUDASIM_SYMBOL(cudaEventCreate);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) CUDASIM_SYMBOL(cudaEventCreateWithFlags);
cudaError_t cudaEventDestroy(cudaEvent_t event) CUDASIM_SYMBOL(cudaEventDestroy);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaEventRecord);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream CUDASIM_DEFAULT(0),
                                     unsigned int flags CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaEventRecordWithFlags);
cudaError_t cudaEventSynchronize(cudaEvent_t event) CUDASIM_SYMBOL(cudaEventSynchronize);
cudaError_t cudaEventQuery(cudaEvent_t event) CUDASIM_SYMBOL(cudaEventQuery);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) CUDASIM_SYMBOL(cudaEventElapsedTime);

// Graphs: graph.c
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
    CUDASIM_SYMBOL(cudaStreamBeginCapture);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) CUDASIM_SYMBOL(cudaStreamEndCapture);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
    CUDASIM_SYMBOL(cudaStreamIsCapturing);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id)
    CUDASIM_SYMBOL(cudaStreamGetCaptureInfo);
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
    CUDASIM_SYMBOL(cudaThreadExchangeStreamCaptureMode);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaGraphInstantiate);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaGraphInstantiateWithFlags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) CUDASIM_SYMBOL(cudaGraphLaunch);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
    CUDASIM_SYMBOL(cudaGraphGetNodes);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) CUDASIM_SYMBOL(cudaGraphExecDestroy);
cudaError_t cudaGraphDestroy(cudaGraph_t graph) CUDASIM_SYMBOL(cudaGraphDestroy);

// Kernels: launch.c. A launch itself needs the kernel's parameter types, so it is C++ (cuda_runtime.h).
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
    CUDASIM_SYMBOL(cudaFuncSetAttribute);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
    CUDASIM_SYMBOL(cudaFuncGetAttributes);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                          size_t shared_bytes)
    CUDASIM_SYMBOL(cudaOccupancyMaxActiveBlocksPerMultiprocessor);

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                   size_t shared_bytes, unsigned int flags)
    CUDASIM_SYMBOL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);

CUDASIM_END_C

#endif
