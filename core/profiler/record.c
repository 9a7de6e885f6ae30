// SPDX-License-Identifier: MIT
// The records of threads and devices while a profile is taken.
//
// A thread has a track, to which it alone writes: a stack of open ranges, and a list of those that have ended, in chunks. What
// has ended is published by the track's count, so that whoever collects reads it without a lock and without stopping anybody.
// A track is never freed: a thread may have found the flag set and write to it when the recording has just ended, and then
// nobody reads that any more. A thread's first report to a new recording empties its track; when a thread ends, another may have
// its track from the next recording on.
// Over 500 lines: the tracks of all threads, and what each watcher writes to them.
#include "base/error.h"
#include "base/state.h"
#include "graph/node.h"
#include "op/op.h"
#include "profiler/impl.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_OPEN = 128, FIRST_CHUNK = 64, LAST_CHUNK = 4096 };

typedef struct Chunk {
  struct Chunk *next;
  size_t capacity;
  FySpan spans[];
} Chunk;

typedef struct Track {
  struct Track *next;       // in the list of all
  bool taken;               // by a living thread; under the lock
  _Atomic uint64_t session; // of which it holds records
  atomic_size_t count;      // of ended ranges, for whoever collects
  size_t collected;         // of these, how many he takes; under the lock
  Chunk *first, *last;      // the chunks
  size_t used;              // of the last
  FyArena arena;
  uint32_t last_id;
  int open; // may exceed MAX_OPEN
  FySpan stack[MAX_OPEN];
  FyTrackName name;
} Track;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the tracks' list and what devices did
static Track *tracks;
static FyActivity *activities;
static size_t activity_count, activity_capacity;

static _Atomic uint64_t session; // the recording now; 0: none
static uint64_t sessions;        // how many there were
static atomic_llong dropped;
static atomic_uint recorded; // FY_PROFILE_...
static atomic_bool with_shapes, with_flops;
static int64_t started;
static bool traced, simulated;
static atomic_uint used_devices; // bit i: something was queued on device i

static _Thread_local Track *own;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void drop(void) {
  atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
}

// ---- tracks ------------------------------------------------------------------------------------------------------------------

static pthread_key_t key;

static void leave_track(void *track) {
  own = NULL;
  pthread_mutex_lock(&lock);
  ((Track *)track)->taken = false;
  pthread_mutex_unlock(&lock);
}

static void make_key(void) {
  if (pthread_key_create(&key, leave_track) != 0)
    fy_panic("no thread key left for profiles");
}

static Track *take_track(uint64_t current) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  pthread_mutex_lock(&lock);
  Track *t = tracks;
  while (t && (t->taken || atomic_load(&t->session) == current))
    t = t->next;
  if (!t) {
    t = calloc(1, sizeof *t);
    if (t) {
      t->next = tracks;
      tracks = t;
    }
  }
  if (t)
    t->taken = true;
  pthread_mutex_unlock(&lock);
  if (t)
    pthread_setspecific(key, t);
  return t;
}

static Chunk *chunk_new(size_t capacity) {
  Chunk *chunk = malloc(sizeof *chunk + capacity * sizeof *chunk->spans);
  if (chunk) {
    chunk->next = NULL;
    chunk->capacity = capacity;
  }
  return chunk;
}

static void empty(Track *t, uint64_t current) {
  for (Chunk *chunk = t->first ? t->first->next : NULL, *next; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  if (t->first)
    t->first->next = NULL;
  t->last = t->first;
  t->used = 0;
  fy_arena_free(&t->arena);
  t->last_id = 0;
  t->open = 0;
  t->name.tid = (int)syscall(SYS_gettid);
  t->name.main = t->name.tid == (int)getpid();
  pthread_getname_np(pthread_self(), t->name.name, sizeof t->name.name);
  atomic_store(&t->count, 0);
  atomic_store(&t->session, current);
}

// The thread's track for the recording now; NULL without one, or without memory.
static Track *track_here(void) {
  uint64_t current = atomic_load_explicit(&session, memory_order_acquire);
  Track *t = own;
  if (t && atomic_load_explicit(&t->session, memory_order_relaxed) == current)
    return t;
  if (!current)
    return NULL;
  if (!t && !(t = own = take_track(current))) {
    drop();
    return NULL;
  }
  empty(t, current);
  return t;
}

// ---- ranges ------------------------------------------------------------------------------------------------------------------

static void publish(Track *t, const FySpan *span) {
  if (!t->last || t->used == t->last->capacity) {
    size_t capacity = t->last ? 4 * t->last->capacity : FIRST_CHUNK;
    Chunk *chunk = chunk_new(capacity < LAST_CHUNK ? capacity : LAST_CHUNK);
    if (!chunk) {
      drop();
      return;
    }
    if (t->last)
      t->last->next = chunk;
    else
      t->first = chunk;
    t->last = chunk;
    t->used = 0;
  }
  t->last->spans[t->used++] = *span;
  atomic_fetch_add_explicit(&t->count, 1, memory_order_release);
}

static FySpan *innermost(Track *t) {
  return t->open && t->open <= MAX_OPEN ? &t->stack[t->open - 1] : NULL;
}

// The range around: one that is not hidden.
static uint32_t parent_of(const Track *t, int depth) {
  for (int i = depth - 1; i >= 0; i--)
    if (!t->stack[i].hidden)
      return t->stack[i].id;
  return 0;
}

static bool is_hidden(FyRangeKind kind) {
  return !(recorded & (kind == FY_RANGE_RUNTIME ? FY_PROFILE_CUDA : FY_PROFILE_CPU));
}

static FySpan *push(Track *t, FyRangeKind kind, const char *name) {
  if (t->open++ >= MAX_OPEN) {
    drop();
    return NULL;
  }
  FySpan *span = &t->stack[t->open - 1];
  *span = (FySpan){.name = name, .kind = (uint8_t)kind, .id = ++t->last_id, .hidden = is_hidden(kind)};
  span->parent = parent_of(t, t->open - 1);
  span->file = fy_where_file;
  span->line = fy_where_line;
  return span;
}

static void pop(Track *t) {
  int64_t end = now();
  FySpan *span = innermost(t);
  t->open--;
  if (!span)
    return;
  span->end = end;
  FySpan *around = innermost(t);
  if (around)
    around->children += span->hidden ? span->children : end - span->begin;
  if (around && span->hidden) {
    around->cpu_memory += span->cpu_memory;
    around->cuda_memory += span->cuda_memory;
  }
  if (!span->hidden)
    publish(t, span);
}

static void begin(const FyWatchedRange *range) {
  Track *t = track_here();
  FySpan *span = t ? push(t, range->kind, range->name) : NULL;
  if (!span)
    return;
  if (range->file) {
    span->file = range->file;
    span->line = range->line;
  }
  span->sequence = range->sequence;
  span->begin = now();
}

static void end(void) {
  Track *t = own;
  if (t && t->open && atomic_load_explicit(&t->session, memory_order_relaxed) == atomic_load(&session))
    pop(t);
}

int fy_open_ranges(void) {
  return own && atomic_load_explicit(&own->session, memory_order_relaxed) == atomic_load(&session) ? own->open : 0;
}

void fy_close_ranges(int beyond) {
  while (fy_open_ranges() > beyond)
    pop(own);
}

// A mark is the recording and the depth, so that one of an earlier recording closes nothing in this one.
enum { DEPTH_BITS = 8, SESSION_MASK = 0x7fff };

int fy_range_enter(const char *name) {
  Track *t = fy_is_watched() ? track_here() : NULL;
  if (!t)
    return 0;
  const char *copy = t->open < MAX_OPEN ? fy_arena_text(&t->arena, name) : NULL;
  if (!copy) {
    drop();
    return 0;
  }
  push(t, FY_RANGE_USER, copy)->begin = now();
  return (int)(atomic_load(&session) & SESSION_MASK) << DEPTH_BITS | t->open;
}

void fy_range_exit(int mark) {
  int depth = mark & ((1 << DEPTH_BITS) - 1);
  if (mark > 0 && mark >> DEPTH_BITS == (int)(atomic_load(&session) & SESSION_MASK))
    fy_close_ranges(depth - 1);
}

// ---- ops -----------------------------------------------------------------------------------------------------------------------

static char op_names[FY_OP_COUNT][2][48]; // "fy::add", "fy::add_"

static const int64_t *describe_shapes(Track *t, const FyOpCall *call) {
  size_t words = 1;
  for (int i = 0; i < call->n_in; i++)
    words += 1 + (size_t)(call->in[i] ? call->in[i]->array.ndim : 0);
  int64_t *shapes = fy_arena_take(&t->arena, words * sizeof *shapes), *at = shapes;
  if (!shapes)
    return NULL;
  *at++ = call->n_in;
  for (int i = 0; i < call->n_in; i++) {
    const FyArray *a = call->in[i] ? &call->in[i]->array : NULL;
    *at++ = a ? a->ndim : -1;
    for (int d = 0; a && d < a->ndim; d++)
      *at++ = a->shape[d];
  }
  return shapes;
}

static void begin_call(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  Track *t = track_here();
  FySpan *span = t ? push(t, FY_RANGE_OP, op_names[call->op->id][call->in_place]) : NULL;
  if (!span)
    return;
  if (with_shapes)
    span->shapes = describe_shapes(t, call);
  span->begin = now();
}

static void end_call(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  Track *t = own;
  if (!t || !t->open || atomic_load_explicit(&t->session, memory_order_relaxed) != atomic_load(&session))
    return;
  FySpan *span = innermost(t);
  if (span && with_flops)
    span->flops = fy_flops_of(call);
  FyNode *node = span && fy_grad_enabled && call->out[0] ? call->out[0]->grad_fn : NULL;
  if (node)
    span->sequence = node->sequence;
  pop(t);
}

static FyOpHooks op_hooks = {.begin = begin_call, .end = end_call};

// ---- devices and memory ------------------------------------------------------------------------------------------------------

// A copy or fill is queued within the runtime's call of it, and a graph's nodes within theirs; a launch is not a call that anybody reports otherwise.
static void queued(const FyActivity *activity) {
  Track *t = track_here();
  if (!t)
    return;
  atomic_fetch_or_explicit(&used_devices, 1u << activity->device, memory_order_relaxed);
  FySpan *around = innermost(t);
  if (around && around->kind == FY_RANGE_RUNTIME) {
    around->activity = activity->launch;
    return;
  }
  FySpan *span = push(t, FY_RANGE_RUNTIME, "cudaLaunchKernel");
  if (!span) {
    t->open--;
    return;
  }
  span->activity = activity->id;
  span->begin = activity->begin;
  pop(t);
}

static void ran(const FyActivity *activity) {
  pthread_mutex_lock(&lock);
  if (activity_count == activity_capacity) {
    size_t capacity = activity_capacity ? 2 * activity_capacity : 256;
    FyActivity *more = realloc(activities, capacity * sizeof *more);
    if (more) {
      activities = more;
      activity_capacity = capacity;
    }
  }
  if (!atomic_load(&session) || activity_count == activity_capacity)
    drop();
  else
    activities[activity_count++] = *activity;
  pthread_mutex_unlock(&lock);
}

static void remember_memory(int device, const FyMemoryEvent *event) {
  if (event->action != FY_MEMORY_ALLOC && event->action != FY_MEMORY_FREE_REQUESTED)
    return;
  Track *t = track_here();
  if (!t)
    return;
  int64_t bytes = event->action == FY_MEMORY_ALLOC ? (int64_t)event->size : -(int64_t)event->size;
  FySpan *around = innermost(t);
  if (around && device < 0)
    around->cpu_memory += bytes;
  else if (around)
    around->cuda_memory += bytes;
  publish(t,
          &(FySpan){.kind = FY_SPAN_MEMORY, .begin = now(), .line = device, .cpu_memory = (int64_t)event->allocated});
}

// ---- starting and stopping -----------------------------------------------------------------------------------------------------

void fy_records_start(const FyProfileOptions *options) {
  recorded = options->activities;
  with_shapes = options->record_shapes;
  with_flops = options->with_flops;
  activity_count = 0;
  atomic_store(&dropped, 0);
  atomic_store(&used_devices, 0);
  traced = recorded & FY_PROFILE_CUDA && fy_trace_devices(queued, ran) == 0;
  simulated = traced && fy_backend()->simulated;
  if (options->profile_memory)
    fy_watch_memory(remember_memory);
  started = now();
  atomic_store(&session, ++sessions);
  atomic_store(&fy_watching, true);
  fy_op_hooks_add(&op_hooks);
}

static size_t count_of(const Track *t, uint64_t current) {
  return atomic_load(&t->session) == current ? atomic_load_explicit(&t->count, memory_order_acquire) : 0;
}

static const int64_t *copy_shapes(FyArena *arena, const int64_t *shapes) {
  size_t words = 1;
  for (int64_t i = 0; i < shapes[0]; i++)
    words += 1 + (size_t)(shapes[words] > 0 ? shapes[words] : 0);
  void *copy = fy_arena_take(arena, words * sizeof *shapes);
  return copy ? memcpy(copy, shapes, words * sizeof *shapes) : NULL;
}

// What a track's arena holds goes with the next recording.
static void take_span(FyRecords *r, FySpan span, int track) {
  span.track = track;
  if (span.kind == FY_RANGE_USER && !(span.name = fy_arena_text(&r->arena, span.name)))
    span.name = "(out of memory)";
  if (span.shapes)
    span.shapes = copy_shapes(&r->arena, span.shapes);
  if (span.kind == FY_SPAN_MEMORY)
    r->memory[r->memory_count++] = span;
  else
    r->spans[r->count++] = span;
}

static void take_all(FyRecords *r) {
  for (const Track *t = tracks; t; t = t->next) {
    const Chunk *chunk = NULL;
    for (size_t taken = 0, i = 0; taken < t->collected; taken++, i++) {
      if (!chunk || i == chunk->capacity) {
        chunk = chunk ? chunk->next : t->first;
        i = 0;
      }
      take_span(r, chunk->spans[i], r->track_count);
    }
    if (t->collected)
      r->tracks[r->track_count++] = t->name;
  }
}

static int by_begin(const void *a, const void *b) {
  const FySpan *x = a, *y = b;
  if (x->track != y->track)
    return x->track < y->track ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static int by_time(const void *a, const void *b) {
  const FySpan *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// Other threads may go on reporting all the while; what they add is not seen.
static void collect(FyRecords *r, uint64_t current) {
  size_t all = 0;
  int n = 0;
  pthread_mutex_lock(&lock);
  for (Track *t = tracks; t; t = t->next, n++)
    all += t->collected = count_of(t, current);
  r->spans = malloc((all + 1) * sizeof *r->spans);
  r->memory = malloc((all + 1) * sizeof *r->memory);
  r->tracks = malloc((size_t)(n + 1) * sizeof *r->tracks);
  if (r->spans && r->memory && r->tracks)
    take_all(r);
  else
    r->dropped += (int64_t)all;
  r->activities = activities;
  r->activity_count = activity_count;
  activities = NULL;
  activity_count = activity_capacity = 0;
  pthread_mutex_unlock(&lock);
  if (r->count)
    qsort(r->spans, r->count, sizeof *r->spans, by_begin);
  if (r->memory_count)
    qsort(r->memory, r->memory_count, sizeof *r->memory, by_time);
}

void fy_records_stop(FyRecords *records) {
  if (traced)
    fy_drain_devices(atomic_load(&used_devices));
  uint64_t current = atomic_load(&session);
  fy_close_ranges(0);
  fy_op_hooks_remove(&op_hooks);
  atomic_store(&fy_watching, false);
  fy_watch_memory(NULL);
  if (traced)
    fy_trace_devices(NULL, NULL);
  atomic_store(&session, 0);
  if (!records)
    return;
  *records = (FyRecords){.begin = started, .end = now(), .simulated = simulated};
  collect(records, current);
  records->model = simulated ? fy_cuda_model() : NULL;
  records->dropped += atomic_load(&dropped);
}

void fy_records_free(FyRecords *records) {
  free(records->spans);
  free(records->memory);
  free(records->activities);
  free(records->tracks);
  fy_arena_free(&records->arena);
  *records = (FyRecords){0};
}

__attribute__((constructor)) static void listen(void) {
  for (int i = 0; i < FY_OP_COUNT; i++) {
    snprintf(op_names[i][0], sizeof op_names[i][0], "fy::%s", fy_ops[i]->name);
    snprintf(op_names[i][1], sizeof op_names[i][1], "fy::%s_", fy_ops[i]->name);
  }
  fy_watcher = (FyWatcher){.begin = begin, .end = end};
}
