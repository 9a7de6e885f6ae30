// SPDX-License-Identifier: MIT
// Captures and graphs. Where captured code allocates is the caching allocator's business (caching_pools.c).
#include "device/capture.h"
#include "device/impl.h"
#include <pthread.h>
#include <stdlib.h>

void (*fy_before_capture)(FyCudaGraph *graph, int device);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_pool[2];
static FyStream *capture_streams[FY_MAX_DEVICES]; // counted

// ---- what belongs to a graph -----------------------------------------------------------------------------------------

static void forget_contents(FyCudaGraph *graph) {
  while (graph->parts) {
    FyGraphPart *part = graph->parts;
    graph->parts = part->next;
    fy_release(part);
  }
  while (graph->blocks) {
    FyKeptBlock *kept = graph->blocks;
    graph->blocks = kept->next;
    fy_cuda_free(kept->block);
    free(kept);
  }
  for (int d = 0; graph->pool_devices >> d; d++)
    if (graph->pool_devices >> d & 1)
      fy_allocator_release_pool(d, graph->pool);
  graph->pool_devices = 0;
  graph->nodes = 0;
}

// Allowed while other captures go on, so that a graph may die at any time.
static void destroy_ready(void *ready) {
  const FyBackend *backend = fy_backend();
  if (!ready)
    return;
  int before = fy_set_capture_mode(FY_CAPTURE_RELAXED);
  if (backend->graph_destroy(ready) != 0)
    backend->last_error();
  fy_set_capture_mode(before);
}

void fy_cuda_graph_reset(FyCudaGraph *graph) {
  if (!graph || graph->capture)
    return;
  destroy_ready(graph->ready);
  graph->ready = NULL;
  forget_contents(graph);
}

static void destroy(void *object) {
  fy_cuda_graph_reset(object);
  free(object);
}

FyCudaGraph *fy_cuda_graph_new(void) {
  return fy_object_new(sizeof(FyCudaGraph), destroy);
}

static FyPoolId new_pool(int kind) {
  FyPoolId id = {{0, 0}};
  pthread_mutex_lock(&lock);
  id.id[kind] = ++last_pool[kind];
  pthread_mutex_unlock(&lock);
  return id;
}

FyPoolId fy_cuda_graph_pool_handle(void) {
  return new_pool(1);
}

FyPoolId fy_cuda_graph_pool(const FyCudaGraph *graph) {
  fy_check(graph && graph->ready, FY_RUNTIME_ERROR, "Called CUDAGraph::pool() without a preceding successful capture.");
  return graph->pool;
}

int64_t fy_cuda_graph_node_count(const FyCudaGraph *graph) {
  return graph && graph->ready ? (int64_t)graph->nodes : 0;
}

FyGraphPart *fy_graph_part(const FyCudaGraph *graph, const void *key) {
  FyGraphPart *part = graph->parts;
  while (part && part->key != key)
    part = part->next;
  return part;
}

void fy_graph_add_part(FyCudaGraph *graph, FyGraphPart *part) {
  part->next = graph->parts;
  graph->parts = fy_retain(part);
}

// ---- capturing -------------------------------------------------------------------------------------------------------

// One stream for all captures of a device that name none: blocks are found again by their stream, so graphs that share a pool
// can only use each other's memory on the same one.
static FyStream *capture_stream(int device) {
  pthread_mutex_lock(&lock);
  FyStream *stream = capture_streams[device];
  pthread_mutex_unlock(&lock);
  if (stream)
    return stream;
  int scope = fy_scope_open();
  stream = fy_retain(fy_stream_new(fy_cuda_device(device), 0));
  fy_scope_close(scope);
  pthread_mutex_lock(&lock);
  FyStream *there = capture_streams[device];
  if (!there)
    capture_streams[device] = stream;
  pthread_mutex_unlock(&lock);
  if (there)
    fy_release(stream);
  return there ? there : stream;
}

static void begin(FyCudaGraph *graph, FyStream *stream, int mode) {
  const FyBackend *backend = fy_backend_required();
  bool valid;
  fy_use_device(graph->device);
  fy_cuda_check(backend->capture_begin(stream->raw, mode));
  int error = backend->capture_info(stream->raw, &graph->capture, &valid);
  if (error || !graph->capture)
    fy_panic("a stream that is being captured does not say so");
  graph->stream = fy_retain(stream);
  fy_capture_list_add(graph);
  fy_forget_blas_streams();
}

FyCaptureGuard fy_capture_guard_open(FyCudaGraphCapture o) {
  FyCudaGraph *graph = o.graph;
  fy_check(graph, FY_TYPE_ERROR, "fy_cuda_graph_capture: the graph is NULL; fy_cuda_graph_new() makes one");
  fy_check(!graph->ready && !graph->capture, FY_RUNTIME_ERROR,
           "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.");
  int device = o.stream ? o.stream->device : fy_cuda_current_device();
  FyStream *stream = o.stream ? o.stream : capture_stream(device);
  fy_check(stream->raw, FY_RUNTIME_ERROR,
           "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on "
           "the default stream.)");
  FyPoolId pool = o.pool.id[0] || o.pool.id[1] ? o.pool : new_pool(0);
  fy_check(!fy_captures_to(pool), FY_RUNTIME_ERROR, "beginAllocateToPool: already recording to mempool_id");
  fy_synchronize(fy_cuda_device(device));
  fy_empty_cache();
  forget_contents(graph); // of a capture that came to nothing before it began
  graph->device = device;
  graph->pool = pool;
  if (fy_before_capture)
    fy_before_capture(graph, device);
  FyCaptureGuard guard = {.graph = graph, .stream = fy_stream_guard_open(stream), .open = true};
  static const int modes[] = {[FY_CAPTURE_ERRORS_GLOBAL] = FY_CAPTURE_GLOBAL,
                              [FY_CAPTURE_ERRORS_THREAD_LOCAL] = FY_CAPTURE_THREAD_LOCAL,
                              [FY_CAPTURE_ERRORS_RELAXED] = FY_CAPTURE_RELAXED};
  begin(graph, stream, modes[o.error_mode]);
  return guard;
}

// Ends the thread's innermost capture; an error, or NULL in graph->ready, says that it has become no graph.
static int end(FyCudaGraph *graph) {
  const FyBackend *backend = fy_backend();
  int error = fy_try_use_device(graph->device);
  if (!error)
    error = backend->capture_end(graph->stream->raw, &graph->ready, &graph->nodes);
  fy_capture_list_remove(graph);
  fy_forget_blas_streams();
  if (error)
    backend->last_error();
  return error;
}

void fy_abandon_captures(int count) {
  while (fy_thread_captures() > count) {
    FyCudaGraph *graph = fy_innermost_capture();
    end(graph);
    destroy_ready(graph->ready);
    graph->ready = NULL;
    forget_contents(graph);
    fy_release(graph);
  }
}

void fy_capture_guard_close(FyCaptureGuard *guard) {
  if (!guard->open)
    return;
  static bool warned;
  FyCudaGraph *graph = guard->graph;
  guard->open = false;
  if (fy_raw_stream(graph->device) != graph->stream->raw) {
    fy_abandon_captures(fy_thread_captures() - 1);
    fy_stream_guard_close(&guard->stream);
    fy_raise(FY_RUNTIME_ERROR, "Capture must end on the same stream it began on.");
  }
  int error = end(graph);
  if (error)
    forget_contents(graph);
  fy_release(graph); // the thread's reference
  fy_stream_guard_close(&guard->stream);
  fy_cuda_check(error);
  if (graph->nodes == 0)
    fy_warn_once(&warned, "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on "
                          "wrong device or stream.");
}

// ---- replaying -------------------------------------------------------------------------------------------------------

void fy_cuda_graph_replay(FyCudaGraph *graph) {
  fy_check(graph, FY_TYPE_ERROR, "fy_cuda_graph_replay: the graph is NULL");
  fy_check(graph->ready, FY_RUNTIME_ERROR, "Called CUDAGraph::replay without a preceding successful capture.");
  fy_check_not_capturing(graph->device, "Cannot prepare for replay during capturing stage.");
  void *stream = fy_raw_stream(graph->device);
  fy_use_device(graph->device);
  for (FyGraphPart *part = graph->parts; part; part = part->next)
    if (part->before_replay)
      part->before_replay(part, graph->device, stream);
  fy_cuda_check(fy_backend_required()->graph_launch(graph->ready, stream));
  fy_count_graph_launch((int64_t)graph->nodes);
}
