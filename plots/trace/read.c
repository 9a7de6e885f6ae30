// SPDX-License-Identifier: MIT
// Chrome traces, of Ferry's profiler and of PyTorch's: the whole ranges (phase "X") and the names of rows (phase "M").
#include "trace.h"
#include "base/error.h"
#include "base/json_text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { MOST_RANGES = 2000000, MOST_BYTES = 1 << 30, MOST_ROWS = 4096 };
// A packed trace is a tenth to a fiftieth of its text; a file that unpacks to more than this is no trace but fills the memory.
enum { MOST_PACKED = 250, ALWAYS_READ = 16 << 20 };

static void destroy(void *object) {
  Trace *trace = object;
  if (trace->file)
    gzclose(trace->file);
  free(trace->text);
  free(trace->events);
  free(trace->rows);
  free(trace);
}

static void *grown(void *memory, size_t bytes) {
  memory = realloc(memory, bytes);
  fy_check(memory, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a trace: %zu bytes", bytes);
  return memory;
}

// ---- the file ----------------------------------------------------------------------------------------------------------

// Returns how many bytes the file has.
static size_t open_file(Trace *trace, const char *path) {
  struct stat status;
  fy_check(stat(path, &status) == 0, FY_OS_ERROR, "%s: cannot be read: %s", path, strerror(errno));
  fy_check(S_ISREG(status.st_mode), FY_OS_ERROR, "%s: cannot be read: it is not a file", path);
  trace->file = gzopen(path, "rb"); // reads what is not packed as it is
  fy_check(trace->file, FY_OS_ERROR, "%s: cannot be read: %s", path, strerror(errno));
  return (size_t)status.st_size;
}

// Its bytes with a NUL behind them.
static size_t read_text(Trace *trace, const char *path) {
  const size_t packed = open_file(trace, path);
  size_t length = 0, capacity = 1 << 16;
  trace->text = grown(NULL, capacity);
  for (int n; (n = gzread(trace->file, trace->text + length, (unsigned)(capacity - length - 1))) != 0;) {
    int code;
    fy_check(n > 0, FY_OS_ERROR, "%s: cannot be read: %s", path, gzerror(trace->file, &code));
    length += (size_t)n;
    fy_check(length < MOST_BYTES, FY_VALUE_ERROR,
             "%s: more than %d MB of trace, too much for a picture: record fewer steps (a schedule's `active`)", path,
             MOST_BYTES >> 20);
    fy_check(length < ALWAYS_READ || length / MOST_PACKED <= packed, FY_VALUE_ERROR,
             "%s: unpacks to more than %d times its size, which no trace does: record it again, or unpack it first",
             path, MOST_PACKED);
    if (capacity - length < 2)
      trace->text = grown(trace->text, capacity *= 2);
  }
  trace->text[length] = '\0';
  return length;
}

// ---- what an event says ------------------------------------------------------------------------------------------------

typedef struct Fields {
  char phase;
  const char *name, *category, *row_name, *labels;
  Id process, thread;
  double begin, duration, order; // microseconds; NAN: not told
  bool simulated;
} Fields;

static const char *read_string(FyJson *json, const char *what) {
  return json->text + fy_json_string(json, what);
}

static Id read_id(FyJson *json) {
  if (fy_json_peek(json) == '"')
    return (Id){.text = read_string(json, "a pid or tid")};
  return (Id){.number = fy_json_number(json, "a pid or tid")};
}

// The name that a pair begins with.
static const char *read_key(FyJson *json) {
  const char *key = read_string(json, "a name");
  fy_json_expect(json, ':');
  return key;
}

static void read_args(FyJson *json, Fields *f) {
  if (fy_json_peek(json) != '{') {
    fy_json_skip(json);
    return;
  }
  fy_json_expect(json, '{');
  if (fy_json_accept(json, '}'))
    return;
  do {
    const char *key = read_key(json);
    const char first = fy_json_peek(json);
    if (strcmp(key, "name") == 0 && first == '"')
      f->row_name = read_string(json, "a name");
    else if (strcmp(key, "labels") == 0 && first == '"')
      f->labels = read_string(json, "labels");
    else if (strcmp(key, "sort_index") == 0 && first != '"')
      f->order = fy_json_number(json, "sort_index");
    else {
      f->simulated = f->simulated || (strcmp(key, "simulated") == 0 && first == 't');
      fy_json_skip(json);
    }
  } while (fy_json_accept(json, ','));
  fy_json_expect(json, '}');
}

static void read_field(FyJson *json, const char *key, Fields *f) {
  if (strcmp(key, "ph") == 0)
    f->phase = *read_string(json, "a phase");
  else if (strcmp(key, "name") == 0)
    f->name = read_string(json, "a name");
  else if (strcmp(key, "cat") == 0)
    f->category = read_string(json, "a category");
  else if (strcmp(key, "pid") == 0)
    f->process = read_id(json);
  else if (strcmp(key, "tid") == 0)
    f->thread = read_id(json);
  else if (strcmp(key, "ts") == 0)
    f->begin = fy_json_number(json, "ts");
  else if (strcmp(key, "dur") == 0)
    f->duration = fy_json_number(json, "dur");
  else if (strcmp(key, "args") == 0)
    read_args(json, f);
  else
    fy_json_skip(json);
}

// ---- rows --------------------------------------------------------------------------------------------------------------

static bool same(Id a, Id b) {
  return a.text && b.text ? strcmp(a.text, b.text) == 0 : !a.text && !b.text && a.number == b.number;
}

static int row_of(Trace *trace, const FyJson *json, Id process, Id thread) {
  for (int i = trace->row_count - 1; i >= 0; i--)
    if (same(trace->rows[i].process, process) && same(trace->rows[i].thread, thread))
      return i;
  fy_check(trace->row_count < MOST_ROWS, FY_VALUE_ERROR, "%s: more than %d threads and streams, too much for a picture",
           json->path, MOST_ROWS);
  if (trace->row_count == trace->row_capacity) {
    trace->row_capacity = 2 * trace->row_capacity + 16;
    trace->rows = grown(trace->rows, (size_t)trace->row_capacity * sizeof *trace->rows);
  }
  trace->rows[trace->row_count] =
      (Row){.process = process, .thread = thread, .process_order = INFINITY, .order = INFINITY};
  return trace->row_count++;
}

static void take_name(Trace *trace, const FyJson *json, const Fields *f) {
  if (!f->name)
    return;
  const int at = row_of(trace, json, f->process, f->thread); // which may move the rows
  Row *row = &trace->rows[at];
  if (strcmp(f->name, "process_name") == 0)
    row->heading = f->row_name;
  else if (strcmp(f->name, "process_labels") == 0)
    row->labels = f->labels;
  else if (strcmp(f->name, "process_sort_index") == 0)
    row->process_order = f->order;
  else if (strcmp(f->name, "thread_name") == 0)
    row->name = f->row_name;
  else if (strcmp(f->name, "thread_sort_index") == 0)
    row->order = f->order;
}

// What was told of a process with any of its rows holds for all.
static void share_processes(Trace *trace) {
  for (int i = 0; i < trace->row_count; i++)
    for (int k = 0; k < trace->row_count; k++) {
      Row *row = &trace->rows[i];
      const Row *other = &trace->rows[k];
      if (!same(row->process, other->process))
        continue;
      row->heading = row->heading ? row->heading : other->heading;
      row->labels = row->labels ? row->labels : other->labels;
      row->process_order = fmin(row->process_order, other->process_order);
      row->simulated = row->simulated || other->simulated;
    }
}

// ---- ranges ------------------------------------------------------------------------------------------------------------

static Kind kind_of(const Fields *f) {
  static const struct {
    const char *category;
    Kind kind;
  } known[] = {{"cpu_op", OP},       {"user_annotation", RANGE}, {"gpu_user_annotation", RANGE}, {"kernel", KERNEL},
               {"gpu_memcpy", COPY}, {"cuda_runtime", RUNTIME},  {"cuda_driver", RUNTIME}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (f->category && strcmp(f->category, known[i].category) == 0)
      return known[i].kind == RUNTIME && f->name && strstr(f->name, "Synchronize") ? WAIT : known[i].kind;
  return OTHER;
}

// PyTorch's frames of Python are hundreds deep, and its "Trace" is the whole recording.
static bool is_drawn(const Fields *f) {
  return f->phase == 'X' && isfinite(f->begin) && isfinite(f->duration) && f->duration >= 0 &&
         !(f->category && (strcmp(f->category, "python_function") == 0 || strcmp(f->category, "Trace") == 0));
}

static void take_range(Trace *trace, const FyJson *json, const Fields *f) {
  fy_check(trace->count < MOST_RANGES, FY_VALUE_ERROR,
           "%s: more than %d ranges, too many for a picture: record fewer steps (a schedule's `active`)", json->path,
           MOST_RANGES);
  if (trace->count == trace->capacity) {
    trace->capacity = 2 * trace->capacity + 256;
    trace->events = grown(trace->events, trace->capacity * sizeof *trace->events);
  }
  int row = row_of(trace, json, f->process, f->thread);
  trace->rows[row].simulated = trace->rows[row].simulated || f->simulated;
  trace->simulated = trace->simulated || f->simulated;
  trace->events[trace->count++] = (Event){
      .name = f->name ? f->name : "", .begin = f->begin, .end = f->begin + f->duration, .row = row, .kind = kind_of(f)};
}

static void read_event(Trace *trace, FyJson *json) {
  Fields f = {.begin = NAN, .duration = NAN, .order = INFINITY};
  fy_json_expect(json, '{');
  if (!fy_json_accept(json, '}')) {
    do {
      const char *key = read_key(json);
      read_field(json, key, &f);
    } while (fy_json_accept(json, ','));
    fy_json_expect(json, '}');
  }
  if (f.phase == 'M')
    take_name(trace, json, &f);
  else if (is_drawn(&f))
    take_range(trace, json, &f);
  else if (!f.phase || !strchr("sftC", f.phase)) // arrows and counters are told, not drawn
    trace->left_out++;
}

static void read_events(Trace *trace, FyJson *json) {
  fy_json_expect(json, '[');
  if (fy_json_accept(json, ']'))
    return;
  do {
    read_event(trace, json);
  } while (fy_json_accept(json, ','));
  fy_json_expect(json, ']');
}

// ---- the whole ---------------------------------------------------------------------------------------------------------

// An object with "traceEvents", or the array alone.
static bool read_trace(Trace *trace, FyJson *json) {
  bool found = false;
  if (fy_json_peek(json) == '[') {
    read_events(trace, json);
    return true;
  }
  fy_json_expect(json, '{');
  if (fy_json_accept(json, '}'))
    return false;
  do {
    const char *key = read_key(json);
    if (strcmp(key, "traceEvents") == 0) {
      read_events(trace, json);
      found = true;
    } else {
      fy_json_skip(json);
    }
  } while (fy_json_accept(json, ','));
  fy_json_expect(json, '}');
  return found;
}

// Microseconds from anywhere become milliseconds from the first range on.
static void begin_at_zero(Trace *trace) {
  double first = INFINITY;
  for (size_t i = 0; i < trace->count; i++)
    first = fmin(first, trace->events[i].begin);
  for (size_t i = 0; i < trace->count; i++) {
    trace->events[i].begin = (trace->events[i].begin - first) / 1000;
    trace->events[i].end = (trace->events[i].end - first) / 1000;
  }
}

Trace *trace_read(const char *path) {
  Trace *trace = fy_object_new(sizeof *trace, destroy);
  FyJson json = {.path = path, .kind = "Chrome trace"};
  json.length = read_text(trace, path);
  json.text = trace->text;
  fy_json_peek(&json);
  fy_check(json.at < json.length, FY_VALUE_ERROR, "%s: the file is empty: was the trace written to its end?", path);
  bool found = read_trace(trace, &json);
  if (fy_json_peek(&json) || json.at < json.length)
    fy_json_malformed(&json, json.at, "nothing after the trace");
  fy_check(found, FY_VALUE_ERROR, "%s: no Chrome trace: it has no \"traceEvents\"", path);
  fy_check(trace->count > 0, FY_VALUE_ERROR,
           "%s: nothing to draw: of %zu events none is a range with begin and duration (\"ph\":\"X\")", path,
           trace->left_out);
  share_processes(trace);
  begin_at_zero(trace);
  return trace;
}
