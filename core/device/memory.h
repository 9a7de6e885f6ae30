// SPDX-License-Identifier: MIT
// What the allocators hold: torch.cuda.memory_allocated and its family.
//
// CUDA memory comes from a caching allocator with PyTorch's rules (block sizes, splitting, streams); host memory of CPU
// tensors from a cache of its own; pinned memory from a third. All sizes are in bytes. Any thread may call these; the
// numbers are the whole process's. Raise FY_RUNTIME_ERROR for a CUDA device that is not there.
#ifndef FERRY_DEVICE_MEMORY_H
#define FERRY_DEVICE_MEMORY_H

#include "device/device.h"

// Which pool a segment belongs to: (0, 0) is everybody's; the others are those of CUDA graphs (cuda_graph.h).
typedef struct FyPoolId {
  uint64_t id[2];
} FyPoolId;

FY_API size_t fy_memory_allocated(FyDevice device);     // bytes in live tensors now
FY_API size_t fy_max_memory_allocated(FyDevice device); // its peak since the last reset
FY_API size_t fy_memory_reserved(FyDevice device);      // bytes taken from the device, cached blocks included
FY_API size_t fy_max_memory_reserved(FyDevice device);
FY_API void fy_reset_peak_memory_stats(FyDevice device);

// In brackets: the keys of torch.cuda.memory_stats(), less ".all.current" and ".all.peak".
typedef struct FyMemoryStats {
  size_t allocated, allocated_peak; // bytes, rounded to blocks (allocated_bytes)
  size_t reserved, reserved_peak;   // bytes (reserved_bytes)
  size_t requested, requested_peak; // bytes asked for, before rounding (requested_bytes); the host counts no peak: 0
  size_t active, active_peak;       // bytes in use, or that another stream still works on (active_bytes)
  // Free bytes of segments of which a part is in use, so that no cudaFree could give them back (inactive_split_bytes). The
  // host splits nothing: 0.
  size_t inactive_split;
  int64_t allocations, frees; // calls served (allocation.all.allocated, .freed)
  // cudaMalloc and cudaFree calls (num_device_alloc, num_device_free); host: system allocations.
  int64_t device_mallocs, device_frees;
  int64_t segments, active_blocks, inactive_split_blocks; // (segment, active, inactive_split)
  // Times the cache had to be flushed, and times even that did not help (num_alloc_retries, num_ooms).
  int64_t retries, out_of_memories;
} FyMemoryStats;

// torch.cuda.memory_stats(device), for the CPU too. Private pools of CUDA graphs count.
FY_API FyMemoryStats fy_memory_stats(FyDevice device);

// torch.cuda.reset_accumulated_memory_stats(device): the counts that only grow (allocations, frees, device_mallocs,
// device_frees, retries, out_of_memories) begin at 0 again.
FY_API void fy_reset_accumulated_memory_stats(FyDevice device);

// torch.cuda.mem_get_info(device): free and total bytes as the runtime reports them; for the CPU as /proc/meminfo does
// (FY_OS_ERROR without it).
FY_API void fy_mem_get_info(FyDevice device, size_t *free_bytes, size_t *total_bytes);

// torch.cuda.empty_cache() for every CUDA device, and the host caches: gives unused whole segments back, those of private pools
// when their last graph is gone. Waits for the streams that still use freed blocks. While a CUDA graph is being captured CUDA
// memory and pinned memory are kept. What other threads keep for themselves of small host blocks stays. Never raises.
FY_API void fy_empty_cache(void);

// torch.cuda.set_per_process_memory_fraction(fraction, device): from here on the process may reserve so much of a CUDA
// device's memory, between 0 and 1 (1: all of it, as at the start); a request beyond it is out of memory. What is reserved
// already stays. Raises FY_VALUE_ERROR for another fraction, and for the CPU.
FY_API void fy_set_per_process_memory_fraction(double fraction, FyDevice device);

// torch.cuda.memory_summary(): a table on `file` (a FILE *).
FY_API void fy_memory_summary(void *file, FyDevice device);

// ---- what happened, and where ----------------------------------------------------------------------------------------

// What an allocator did. A segment is what cudaMalloc gave; for the CPU, which splits nothing, each block is one.
typedef enum FyMemoryAction {
  FY_MEMORY_ALLOC,          // a block was handed out
  FY_MEMORY_FREE_REQUESTED, // its tensor is dead,
  FY_MEMORY_FREE_COMPLETED, // and the block can be reused: immediately, unless another stream still works on it
  FY_MEMORY_SEGMENT_ALLOC,  // cudaMalloc
  FY_MEMORY_SEGMENT_FREE,   // cudaFree
  FY_MEMORY_OOM,            // not even after the cache had been emptied
  FY_MEMORY_SNAPSHOT,       // fy_memory_snapshot was called
} FyMemoryAction;

// PyTorch's word for it: "alloc", "free_requested", ... A static string; never raises.
FY_API const char *fy_memory_action_name(FyMemoryAction action);

// `file` and `line` are those of the last public call of the thread: for an alloc the call that needed the memory (all that
// backward makes has fy_backward's line), for a free the one during which the tensor died, often the end of a scope. What
// the library cannot know: which function they are in, and who called that. NULL and 0 in a thread that called nothing yet.
typedef struct FyMemoryEvent {
  FyMemoryAction action;
  int line;
  const char *file;
  uintptr_t address;  // of the block or segment; oom: 0
  size_t size;        // bytes: asked for (alloc, free), of the segment, that could not be had (oom), active (snapshot)
  size_t allocated;   // fy_memory_allocated(device) right after it, other threads' work aside
  size_t device_free; // oom: bytes that the device had free
  uint64_t stream;    // cudaStream_t, 0 for the default one and for the CPU
  int64_t time_us;    // microseconds since 1970
  FyPoolId pool;      // of the block or segment
} FyMemoryEvent;

// torch.cuda.memory._record_memory_history(): from here on what all allocators do is kept, each device's and the CPU's for
// itself (pinned memory aside), or with `enabled` false no longer; what was kept is then forgotten. Recording on again with
// another limit keeps the newest events. Costs about 0.1 us and 80 bytes per event; when off, one test of a flag.
//
//   fy_record_memory_history(true, .max_entries = 10000);
#define fy_record_memory_history(...) fy_record_memory_history_with((FyMemoryRecording){.enabled = __VA_ARGS__})
typedef struct FyMemoryRecording {
  bool enabled;
  bool clear_history; // forget what was recorded before
  size_t max_entries; // per device; then each event replaces the oldest one. 0: no limit
} FyMemoryRecording;
FY_API void fy_record_memory_history_with(FyMemoryRecording options);

// The recorded events of a device, the newest `capacity` of them, oldest first; returns how many there are in all, which
// may be more. torch.cuda.memory._snapshot()["device_traces"][i].
FY_API size_t fy_memory_history(FyDevice device, FyMemoryEvent *events, size_t capacity);

typedef enum FyMemoryState {
  FY_MEMORY_INACTIVE,            // free: part of the cache
  FY_MEMORY_ACTIVE_ALLOCATED,    // used by a tensor
  FY_MEMORY_ACTIVE_PENDING_FREE, // its tensor is dead, but another stream may still use it (fy_record_stream)
} FyMemoryState;

// A block, used or free. `file` and `line` as above, recorder or not: who asked for it (free blocks: NULL), and who made
// the allocator ask for its segment. `state` of the CPU's is never FY_MEMORY_ACTIVE_PENDING_FREE.
typedef struct FyMemoryBlock {
  uintptr_t segment, address;
  size_t size, requested; // bytes; a free block's `requested` is 0
  FyMemoryState state;
  bool small; // of the pool for requests up to 1 MiB
  FyPoolId pool;
  uint64_t stream;
  const char *file, *segment_file;
  int line, segment_line;
} FyMemoryBlock;

// All blocks of a device by address, segment by segment; fills in up to `capacity` of them and returns how many there are.
// torch.cuda.memory._snapshot()["segments"].
FY_API size_t fy_memory_blocks(FyDevice device, FyMemoryBlock *blocks, size_t capacity);

// torch.cuda.memory._dump_snapshot(path): all blocks and recorded events of every device, in PyTorch's format, a Python
// pickle: https://pytorch.org/memory_viz and torch/cuda/_memory_viz.py show it. The CPU is in it as the device after the
// last GPU; "name" of a frame is empty, for the library knows file and line only. Written whole or not at all; raises
// FY_OS_ERROR naming the path, and FY_OUT_OF_MEMORY_ERROR.
FY_API void fy_memory_snapshot(const char *path);

#endif
