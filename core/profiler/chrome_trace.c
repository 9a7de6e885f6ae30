// SPDX-License-Identifier: MIT
// A profile as Chrome trace JSON: https://ui.perfetto.dev, chrome://tracing. The names of categories and flows are PyTorch's.
#include "base/atomic_file.h"
#include "base/text.h"
#include "profiler/impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Trace {
  const FyRecords *records;
  const FyProfileOptions *options;
  FyText *text;
  int pid;
  bool any; // an event has been written
} Trace;

// ---- JSON ------------------------------------------------------------------------------------------------------------------------

static void begin_event(Trace *t, const char *phase) {
  fy_text_add(t->text, "%s\n{\"ph\":\"%s\"", t->any ? "," : "", phase);
  t->any = true;
}

static void add_name(Trace *t, const char *category, const char *name) {
  if (category)
    fy_text_add(t->text, ",\"cat\":\"%s\"", category);
  fy_text_add(t->text, ",\"name\":");
  fy_text_add_json(t->text, name);
}

static void add_place(Trace *t, int pid, int tid) {
  fy_text_add(t->text, ",\"pid\":%d,\"tid\":%d", pid, tid);
}

// Microseconds since the recording began, to the nanosecond.
static void add_time(Trace *t, const char *key, int64_t nanoseconds) {
  fy_text_add(t->text, ",\"%s\":%s%lld.%03lld", key, nanoseconds < 0 ? "-" : "", llabs(nanoseconds) / 1000,
              llabs(nanoseconds) % 1000);
}

static void add_begin(Trace *t, int64_t time) {
  add_time(t, "ts", time - t->records->begin);
}

static void write_meta(Trace *t, const char *what, int pid, int tid, const char *value) {
  begin_event(t, "M");
  add_name(t, NULL, what);
  add_place(t, pid, tid);
  fy_text_add(t->text, ",\"args\":{\"name\":");
  fy_text_add_json(t->text, value);
  fy_text_add(t->text, "}}");
}

static void write_order(Trace *t, const char *what, int pid, int tid, int order) {
  begin_event(t, "M");
  add_name(t, NULL, what);
  add_place(t, pid, tid);
  fy_text_add(t->text, ",\"args\":{\"sort_index\":%d}}", order);
}

// ---- threads ---------------------------------------------------------------------------------------------------------------------

static int tid_of(const Trace *t, const FySpan *span) {
  return t->records->tracks[span->track].tid;
}

static void write_threads(Trace *t) {
  write_meta(t, "process_name", t->pid, 0, "CPU");
  write_order(t, "process_sort_index", t->pid, 0, -1);
  for (int i = 0; i < t->records->track_count; i++) {
    const FyTrackName *track = &t->records->tracks[i];
    char name[64];
    snprintf(name, sizeof name, "thread %d (%s%s)", track->tid, track->name, track->main ? ", main" : "");
    write_meta(t, "thread_name", t->pid, track->tid, name);
    write_order(t, "thread_sort_index", t->pid, track->tid, track->main ? -1 : i);
  }
}

static const char *kind_of_time(const FyRecords *r) {
  return r->model ? " (modeled)" : r->simulated ? " (simulated)" : "";
}

static const char *category_of(const FySpan *span) {
  static const char *const categories[] = {[FY_RANGE_OP] = "cpu_op",
                                           [FY_RANGE_NODE] = "cpu_op",
                                           [FY_RANGE_LIBRARY] = "user_annotation",
                                           [FY_RANGE_USER] = "user_annotation",
                                           [FY_RANGE_RUNTIME] = "cuda_runtime"};
  return categories[span->kind];
}

static void write_span_args(Trace *t, const FySpan *span) {
  char shapes[512];
  fy_text_add(t->text, ",\"args\":{\"Ev Idx\":%u", span->id);
  if (span->shapes) {
    fy_shapes_text(span->shapes, shapes, sizeof shapes);
    fy_text_add(t->text, ",\"Input Dims\":");
    fy_text_add_json(t->text, shapes);
  }
  if (span->activity)
    fy_text_add(t->text, ",\"correlation\":%llu", (unsigned long long)span->activity);
  if (span->sequence)
    fy_text_add(t->text, ",\"Sequence number\":%llu", (unsigned long long)span->sequence);
  if (t->options->with_stack && span->file) {
    fy_text_add(t->text, ",\"source\":");
    char place[512];
    snprintf(place, sizeof place, "%s:%d", span->file, span->line);
    fy_text_add_json(t->text, place);
  }
  if (span->flops > 0)
    fy_text_add(t->text, ",\"flops\":%.0f", span->flops);
  fy_text_add(t->text, "}");
}

static void write_spans(Trace *t) {
  for (size_t i = 0; i < t->records->count; i++) {
    const FySpan *span = &t->records->spans[i];
    begin_event(t, "X");
    add_name(t, category_of(span), span->name);
    add_place(t, t->pid, tid_of(t, span));
    add_begin(t, span->begin);
    add_time(t, "dur", span->end - span->begin);
    write_span_args(t, span);
    fy_text_add(t->text, "}");
  }
}

// ---- devices: a row for each stream, and for its copies in each direction, which may run beside its kernels -----------------------

enum { MOST_STREAMS = 64, ROWS_OF_A_STREAM = 4 };

typedef struct Rows {
  int device[MOST_STREAMS];
  uint64_t stream[MOST_STREAMS];
  bool used[MOST_STREAMS][ROWS_OF_A_STREAM]; // by FY_COPY_...; 0: kernels and fills
  int count;
} Rows;

// The default stream of a device comes before the others.
static int row_of(Rows *rows, const FyActivity *a) {
  int place = 0;
  for (; place < rows->count; place++)
    if (rows->device[place] == a->device && rows->stream[place] == a->stream)
      break;
  if (place == rows->count && rows->count < MOST_STREAMS) {
    rows->device[place] = a->device;
    rows->stream[place] = a->stream;
    rows->count++;
  }
  place = place < MOST_STREAMS ? place : MOST_STREAMS - 1;
  int kind = a->kind == FY_ACTIVITY_COPY ? a->copy_kind & 3 : 0;
  rows->used[place][kind] = true;
  return place * ROWS_OF_A_STREAM + kind;
}

static void name_row(Trace *t, const Rows *rows, int place, int kind) {
  static const char *const copies[] = {"", ": copies HtoD", ": copies DtoH", ": copies DtoD"};
  char name[96], stream[32];
  snprintf(stream, sizeof stream, rows->stream[place] ? "stream %d" : "default stream", place);
  snprintf(name, sizeof name, "%s%s%s", stream, copies[kind], kind_of_time(t->records));
  int tid = place * ROWS_OF_A_STREAM + kind;
  write_meta(t, "thread_name", rows->device[place], tid, name);
  write_order(t, "thread_sort_index", rows->device[place], tid, rows->stream[place] ? tid + 1 : kind);
}

static void name_devices(Trace *t, const Rows *rows) {
  bool named[FY_MAX_DEVICES] = {false};
  for (int place = 0; place < rows->count; place++) {
    int device = rows->device[place];
    char name[320];
    snprintf(name, sizeof name, "cuda:%d %s%s", device, fy_cuda_get_device_name(device), kind_of_time(t->records));
    if (!named[device]) {
      write_meta(t, "process_name", device, 0, name);
      write_order(t, "process_sort_index", device, 0, device);
    }
    named[device] = true;
    for (int kind = 0; kind < ROWS_OF_A_STREAM; kind++)
      if (rows->used[place][kind])
        name_row(t, rows, place, kind);
  }
}

static void write_activity_args(Trace *t, const FyActivity *a) {
  fy_text_add(t->text, ",\"args\":{\"correlation\":%llu,\"device\":%d", (unsigned long long)a->launch, a->device);
  if (a->kind != FY_ACTIVITY_KERNEL)
    fy_text_add(t->text, ",\"bytes\":%zu", a->bytes);
  else if (a->grid[0])
    fy_text_add(t->text, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", a->grid[0], a->grid[1], a->grid[2], a->block[0],
                a->block[1], a->block[2]);
  fy_text_add(t->text, "%s}",
              t->records->model       ? ",\"modeled\":true"
              : t->records->simulated ? ",\"simulated\":true"
                                      : "");
}

// ---- arrows ----------------------------------------------------------------------------------------------------------------------

static void write_flow(Trace *t, const char *phase, const char *name, uint64_t id, int pid, int tid, int64_t time) {
  begin_event(t, phase);
  add_name(t, name, name);
  fy_text_add(t->text, ",\"id\":%llu", (unsigned long long)id);
  if (phase[0] == 'f')
    fy_text_add(t->text, ",\"bp\":\"e\"");
  add_place(t, pid, tid);
  add_begin(t, time);
  fy_text_add(t->text, "}");
}

typedef struct Numbered {
  uint64_t number;
  const FySpan *span;
} Numbered;

typedef struct Index {
  FyObject object;
  Numbered *items;
  size_t count;
} Index;

static void free_index(void *object) {
  free(((Index *)object)->items);
  free(object);
}

static int by_number(const void *a, const void *b) {
  const Numbered *x = a, *y = b;
  if (x->number != y->number)
    return x->number < y->number ? -1 : 1;
  return x->span < y->span ? -1 : x->span > y->span;
}

static uint64_t activity_number(const FySpan *span) {
  return span->activity;
}
static uint64_t forward_number(const FySpan *span) {
  return span->kind == FY_RANGE_OP ? span->sequence : 0;
}

static Index *index_of(const FyRecords *r, uint64_t (*number)(const FySpan *span)) {
  Index *index = fy_object_new(sizeof *index, free_index);
  index->items = malloc((r->count + 1) * sizeof *index->items);
  fy_check(index->items, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a trace of %zu ranges", r->count);
  for (size_t i = 0; i < r->count; i++)
    if (number(&r->spans[i]))
      index->items[index->count++] = (Numbered){number(&r->spans[i]), &r->spans[i]};
  qsort(index->items, index->count, sizeof *index->items, by_number);
  return index;
}

// The first of the number.
static const FySpan *find(const Index *index, uint64_t number) {
  size_t low = 0, high = index->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (index->items[middle].number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < index->count && index->items[low].number == number ? index->items[low].span : NULL;
}

static void write_activities(Trace *t) {
  Rows rows = {.count = 0};
  const Index *launches = index_of(t->records, activity_number);
  for (size_t i = 0; i < t->records->activity_count; i++) {
    static const char *const categories[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const FyActivity *a = &t->records->activities[i];
    const FySpan *launch = find(launches, a->launch);
    int tid = row_of(&rows, a);
    begin_event(t, "X");
    add_name(t, categories[a->kind], fy_activity_name(a));
    add_place(t, a->device, tid);
    add_begin(t, a->begin);
    add_time(t, "dur", a->end - a->begin);
    write_activity_args(t, a);
    fy_text_add(t->text, "}");
    if (!launch)
      continue;
    write_flow(t, "s", "ac2g", a->id, t->pid, tid_of(t, launch), launch->begin);
    write_flow(t, "f", "ac2g", a->id, a->device, tid, a->begin);
  }
  name_devices(t, &rows);
}

// From an op to the node of backward that it left behind.
static void write_backward_arrows(Trace *t) {
  const Index *forward = index_of(t->records, forward_number);
  for (size_t i = 0; i < t->records->count; i++) {
    const FySpan *node = &t->records->spans[i];
    const FySpan *op = node->kind == FY_RANGE_NODE ? find(forward, node->sequence) : NULL;
    if (!op || op->begin > node->begin)
      continue;
    write_flow(t, "s", "fwdbwd", node->sequence, t->pid, tid_of(t, op), op->begin);
    write_flow(t, "f", "fwdbwd", node->sequence, t->pid, tid_of(t, node), node->begin);
  }
}

// ---- the whole -------------------------------------------------------------------------------------------------------------------

static void write_memory(Trace *t) {
  for (size_t i = 0; i < t->records->memory_count; i++) {
    const FySpan *m = &t->records->memory[i];
    char name[40] = "memory of the CPU";
    if (m->line >= 0)
      snprintf(name, sizeof name, "memory of cuda:%d", m->line);
    begin_event(t, "C");
    add_name(t, NULL, name);
    add_place(t, t->pid, 0);
    add_begin(t, m->begin);
    fy_text_add(t->text, ",\"args\":{\"allocated bytes\":%lld}}", (long long)m->cpu_memory);
  }
}

void fy_export_chrome_trace(FyProfile *profile, const char *path) {
  fy_scope {
    Trace t = {.records = fy_profile_records(profile, "fy_export_chrome_trace"),
               .options = &profile->options,
               .text = fy_text_new(),
               .pid = (int)getpid()};
    fy_text_add(t.text, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"device_times\":\"%s\",\"traceEvents\":[",
                t.records->model            ? "modeled"
                : t.records->simulated      ? "simulated"
                : t.records->activity_count ? "measured"
                                            : "none");
    write_threads(&t);
    write_spans(&t);
    write_activities(&t);
    write_backward_arrows(&t);
    write_memory(&t);
    fy_text_add(t.text, "\n]}\n");
    FyAtomicFile *file = fy_atomic_file_open(path);
    fy_atomic_file_write(file, t.text->bytes, t.text->length);
    fy_atomic_file_commit(file);
  }
}
