// SPDX-License-Identifier: MIT
// The prefetcher, and the loop over batches that stands on it or on the loader alone.
#include "base/scope_impl.h"
#include "data/loader_impl.h"
#include "op/ops.h"
#include <stdlib.h>

struct FyPrefetcher {
  FyObject object;
  FyLoaderIterator *iterator; // counted, as are the stream, the event and the tensors
  FyDevice device;
  FyStream *stream; // of the copies; NULL on the CPU
  FyEvent *copied;  // the next batch has arrived
  FyBatch next;
  bool has_next;
  FyError error; // what making the next batch raised: raised at its turn
};

static void give_up_next(FyPrefetcher *self) {
  fy_release(self->next.data);
  fy_release(self->next.target);
  self->next = (FyBatch){0};
  self->has_next = false;
}

void fy_prefetcher_close(FyPrefetcher *self) {
  if (!self)
    return;
  fy_loader_close(self->iterator);
  give_up_next(self);
  self->error.kind = FY_NO_ERROR;
}

FyStream *fy_prefetcher_stream(FyPrefetcher *self) {
  fy_check(self, FY_TYPE_ERROR, "fy_prefetcher_stream: the prefetcher is NULL");
  return self->stream;
}

static void destroy_prefetcher(void *object) {
  FyPrefetcher *self = object;
  give_up_next(self);
  fy_release(self->iterator);
  fy_release(self->copied);
  fy_release(self->stream);
  free(self);
}

// Queues the copy of the batch to the device on the side stream.
static void copy_batch(FyPrefetcher *self, FyBatch batch) {
  fy_stream_guard(self->stream) {
    self->next = (FyBatch){.index = batch.index, .size = batch.size};
    self->next.data = fy_retain(fy_to(batch.data, self->device, .non_blocking = true));
    self->next.target = fy_retain(fy_to(batch.target, self->device, .non_blocking = true));
    fy_event_record(self->copied, self->stream);
  }
  self->has_next = true;
}

static void fetch(FyPrefetcher *self) {
  fy_trap(self->error) {
    fy_scope {
      FyBatch batch;
      if (fy_loader_next(self->iterator, &batch))
        copy_batch(self, batch);
    }
  }
}

FyPrefetcher *fy_prefetcher(FyDataLoader *loader, FyDevice device) {
  int scope = fy_scope_open();
  FyPrefetcher *self = fy_object_new(sizeof *self, destroy_prefetcher);
  self->device = device;
  self->iterator = fy_retain(fy_loader_iter(loader));
  if (device.type != FY_CPU) {
    self->stream = fy_retain(fy_stream_new(device, 0));
    self->device = fy_stream_device(self->stream); // "cuda" stays the device that it is now
    self->copied = fy_retain(fy_event_new(false));
    fetch(self);
  }
  fy_keep(self);
  fy_scope_close(scope);
  return self;
}

static void raise_stored(FyPrefetcher *self) {
  FyError error = self->error;
  give_up_next(self);
  fetch(self); // the batch after the one that failed
  error.file = fy_where_file;
  error.line = fy_where_line;
  fy_raise_again(&error);
}

bool fy_prefetcher_next(FyPrefetcher *self, FyBatch *batch) {
  fy_check(self && batch, FY_TYPE_ERROR, "fy_prefetcher_next: the prefetcher or the batch is NULL");
  if (!self->stream)
    return fy_loader_next(self->iterator, batch);
  if (self->error.kind)
    raise_stored(self);
  *batch = self->next;
  if (!self->has_next)
    return false;
  FyStream *consumer = fy_current_stream(self->device);
  fy_event_wait(self->copied, consumer);
  fy_record_stream(batch->data, consumer);
  fy_record_stream(batch->target, consumer);
  self->next = (FyBatch){0};
  self->has_next = false;
  fy_adopt(batch->data);
  fy_adopt(batch->target);
  fetch(self);
  return true;
}

// ---- for batch in loader -----------------------------------------------------------------------------------------------

FyBatchLoop fy_batch_loop_open(FyDataLoader *loader, const FyDevice *device) {
  FyBatchLoop loop = {.scope = -1, .open = true};
  loop.around = fy_scope_open(); // so that an error that leaves the loop takes the workers along
  if (device)
    loop.prefetcher = fy_prefetcher(loader, *device);
  else
    loop.iterator = fy_loader_iter(loader);
  return loop;
}

bool fy_batch_loop_next(FyBatchLoop *loop, FyBatch *batch) {
  if (loop->scope >= 0)
    fy_scope_close(loop->scope);
  loop->scope = -1;
  loop->scope = fy_scope_open();
  return loop->prefetcher ? fy_prefetcher_next(loop->prefetcher, batch) : fy_loader_next(loop->iterator, batch);
}

void fy_batch_loop_close(FyBatchLoop *loop) {
  if (loop->scope >= 0)
    fy_scope_close(loop->scope);
  loop->scope = -1;
  fy_loader_close(loop->iterator);
  fy_prefetcher_close(loop->prefetcher);
  fy_drop(loop->iterator);
  fy_drop(loop->prefetcher);
  fy_scope_merge(loop->around);
}
