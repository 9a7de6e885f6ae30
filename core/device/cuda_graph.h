// SPDX-License-Identifier: MIT
// CUDA graphs: torch.cuda.CUDAGraph, torch.cuda.graph.
//
// A capture writes down what a block of code queues on a stream, without running it: kernels with their arguments, copies,
// fills, and what waits for what. A replay then queues all of it by one call. The graph records addresses, not
// values: new data is copied into the tensors that the captured code has read, and results are read where it has put them.
//
//   FyCudaGraph *graph = fy_cuda_graph_new();
//   ... warm up: run the block a few times on a side stream ...
//   fy_cuda_graph_capture(graph) {
//     fy_copy_(static_output, fy_relu(static_input));
//   }
//   fy_copy_(static_input, data);
//   fy_cuda_graph_replay(graph);
//
// What the block allocates comes from a pool of the graph's own (fy_memory_blocks tells which), whose memory no other allocation gets
// while the graph lives: tensors made in the block, and dropped since or not, have the same addresses at each replay.
//
// Not to be captured, for it would have to wait for the device or has nothing to do with it: fy_item, printing, comparing and
// all else that reads a CUDA tensor's elements; fy_synchronize; queries of events and of the capturing stream; copies from or
// to memory that is not pinned; allocations on streams that take no part in the capture, where the cache cannot serve them;
// fy_manual_seed and its like; a step of Adam or AdamW without .capturable. Each raises, the capture then ends without a
// graph, and the graph can be captured again. What runs on the CPU inside the block runs once, at the capture.
//
// Random numbers: each replay draws the ones that the block, run now, would have drawn.
//
// A graph is for one thread at a time. Threads may capture at the same time into pools of their own, on streams of their own,
// with .error_mode = FY_CAPTURE_ERRORS_THREAD_LOCAL.
#ifndef FERRY_DEVICE_CUDA_GRAPH_H
#define FERRY_DEVICE_CUDA_GRAPH_H

#include "device/memory.h"

// torch.cuda.CUDAGraph(): an object of the scope, empty at first. While it lives, so does the memory of its pool.
typedef struct FyCudaGraph FyCudaGraph;
FY_API FyCudaGraph *fy_cuda_graph_new(void);

// Which calls of the CUDA runtime that could wait or free memory are errors while a capture goes on (cudaStreamCaptureMode).
typedef enum FyCaptureErrors {
  FY_CAPTURE_ERRORS_GLOBAL,       // of any thread
  FY_CAPTURE_ERRORS_THREAD_LOCAL, // of the capturing thread
  FY_CAPTURE_ERRORS_RELAXED,      // none
} FyCaptureErrors;

// with torch.cuda.graph(graph, pool, stream, capture_error_mode): captures the following block into `graph`.
//
//   fy_cuda_graph_capture(graph, .pool = fy_cuda_graph_pool(other))
//
// First waits for the current device and gives its cached memory back. In the block, `stream` is current: NULL means one
// that the device has for captures; it must not be the default stream. What other streams do belongs to the graph once they
// wait for the capturing one, and has to be waited for by it again before the block ends. Return, break and goto end it, too.
//
// Raises FY_RUNTIME_ERROR: "This CUDAGraph instance already owns a captured graph. ...", "CUDA graphs must be captured on a
// non-default stream. ...", "beginAllocateToPool: already recording to mempool_id", without CUDA, and at the block's end CUDA's
// errors for a capture that cannot become a graph ("CUDA error: capturing stream has unjoined work"). An error raised inside
// the block ends the capture; the graph stays empty. FY_TYPE_ERROR for NULL.
typedef struct FyCudaGraphCapture {
  FyCudaGraph *graph;
  FyPoolId pool;    // of another graph, or fy_cuda_graph_pool_handle(); zeros: a new one
  FyStream *stream; // not the default one
  FyCaptureErrors error_mode;
} FyCudaGraphCapture;
#define fy_cuda_graph_capture(...)                                                                                     \
  for (FY_AT_END(fy_capture_guard_close)                                                                               \
           FyCaptureGuard fy_guard = fy_capture_guard_open((FyCudaGraphCapture){.graph = __VA_ARGS__});                \
       fy_guard.open; fy_capture_guard_close(&fy_guard))

// graph.replay(): queues what was captured on the current stream of the graph's device, which may be the default one. Counts as
// one graph launch, not as launches. Raises FY_RUNTIME_ERROR "Called CUDAGraph::replay without a preceding successful
// capture.", and inside of a capture; FY_TYPE_ERROR for NULL.
FY_API void fy_cuda_graph_replay(FyCudaGraph *graph);

// graph.reset(): empty again, as new. Its pool's memory goes back to the device at the next fy_empty_cache, or when memory runs
// short, once no other graph shares the pool and no tensor is left in it. Never raises; does nothing inside its own capture.
FY_API void fy_cuda_graph_reset(FyCudaGraph *graph);

// graph.pool() and torch.cuda.graph_pool_handle(): for .pool of further captures, which then use the same memory. Right only
// where the graphs are replayed in the order in which they were captured, never at the same time, and a tensor of one is not
// read after the next has run, unless it was alive when that one was captured. The first raises FY_RUNTIME_ERROR "Called
// CUDAGraph::pool() without a preceding successful capture.".
FY_API FyPoolId fy_cuda_graph_pool(const FyCudaGraph *graph);
FY_API FyPoolId fy_cuda_graph_pool_handle(void);

// How many kernels, copies and fills a replay runs; 0 when nothing is captured. Never raises.
FY_API int64_t fy_cuda_graph_node_count(const FyCudaGraph *graph);

// torch.cuda.is_current_stream_capturing(): of the current device. Never raises.
FY_API bool fy_cuda_is_current_stream_capturing(void);

// ---- the guard's state -----------------------------------------------------------------------------------------------

typedef struct FyCaptureGuard {
  FyCudaGraph *graph;
  FyStreamGuard stream;
  bool open;
} FyCaptureGuard;
FY_API FyCaptureGuard fy_capture_guard_open(FyCudaGraphCapture options);
FY_API void fy_capture_guard_close(FyCaptureGuard *guard);

#endif
