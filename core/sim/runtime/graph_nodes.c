// SPDX-License-Identifier: MIT
// Graphs built node by node. To add a node, a stream is captured into the graph, after the node's dependencies, while the
// stream's operation of that kind is queued.
#include <stdlib.h>

#include "cudasim_graph.h"
#include "sim/runtime/graph.h"
#include "sim/base/sim.h"

struct CUgraphNode_st *sim_graph_handle(struct CUgraph_st *graph, size_t index) {
  struct graph_node *node = &graph->nodes.items[index];
  if (node->handle == NULL) {
    node->handle = sim_allocate(sizeof *node->handle);
    *node->handle = (struct CUgraphNode_st){graph, index};
  }
  return node->handle;
}

bool sim_graph_order(const struct graph_nodes *nodes, int *order) {
  bool *placed = sim_allocate(nodes->count + 1);
  size_t count = 0, before;
  for (size_t i = 0; i < nodes->count; i++)
    placed[i] = false;
  do {
    before = count;
    for (size_t i = 0; i < nodes->count; i++) {
      bool ready = !placed[i];
      for (size_t j = 0; ready && j < nodes->items[i].after.count; j++)
        ready = placed[nodes->items[i].after.items[j]];
      if (ready) {
        placed[i] = true;
        order[count++] = (int)i;
      }
    }
  } while (count != before);
  free(placed);
  return count == nodes->count;
}

bool sim_graph_owns(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (nodes == NULL || nodes[i] == NULL || nodes[i]->graph != graph)
      return false;
  return true;
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags) {
  SIM_TRY(sim_enter());
  if (graph == NULL || flags != 0)
    return sim_fail(cudaErrorInvalidValue);
  *graph = sim_graph_new();
  (*graph)->mode = cudaStreamCaptureModeRelaxed;
  (*graph)->thread = pthread_self();
  (*graph)->handed_out = true;
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
  if (clone == NULL || !sim_graph_exists(graph))
    return sim_fail(cudaErrorInvalidValue);
  SIM_TRY(cudaGraphCreate(clone, 0));
  for (size_t i = 0; i < graph->nodes.count; i++)
    sim_graph_nodes_add(&(*clone)->nodes, &graph->nodes.items[i]);
  return cudaSuccess;
}

cudaError_t cudasim_graph_node_begin(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                     cudaStream_t *stream) {
  SIM_TRY(sim_enter());
  if (!sim_graph_exists(graph) || !sim_graph_owns(graph, after, count))
    return sim_fail(cudaErrorInvalidValue);
  SIM_TRY(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  for (size_t i = 0; i < count; i++)
    sim_indices_add(&(*stream)->capture_after, (int)after[i]->index);
  sim_lock();
  (*stream)->capture = graph;
  sim_unlock();
  return cudaSuccess;
}

// An operation of no bytes queues nothing, yet the node is there.
static cudaError_t nothing(struct sim_work *work) {
  (void)work;
  return cudaSuccess;
}

cudaError_t cudasim_graph_node_end(cudaStream_t stream, size_t before, cudaError_t error, cudaGraphNode_t *node) {
  struct CUgraph_st *graph = stream->capture;
  if (error == cudaSuccess && graph->nodes.count == before)
    error = sim_graph_add(stream, sim_work_new(sizeof(struct sim_work), nothing, NULL));
  sim_lock();
  stream->capture = NULL;
  stream->capture_after.count = 0;
  sim_unlock();
  (void)cudaStreamDestroy(stream);
  if (error == cudaSuccess && node)
    *node = sim_graph_handle(graph, graph->nodes.count - 1);
  return sim_fail(error);
}

size_t cudasim_graph_size(cudaGraph_t graph) {
  return sim_graph_exists(graph) ? graph->nodes.count : 0;
}

cudaError_t cudasim_graph_replace(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t other) {
  if (node == NULL || other->nodes.count != 1 ||
      (exec && (!sim_graph_is_executable(exec) || node->index >= exec->nodes.count)))
    return sim_fail(cudaErrorInvalidValue);
  struct graph_node *target = exec ? &exec->nodes.items[node->index] : &node->graph->nodes.items[node->index];
  if ((target->work->describe == NULL) != (other->nodes.items[0].work->describe == NULL))
    return sim_fail(cudaErrorInvalidValue);
  sim_work_release(target->work);
  target->work = sim_work_retain(other->nodes.items[0].work);
  return cudaSuccess;
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child) {
  SIM_TRY(sim_enter());
  if (!sim_graph_exists(graph) || !sim_graph_exists(child) || child == graph || !sim_graph_owns(graph, after, count))
    return sim_fail(cudaErrorInvalidValue);
  const size_t first = graph->nodes.count;
  for (size_t i = 0; i < child->nodes.count; i++) {
    const struct graph_node *source = &child->nodes.items[i];
    struct graph_node copy = {.device = source->device, .work = source->work, .tsan_fiber = source->tsan_fiber};
    for (size_t j = 0; j < source->after.count; j++)
      sim_indices_add(&copy.after, source->after.items[j] + (int)first);
    for (size_t j = 0; source->after.count == 0 && j < count; j++)
      sim_indices_add(&copy.after, (int)after[j]->index);
    sim_graph_nodes_add(&graph->nodes, &copy);
    free(copy.after.items);
  }
  cudaStream_t stream;
  SIM_TRY(cudasim_graph_node_begin(graph, child->nodes.count ? NULL : after, child->nodes.count ? 0 : count, &stream));
  for (size_t i = first; i < graph->nodes.count; i++) // the node itself comes after all of the child's
    sim_indices_add(&stream->capture_after, (int)i);
  return cudasim_graph_node_end(stream, graph->nodes.count, cudaSuccess, node);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count) {
  SIM_TRY(sim_enter());
  if (!sim_graph_exists(graph) || !sim_graph_owns(graph, from, count) || !sim_graph_owns(graph, to, count))
    return sim_fail(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; i++) {
    if (from[i] == to[i])
      return sim_fail(cudaErrorInvalidValue);
    sim_indices_add(&graph->nodes.items[to[i]->index].after, (int)from[i]->index);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  SIM_TRY(sim_enter());
  if (!sim_graph_exists(graph) || count == NULL)
    return sim_fail(cudaErrorInvalidValue);
  size_t found = 0;
  for (size_t i = 0; i < graph->nodes.count; i++)
    if (graph->nodes.items[i].after.count == 0) {
      if (nodes && found < *count)
        nodes[found] = sim_graph_handle(graph, i);
      found++;
    }
  *count = nodes && *count < found ? *count : found;
  return cudaSuccess;
}

static bool same_edges(const struct graph_nodes *a, const struct graph_nodes *b) {
  if (a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++) {
    const struct sim_indices *x = &a->items[i].after, *y = &b->items[i].after;
    if (x->count != y->count || (a->items[i].work->describe == NULL) != (b->items[i].work->describe == NULL))
      return false;
    for (size_t j = 0; j < x->count; j++)
      if (x->items[j] != y->items[j])
        return false;
  }
  return true;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result) {
  SIM_TRY(sim_enter());
  if (!sim_graph_is_executable(exec) || !sim_graph_exists(graph) || result == NULL)
    return sim_fail(cudaErrorInvalidValue);
  const bool same = same_edges(&exec->nodes, &graph->nodes);
  *result = (cudaGraphExecUpdateResultInfo){.result = same ? cudaGraphExecUpdateSuccess
                                                           : cudaGraphExecUpdateErrorTopologyChanged};
  if (!same)
    return sim_fail(cudaErrorGraphExecUpdateFailure);
  for (size_t i = 0; i < exec->nodes.count; i++) {
    sim_work_release(exec->nodes.items[i].work);
    exec->nodes.items[i].work = sim_work_retain(graph->nodes.items[i].work);
  }
  return cudaSuccess;
}
