// SPDX-License-Identifier: MIT
// A capture turns what is submitted to a stream into a list of work with edges, in an order that respects them; joining
// streams by events adds edges. Launching the graph makes a node of each, between two nodes of the launching stream.
#include "sim/runtime/graph.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/plugin.h"
#include "sim/runtime/tsan_fiber.h"
#include "sim/base/sim.h"

static struct CUgraph_st *captures;        // under sim.lock
static struct CUgraph_st *graphs;          // all, the newest first; under sim.lock
static struct CUgraphExec_st *executables; // those not destroyed, the newest first; under sim.lock
static unsigned long long last_id;
static __thread enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

// ---- lists ----

void sim_indices_add(struct sim_indices *list, int index) {
  if (list->count == list->room) {
    list->room = list->room ? 2 * list->room : 4;
    list->items = sim_resize(list->items, list->room * sizeof(int));
  }
  list->items[list->count++] = index;
}

void sim_indices_assign(struct sim_indices *to, const struct sim_indices *from) {
  to->count = 0;
  for (size_t i = 0; i < from->count; i++)
    sim_indices_add(to, from->items[i]);
}

void sim_graph_nodes_add(struct graph_nodes *list, const struct graph_node *node) {
  if (list->count == list->room) {
    list->room = list->room ? 2 * list->room : 16;
    list->items = sim_resize(list->items, list->room * sizeof *list->items);
  }
  struct graph_node *copy = &list->items[list->count++];
  *copy = (struct graph_node){.device = node->device, .tsan_fiber = node->tsan_fiber};
  copy->work = sim_work_retain(node->work);
  sim_indices_assign(&copy->after, &node->after);
}

static void nodes_free(struct graph_nodes *list) {
  for (size_t i = 0; i < list->count; i++) {
    sim_work_release(list->items[i].work);
    free(list->items[i].after.items);
    free(list->items[i].handle);
  }
  free(list->items);
}

// ---- capture ----

static bool is_spoiled(const struct CUgraph_st *graph) {
  sim_lock();
  bool spoiled = graph->spoiled;
  sim_unlock();
  return spoiled;
}

cudaError_t sim_graph_spoil(struct CUstream_st *stream, cudaError_t error) {
  sim_lock();
  stream->capture->spoiled = true;
  sim_unlock();
  return error;
}

cudaError_t sim_graph_add(struct CUstream_st *stream, struct sim_work *work) {
  struct CUgraph_st *graph = stream->capture;
  if (is_spoiled(graph)) {
    sim_work_release(work);
    return cudaErrorStreamCaptureInvalidated;
  }
  struct graph_node node = {stream->device, work, stream->tsan_fiber, stream->capture_after, NULL};
  sim_graph_nodes_add(&graph->nodes, &node);
  sim_work_release(work);
  stream->capture_after.count = 0;
  sim_indices_add(&stream->capture_after, (int)graph->nodes.count - 1);
  return cudaSuccess;
}

unsigned long long sim_graph_id(const struct CUstream_st *stream) {
  return stream->capture ? stream->capture->id : 0;
}

cudaError_t sim_graph_join(struct CUstream_st *stream, unsigned long long capture, const struct sim_indices *after) {
  sim_lock();
  struct CUgraph_st *graph = captures;
  while (graph && graph->id != capture)
    graph = graph->next;
  cudaError_t error = graph == NULL                                 ? cudaErrorCapturedEvent
                      : stream->capture && stream->capture != graph ? cudaErrorStreamCaptureMerge
                      : stream == sim.device[stream->device].legacy ? cudaErrorStreamCaptureUnsupported
                                                                    : cudaSuccess;
  if (error && graph)
    graph->spoiled = true;
  if (error && stream->capture)
    stream->capture->spoiled = true;
  if (!error && stream->capture == NULL) {
    stream->capture_after.count = 0;
    stream->capture = graph;
  }
  sim_unlock();
  if (error)
    return error;
  for (size_t i = 0; i < after->count; i++)
    sim_indices_add(&stream->capture_after, after->items[i]);
  return cudaSuccess;
}

cudaError_t sim_capture_forbids(void) {
  cudaError_t error = cudaSuccess;
  sim_lock();
  for (struct CUgraph_st *graph = captures; graph; graph = graph->next) {
    bool mine = pthread_equal(graph->thread, pthread_self());
    bool relaxed = graph->mode == cudaStreamCaptureModeRelaxed || thread_mode == cudaStreamCaptureModeRelaxed;
    if (relaxed || (graph->mode == cudaStreamCaptureModeThreadLocal && !mine))
      continue;
    graph->spoiled = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  sim_unlock();
  return error;
}

static bool is_mode(enum cudaStreamCaptureMode mode) {
  return mode == cudaStreamCaptureModeGlobal || mode == cudaStreamCaptureModeThreadLocal ||
         mode == cudaStreamCaptureModeRelaxed;
}

cudaError_t sim_graph_begin_capture(cudaStream_t handle, struct CUgraph_st *given, enum cudaStreamCaptureMode mode) {
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (!is_mode(mode))
    return sim_fail(cudaErrorInvalidValue);
  if (stream == sim.device[stream->device].legacy)
    return sim_fail(cudaErrorStreamCaptureUnsupported);
  if (stream->capture)
    return sim_fail(cudaErrorIllegalState);
  struct CUgraph_st *graph = given ? given : sim_graph_new();
  sim_lock();
  graph->mode = mode;
  graph->thread = pthread_self();
  graph->borrowed = given != NULL;
  graph->id = ++last_id;
  graph->next = captures;
  captures = graph;
  stream->capture = graph;
  stream->capture_origin = true;
  stream->capture_after.count = 0;
  sim_unlock();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode) {
  SIM_TRY(sim_enter());
  return sim_graph_begin_capture(handle, NULL, mode);
}

struct CUgraph_st *sim_graph_new(void) {
  struct CUgraph_st *graph = sim_allocate(sizeof *graph);
  *graph = (struct CUgraph_st){0};
  sim_lock();
  graph->next_graph = graphs;
  graphs = graph;
  sim_unlock();
  return graph;
}

// What points to it in the list, or to the list's end where it is not among them. sim.lock is held.
static struct CUgraph_st **find_graph(const struct CUgraph_st *graph) {
  struct CUgraph_st **at = &graphs;
  while (*at && *at != graph)
    at = &(*at)->next_graph;
  return at;
}

bool sim_graph_exists(const struct CUgraph_st *graph) {
  sim_lock();
  const bool found = *find_graph(graph) != NULL;
  sim_unlock();
  return found;
}

void sim_graph_free(struct CUgraph_st *graph) {
  sim_lock();
  *find_graph(graph) = graph->next_graph;
  sim_unlock();
  nodes_free(&graph->nodes);
  free(graph->parted.items);
  free(graph);
}

// Takes every stream out of the capture; true when each one's work leads back to `origin`.
static bool end_capture_of_streams(struct CUgraph_st *graph, const struct CUstream_st *origin) {
  bool *joined = sim_allocate(graph->nodes.count + 1);
  memset(joined, 0, graph->nodes.count + 1);
  for (size_t i = 0; i < origin->capture_after.count; i++)
    joined[origin->capture_after.items[i]] = true;
  for (size_t n = graph->nodes.count; n-- > 0;) // edges lead to smaller indices
    for (size_t i = 0; joined[n] && i < graph->nodes.items[n].after.count; i++)
      joined[graph->nodes.items[n].after.items[i]] = true;
  bool all = true;
  for (size_t i = 0; i < graph->parted.count; i++)
    all = all && joined[graph->parted.items[i]];
  sim_lock();
  for (int device = 0; device < sim.config.devices; device++)
    for (struct CUstream_st *stream = sim.device[device].streams; stream; stream = stream->next) {
      if (stream->capture != graph)
        continue;
      for (size_t i = 0; i < stream->capture_after.count; i++)
        all = all && joined[stream->capture_after.items[i]];
      stream->capture = NULL;
      stream->capture_origin = false;
      stream->capture_after.count = 0;
    }
  struct CUgraph_st **link = &captures;
  while (*link != graph)
    link = &(*link)->next;
  *link = graph->next;
  sim_unlock();
  free(joined);
  return all;
}

void sim_graph_abandon(struct CUstream_st *stream) {
  struct CUgraph_st *graph = stream->capture;
  end_capture_of_streams(graph, stream);
  if (!graph->borrowed)
    sim_graph_free(graph);
}

void sim_graph_part(struct CUstream_st *stream) {
  for (size_t i = 0; i < stream->capture_after.count; i++)
    sim_indices_add(&stream->capture->parted, stream->capture_after.items[i]);
  sim_lock();
  stream->capture = NULL;
  stream->capture_after.count = 0;
  sim_unlock();
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *result) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (stream->capture == NULL || (result == NULL && !stream->capture->borrowed))
    return sim_fail(cudaErrorIllegalState);
  if (!stream->capture_origin)
    return sim_fail(cudaErrorStreamCaptureUnmatched);
  struct CUgraph_st *graph = stream->capture;
  bool joined = end_capture_of_streams(graph, stream);
  if (graph->spoiled || !joined) {
    cudaError_t error = graph->spoiled ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined;
    if (!graph->borrowed)
      sim_graph_free(graph);
    if (result)
      *result = NULL;
    return sim_fail(error);
  }
  graph->handed_out = true;
  if (result)
    *result = graph;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (status == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *status = !stream->capture              ? cudaStreamCaptureStatusNone
            : is_spoiled(stream->capture) ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
  if (id && stream->capture)
    *id = stream->capture->id;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status) {
  return cudaStreamGetCaptureInfo(handle, status, NULL);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  SIM_TRY(sim_enter());
  if (mode == NULL || !is_mode(*mode))
    return sim_fail(cudaErrorInvalidValue);
  enum cudaStreamCaptureMode before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return cudaSuccess;
}

// ---- graphs ----

// What points to it in the list, or to the list's end where it is not among them. sim.lock is held.
static struct CUgraphExec_st **find_executable(const struct CUgraphExec_st *exec) {
  struct CUgraphExec_st **at = &executables;
  while (*at && *at != exec)
    at = &(*at)->next;
  return at;
}

bool sim_graph_is_executable(const struct CUgraphExec_st *exec) {
  sim_lock();
  const bool found = *find_executable(exec) != NULL;
  sim_unlock();
  return found;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  SIM_TRY(sim_enter());
  if (flags == cudaGraphInstantiateFlagDeviceLaunch)
    return sim_fail(cudaErrorNotSupported);
  // ...FlagUpload is one of cudaGraphInstantiateWithParams, which names the stream for it.
  SIM_TRY(sim_known_flags(flags, cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUseNodePriority));
  if (exec == NULL || !sim_graph_exists(graph))
    return sim_fail(cudaErrorInvalidValue);
  int *order = sim_allocate((graph->nodes.count + 1) * sizeof *order);
  if (!sim_graph_order(&graph->nodes, order)) {
    free(order);
    return sim_fail(cudaErrorInvalidValue);
  }
  *exec = sim_allocate(sizeof **exec);
  **exec = (struct CUgraphExec_st){.order = order};
  for (size_t i = 0; i < graph->nodes.count; i++)
    sim_graph_nodes_add(&(*exec)->nodes, &graph->nodes.items[i]);
  sim_lock();
  (*exec)->next = executables;
  executables = *exec;
  sim_unlock();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

// The nodes of one launch: nodes[0] in the stream, one per graph node, and the last in the stream again.
static void make_nodes(const struct graph_nodes *graph, struct CUstream_st *stream, struct sim_node **nodes) {
  nodes[0] = sim_node_new(stream->device, NULL, stream->tsan_fiber);
  nodes[graph->count + 1] = sim_node_new(stream->device, NULL, stream->tsan_fiber);
  for (size_t i = 0; i < graph->count; i++) {
    const struct graph_node *g = &graph->items[i];
    nodes[i + 1] = sim_node_new(g->device, sim_work_retain(g->work), g->tsan_fiber);
    SIM_NOTIFY(node_in_graph, (nodes[i + 1]));
  }
}

// Links them. sim.lock is held.
static void link_nodes(const struct CUgraphExec_st *exec, struct CUstream_st *stream, struct sim_node **nodes) {
  const struct graph_nodes *graph = &exec->nodes;
  size_t count = graph->count;
  sim_stream_append(stream, nodes[0]);
  for (size_t i = 0; i < count; i++) {
    const struct graph_node *g = &graph->items[i];
    struct sim_node *node = nodes[i + 1];
    if (g->after.count == 0)
      sim_node_after(node, nodes[0]);
    for (size_t j = 0; j < g->after.count; j++)
      sim_node_after(node, nodes[g->after.items[j] + 1]);
    sim_node_after(nodes[count + 1], node);
  }
  for (size_t i = 0; i < count; i++) // each after those that it waits for
    sim_node_unhold(nodes[exec->order[i] + 1]);
  sim_stream_append(stream, nodes[count + 1]);
}

// Counts one more execution of each node's work, without notifying plugins: the host has not made a call for each.
static void count_works(const struct graph_nodes *graph) {
  sim_count_quietly(true);
  for (size_t i = 0; i < graph->count; i++)
    if (graph->items[i].work->count)
      graph->items[i].work->count(graph->items[i].work);
  sim_count_quietly(false);
}

// Before they are linked: they are still held, so none has run.
static void notify_queued(size_t count, struct sim_node **nodes, const struct CUstream_st *stream) {
  const struct sim_node *first = NULL;
  for (size_t i = 1; i <= count; i++) {
    if (!nodes[i]->work->describe)
      continue;
    SIM_NOTIFY(node_queuing, (nodes[i], sim_stream_handle(stream), first ? first : nodes[i]));
    SIM_NOTIFY(node_queued, (nodes[i], 0));
    first = first ? first : nodes[i];
  }
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (!sim_graph_is_executable(exec))
    return sim_fail(cudaErrorInvalidValue);
  if (stream->capture)
    return sim_fail(cudaErrorStreamCaptureUnsupported);
  SIM_TRY(sim_sticky(stream->device));
  sim_worker_start();
  size_t count = exec->nodes.count + 2;
  struct sim_node **nodes = sim_allocate(count * sizeof(struct sim_node *));
  make_nodes(&exec->nodes, stream, nodes);
  SIM_NOTIFY(call_made, (true));
  count_works(&exec->nodes);
  notify_queued(exec->nodes.count, nodes, stream);
  bool sync = sim.config.mode == SIM_SYNC;
  if (sync)
    sim_execution_lock();
  sim_lock();
  link_nodes(exec, stream, nodes);
  sim_unlock();
  sim_node_run_if_sync(nodes[0]);
  for (size_t i = 0; i + 2 < count; i++)
    sim_node_run_if_sync(nodes[exec->order[i] + 1]);
  sim_node_run_if_sync(nodes[count - 1]);
  for (size_t i = 0; i < count; i++)
    sim_node_release(nodes[i]);
  if (sync)
    sim_execution_unlock();
  free(nodes);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  SIM_TRY(sim_enter());
  if (!sim_graph_exists(graph) || count == NULL)
    return sim_fail(cudaErrorInvalidValue);
  size_t wanted = nodes ? *count : 0;
  for (size_t i = 0; i < wanted; i++)
    nodes[i] = i < graph->nodes.count ? sim_graph_handle(graph, i) : NULL;
  if (nodes == NULL || *count > graph->nodes.count)
    *count = graph->nodes.count;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  SIM_TRY(sim_enter());
  sim_lock();
  struct CUgraphExec_st **at = find_executable(exec);
  const bool found = *at != NULL;
  if (found)
    *at = exec->next;
  sim_unlock();
  if (!found)
    return sim_fail(cudaErrorInvalidValue);
  nodes_free(&exec->nodes);
  free(exec->order);
  free(exec);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  SIM_TRY(sim_enter());
  sim_lock();
  bool good = *find_graph(graph) != NULL && graph->handed_out;
  for (const struct CUgraph_st *capture = captures; good && capture; capture = capture->next)
    good = capture != graph;
  sim_unlock();
  if (!good)
    return sim_fail(cudaErrorInvalidValue);
  sim_graph_free(graph);
  return cudaSuccess;
}
