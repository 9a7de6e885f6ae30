// SPDX-License-Identifier: MIT
// What the allocators hold, for people and programs.
#include "base/text.h"
#include "device/impl.h"
#include <stdio.h>
#include <stdlib.h>

FyMemoryStats fy_memory_stats(FyDevice device) {
  return device.type == FY_CPU ? fy_host_memory_stats() : fy_cuda_memory_stats(fy_cuda_index(device));
}

size_t fy_memory_allocated(FyDevice device) {
  return fy_memory_stats(device).allocated;
}

size_t fy_max_memory_allocated(FyDevice device) {
  return fy_memory_stats(device).allocated_peak;
}

size_t fy_memory_reserved(FyDevice device) {
  return fy_memory_stats(device).reserved;
}

size_t fy_max_memory_reserved(FyDevice device) {
  return fy_memory_stats(device).reserved_peak;
}

void fy_reset_peak_memory_stats(FyDevice device) {
  if (device.type == FY_CPU)
    fy_host_reset_peak();
  else
    fy_cuda_reset_peak(fy_cuda_index(device));
}

void fy_reset_accumulated_memory_stats(FyDevice device) {
  if (device.type == FY_CPU)
    fy_host_reset_accumulated();
  else
    fy_cuda_reset_accumulated(fy_cuda_index(device));
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = ((const FyMemoryBlock *)a)->address, y = ((const FyMemoryBlock *)b)->address;
  return (x > y) - (x < y);
}

size_t fy_memory_blocks(FyDevice device, FyMemoryBlock *blocks, size_t capacity) {
  size_t count = device.type == FY_CPU ? fy_host_memory_blocks(blocks, capacity)
                                       : fy_cuda_memory_blocks(fy_cuda_index(device), blocks, capacity);
  if (count && capacity)
    qsort(blocks, count < capacity ? count : capacity, sizeof *blocks, by_address);
  return count;
}

void fy_set_per_process_memory_fraction(double fraction, FyDevice device) {
  size_t free_bytes, total;
  fy_check(device.type == FY_CUDA, FY_VALUE_ERROR, "only the memory of CUDA devices can be limited, not that of %s",
           fy_device_name_of(device));
  fy_check(fraction >= 0 && fraction <= 1, FY_VALUE_ERROR, "Invalid fraction value: %g. Allowed range: 0~1", fraction);
  fy_mem_get_info(device, &free_bytes, &total);
  fy_cuda_limit_memory(fy_cuda_index(device), fraction < 1 ? (size_t)(fraction * (double)total) : SIZE_MAX);
}

static void host_mem_get_info(size_t *free_bytes, size_t *total_bytes) {
  size_t kilobytes;
  char line[128];
  *free_bytes = 0;
  *total_bytes = 0;
  FILE *file = fopen("/proc/meminfo", "r");
  fy_check(file, FY_OS_ERROR, "/proc/meminfo cannot be read, so the host's memory is unknown");
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "MemTotal: %zu kB", &kilobytes) == 1)
      *total_bytes = kilobytes * 1024;
    if (sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1)
      *free_bytes = kilobytes * 1024;
  }
  fclose(file);
}

void fy_mem_get_info(FyDevice device, size_t *free_bytes, size_t *total_bytes) {
  if (device.type == FY_CPU) {
    host_mem_get_info(free_bytes, total_bytes);
    return;
  }
  fy_use_device(fy_cuda_index(device));
  fy_cuda_check(fy_backend_required()->mem_get_info(free_bytes, total_bytes));
}

void fy_empty_cache(void) {
  fy_cuda_empty_cache();
  fy_pinned_empty_cache();
  fy_host_empty_cache();
}

// ---- the table -------------------------------------------------------------------------------------------------------

static void bytes_row(FILE *file, const char *label, size_t now, size_t peak) {
  char text[2][32];
  fprintf(file, "| %-30s | %14s | %14s |\n", label, fy_format_bytes(now, text[0]), fy_format_bytes(peak, text[1]));
}

static void bytes_row_now(FILE *file, const char *label, size_t now) {
  char text[32];
  fprintf(file, "| %-30s | %14s | %14s |\n", label, fy_format_bytes(now, text), "");
}

static void count_row(FILE *file, const char *label, int64_t now) {
  fprintf(file, "| %-30s | %14lld | %14s |\n", label, (long long)now, "");
}

static void rule(FILE *file) {
  fprintf(file, "|--------------------------------|----------------|----------------|\n");
}

void fy_memory_summary(void *stream, FyDevice device) {
  FILE *file = stream;
  FyMemoryStats s = fy_memory_stats(device);
  bool cuda = device.type == FY_CUDA;
  if (cuda)
    device.index = (int16_t)fy_cuda_index(device);
  fprintf(file, "Memory of %s%s\n", fy_device_name_of(device), cuda && fy_cuda_is_simulated() ? " (simulated)" : "");
  rule(file);
  fprintf(file, "| %-30s | %14s | %14s |\n", "", "now", "peak");
  rule(file);
  bytes_row(file, "allocated", s.allocated, s.allocated_peak);
  if (cuda)
    bytes_row(file, "allocated or awaiting a stream", s.active, s.active_peak);
  bytes_row_now(file, "requested", s.requested);
  bytes_row(file, cuda ? "reserved from the device" : "reserved from the system", s.reserved, s.reserved_peak);
  bytes_row_now(file, "cached (reserved, unallocated)", s.reserved - s.allocated);
  if (cuda)
    bytes_row_now(file, "of it in split segments", s.inactive_split);
  rule(file);
  count_row(file, "segments", s.segments);
  count_row(file, "blocks in use", s.active_blocks);
  if (cuda)
    count_row(file, "free blocks of split segments", s.inactive_split_blocks);
  count_row(file, "allocations", s.allocations);
  count_row(file, "frees", s.frees);
  count_row(file, cuda ? "cudaMalloc calls" : "system allocations", s.device_mallocs);
  count_row(file, cuda ? "cudaFree calls" : "system frees", s.device_frees);
  count_row(file, "retries after emptying caches", s.retries);
  count_row(file, "out of memory", s.out_of_memories);
  rule(file);
  if (cuda)
    return;
  FyMemoryStats pinned = fy_pinned_memory_stats();
  bytes_row(file, "pinned, allocated", pinned.allocated, pinned.allocated_peak);
  bytes_row(file, "pinned, reserved", pinned.reserved, pinned.reserved_peak);
  rule(file);
}
