// SPDX-License-Identifier: MIT
// Captures, and the graphs they make.
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include <pthread.h>

#include "sim/runtime/stream.h"

struct graph_node {
  int device;
  struct sim_work *work; // retained
  struct sim_tsan_fiber *tsan_fiber;
  struct sim_indices after;
  struct CUgraphNode_st *handle; // owned; NULL until it is asked for
};

struct graph_nodes {
  struct graph_node *items;
  size_t count, room;
};

// What a cudaGraphNode_t points to; it stays where it is while the graph grows.
struct CUgraphNode_st {
  struct CUgraph_st *graph;
  size_t index;
};

struct CUgraph_st {
  struct graph_nodes nodes;
  unsigned long long id;
  enum cudaStreamCaptureMode mode;
  pthread_t thread; // that began the capture
  bool spoiled;
  bool borrowed;             // captured into by cudaStreamBeginCaptureToGraph: it is the program's
  bool handed_out;           // the program destroys it; otherwise it belongs to a capture or to a node
  struct sim_indices parted; // where streams that joined and are destroyed had come to
  struct CUgraph_st *next;   // captures in progress
  struct CUgraph_st *next_graph;
};

struct CUgraphExec_st {
  struct graph_nodes nodes; // at the indices that they have in the graph
  int *order;               // owned: one in which each node comes after those that it waits for
  struct CUgraphExec_st *next;
};

// True if the handle was created and not destroyed. It may be any pointer: a program that misses an error passes an
// uninitialized variable.
bool sim_graph_is_executable(const struct CUgraphExec_st *exec);
bool sim_graph_exists(const struct CUgraph_st *graph);

void sim_indices_add(struct sim_indices *list, int index);
void sim_graph_nodes_add(struct graph_nodes *list, const struct graph_node *node); // a copy, without a handle
struct CUgraph_st *sim_graph_new(void);
void sim_graph_free(struct CUgraph_st *graph);

// graph_nodes.c. The node's handle; an order that respects the edges: false where they make a circle.
struct CUgraphNode_st *sim_graph_handle(struct CUgraph_st *graph, size_t index);
bool sim_graph_order(const struct graph_nodes *nodes, int *order);
bool sim_graph_owns(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count);

// The stream is captured into the graph from now on; NULL: into a new one.
cudaError_t sim_graph_begin_capture(cudaStream_t stream, struct CUgraph_st *graph, enum cudaStreamCaptureMode mode);

// Adds work to the graph that the stream is captured into, after what the capture has led to; takes over the reference.
// Fails when the capture is spoiled.
cudaError_t sim_graph_add(struct CUstream_st *stream, struct sim_work *work);

// Ends the capture that a stream takes part in, without a graph.
void sim_graph_abandon(struct CUstream_st *stream);

// A stream that has joined a capture leaves it; the capture must still join its last nodes.
void sim_graph_part(struct CUstream_st *stream);

void sim_indices_assign(struct sim_indices *to, const struct sim_indices *from);

// cudaStreamWaitEvent with an event recorded in a capture: the stream joins it.
cudaError_t sim_graph_join(struct CUstream_st *stream, unsigned long long capture, const struct sim_indices *after);

// What identifies the stream's capture for as long as it lasts.
unsigned long long sim_graph_id(const struct CUstream_st *stream);

// The stream's capture becomes no graph: an operation was tried that a capture cannot take. Returns `error`.
cudaError_t sim_graph_spoil(struct CUstream_st *stream, cudaError_t error);

#endif
