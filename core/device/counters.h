// SPDX-License-Identifier: MIT
// What was done with CUDA devices, counted: copies and their bytes, kernels, waits. Unlike times, counts are the same on a
// simulated device and on a GPU. PyTorch shows such numbers only in a profile (torch.profiler) or as warnings
// (torch.cuda.set_sync_debug_mode).
#ifndef FERRY_DEVICE_COUNTERS_H
#define FERRY_DEVICE_COUNTERS_H

#include "base/error.h"
#include <stdint.h>

// Each is counted when it was queued, for all threads and devices together.
typedef struct FyCounters {
  // Copies between the host and a device, and between two devices.
  int64_t host_to_device, device_to_host, device_to_device;
  int64_t host_to_device_bytes, device_to_host_bytes, device_to_device_bytes;
  // Kernels started: Ferry's and a program's own, cuBLAS calls (one each), fills (cudaMemset), copies within one device.
  int64_t launches;
  // Replays of CUDA graphs (one cudaGraphLaunch each), and what they ran: nothing else here counts that, nor what is captured.
  int64_t graph_launches, graph_nodes;
  int64_t ops; // ops that ran on a device: each starts no kernel, one, or several
  // Waits of the host for a device that Ferry asked for: fy_synchronize, fy_item, a copy that is not non-blocking, ...
  int64_t synchronizations;
} FyCounters;

// The counts since the program began. Any thread; never raises.
FY_API FyCounters fy_counters(void);

// The counts since `before` was read: `FyCounters before = fy_counters(); ...; FyCounters step = fy_counters_since(before);`.
// What other threads did meanwhile is among them. Any thread; never raises.
FY_API FyCounters fy_counters_since(FyCounters before);

#endif
