// SPDX-License-Identifier: MIT
// Store buffering, done by copies of memory that are compared byte by byte with the memory itself.
#include "sim/engine/store_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "cudasim_launch.h"
#include "sim/base/sim.h"

enum { MAX_SHARED = 64, CHUNK = 256 };
enum { MAX_COMPARED_BYTES = 128 << 20 }; // bytes compared in a launch, for each of the two kinds

// A shared array. `base`: what a thread sees when it starts or resumes; `merged`: the same with all writes since.
struct shared_view {
  char *live, *base, *merged;
  size_t bytes;
};

// One allocation of device memory. `start`: at the launch's beginning; `published`: with what was fenced, or done
// atomically; `last`: with everything; `base`: what the running block began with or has fetched.
struct global_view {
  char *live, *start, *published, *last, *base;
  size_t bytes;
};

static __thread struct shared_view shared[MAX_SHARED];
static __thread int shared_count;
static __thread struct global_view *globals;
static __thread size_t global_count;
static __thread bool active, changed; // changed: the block's memory may differ from `start` where `base` does not
static __thread size_t work;
static __thread unsigned int version, seen; // of `published`

// ---- differences -----------------------------------------------------------------------------------------------------------------

// Copies the bytes of `live` that differ from `base` to `one` and to `other` (may be NULL). True: there were some.
static bool copy_differences(const char *live, const char *base, size_t bytes, char *one, char *other) {
  bool any = false;
  for (size_t at = 0; at < bytes; at += CHUNK) {
    const size_t end = bytes - at < CHUNK ? bytes : at + CHUNK;
    if (memcmp(live + at, base + at, end - at) == 0)
      continue;
    any = true;
    for (size_t i = at; i < end; i++)
      if (live[i] != base[i]) {
        one[i] = live[i];
        if (other)
          other[i] = live[i];
      }
  }
  return any;
}

// ---- shared memory ---------------------------------------------------------------------------------------------------------------

void sim_store_buffer_add_shared(char *live, size_t bytes) {
  if (!active || !(sim.config.store_buffer & SIM_BUFFER_SHARED) || work > MAX_COMPARED_BYTES ||
      shared_count == MAX_SHARED || bytes == 0)
    return;
  struct shared_view *view = &shared[shared_count++];
  *view = (struct shared_view){.live = live, .bytes = bytes, .base = sim_allocate(2 * bytes)};
  view->merged = view->base + bytes;
  memcpy(view->base, live, bytes);
  memcpy(view->merged, live, bytes);
}

void sim_store_buffer_forget_shared(void) {
  for (int i = 0; i < shared_count; i++)
    free(shared[i].base);
  shared_count = 0;
}

void sim_store_buffer_thread_stops(void) {
  for (int i = 0; i < shared_count; i++) {
    const struct shared_view *view = &shared[i];
    work += view->bytes;
    if (copy_differences(view->live, view->base, view->bytes, view->merged, NULL))
      memcpy(view->live, view->base, view->bytes);
  }
}

void sim_store_buffer_barrier(void) {
  for (int i = 0; i < shared_count; i++) {
    memcpy(shared[i].base, shared[i].merged, shared[i].bytes);
    memcpy(shared[i].live, shared[i].merged, shared[i].bytes);
  }
}

// ---- device memory ---------------------------------------------------------------------------------------------------------------

static size_t live_bytes(const struct sim_heap *heap) {
  size_t bytes = 0;
  for (size_t i = 0; i < heap->count; i++)
    bytes += heap->pieces[i].used ? heap->pieces[i].asked : 0;
  return bytes;
}

static void copy_piece(struct global_view *view, const struct sim_piece *piece) {
  const size_t bytes = piece->asked;
  *view =
      (struct global_view){.live = piece->address + piece->offset, .bytes = bytes, .start = sim_allocate(4 * bytes)};
  view->published = view->start + bytes;
  view->last = view->published + bytes;
  view->base = view->last + bytes;
  for (int copy = 0; copy < 4; copy++)
    memcpy(view->start + (size_t)copy * bytes, view->live, bytes);
}

void sim_store_buffer_launch_begin(const struct cudasim_launch_request *request, int device, unsigned int blocks) {
  active = sim.config.store_buffer && request->judged && sim.config.mode != SIM_THREADS;
  work = 0;
  const struct sim_heap *heap = &sim.device[device].heap;
  if (!active || !(sim.config.store_buffer & SIM_BUFFER_GLOBAL) || blocks < 2 ||
      live_bytes(heap) > MAX_COMPARED_BYTES / blocks)
    return;
  globals = sim_allocate(heap->count * sizeof *globals);
  for (size_t i = 0; i < heap->count; i++)
    if (heap->pieces[i].used && heap->pieces[i].asked > 0)
      copy_piece(&globals[global_count++], &heap->pieces[i]);
}

void sim_store_buffer_launch_end(void) {
  for (size_t i = 0; i < global_count; i++) {
    memcpy(globals[i].live, globals[i].last, globals[i].bytes);
    free(globals[i].start);
  }
  free(globals);
  globals = NULL;
  global_count = 0;
  active = false;
}

void sim_store_buffer_block_begin(void) {
  seen = 0;
  version = version ? version : 1;
  changed = false;
}

void sim_store_buffer_block_end(void) {
  for (size_t i = 0; i < global_count; i++) {
    struct global_view *view = &globals[i];
    const bool wrote = copy_differences(view->live, view->base, view->bytes, view->last, NULL);
    if (wrote || changed)
      memcpy(view->live, view->start, view->bytes);
    if (changed)
      memcpy(view->base, view->start, view->bytes);
  }
  sim_store_buffer_forget_shared();
}

static void fetch_bytes(struct global_view *view, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    if (view->live[i] == view->base[i])
      view->live[i] = view->published[i];
    view->base[i] = view->published[i];
  }
}

// Reads what other blocks have published, except where this block has written since.
static void fetch(void) {
  if (seen == version)
    return;
  seen = version;
  changed = true;
  for (size_t i = 0; i < global_count; i++) {
    struct global_view *view = &globals[i];
    for (size_t at = 0; at < view->bytes; at += CHUNK) {
      const size_t end = view->bytes - at < CHUNK ? view->bytes : at + CHUNK;
      if (memcmp(view->base + at, view->published + at, end - at) != 0)
        fetch_bytes(view, at, end);
    }
  }
}

static void publish_global(void) {
  bool any = false;
  for (size_t i = 0; i < global_count; i++) {
    struct global_view *view = &globals[i];
    if (!copy_differences(view->live, view->base, view->bytes, view->last, view->published))
      continue;
    any = changed = true;
    memcpy(view->base, view->live, view->bytes);
  }
  if (any)
    version++;
  fetch();
}

void sim_store_buffer_publish(bool to_other_blocks) {
  for (int i = 0; i < shared_count; i++) {
    const struct shared_view *view = &shared[i];
    work += view->bytes;
    if (copy_differences(view->live, view->base, view->bytes, view->merged, NULL))
      copy_differences(view->live, view->base, view->bytes, view->base, NULL);
  }
  if (to_other_blocks && global_count > 0)
    publish_global();
}

// ---- atomic operations: called around each, by kernels that are judged -------------------------------------------------------------

static struct global_view *global_at(const char *address) {
  for (size_t i = 0; i < global_count; i++)
    if (address >= globals[i].live && address < globals[i].live + globals[i].bytes)
      return &globals[i];
  return NULL;
}

static struct shared_view *shared_at(const char *address) {
  for (int i = 0; i < shared_count; i++)
    if (address >= shared[i].live && address < shared[i].live + shared[i].bytes)
      return &shared[i];
  return NULL;
}

// The operation reads the published value, unless the thread itself has just written there.
void cudasim_exclusive_begin(void *address, size_t bytes) {
  if (!active)
    return;
  const struct global_view *global = global_at(address);
  const struct shared_view *view = global ? NULL : shared_at(address);
  if (global) {
    const size_t at = (size_t)((char *)address - global->live);
    fetch();
    if (memcmp(address, global->base + at, bytes) == 0)
      memcpy(address, global->published + at, bytes);
  } else if (view) {
    const size_t at = (size_t)((char *)address - view->live);
    if (memcmp(address, view->base + at, bytes) == 0)
      memcpy(address, view->merged + at, bytes);
  }
}

void cudasim_exclusive_end(const void *address, size_t bytes) {
  if (!active)
    return;
  const struct global_view *global = global_at(address);
  const struct shared_view *view = global ? NULL : shared_at(address);
  if (global) {
    const size_t at = (size_t)((const char *)address - global->live);
    changed = true;
    memcpy(global->published + at, address, bytes);
    memcpy(global->last + at, address, bytes);
    memcpy(global->base + at, address, bytes);
  } else if (view) {
    const size_t at = (size_t)((const char *)address - view->live);
    memcpy(view->merged + at, address, bytes);
    memcpy(view->base + at, address, bytes);
  }
}
