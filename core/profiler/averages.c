// SPDX-License-Identifier: MIT
// Ranges of one name, summed up.
#include "profiler/impl.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- names -------------------------------------------------------------------------------------------------------------------

void fy_shapes_text(const int64_t *shapes, char *text, size_t capacity) {
  size_t n = 0;
  text[0] = '\0';
  if (!shapes)
    return;
#define ADD(...) (n += n < capacity ? (size_t)snprintf(text + n, capacity - n, __VA_ARGS__) : 0)
  const int64_t *at = shapes + 1;
  ADD("[");
  for (int64_t i = 0; i < shapes[0]; i++) {
    ADD("%s[", i ? ", " : "");
    for (int64_t d = 0, ndim = *at++; d < ndim; d++)
      ADD("%s%lld", d ? ", " : "", (long long)*at++);
    ADD("]");
  }
  ADD("]");
#undef ADD
}

const char *fy_activity_name(const FyActivity *activity) {
  static const char *const copies[] = {"Memcpy", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD"};
  if (activity->kind == FY_ACTIVITY_COPY)
    return copies[activity->copy_kind & 3];
  return activity->kind == FY_ACTIVITY_FILL ? "Memset" : activity->name;
}

static const char *key_of(const FySpan *span) {
  return span->kind == FY_RANGE_USER && strncmp(span->name, "ProfilerStep#", 13) == 0 ? "ProfilerStep*" : span->name;
}

// ---- what a span started, and what those within it used ------------------------------------------------------------------------

// Beside the spans, which are in the order of their begin, those around before those within.
typedef struct Use {
  double self_cuda, cuda; // microseconds
  int64_t cpu_memory, cuda_memory;
  size_t parent; // index; SIZE_MAX: none
} Use;

static bool is_before(const FySpan *span, int track, uint32_t id) {
  return span->track != track ? span->track < track : span->id < id;
}

static size_t find(const FyRecords *r, int track, uint32_t id) {
  size_t low = 0, high = r->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (is_before(&r->spans[middle], track, id))
      low = middle + 1;
    else
      high = middle;
  }
  return low < r->count && r->spans[low].track == track && r->spans[low].id == id ? low : SIZE_MAX;
}

typedef struct Started {
  uint64_t activity;
  size_t span;
} Started;

static int by_activity(const void *a, const void *b) {
  uint64_t x = ((const Started *)a)->activity, y = ((const Started *)b)->activity;
  return x < y ? -1 : x > y;
}

static void add_device_times(const FyRecords *r, Use *uses) {
  Started *started = malloc((r->count + 1) * sizeof *started);
  fy_check(started, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a profile of %zu ranges", r->count);
  size_t n = 0;
  for (size_t i = 0; i < r->count; i++)
    if (r->spans[i].activity)
      started[n++] = (Started){r->spans[i].activity, i};
  qsort(started, n, sizeof *started, by_activity);
  for (size_t i = 0; i < r->activity_count; i++) {
    const Started *s =
        bsearch(&(Started){.activity = r->activities[i].launch}, started, n, sizeof *started, by_activity);
    if (s)
      uses[s->span].self_cuda += (double)(r->activities[i].end - r->activities[i].begin) / 1e3;
  }
  free(started);
}

// The runtime's call that started something is within what asked for it, whose time on the device it is.
static void hand_to_caller(const FyRecords *r, Use *uses) {
  for (size_t i = 0; i < r->count; i++) {
    size_t parent = uses[i].parent;
    if (r->spans[i].kind != FY_RANGE_RUNTIME || parent == SIZE_MAX)
      continue;
    uses[parent].self_cuda += uses[i].self_cuda;
    uses[i].self_cuda = 0;
  }
}

typedef struct Uses {
  FyObject object;
  Use *items;
} Uses;

static void free_uses(void *object) {
  free(((Uses *)object)->items);
  free(object);
}

static Use *uses_of(const FyRecords *r) {
  Uses *owner = fy_object_new(sizeof *owner, free_uses);
  Use *uses = owner->items = calloc(r->count + 1, sizeof *uses);
  fy_check(uses, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a profile of %zu ranges", r->count);
  for (size_t i = 0; i < r->count; i++) {
    const FySpan *span = &r->spans[i];
    uses[i].parent = span->parent ? find(r, span->track, span->parent) : SIZE_MAX;
    uses[i].cpu_memory = span->cpu_memory;
    uses[i].cuda_memory = span->cuda_memory;
  }
  add_device_times(r, uses);
  hand_to_caller(r, uses);
  for (size_t i = 0; i < r->count; i++)
    uses[i].cuda = uses[i].self_cuda;
  for (size_t i = r->count; i-- > 0;) {
    size_t parent = uses[i].parent;
    if (parent == SIZE_MAX)
      continue;
    uses[parent].cuda += uses[i].cuda;
    uses[parent].cpu_memory += uses[i].cpu_memory;
    uses[parent].cuda_memory += uses[i].cuda_memory;
  }
  return uses;
}

// ---- rows ------------------------------------------------------------------------------------------------------------------------

typedef struct Averages {
  FyKeyAverages base;
  FyArena arena;
  int capacity;
  int *slots; // a hash table of rows' indices, -1: free; twice as many as rows at least
  size_t slot_count;
  bool by_shape, by_source;
} Averages;

static void destroy(void *object) {
  Averages *a = object;
  fy_arena_free(&a->arena);
  free(a->base.rows);
  free(a->slots);
  free(a);
}

typedef struct Key {
  const char *name, *shapes, *file;
  int line;
  bool on_device;
} Key;

static size_t hash_of(const Key *key) {
  size_t h = 5381 + key->on_device + 31 * (size_t)key->line;
  for (const char *c = key->name; *c; c++)
    h = h * 33 + (unsigned char)*c;
  for (const char *c = key->shapes; *c; c++)
    h = h * 33 + (unsigned char)*c;
  return h;
}

static bool is_row(const FyAverage *row, const Key *key, bool by_source) {
  bool same = strcmp(row->key, key->name) == 0 && row->on_device == key->on_device &&
              strcmp(row->input_shapes, key->shapes) == 0;
  if (!same || !by_source)
    return same;
  return row->line == key->line &&
         (row->file == key->file || (row->file && key->file && !strcmp(row->file, key->file)));
}

static _Noreturn void raise_no_memory(void) {
  fy_raise(FY_OUT_OF_MEMORY_ERROR, "out of host memory for the rows of a profile");
}

static void grow(Averages *a) {
  int capacity = a->capacity ? 2 * a->capacity : 64;
  FyAverage *rows = realloc(a->base.rows, (size_t)capacity * sizeof *rows);
  if (!rows)
    raise_no_memory();
  a->base.rows = rows;
  int *slots = malloc((size_t)capacity * 2 * sizeof *slots);
  if (!slots)
    raise_no_memory();
  free(a->slots);
  a->slots = slots;
  a->capacity = capacity;
  a->slot_count = (size_t)capacity * 2;
  memset(slots, 0xff, a->slot_count * sizeof *slots);
  for (int i = 0; i < a->base.count; i++) {
    const FyAverage *row = &rows[i];
    const Key key = {row->key, row->input_shapes, row->file, a->by_source ? row->line : 0, row->on_device};
    size_t slot = hash_of(&key) % a->slot_count;
    while (slots[slot] >= 0)
      slot = (slot + 1) % a->slot_count;
    slots[slot] = i;
  }
}

static const char *keep(Averages *a, const char *text) {
  const char *copy = fy_arena_text(&a->arena, text);
  if (!copy)
    raise_no_memory();
  return copy;
}

// `key` has line 0 and no file unless rows are by source; `file` and `line` are what a new row notes.
static FyAverage *row_for(Averages *a, const Key *key, const char *file, int line) {
  if (a->base.count == a->capacity)
    grow(a);
  size_t slot = hash_of(key) % a->slot_count;
  for (; a->slots[slot] >= 0; slot = (slot + 1) % a->slot_count)
    if (is_row(&a->base.rows[a->slots[slot]], key, a->by_source))
      return &a->base.rows[a->slots[slot]];
  a->slots[slot] = a->base.count;
  FyAverage *row = &a->base.rows[a->base.count++];
  *row = (FyAverage){.key = keep(a, key->name),
                     .input_shapes = key->shapes[0] ? keep(a, key->shapes) : "",
                     .on_device = key->on_device,
                     .file = file,
                     .line = line};
  return row;
}

static void add_span(Averages *a, const FySpan *span, const Use *use) {
  char shapes[512] = "";
  if (a->by_shape)
    fy_shapes_text(span->shapes, shapes, sizeof shapes);
  const bool stack = a->base.options.with_stack;
  const Key key = {key_of(span), shapes, a->by_source ? span->file : NULL, a->by_source ? span->line : 0, false};
  FyAverage *row = row_for(a, &key, stack ? span->file : NULL, stack ? span->line : 0);
  double self = (double)fy_span_self(span) / 1e3;
  row->count++;
  row->self_cpu_time_total += self;
  row->cpu_time_total += (double)(span->end - span->begin) / 1e3;
  row->self_cuda_time_total += use->self_cuda;
  row->cuda_time_total += use->cuda;
  row->self_cpu_memory_usage += span->cpu_memory;
  row->cpu_memory_usage += use->cpu_memory;
  row->self_cuda_memory_usage += span->cuda_memory;
  row->cuda_memory_usage += use->cuda_memory;
  row->flops += span->flops;
  a->base.self_cpu_time_total += self;
}

static void add_activity(Averages *a, const FyActivity *activity) {
  const Key key = {.name = fy_activity_name(activity), .shapes = "", .on_device = true};
  FyAverage *row = row_for(a, &key, NULL, 0);
  double time = (double)(activity->end - activity->begin) / 1e3;
  row->count++;
  row->self_cuda_time_total += time;
  row->cuda_time_total += time;
  a->base.self_cuda_time_total += time;
}

FyKeyAverages *fy_key_averages_with(FyKeyAveragesOptions options) {
  const FyRecords *r = fy_profile_records(options.profile, "fy_key_averages");
  const FyProfileOptions *o = &options.profile->options;
  fy_check(!options.group_by_input_shape || o->record_shapes, FY_VALUE_ERROR,
           "fy_key_averages: group_by_input_shape needs a profile with .record_shapes = true");
  fy_check(!options.group_by_source || o->with_stack, FY_VALUE_ERROR,
           "fy_key_averages: group_by_source needs a profile with .with_stack = true");
  Averages *a = fy_object_new(sizeof *a, destroy);
  a->by_shape = options.group_by_input_shape;
  a->by_source = options.group_by_source;
  a->base.options = *o;
  a->base.simulated = r->simulated;
  a->base.model = r->model;
  a->base.dropped = r->dropped;
  fy_scope {
    const Use *uses = uses_of(r);
    for (size_t i = 0; i < r->count; i++)
      add_span(a, &r->spans[i], &uses[i]);
    for (size_t i = 0; i < r->activity_count; i++)
      add_activity(a, &r->activities[i]);
  }
  return &a->base;
}
