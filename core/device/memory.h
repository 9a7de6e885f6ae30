// What the allocators hold: torch.cuda.memory_allocated and its family.
//
// CUDA memory comes from a caching allocator with PyTorch's rules (block sizes, splitting, streams); host memory of CPU
// tensors from a cache of its own; pinned memory from a third. All sizes are in bytes. Any thread may call these; the
// numbers are the whole process's. Raise FY_RUNTIME_ERROR for a CUDA device that is not there.
#ifndef FERRY_DEVICE_MEMORY_H
#define FERRY_DEVICE_MEMORY_H

#include "device/device.h"

FY_API size_t fy_memory_allocated(FyDevice device);     // bytes in live tensors now
FY_API size_t fy_max_memory_allocated(FyDevice device); // its peak since the last reset
FY_API size_t fy_memory_reserved(FyDevice device);      // bytes taken from the device, cached blocks included
FY_API size_t fy_max_memory_reserved(FyDevice device);
FY_API void fy_reset_peak_memory_stats(FyDevice device);

typedef struct FyMemoryStats {
  size_t allocated, allocated_peak;     // bytes, rounded to blocks
  size_t reserved, reserved_peak;       // bytes
  size_t requested;                     // bytes asked for, before rounding
  int64_t allocations, frees;           // calls served
  int64_t device_mallocs, device_frees; // cudaMalloc and cudaFree calls (host: system allocations)
  int64_t segments, active_blocks, inactive_split_blocks;
  int64_t retries, out_of_memories; // times the cache had to be flushed, and times even that did not help
} FyMemoryStats;

// torch.cuda.memory_stats(device), for the CPU too.
FY_API FyMemoryStats fy_memory_stats(FyDevice device);

// torch.cuda.mem_get_info(device): free and total bytes as the runtime reports them; for the CPU as /proc/meminfo does
// (FY_OS_ERROR without it).
FY_API void fy_mem_get_info(FyDevice device, size_t *free_bytes, size_t *total_bytes);

// torch.cuda.empty_cache() for every CUDA device, and the host caches: gives unused whole segments back. Waits for the
// streams that still use freed blocks. What other threads keep for themselves of small host blocks stays. Never raises.
FY_API void fy_empty_cache(void);

// torch.cuda.memory_summary(): a table on `file` (a FILE *).
FY_API void fy_memory_summary(void *file, FyDevice device);

#endif
