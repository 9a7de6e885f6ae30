// SPDX-License-Identifier: MIT
// CUDA graphs: torch.cuda.CUDAGraph, torch.cuda.graph.
//
// A capture records the operations that a block of code enqueues on a stream, without executing them: kernels with
// their arguments, copies, fills, and the dependencies between them. A replay then enqueues all of them with one call.
// The graph records addresses, not values. So you copy new data into the tensors that the captured code reads, and read
// the results from the tensors that it writes.
//
//   FyCudaGraph *graph = fy_cuda_graph_new();
//   ... warm up: run the block a few times on a side stream ...
//   fy_cuda_graph_capture(graph) {
//     fy_copy_(static_output, fy_relu(static_input));
//   }
//   fy_copy_(static_input, data);
//   fy_cuda_graph_replay(graph);
//
// The block allocates from a memory pool of the graph, which fy_memory_blocks shows. While the graph exists, no other
// allocation gets memory of this pool. So the tensors that the block creates have the same addresses at each replay,
// even if they have been freed since.
//
// Some operations cannot be captured, because they would have to wait for the device or do not run on it: fy_item,
// printing, comparing, and everything else that reads the elements of a CUDA tensor; fy_synchronize; queries of events
// and of the capturing stream; copies from or to memory that is not pinned; allocations on streams that are not part of
// the capture, if the cache has no free block for them; fy_manual_seed and similar functions; and a step of Adam or
// AdamW without .capturable. Each of them raises an error. The capture then ends without a graph, and you can capture
// into the same object again. Code in the block that runs on the CPU runs once, during the capture.
//
// Random numbers: each replay draws the numbers that the block would draw if it ran at that time.
//
// Only one thread at a time may use a graph. Several threads may capture at the same time, each on its own stream into
// its own pool, with .error_mode = FY_CAPTURE_ERRORS_THREAD_LOCAL.
#ifndef FERRY_DEVICE_CUDA_GRAPH_H
#define FERRY_DEVICE_CUDA_GRAPH_H

#include "device/memory.h"

// Creates an empty graph, an object owned by the innermost scope. The memory of its pool exists as long as the graph.
// PyTorch: torch.cuda.CUDAGraph().
typedef struct FyCudaGraph FyCudaGraph;
FY_API FyCudaGraph *fy_cuda_graph_new(void);

// During a capture, CUDA runtime calls that could wait or free memory are errors (cudaStreamCaptureMode). The mode
// selects the threads to which this applies.
typedef enum FyCaptureErrors {
  FY_CAPTURE_ERRORS_GLOBAL,       // all threads
  FY_CAPTURE_ERRORS_THREAD_LOCAL, // the capturing thread
  FY_CAPTURE_ERRORS_RELAXED,      // no thread
} FyCaptureErrors;

// Captures the following block into `graph`:
//
//   fy_cuda_graph_capture(graph, .pool = fy_cuda_graph_pool(other))
//
// Before the block runs, the macro waits for the device and releases its cached memory. In the block, `stream` is
// current. It must not be the default stream; NULL means the device's own stream for captures. Work on a different
// stream becomes part of the graph once that stream waits for the capturing stream. The capturing stream must wait for
// the other stream again before the block ends. Return, break and goto also end the capture.
//
// Raises FY_TYPE_ERROR if the graph is NULL. Raises FY_RUNTIME_ERROR without CUDA, and with the messages "This
// CUDAGraph instance already owns a captured graph. ...", "CUDA graphs must be captured on a non-default stream. ..."
// and "beginAllocateToPool: already recording to mempool_id". At the end of the block, it raises CUDA's error if the
// capture cannot become a graph ("CUDA error: capturing stream has unjoined work"). An error in the block ends the
// capture, and the graph remains empty.
//
// PyTorch: with torch.cuda.graph(graph, pool, stream, capture_error_mode).
typedef struct FyCudaGraphCapture {
  FyCudaGraph *graph;
  FyPoolId pool;    // the pool of another graph, or fy_cuda_graph_pool_handle(); zeros mean a new pool
  FyStream *stream; // NULL, or a stream that is not the default stream
  FyCaptureErrors error_mode;
} FyCudaGraphCapture;
#define fy_cuda_graph_capture(...)                                                                                     \
  for (FY_AT_END(fy_capture_guard_close)                                                                               \
           FyCaptureGuard fy_guard = fy_capture_guard_open((FyCudaGraphCapture){.graph = __VA_ARGS__});                \
       fy_guard.open; fy_capture_guard_close(&fy_guard))

// Enqueues the captured operations on the current stream of the graph's device, which may be the default stream. Counts
// as one graph launch in FyCounters, not as kernel launches. Raises FY_RUNTIME_ERROR "Called CUDAGraph::replay without
// a preceding successful capture." and during a capture, and FY_TYPE_ERROR if the graph is NULL. PyTorch:
// graph.replay().
FY_API void fy_cuda_graph_replay(FyCudaGraph *graph);

// Empties the graph, so that you can capture into it again. Once no other graph shares its pool and no tensor is left
// in the pool, the memory returns to the device at the next fy_empty_cache, or when memory runs short. Does nothing
// during the graph's own capture. Never raises. PyTorch: graph.reset().
FY_API void fy_cuda_graph_reset(FyCudaGraph *graph);

// Return a pool for .pool of further captures, which then share its memory: the pool of a captured graph, or a new one.
// Share a pool only if you replay the graphs in the order of their captures and never at the same time. After the next
// graph has run, do not read a tensor of an earlier graph, unless the tensor was alive when the next graph was
// captured. fy_cuda_graph_pool raises FY_RUNTIME_ERROR "Called CUDAGraph::pool() without a preceding successful
// capture.". PyTorch: graph.pool() and torch.cuda.graph_pool_handle().
FY_API FyPoolId fy_cuda_graph_pool(const FyCudaGraph *graph);
FY_API FyPoolId fy_cuda_graph_pool_handle(void);

// Returns the number of kernels, copies and fills that a replay runs, or 0 if nothing was captured. Never raises.
FY_API int64_t fy_cuda_graph_node_count(const FyCudaGraph *graph);

// Returns whether the current stream of the current device is being captured. Never raises. PyTorch:
// torch.cuda.is_current_stream_capturing().
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
