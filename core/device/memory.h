// SPDX-License-Identifier: MIT
// Statistics and history of the memory allocators: torch.cuda.memory_allocated and related functions.
//
// There are three allocators. CUDA memory comes from a caching allocator with PyTorch's rules (block sizes, splitting,
// streams). The host memory of CPU tensors and pinned memory come from separate caches. All sizes are in bytes. Any
// thread may call these functions; the numbers are for the whole process. They raise FY_RUNTIME_ERROR if a CUDA device
// does not exist.
#ifndef FERRY_DEVICE_MEMORY_H
#define FERRY_DEVICE_MEMORY_H

#include "device/device.h"

// The pool of a segment: (0, 0) is the common pool; the others are private pools of CUDA graphs (cuda_graph.h).
typedef struct FyPoolId {
  uint64_t id[2];
} FyPoolId;

FY_API size_t fy_memory_allocated(FyDevice device);     // bytes in live tensors now
FY_API size_t fy_max_memory_allocated(FyDevice device); // its peak since the last reset
FY_API size_t fy_memory_reserved(FyDevice device);      // bytes allocated from the device, including cached blocks
FY_API size_t fy_max_memory_reserved(FyDevice device);
FY_API void fy_reset_peak_memory_stats(FyDevice device);

// Statistics of an allocator. The names in parentheses are keys of torch.cuda.memory_stats(), without ".all.current"
// and ".all.peak".
typedef struct FyMemoryStats {
  size_t allocated, allocated_peak; // bytes, rounded up to blocks (allocated_bytes)
  size_t reserved, reserved_peak;   // bytes (reserved_bytes)
  size_t requested, requested_peak; // bytes before rounding (requested_bytes); the peak is 0 for the CPU
  size_t active, active_peak;       // bytes in use, or still needed by a stream (active_bytes)
  // Free bytes in segments that are partly in use, so that cudaFree cannot release them (inactive_split_bytes). 0 for
  // the CPU, whose allocator does not split segments.
  size_t inactive_split;
  int64_t allocations, frees; // completed calls (allocation.all.allocated, .freed)
  // cudaMalloc and cudaFree calls (num_device_alloc, num_device_free). For the CPU: allocations from the system.
  int64_t device_mallocs, device_frees;
  int64_t segments, active_blocks, inactive_split_blocks; // (segment, active, inactive_split)
  // How often the allocator had to empty the cache, and how often even this did not help (num_alloc_retries, num_ooms).
  int64_t retries, out_of_memories;
} FyMemoryStats;

// Returns the statistics of a device's allocator, including private pools of CUDA graphs. The device may also be the
// CPU. PyTorch: torch.cuda.memory_stats(device).
FY_API FyMemoryStats fy_memory_stats(FyDevice device);

// Resets the counts that only grow to 0: allocations, frees, device_mallocs, device_frees, retries and out_of_memories.
// PyTorch: torch.cuda.reset_accumulated_memory_stats(device).
FY_API void fy_reset_accumulated_memory_stats(FyDevice device);

// Stores the free and total bytes of a device, as the CUDA runtime reports them. For the CPU they are from
// /proc/meminfo; raises FY_OS_ERROR if this file cannot be read. PyTorch: torch.cuda.mem_get_info(device).
FY_API void fy_mem_get_info(FyDevice device, size_t *free_bytes, size_t *total_bytes);

// Releases the cached memory of all CUDA devices and of the host: all segments that are completely unused, including
// those of private pools whose last graph was freed. Waits for streams that still use freed blocks. While a CUDA graph
// is being captured, CUDA memory and pinned memory remain cached. The caches of other threads for small host blocks
// also remain. Never raises. PyTorch: torch.cuda.empty_cache().
FY_API void fy_empty_cache(void);

// Limits the memory that the process may reserve on a CUDA device to a fraction, 0 to 1, of the device's memory. At the
// start the fraction is 1. A request beyond the limit raises FY_OUT_OF_MEMORY_ERROR. Memory that is already reserved
// remains reserved. Raises FY_VALUE_ERROR for a fraction out of range and for the CPU. PyTorch:
// torch.cuda.set_per_process_memory_fraction(fraction, device).
FY_API void fy_set_per_process_memory_fraction(double fraction, FyDevice device);

// Prints a table of the statistics to `file`, a FILE *. PyTorch: torch.cuda.memory_summary().
FY_API void fy_memory_summary(void *file, FyDevice device);

// ---- history and snapshots -------------------------------------------------------------------------------------------

// An action of an allocator. A segment is memory from one cudaMalloc call, which the allocator can split into blocks.
// On the CPU, each block is a segment.
typedef enum FyMemoryAction {
  FY_MEMORY_ALLOC,          // a block was allocated
  FY_MEMORY_FREE_REQUESTED, // its tensor was freed
  FY_MEMORY_FREE_COMPLETED, // the block can be reused: immediately, unless a stream still uses it
  FY_MEMORY_SEGMENT_ALLOC,  // cudaMalloc
  FY_MEMORY_SEGMENT_FREE,   // cudaFree
  FY_MEMORY_OOM,            // out of memory, even after the cache was emptied
  FY_MEMORY_SNAPSHOT,       // fy_memory_snapshot was called
} FyMemoryAction;

// Returns PyTorch's name for the action: "alloc", "free_requested", ... The string is static. Never raises.
FY_API const char *fy_memory_action_name(FyMemoryAction action);

// A recorded action. `file` and `line` are the location of the thread's last call of a public function. For an
// allocation, this is the call that needed the memory; everything that backward allocates has the line of fy_backward.
// For a free, it is the call during which the tensor was freed, often the end of a scope. The library does not know the
// enclosing function or its callers. `file` is NULL and `line` is 0 if the thread has not called a public function yet.
typedef struct FyMemoryEvent {
  FyMemoryAction action;
  int line;
  const char *file;
  uintptr_t address;  // of the block or segment; 0 for FY_MEMORY_OOM
  size_t size;        // bytes: requested (alloc, free, oom), of the segment, or active (snapshot)
  size_t allocated;   // fy_memory_allocated(device) after the action, apart from other threads' actions
  size_t device_free; // for FY_MEMORY_OOM: free bytes of the device
  uint64_t stream;    // cudaStream_t; 0 for the default stream and for the CPU
  int64_t time_us;    // microseconds since 1970
  FyPoolId pool;      // of the block or segment
} FyMemoryEvent;

// Starts to record the actions of the allocators, in a separate history for each device and for the CPU (without pinned
// memory):
//
//   fy_record_memory_history(true, .max_entries = 10000);
//
// If `enabled` is false, it stops recording and discards all recorded events. If it is called again with a different
// limit, it keeps the newest events. Recording costs about 0.1 us and 80 bytes per event; without recording, the cost
// is one test of a flag. PyTorch: torch.cuda.memory._record_memory_history().
#define fy_record_memory_history(...) fy_record_memory_history_with((FyMemoryRecording){.enabled = __VA_ARGS__})
typedef struct FyMemoryRecording {
  bool enabled;
  bool clear_history; // discard the events recorded so far
  size_t max_entries; // limit per device, after which each event replaces the oldest; 0 means no limit
} FyMemoryRecording;
FY_API void fy_record_memory_history_with(FyMemoryRecording options);

// Stores the newest recorded events of a device, at most `capacity`, from the oldest to the newest. Returns the number
// of all recorded events, which may be larger. PyTorch: torch.cuda.memory._snapshot()["device_traces"][i].
FY_API size_t fy_memory_history(FyDevice device, FyMemoryEvent *events, size_t capacity);

typedef enum FyMemoryState {
  FY_MEMORY_INACTIVE,            // free, in the cache
  FY_MEMORY_ACTIVE_ALLOCATED,    // used by a tensor
  FY_MEMORY_ACTIVE_PENDING_FREE, // its tensor was freed, but a stream may still use it (fy_record_stream)
} FyMemoryState;

// A block, used or free. `file` and `line` are the location of the call that needed the block (NULL for a free block),
// and `segment_file` and `segment_line` of the call that made the allocator request its segment. Both are known without
// recording. The state of a CPU block is never FY_MEMORY_ACTIVE_PENDING_FREE.
typedef struct FyMemoryBlock {
  uintptr_t segment, address;
  size_t size, requested; // bytes; a free block's `requested` is 0
  FyMemoryState state;
  bool small; // in the pool for requests of up to 1 MiB
  FyPoolId pool;
  uint64_t stream;
  const char *file, *segment_file;
  int line, segment_line;
} FyMemoryBlock;

// Stores the blocks of a device in the order of their addresses, segment by segment, at most `capacity`. Returns the
// number of all blocks. PyTorch: torch.cuda.memory._snapshot()["segments"].
FY_API size_t fy_memory_blocks(FyDevice device, FyMemoryBlock *blocks, size_t capacity);

// Writes all blocks and recorded events of every device to a file in PyTorch's format, a Python pickle.
// https://pytorch.org/memory_viz and torch/cuda/_memory_viz.py display it. The CPU is the device after the last GPU.
// The "name" of a frame is empty, because the library knows only file and line. On an error no incomplete file remains.
// Raises FY_OS_ERROR with the path in its message, and FY_OUT_OF_MEMORY_ERROR. PyTorch:
// torch.cuda.memory._dump_snapshot(path).
FY_API void fy_memory_snapshot(const char *path);

#endif
