// SPDX-License-Identifier: MIT
// Counters of the work on CUDA devices: copies and their bytes, kernels, and waits of the host. Unlike times, the
// counts are the same on a simulated device and on a GPU. PyTorch shows such numbers only in a profile (torch.profiler)
// or as warnings (torch.cuda.set_sync_debug_mode).
#ifndef FERRY_DEVICE_COUNTERS_H
#define FERRY_DEVICE_COUNTERS_H

#include "base/error.h"
#include <stdint.h>

// Each operation is counted when it is enqueued. The counts are the sums over all threads and devices.
typedef struct FyCounters {
  // Copies between the host and a device, and between two devices.
  int64_t host_to_device, device_to_host, device_to_device;
  int64_t host_to_device_bytes, device_to_host_bytes, device_to_device_bytes;
  // Kernel launches of Ferry and of your program, cuBLAS calls (one each), fills (cudaMemset), copies within a device.
  int64_t launches;
  // Replays of CUDA graphs (one cudaGraphLaunch each), and the nodes that they ran. No other counter includes these
  // nodes or captured operations.
  int64_t graph_launches, graph_nodes;
  int64_t ops; // ops that ran on a device; each launches no kernel, one kernel, or several
  // Waits of the host for a device that Ferry requested: fy_synchronize, fy_item, a copy without non_blocking, ...
  int64_t synchronizations;
} FyCounters;

// Returns the counts since the program began. Any thread may call it; never raises.
FY_API FyCounters fy_counters(void);

// Returns the counts since `before` was read:
//
//   FyCounters before = fy_counters();
//   ...
//   FyCounters step = fy_counters_since(before);
//
// They include the work of other threads. Any thread may call it; never raises.
FY_API FyCounters fy_counters_since(FyCounters before);

#endif
