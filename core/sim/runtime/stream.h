// SPDX-License-Identifier: MIT
// Streams: queues of nodes, each the successor of the one before.
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include <stdbool.h>

#include "sim/runtime/node.h"

// What a capture has led to so far: indices of graph nodes.
struct sim_indices {
  int *items;
  size_t count, room;
};

struct CUstream_st {
  int device;
  bool blocking; // ordered with the device's legacy stream
  unsigned int flags;
  int priority;
  struct sim_node *last;      // retained
  struct sim_node_list waits; // retained: events that the next node waits for
  struct CUgraph_st *capture; // the graph that the stream is being captured into
  bool capture_origin;        // the one cudaStreamBeginCapture was called for
  struct sim_indices capture_after;
  struct sim_tsan_fiber *tsan_fiber;
  struct CUstream_st *next;
};

// Checks a handle; 0 and cudaStreamLegacy are the current device's legacy stream.
cudaError_t sim_stream_get(cudaStream_t handle, struct CUstream_st **stream);
struct CUstream_st *sim_stream_new(int device, unsigned int flags, int priority);

// Its cudaStream_t as a number; 0: the device's legacy stream.
unsigned long long sim_stream_handle(const struct CUstream_st *stream);

// Queues the work, whose reference it takes over; in a capture, adds it to the graph. *node, if wanted, is retained,
// and NULL in a capture.
cudaError_t sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **node);

// Links a held node into the stream as its last one. sim.lock is held.
void sim_stream_append(struct CUstream_st *stream, struct sim_node *node);

// The next node of the stream will wait for `node` too (may be NULL). sim.lock is held.
void sim_stream_add_wait(struct CUstream_st *stream, struct sim_node *node);

// What sim_node_ready finds in any stream of any device. sim.lock is held.
struct sim_node *sim_streams_ready(const struct sim_node *except);

// Waits for everything queued on a device.
void sim_stream_drain(int device);

// Fails when some stream is being captured, and spoils that capture: for calls that would synchronize.
cudaError_t sim_capture_forbids(void);

#endif
