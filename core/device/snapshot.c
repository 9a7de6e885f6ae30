// SPDX-License-Identifier: MIT
// The file of fy_memory_snapshot: a pickle with the keys that torch.cuda.memory._snapshot() has
// (torch/csrc/cuda/Module.cpp), which is what PyTorch's viewers read.
#include "base/pickle.h"
#include "device/impl.h"
#include <stdlib.h>

// Rows of one device, at most of one kind at a time: memory of the scope, so that an error on the way gives it back.
typedef struct Rows {
  FyObject object;
  void *memory;
  size_t count;
} Rows;

static void destroy_rows(void *object) {
  Rows *rows = object;
  free(rows->memory);
  free(rows);
}

typedef size_t Reader(FyDevice device, void *rows, size_t capacity);

static size_t read_blocks(FyDevice device, void *rows, size_t capacity) {
  return fy_memory_blocks(device, rows, capacity);
}

static size_t read_history(FyDevice device, void *rows, size_t capacity) {
  return fy_memory_history(device, rows, capacity);
}

// All rows there are. While others allocate there may be more of them each time: asked for again until they fit.
static Rows *all_rows(Reader *read, FyDevice device, size_t row_bytes) {
  Rows *rows = fy_object_new(sizeof *rows, destroy_rows);
  size_t capacity = read(device, NULL, 0);
  do {
    capacity += capacity / 4 + 64;
    free(rows->memory);
    rows->memory = malloc(capacity * row_bytes);
    fy_check(rows->memory, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a snapshot of %zu entries", capacity);
    rows->count = read(device, rows->memory, capacity);
  } while (rows->count > capacity);
  return rows;
}

// ---- pieces ------------------------------------------------------------------------------------------------------------

static void string_entry(FyPickle *p, const char *key, const char *value) {
  fy_pickle_string(p, key);
  fy_pickle_string(p, value);
}

static void int_entry(FyPickle *p, const char *key, uint64_t value) {
  fy_pickle_string(p, key);
  fy_pickle_int(p, (int64_t)value);
}

static void bool_entry(FyPickle *p, const char *key, bool value) {
  fy_pickle_string(p, key);
  fy_pickle_bool(p, value);
}

static void pool_entry(FyPickle *p, const char *key, FyPoolId pool) {
  fy_pickle_string(p, key);
  fy_pickle_int(p, (int64_t)pool.id[0]);
  fy_pickle_int(p, (int64_t)pool.id[1]);
  fy_pickle_pair(p);
}

// A stack trace of one frame, or of none.
static void frames_entry(FyPickle *p, const char *file, int line) {
  fy_pickle_string(p, "frames");
  fy_pickle_list(p);
  if (!file)
    return;
  fy_pickle_dict(p);
  string_entry(p, "filename", file);
  int_entry(p, "line", (uint64_t)line);
  string_entry(p, "name", "");
  fy_pickle_dict_end(p);
  fy_pickle_append(p);
}

// ---- segments ----------------------------------------------------------------------------------------------------------

static void block(FyPickle *p, const FyMemoryBlock *b) {
  static const char *const states[] = {
      [FY_MEMORY_INACTIVE] = "inactive",
      [FY_MEMORY_ACTIVE_ALLOCATED] = "active_allocated",
      [FY_MEMORY_ACTIVE_PENDING_FREE] = "active_pending_free",
  };
  fy_pickle_dict(p);
  int_entry(p, "address", b->address);
  int_entry(p, "size", b->size);
  int_entry(p, "requested_size", b->requested);
  string_entry(p, "state", states[b->state]);
  frames_entry(p, b->file, b->line);
  fy_pickle_dict_end(p);
}

static void segment(FyPickle *p, int device, const FyMemoryBlock *blocks, size_t count) {
  size_t total = 0, allocated = 0, active = 0, requested = 0;
  for (size_t i = 0; i < count; i++) {
    total += blocks[i].size;
    allocated += blocks[i].state == FY_MEMORY_ACTIVE_ALLOCATED ? blocks[i].size : 0;
    active += blocks[i].state != FY_MEMORY_INACTIVE ? blocks[i].size : 0;
    requested += blocks[i].requested;
  }
  fy_pickle_dict(p);
  int_entry(p, "device", (uint64_t)device);
  int_entry(p, "address", blocks->segment);
  int_entry(p, "total_size", total);
  int_entry(p, "allocated_size", allocated);
  int_entry(p, "active_size", active);
  int_entry(p, "requested_size", requested);
  int_entry(p, "stream", blocks->stream);
  string_entry(p, "segment_type", blocks->small ? "small" : "large");
  pool_entry(p, "segment_pool_id", blocks->pool);
  bool_entry(p, "is_expandable", false);
  frames_entry(p, blocks->segment_file, blocks->segment_line);
  fy_pickle_string(p, "blocks");
  fy_pickle_list(p);
  for (size_t i = 0; i < count; i++) {
    block(p, &blocks[i]);
    fy_pickle_append(p);
  }
  fy_pickle_dict_end(p);
}

static void segments(FyPickle *p, int index, const Rows *rows) {
  const FyMemoryBlock *blocks = rows->memory;
  for (size_t first = 0, next; first < rows->count; first = next) {
    for (next = first + 1; next < rows->count && blocks[next].segment == blocks[first].segment;)
      next++;
    segment(p, index, &blocks[first], next - first);
    fy_pickle_append(p);
  }
}

// ---- events ------------------------------------------------------------------------------------------------------------

static void event(FyPickle *p, const FyMemoryEvent *e) {
  fy_pickle_dict(p);
  string_entry(p, "action", fy_memory_action_name(e->action));
  if (e->action == FY_MEMORY_OOM)
    int_entry(p, "device_free", e->device_free);
  else
    int_entry(p, "addr", e->address);
  int_entry(p, "size", e->size);
  int_entry(p, "stream", e->stream);
  int_entry(p, "time_us", (uint64_t)e->time_us);
  pool_entry(p, "pool_id", e->pool);
  frames_entry(p, e->file, e->line);
  fy_pickle_dict_end(p);
}

static void trace(FyPickle *p, const Rows *rows) {
  const FyMemoryEvent *events = rows->memory;
  fy_pickle_list(p);
  for (size_t i = 0; i < rows->count; i++) {
    event(p, &events[i]);
    fy_pickle_append(p);
  }
}

// ---- the whole ---------------------------------------------------------------------------------------------------------

// What PyTorch's allocator would be set to, to behave as this one does.
static void settings(FyPickle *p) {
  fy_pickle_dict(p);
  string_entry(p, "PYTORCH_CUDA_ALLOC_CONF", "");
  int_entry(p, "max_split_size", UINT64_MAX); // -1: blocks of any size are split
  fy_pickle_string(p, "garbage_collection_threshold");
  fy_pickle_float(p, 0);
  bool_entry(p, "expandable_segments", false);
  fy_pickle_dict_end(p);
}

static void ferry(FyPickle *p, int devices) {
  fy_pickle_dict(p);
  string_entry(p, "version", fy_version());
  string_entry(p, "cuda", fy_cuda_description());
  bool_entry(p, "simulated", fy_cuda_is_simulated());
  fy_pickle_string(p, "devices");
  fy_pickle_list(p);
  for (int d = 0; d <= devices; d++) {
    fy_pickle_string(p, d < devices ? fy_cuda_get_device_name(d) : "cpu");
    fy_pickle_append(p);
  }
  fy_pickle_dict_end(p);
}

static FyDevice device_at(int index, int devices) {
  return index < devices ? fy_cuda_device(index) : FY_CPU_DEVICE;
}

static void write_segments(FyPickle *p, int devices) {
  fy_pickle_list(p);
  for (int d = 0; d <= devices; d++)
    fy_scope {
      segments(p, d, all_rows(read_blocks, device_at(d, devices), sizeof(FyMemoryBlock)));
    }
}

static void write_traces(FyPickle *p, int devices) {
  fy_pickle_list(p);
  for (int d = 0; d <= devices; d++) {
    fy_scope {
      trace(p, all_rows(read_history, device_at(d, devices), sizeof(FyMemoryEvent)));
    }
    fy_pickle_append(p);
  }
}

static void note_snapshot(int devices) {
  for (int d = 0; d <= devices && fy_records_memory(); d++) {
    FyMemoryStats stats = fy_memory_stats(device_at(d, devices));
    fy_record_memory_event(
        d < devices ? d : FY_HISTORY_CPU,
        (FyMemoryEvent){.action = FY_MEMORY_SNAPSHOT, .size = stats.active, .allocated = stats.allocated});
  }
}

void fy_memory_snapshot(const char *path) {
  int devices = fy_cuda_device_count();
  fy_scope {
    FyPickle *p = fy_pickle_open(path);
    note_snapshot(devices);
    fy_pickle_dict(p);
    fy_pickle_string(p, "segments");
    write_segments(p, devices);
    fy_pickle_string(p, "device_traces");
    write_traces(p, devices);
    fy_pickle_string(p, "allocator_settings");
    settings(p);
    fy_pickle_string(p, "external_annotations");
    fy_pickle_list(p);
    fy_pickle_string(p, "ferry");
    ferry(p, devices);
    fy_pickle_dict_end(p);
    fy_pickle_commit(p);
  }
}
