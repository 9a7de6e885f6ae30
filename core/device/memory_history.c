// SPDX-License-Identifier: MIT
// What the allocators did: a ring of events for each device and one for the CPU.
#include "device/impl.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// `oldest` is 0 until the ring is full; then it moves.
typedef struct Ring {
  FyMemoryEvent *events;
  size_t count, capacity, oldest;
} Ring;

atomic_bool fy_memory_is_recorded;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // for all that follows
static Ring rings[FY_HISTORY_CPU + 1];
static size_t limit; // events of each ring; 0: nothing is recorded

static void (*_Atomic told)(int device, const FyMemoryEvent *event); // a profiler

// ---- rings: the lock is held -------------------------------------------------------------------------------------------

// Puts the newest `kept` events in order into memory for `capacity`; without that memory the ring stays as it was.
static bool move_to(Ring *r, size_t capacity, size_t kept) {
  FyMemoryEvent *events = malloc(capacity * sizeof *events);
  if (!events)
    return false;
  for (size_t i = 0; i < kept; i++)
    events[i] = r->events[(r->oldest + r->count - kept + i) % r->count];
  free(r->events);
  *r = (Ring){.events = events, .count = kept, .capacity = capacity};
  return true;
}

static void clear(Ring *r) {
  free(r->events);
  *r = (Ring){0};
}

static void apply_limit(Ring *r) {
  if (r->count > limit && !move_to(r, limit, limit))
    clear(r);
  else if (r->oldest && !move_to(r, r->capacity, r->count)) // it may grow again, and so has to begin at 0
    clear(r);
}

static void append(Ring *r, const FyMemoryEvent *event) {
  if (r->count == r->capacity && r->capacity < limit && r->oldest == 0) {
    size_t capacity = r->capacity ? 2 * r->capacity : 256;
    move_to(r, capacity < limit ? capacity : limit, r->count);
  }
  if (r->count < r->capacity && r->count < limit) {
    r->events[r->count++] = *event;
  } else if (r->count) {
    r->events[r->oldest] = *event;
    r->oldest = (r->oldest + 1) % r->count;
  }
}

// ---- recording ---------------------------------------------------------------------------------------------------------

void fy_record_memory_event(int device, FyMemoryEvent event) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  event.time_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
  event.file = fy_where_file;
  event.line = fy_where_line;
  void (*tell)(int, const FyMemoryEvent *) = atomic_load_explicit(&told, memory_order_relaxed);
  if (tell)
    tell(device == FY_HISTORY_CPU ? -1 : device, &event);
  pthread_mutex_lock(&lock);
  if (limit)
    append(&rings[device], &event);
  pthread_mutex_unlock(&lock);
}

void fy_watch_memory(void (*watcher)(int device, const FyMemoryEvent *event)) {
  pthread_mutex_lock(&lock);
  atomic_store(&told, watcher);
  atomic_store(&fy_memory_is_recorded, watcher || limit);
  pthread_mutex_unlock(&lock);
}

void fy_record_memory_history_with(FyMemoryRecording options) {
  pthread_mutex_lock(&lock);
  limit = !options.enabled ? 0 : options.max_entries ? options.max_entries : SIZE_MAX;
  for (int d = 0; d <= FY_HISTORY_CPU; d++) {
    if (!options.enabled || options.clear_history)
      clear(&rings[d]);
    else
      apply_limit(&rings[d]);
  }
  atomic_store(&fy_memory_is_recorded, options.enabled || atomic_load(&told));
  pthread_mutex_unlock(&lock);
}

// ---- reading -----------------------------------------------------------------------------------------------------------

size_t fy_memory_history(FyDevice device, FyMemoryEvent *events, size_t capacity) {
  const Ring *r = &rings[device.type == FY_CPU ? FY_HISTORY_CPU : fy_cuda_index(device)];
  pthread_mutex_lock(&lock);
  size_t all = r->count, newest = all < capacity ? all : capacity;
  for (size_t i = 0; i < newest; i++)
    events[i] = r->events[(r->oldest + all - newest + i) % all];
  pthread_mutex_unlock(&lock);
  return all;
}

const char *fy_memory_action_name(FyMemoryAction action) {
  static const char *const names[] = {
      [FY_MEMORY_ALLOC] = "alloc",
      [FY_MEMORY_FREE_REQUESTED] = "free_requested",
      [FY_MEMORY_FREE_COMPLETED] = "free_completed",
      [FY_MEMORY_SEGMENT_ALLOC] = "segment_alloc",
      [FY_MEMORY_SEGMENT_FREE] = "segment_free",
      [FY_MEMORY_OOM] = "oom",
      [FY_MEMORY_SNAPSHOT] = "snapshot",
  };
  return action >= 0 && action <= FY_MEMORY_SNAPSHOT ? names[action] : "unknown";
}
