// Captures, and the graphs they make.
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "stream.h"

// Adds work to the graph that the stream is captured into, after what the capture has led to; takes over the reference.
// Fails when the capture is spoiled.
cudaError_t sim_graph_add(struct CUstream_st *stream, struct sim_work *work);

// Ends the capture that a stream takes part in, without a graph.
void sim_graph_abandon(struct CUstream_st *stream);

void sim_indices_assign(struct sim_indices *to, const struct sim_indices *from);

// cudaStreamWaitEvent with an event recorded in a capture: the stream joins it.
cudaError_t sim_graph_join(struct CUstream_st *stream, unsigned long long capture, const struct sim_indices *after);

// What identifies the stream's capture for as long as it lasts.
unsigned long long sim_graph_id(const struct CUstream_st *stream);

// The stream's capture becomes no graph: an operation was tried that a capture cannot take. Returns `error`.
cudaError_t sim_graph_spoil(struct CUstream_st *stream, cudaError_t error);

#endif
