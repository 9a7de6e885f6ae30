// SPDX-License-Identifier: MIT
// Blocks of device memory that further streams use (fy_record_stream). When such a block is freed, each of them gets a mark
// (an event) at the end of what it has to do; the block is free when all marks have passed.
#include "device/caching_allocator.h"
#include "device/capture.h"
#include <stdlib.h>

// ---- while a block is in use -------------------------------------------------------------------------------------------

// The queue of a stream, made when there is none; NULL without memory for it.
static StreamQueue *queue_of(Allocator *a, int device, void *stream) {
  StreamQueue *queue = a->queues;
  while (queue && (queue->device != device || queue->stream != stream))
    queue = queue->next;
  if (queue)
    return queue;
  queue = malloc(sizeof *queue);
  if (!queue)
    return NULL;
  *queue = (StreamQueue){.device = device, .stream = stream, .next = a->queues};
  a->queues = queue;
  return queue;
}

static bool add_use(Allocator *a, FyBlock *block, int device, void *stream) {
  StreamQueue *queue = queue_of(a, device, stream);
  const FyStreamUse *known = block->uses;
  while (known && known->queue != queue)
    known = known->next;
  if (known)
    return true;
  FyStreamUse *use = queue ? malloc(sizeof *use) : NULL;
  if (!use)
    return false;
  *use = (FyStreamUse){.queue = queue, .block = block, .next = block->uses};
  block->uses = use;
  return true;
}

void fy_cuda_record_stream(void *handle, int device, void *raw_stream) {
  FyBlock *block = handle;
  if (!block)
    return;
  Allocator *a = block->pool->owner;
  if (a->device == device && block->stream == raw_stream)
    return;
  pthread_mutex_lock(&a->lock);
  bool added = add_use(a, block, device, raw_stream);
  pthread_mutex_unlock(&a->lock);
  fy_check(added, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a stream's use of a tensor");
}

// ---- when it is freed --------------------------------------------------------------------------------------------------

// Marks the end of a stream's work so far. When there can be no mark it waits for that work instead.
static void mark_use(Allocator *a, const FyBackend *backend, FyStreamUse *use, int *current) {
  StreamQueue *queue = use->queue;
  int error = *current == queue->device ? 0 : backend->set_device(queue->device);
  if (!error) {
    *current = queue->device;
    error = fy_event_take(queue->device, &use->event);
  }
  if (!error)
    error = backend->event_record(use->event, queue->stream);
  if (error) {
    if (use->event)
      fy_event_give_back(queue->device, use->event);
    backend->last_error();
    backend->stream_synchronize(queue->stream);
    free(use);
    return;
  }
  use->next = NULL;
  if (queue->first)
    queue->last->next = use;
  else
    queue->first = use;
  queue->last = use;
  use->block->pending++;
  a->pending++;
}

void fy_allocator_mark_uses(Allocator *a, const FyBackend *backend, FyBlock *block) {
  int previous = 0;
  backend->get_device(&previous); // this may run in any thread, with any device current
  int current = previous;
  while (block->uses) {
    FyStreamUse *use = block->uses;
    block->uses = use->next;
    mark_use(a, backend, use, &current);
  }
  if (current != previous)
    backend->set_device(previous);
}

// Of one stream's queue; true when the first entry's mark has passed, and the entry is gone.
static bool process_first(Allocator *a, const FyBackend *backend, StreamQueue *queue, bool wait) {
  FyStreamUse *use = queue->first;
  int state = wait ? backend->event_synchronize(use->event) : backend->event_query(use->event);
  if (state == FY_BACKEND_NOT_READY)
    return false;
  // After an error of the device there is nothing left that could still use the block.
  queue->first = use->next;
  fy_event_give_back(queue->device, use->event);
  if (--use->block->pending == 0)
    fy_allocator_put_back(a, use->block);
  free(use);
  a->pending--;
  return true;
}

// A stream passes its marks in order, so no question is asked beyond the first that has not passed.
void fy_allocator_process_pending(Allocator *a, const FyBackend *backend, bool wait) {
  if (fy_is_capturing())
    return;
  fy_allocator_process_deferred(a, backend);
  for (StreamQueue *queue = a->queues; queue && a->pending; queue = queue->next)
    while (queue->first && process_first(a, backend, queue, wait)) {
    }
}
