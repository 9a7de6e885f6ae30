// SPDX-License-Identifier: MIT
// Conditional nodes (if, switch, while): each has graphs of its own and decides which of them runs, and how often. The thread
// that runs such a node runs the nodes of its graphs, one after another.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cudasim_graph.h"
#include "sim/runtime/graph.h"
#include "sim/base/sim.h"

// Kept until the program ends: kernels have handles as mere numbers.
struct cudasim_conditional {
  unsigned int value, initial;
  bool assigned; // each launch begins with `initial`
};

struct conditional_work {
  struct sim_work base;
  struct cudasim_conditional *condition;
  enum cudaGraphConditionalNodeType type;
  unsigned int count;
  struct CUgraph_st *body[CUDASIM_MAX_BODIES]; // owned
};

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                             unsigned int initial, unsigned int flags) {
  SIM_TRY(sim_enter());
  if (handle == NULL || !sim_graph_exists(graph) || flags > cudaGraphCondAssignDefault)
    return sim_fail(cudaErrorInvalidValue);
  struct cudasim_conditional *condition = sim_allocate(sizeof *condition);
  *condition = (struct cudasim_conditional){initial, initial, flags == cudaGraphCondAssignDefault};
  *handle = (cudaGraphConditionalHandle)(uintptr_t)condition;
  return cudaSuccess;
}

void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value) {
  __atomic_store_n(&((struct cudasim_conditional *)(uintptr_t)handle)->value, value, __ATOMIC_RELAXED);
}

// Once, or, with `again`, until that is 0.
static cudaError_t run_graph(const struct graph_nodes *nodes, const unsigned int *again) {
  int *order = sim_allocate((nodes->count + 1) * sizeof *order);
  cudaError_t error = sim_graph_order(nodes, order) ? cudaSuccess : cudaErrorInvalidValue;
  sim_count_quietly(true);
  do {
    for (size_t i = 0; i < nodes->count && error == cudaSuccess; i++) {
      struct sim_work *work = nodes->items[order[i]].work;
      if (work->count)
        work->count(work);
      error = work->run(work);
    }
  } while (error == cudaSuccess && again && *again != 0);
  sim_count_quietly(false);
  free(order);
  return error;
}

static cudaError_t run_conditional(struct sim_work *base) {
  const struct conditional_work *work = (const struct conditional_work *)base;
  unsigned int *value = &work->condition->value;
  cudaError_t error = cudaSuccess;
  if (work->type == cudaGraphCondTypeWhile) {
    if (*value != 0)
      error = run_graph(&work->body[0]->nodes, value);
  } else {
    const unsigned int chosen = work->type == cudaGraphCondTypeSwitch ? *value : *value == 0;
    if (chosen < work->count)
      error = run_graph(&work->body[chosen]->nodes, NULL);
  }
  if (work->condition->assigned) // for the next launch
    *value = work->condition->initial;
  return error;
}

static void destroy_conditional(struct sim_work *base) {
  struct conditional_work *work = (struct conditional_work *)base;
  for (unsigned int i = 0; i < work->count; i++)
    sim_graph_free(work->body[i]);
}

cudaError_t cudasim_graph_add_conditional(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          size_t count, struct cudaConditionalNodeParams *params) {
  const unsigned int most = params->type == cudaGraphCondTypeWhile ? 1
                            : params->type == cudaGraphCondTypeIf  ? 2
                                                                   : CUDASIM_MAX_BODIES;
  if (params->handle == 0 || params->size < 1 || params->size > most)
    return sim_fail(cudaErrorInvalidValue);
  cudaStream_t stream;
  const size_t before = cudasim_graph_size(graph);
  SIM_TRY(cudasim_graph_node_begin(graph, after, count, &stream));
  struct conditional_work *work = sim_work_new(sizeof *work, run_conditional, destroy_conditional);
  work->condition = (struct cudasim_conditional *)(uintptr_t)params->handle;
  work->type = params->type;
  work->count = params->size;
  for (unsigned int i = 0; i < params->size; i++) {
    SIM_TRY(cudaGraphCreate(&work->body[i], 0));
    work->body[i]->handed_out = false;
  }
  params->phGraph_out = work->body;
  return cudasim_graph_node_end(stream, before, sim_graph_add(stream, &work->base), node);
}

// ---- captures into a graph, and what they have led to ----

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode) {
  SIM_TRY(sim_enter());
  if (!sim_graph_exists(graph) || edges != NULL || !sim_graph_owns(graph, after, count))
    return sim_fail(cudaErrorInvalidValue);
  SIM_TRY(sim_graph_begin_capture(handle, graph, mode));
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  for (size_t i = 0; i < count; i++)
    sim_indices_add(&stream->capture_after, (int)after[i]->index);
  return cudaSuccess;
}

cudaError_t cudasim_capture_nodes(cudaStream_t handle, cudaGraph_t *graph, cudaGraphNode_t *nodes, size_t *count) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  *graph = stream->capture;
  for (size_t i = 0; i < stream->capture_after.count && i < *count; i++)
    nodes[i] = sim_graph_handle(stream->capture, (size_t)stream->capture_after.items[i]);
  *count = stream->capture ? stream->capture_after.count : 0;
  return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t *after,
                                                const cudaGraphEdgeData *edges, size_t count, unsigned int flags) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (stream->capture == NULL)
    return sim_fail(cudaErrorIllegalState);
  if (edges != NULL || flags > cudaStreamSetCaptureDependencies || !sim_graph_owns(stream->capture, after, count))
    return sim_fail(cudaErrorInvalidValue);
  if (flags == cudaStreamSetCaptureDependencies)
    stream->capture_after.count = 0;
  for (size_t i = 0; i < count; i++)
    sim_indices_add(&stream->capture_after, (int)after[i]->index);
  return cudaSuccess;
}
