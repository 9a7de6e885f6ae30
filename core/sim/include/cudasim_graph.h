// SPDX-License-Identifier: MIT
// Graphs built node by node: nodes of kernels, copies, fills, host functions, child graphs and memory. A node's memory is there from
// the moment that the node is added, and stays until the program ends or frees it.
#ifndef CUDASIM_GRAPH_H
#define CUDASIM_GRAPH_H

#include "cuda_runtime_api.h"
#include "cudasim_pool.h"
#if defined(__cplusplus) && !defined(CUDASIM_HOST)
#include "cudasim_launch.h"
#endif

typedef struct cudaKernelNodeParams {
  void *func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned int sharedMemBytes;
  void **kernelParams;
  void **extra;
} cudaKernelNodeParams;
typedef struct cudaMemsetParams {
  void *dst;
  size_t pitch;
  unsigned int value;
  unsigned int elementSize;
  size_t width; // in elements
  size_t height;
} cudaMemsetParams;
typedef struct cudaHostNodeParams {
  cudaHostFn_t fn;
  void *userData;
} cudaHostNodeParams;
typedef struct cudaMemAllocNodeParams {
  struct cudaMemPoolProps poolProps;
  const struct cudaMemAccessDesc *accessDescs;
  size_t accessDescCount;
  size_t bytesize;
  void *dptr;
} cudaMemAllocNodeParams;
typedef enum cudaGraphExecUpdateResult {
  cudaGraphExecUpdateSuccess = 0,
  cudaGraphExecUpdateError = 1,
  cudaGraphExecUpdateErrorTopologyChanged = 2,
  cudaGraphExecUpdateErrorNodeTypeChanged = 3,
  cudaGraphExecUpdateErrorFunctionChanged = 4,
  cudaGraphExecUpdateErrorParametersChanged = 5,
  cudaGraphExecUpdateErrorNotSupported = 6
} cudaGraphExecUpdateResult;
typedef struct cudaGraphExecUpdateResultInfo {
  cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode;
  cudaGraphNode_t errorFromNode;
} cudaGraphExecUpdateResultInfo;

typedef unsigned long long cudaGraphConditionalHandle;
typedef struct cudaGraphEdgeData_st { // of other edges than "after it": none are simulated
  unsigned char from_port, to_port, type, reserved[5];
} cudaGraphEdgeData;
enum { cudaGraphCondAssignDefault = 1, CUDASIM_MAX_BODIES = 16 };
enum { cudaStreamAddCaptureDependencies = 0, cudaStreamSetCaptureDependencies = 1 };
enum cudaGraphConditionalNodeType {
  cudaGraphCondTypeIf = 0, // the first graph, or where there are two and it is 0, the second
  cudaGraphCondTypeWhile = 1,
  cudaGraphCondTypeSwitch = 2
};
struct cudaConditionalNodeParams {
  cudaGraphConditionalHandle handle;
  enum cudaGraphConditionalNodeType type;
  unsigned int size;
  cudaGraph_t *phGraph_out; // graphs of the node's own, to be filled
};

CUDASIM_BEGIN_C

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags) CUDASIM_SYMBOL(cudaGraphCreate);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) CUDASIM_SYMBOL(cudaGraphClone);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child) CUDASIM_SYMBOL(cudaGraphAddChildGraphNode);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count) CUDASIM_SYMBOL(cudaGraphAddDependencies);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
    CUDASIM_SYMBOL(cudaGraphGetRootNodes);
// Works where both have the same edges; then the executable graph does what the graph would.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result)
    CUDASIM_SYMBOL(cudaGraphExecUpdate);

// A value that kernels set (cudaGraphSetConditional) and conditional nodes look at; with cudaGraphCondAssignDefault it is
// `initial` whenever the graph begins.
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                             unsigned int initial CUDASIM_DEFAULT(0),
                                             unsigned int flags CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaGraphConditionalHandleCreate);
void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value)
    CUDASIM_SYMBOL(cudaGraphSetConditional);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          const cudaGraphEdgeData *edges, size_t count, enum cudaStreamCaptureMode mode)
    CUDASIM_SYMBOL(cudaStreamBeginCaptureToGraph);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after,
                                                const cudaGraphEdgeData *edges, size_t count, unsigned int flags)
    CUDASIM_SYMBOL(cudaStreamUpdateCaptureDependencies);

// Not CUDA's. The graph that a stream is captured into (NULL: none), and what it has led to, of which there is room for *count.
cudaError_t cudasim_capture_nodes(cudaStream_t stream, cudaGraph_t *graph, cudaGraphNode_t *nodes, size_t *count)
    CUDASIM_SYMBOL(cudasim_capture_nodes);
cudaError_t cudasim_graph_add_conditional(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          size_t count, struct cudaConditionalNodeParams *params)
    CUDASIM_SYMBOL(cudasim_graph_add_conditional);
// Not CUDA's: what is queued in *stream between the two becomes the node. `before`: the graph's size when it began.
cudaError_t cudasim_graph_node_begin(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                     cudaStream_t *stream) CUDASIM_SYMBOL(cudasim_graph_node_begin);
cudaError_t cudasim_graph_node_end(cudaStream_t stream, size_t before, cudaError_t error, cudaGraphNode_t *node)
    CUDASIM_SYMBOL(cudasim_graph_node_end);
size_t cudasim_graph_size(cudaGraph_t graph) CUDASIM_SYMBOL(cudasim_graph_size);
// The node does from now on what the only node of `other` does: in the executable graph, or (exec NULL) in its own.
cudaError_t cudasim_graph_replace(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t other)
    CUDASIM_SYMBOL(cudasim_graph_replace);

// Memory that a graph's node has allocated: freeing it leaves it where it is.
void cudasim_graph_keep(void *pointer) CUDASIM_SYMBOL(cudasim_graph_keep);
void cudasim_graph_free(void *pointer) CUDASIM_SYMBOL(cudasim_graph_free);

CUDASIM_END_C

#ifdef __cplusplus
namespace cudasim {

template <class Queue>
inline cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                            Queue queue) {
  cudaStream_t stream;
  const size_t before = cudasim_graph_size(graph);
  const cudaError_t error = cudasim_graph_node_begin(graph, after, count, &stream);
  return error ? error : cudasim_graph_node_end(stream, before, queue(stream), node);
}
template <class Queue> inline cudaError_t replace_node(cudaGraphExec_t exec, cudaGraphNode_t node, Queue queue) {
  cudaGraph_t other;
  cudaError_t error = cudaGraphCreate(&other, 0);
  if (error)
    return error;
  error = add_node(nullptr, other, nullptr, 0, queue);
  if (error == cudaSuccess)
    error = cudasim_graph_replace(exec, node, other);
  (void)cudaGraphDestroy(other);
  return error;
}
// By bytes where all of a value's are the same; else only what cudaMemset does is simulated.
inline cudaError_t queue_fill(const cudaMemsetParams *p, cudaStream_t stream) {
  const unsigned int byte = p->value & 255u;
  const bool repeats = p->elementSize == 1 || (p->elementSize == 2 && (p->value & 65535u) == byte * 257u) ||
                       (p->elementSize == 4 && p->value == byte * 0x01010101u);
  if (!repeats)
    return cudaErrorNotSupported;
  return cudaMemset2DAsync(p->dst, p->pitch ? p->pitch : p->width * p->elementSize, (int)byte,
                           p->width * p->elementSize, p->height, stream);
}

} // namespace cudasim

inline cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                         size_t count) {
  return cudasim::add_node(node, graph, after, count, [](cudaStream_t) { return cudaSuccess; });
}
inline cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          size_t count, const struct cudaMemcpy3DParms *p) {
  return cudasim::add_node(node, graph, after, count, [=](cudaStream_t s) { return cudaMemcpy3DAsync(p, s); });
}
inline cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                            size_t count, void *to, const void *from, size_t bytes,
                                            enum cudaMemcpyKind kind) {
  return cudasim::add_node(node, graph, after, count,
                           [=](cudaStream_t s) { return cudaMemcpyAsync(to, from, bytes, kind, s); });
}
inline cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                      const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  return cudasim::replace_node(exec, node, [=](cudaStream_t s) { return cudaMemcpyAsync(to, from, bytes, kind, s); });
}
inline cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          size_t count, const cudaMemsetParams *p) {
  return cudasim::add_node(node, graph, after, count, [=](cudaStream_t s) { return cudasim::queue_fill(p, s); });
}
inline cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaMemsetParams *p) {
  return cudasim::replace_node(exec, node, [=](cudaStream_t s) { return cudasim::queue_fill(p, s); });
}
inline cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                        size_t count, const cudaHostNodeParams *p) {
  return cudasim::add_node(node, graph, after, count,
                           [=](cudaStream_t s) { return cudaLaunchHostFunc(s, p->fn, p->userData); });
}
inline cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  const cudaHostNodeParams *p) {
  return cudasim::replace_node(exec, node, [=](cudaStream_t s) { return cudaLaunchHostFunc(s, p->fn, p->userData); });
}
// What the nodes of all graphs have allocated.
enum cudaGraphMemAttributeType {
  cudaGraphMemAttrUsedMemCurrent = 0,
  cudaGraphMemAttrUsedMemHigh = 1,
  cudaGraphMemAttrReservedMemCurrent = 2,
  cudaGraphMemAttrReservedMemHigh = 3
};
namespace cudasim {
inline unsigned long long graph_bytes[16];
}
inline cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType, void *value) {
  if (device < 0 || device >= 16 || value == nullptr)
    return cudaErrorInvalidValue;
  *static_cast<unsigned long long *>(value) = cudasim::graph_bytes[device];
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGraphMemTrim(int device) { // nothing is kept that could be given back
  return device < 0 || device >= 16 ? cudaErrorInvalidDevice : cudaSuccess;
}
inline cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                            size_t count, cudaMemAllocNodeParams *p) {
  const cudaError_t error = cudaMalloc(&p->dptr, p->bytesize);
  int device = 0;
  if (error == cudaSuccess)
    cudasim_graph_keep(p->dptr);
  if (error == cudaSuccess && cudaGetDevice(&device) == cudaSuccess)
    cudasim::graph_bytes[device] += p->bytesize;
  return error ? error : cudaGraphAddEmptyNode(node, graph, after, count);
}
inline cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                           size_t count, void *pointer) {
  if (pointer == nullptr)
    return cudaErrorInvalidValue;
  cudasim_graph_free(pointer);
  return cudaGraphAddEmptyNode(node, graph, after, count);
}

#ifndef CUDASIM_HOST
inline cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          size_t count, const cudaKernelNodeParams *p) {
  return cudasim::add_node(node, graph, after, count, [=](cudaStream_t s) {
    return cudaLaunchKernel((const void *)p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, s);
  });
}
inline cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaKernelNodeParams *p) {
  return cudasim::replace_node(exec, node, [=](cudaStream_t s) {
    return cudaLaunchKernel((const void *)p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, s);
  });
}
inline cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *p) {
  return cudaGraphExecKernelNodeSetParams(nullptr, node, p);
}
#endif

// ---- nodes of all kinds by one call ----

enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4,
  cudaGraphNodeTypeEmpty = 5,
  cudaGraphNodeTypeMemAlloc = 10,
  cudaGraphNodeTypeMemFree = 11,
  cudaGraphNodeTypeConditional = 13
};
typedef struct cudaGraphNodeParams {
  enum cudaGraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[32];
    cudaKernelNodeParams kernel;
    struct {
      int flags;
      struct cudaMemcpy3DParms copyParams;
    } memcpy;
    cudaMemsetParams memset;
    cudaHostNodeParams host;
    struct {
      cudaGraph_t graph;
    } graph;
    cudaMemAllocNodeParams alloc;
    struct {
      void *dptr;
    } free;
    struct cudaConditionalNodeParams conditional;
  };
} cudaGraphNodeParams;

#ifndef CUDASIM_HOST
inline cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                    const cudaGraphEdgeData *edges, size_t count, cudaGraphNodeParams *p) {
  if (edges != nullptr)
    return cudaErrorNotSupported;
  switch (p->type) {
  case cudaGraphNodeTypeKernel:
    return cudaGraphAddKernelNode(node, graph, after, count, &p->kernel);
  case cudaGraphNodeTypeMemcpy:
    return cudaGraphAddMemcpyNode(node, graph, after, count, &p->memcpy.copyParams);
  case cudaGraphNodeTypeMemset:
    return cudaGraphAddMemsetNode(node, graph, after, count, &p->memset);
  case cudaGraphNodeTypeHost:
    return cudaGraphAddHostNode(node, graph, after, count, &p->host);
  case cudaGraphNodeTypeGraph:
    return cudaGraphAddChildGraphNode(node, graph, after, count, p->graph.graph);
  case cudaGraphNodeTypeEmpty:
    return cudaGraphAddEmptyNode(node, graph, after, count);
  case cudaGraphNodeTypeMemAlloc:
    return cudaGraphAddMemAllocNode(node, graph, after, count, &p->alloc);
  case cudaGraphNodeTypeMemFree:
    return cudaGraphAddMemFreeNode(node, graph, after, count, p->free.dptr);
  case cudaGraphNodeTypeConditional:
    return cudasim_graph_add_conditional(node, graph, after, count, &p->conditional);
  }
  return cudaErrorNotSupported;
}
inline cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                    size_t count, cudaGraphNodeParams *p) { // as CUDA 12 has it
  return cudaGraphAddNode(node, graph, after, nullptr, count, p);
}
#endif

// The nodes are the calling thread's until it asks again.
inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                            unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **after,
                                            const cudaGraphEdgeData **edges, size_t *count) {
  enum { MOST = 256 };
  static thread_local cudaGraphNode_t nodes[MOST];
  cudaError_t error = cudaStreamGetCaptureInfo(stream, status, id);
  cudaGraph_t captured = nullptr;
  size_t found = MOST;
  if (error == cudaSuccess)
    error = cudasim_capture_nodes(stream, &captured, nodes, &found);
  if (error == cudaSuccess && found > MOST)
    error = cudaErrorNotSupported;
  if (graph)
    *graph = captured;
  if (after)
    *after = nodes;
  if (edges)
    *edges = nullptr;
  if (count)
    *count = found;
  return error;
}
inline cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **after, size_t *count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, after, nullptr, count);
}

// As CUDA 11 had it.
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *node,
                                       cudaGraphExecUpdateResult *result) {
  cudaGraphExecUpdateResultInfo info = {};
  const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
  if (node)
    *node = info.errorNode;
  if (result)
    *result = info.result;
  return error;
}
#endif

#endif
