// SPDX-License-Identifier: MIT
// How often something crossed the bus, was launched or waited for. Tests and lessons read it.
#include "device/impl.h"
#include <string.h>

enum { KINDS = 4 }; // FY_COPY_... are 1 to 3

static _Atomic int64_t copies[KINDS];
static _Atomic int64_t copied_bytes[KINDS];
static _Atomic int64_t launches, ops;
static _Atomic int64_t graph_launches, graph_nodes;
static _Atomic int64_t synchronizations;

static void add(_Atomic int64_t *counter, int64_t n) {
  atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static int64_t read_of(_Atomic int64_t *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

void fy_count_copy(int kind, size_t bytes) {
  add(&copies[kind], 1);
  add(&copied_bytes[kind], (int64_t)bytes);
}

void fy_count_synchronization(void) {
  add(&synchronizations, 1);
}

void fy_count_launch(void) {
  add(&launches, 1);
}

void fy_count_op(void) {
  add(&ops, 1);
}

void fy_count_graph_launch(int64_t nodes) {
  add(&graph_launches, 1);
  add(&graph_nodes, nodes);
}

FyCounters fy_counters(void) {
  return (FyCounters){
      .host_to_device = read_of(&copies[FY_COPY_HOST_TO_DEVICE]),
      .device_to_host = read_of(&copies[FY_COPY_DEVICE_TO_HOST]),
      .device_to_device = read_of(&copies[FY_COPY_DEVICE_TO_DEVICE]),
      .host_to_device_bytes = read_of(&copied_bytes[FY_COPY_HOST_TO_DEVICE]),
      .device_to_host_bytes = read_of(&copied_bytes[FY_COPY_DEVICE_TO_HOST]),
      .device_to_device_bytes = read_of(&copied_bytes[FY_COPY_DEVICE_TO_DEVICE]),
      .launches = read_of(&launches),
      .ops = read_of(&ops),
      .graph_launches = read_of(&graph_launches),
      .graph_nodes = read_of(&graph_nodes),
      .synchronizations = read_of(&synchronizations),
  };
}

FyCounters fy_counters_since(FyCounters before) {
  FyCounters now = fy_counters();
  return (FyCounters){
      .host_to_device = now.host_to_device - before.host_to_device,
      .device_to_host = now.device_to_host - before.device_to_host,
      .device_to_device = now.device_to_device - before.device_to_device,
      .host_to_device_bytes = now.host_to_device_bytes - before.host_to_device_bytes,
      .device_to_host_bytes = now.device_to_host_bytes - before.device_to_host_bytes,
      .device_to_device_bytes = now.device_to_device_bytes - before.device_to_device_bytes,
      .launches = now.launches - before.launches,
      .graph_launches = now.graph_launches - before.graph_launches,
      .graph_nodes = now.graph_nodes - before.graph_nodes,
      .ops = now.ops - before.ops,
      .synchronizations = now.synchronizations - before.synchronizations,
  };
}
