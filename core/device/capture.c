// SPDX-License-Identifier: MIT
// Which captures are in progress, by thread, by stream and by memory pool. It is below the allocators, which ask it; how a capture
// begins and ends is in cuda_graph.c.
#include "device/capture.h"
#include "device/impl.h"
#include <pthread.h>
#include <stdlib.h>

atomic_int fy_capture_count;

// For `captures`, and for a graph's pool_devices during its capture.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FyCudaGraph *captures;

static _Thread_local FyCudaGraph *innermost; // counted

// ---- the list --------------------------------------------------------------------------------------------------------

void fy_capture_list_add(FyCudaGraph *graph) {
  pthread_mutex_lock(&lock);
  graph->next = captures;
  captures = graph;
  pthread_mutex_unlock(&lock);
  atomic_fetch_add(&fy_capture_count, 1);
  graph->outer = innermost;
  innermost = fy_retain(graph);
}

void fy_capture_list_remove(FyCudaGraph *graph) {
  pthread_mutex_lock(&lock);
  FyCudaGraph **link = &captures;
  while (*link != graph)
    link = &(*link)->next;
  *link = graph->next;
  graph->capture = 0;
  pthread_mutex_unlock(&lock);
  atomic_fetch_sub(&fy_capture_count, 1);
  innermost = graph->outer;
  fy_release(graph->stream);
  graph->stream = NULL;
}

bool fy_captures_to(FyPoolId pool) {
  pthread_mutex_lock(&lock);
  const FyCudaGraph *other = captures;
  while (other && (other->pool.id[0] != pool.id[0] || other->pool.id[1] != pool.id[1]))
    other = other->next;
  pthread_mutex_unlock(&lock);
  return other != NULL;
}

int fy_thread_captures(void) {
  int count = 0;
  for (const FyCudaGraph *graph = innermost; graph; graph = graph->outer)
    count++;
  return count;
}

// ---- queries ---------------------------------------------------------------------------------------------------------

static FyCudaGraph *capture_with(uint64_t id) { // the lock is held
  FyCudaGraph *graph = id ? captures : NULL;
  while (graph && graph->capture != id)
    graph = graph->next;
  return graph;
}

FyCudaGraph *fy_captured_into(int device, void *raw_stream) {
  const FyBackend *backend = fy_backend_if_chosen();
  uint64_t id = 0;
  bool valid;
  if (!fy_is_capturing() || !raw_stream || fy_try_use_device(device) != 0)
    return NULL;
  if (backend->capture_info(raw_stream, &id, &valid) != 0)
    backend->last_error();
  pthread_mutex_lock(&lock);
  FyCudaGraph *graph = capture_with(id);
  pthread_mutex_unlock(&lock);
  return graph;
}

bool fy_capture_pool(uint64_t capture, int device, FyPoolId *pool, bool *first) {
  pthread_mutex_lock(&lock);
  FyCudaGraph *graph = capture_with(capture);
  if (graph) {
    *pool = graph->pool;
    *first = !(graph->pool_devices >> device & 1);
    graph->pool_devices |= 1u << device;
  }
  pthread_mutex_unlock(&lock);
  return graph != NULL;
}

FyCudaGraph *fy_innermost_capture(void) {
  return innermost;
}

bool fy_thread_is_capturing(void) {
  return innermost != NULL;
}

bool fy_cuda_is_current_stream_capturing(void) {
  if (!fy_is_capturing())
    return false;
  int device = fy_cuda_current_device();
  return fy_captured_into(device, fy_raw_stream(device)) != NULL;
}

void fy_check_not_capturing(int device, const char *attempt) {
  if (!fy_is_capturing())
    return;
  if (device < 0)
    device = fy_cuda_current_device();
  fy_check(!fy_captured_into(device, fy_raw_stream(device)), FY_RUNTIME_ERROR,
           "%s during CUDA graph capture. If you need this call to be captured, please file an issue. Current "
           "cudaStreamCaptureStatus: cudaStreamCaptureStatusActive",
           attempt);
}

// ---- for the allocators and cuBLAS -----------------------------------------------------------------------------------

int fy_set_capture_mode(int mode) {
  if (fy_backend()->capture_mode(&mode) != 0)
    fy_backend()->last_error();
  return mode;
}

bool fy_capture_keep_block(FyCudaGraph *graph, void *block) {
  FyKeptBlock *kept = malloc(sizeof *kept);
  if (!kept)
    return false;
  *kept = (FyKeptBlock){.block = block, .next = graph->blocks};
  graph->blocks = kept;
  return true;
}
