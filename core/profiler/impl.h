// SPDX-License-Identifier: MIT
// What the files of this folder share: for core/profiler/ only.
#ifndef FERRY_PROFILER_IMPL_H
#define FERRY_PROFILER_IMPL_H

#include "base/watch.h"
#include "device/runtime.h"
#include "profiler/profiler.h"
#include <stdatomic.h>
#include <stddef.h>

// Beside FyRangeKind's: what an allocator did.
enum { FY_SPAN_MEMORY = 100 };

// A range that has ended. Times are in nanoseconds of CLOCK_MONOTONIC.
typedef struct FySpan {
  const char *name;
  const char *file;
  const int64_t *shapes; // how many inputs, then for each its dimensions (-1: not given) and sizes; NULL: not recorded
  int64_t begin, end;
  int64_t children;                // of its time, what the ranges directly within took
  int64_t cpu_memory, cuda_memory; // allocated less freed while it was the innermost
  double flops;
  uint64_t sequence; // of the node of the graph: that an op left behind, or that runs
  uint64_t activity; // what it started on a device; 0: nothing
  int line;
  int track;           // after collecting: whose it is
  uint32_t id, parent; // among the thread's, from 1 in the order of their begin; parent 0: none that was kept
  uint8_t kind;        // FyRangeKind or FY_SPAN_MEMORY
  bool hidden;         // of an activity that was not asked for: its time is that of the range around it
  // FY_SPAN_MEMORY: `begin` is when, `line` the device (-1: the CPU), cpu_memory what is allocated then.
} FySpan;

static inline int64_t fy_span_self(const FySpan *span) {
  return span->end - span->begin - span->children;
}

// ---- arena.c: memory that is freed all at once ---------------------------------------------------------------------------

typedef struct FyArena {
  struct FyArenaBlock *blocks;
} FyArena;
void *fy_arena_take(FyArena *arena, size_t bytes); // aligned for anything; NULL without memory
const char *fy_arena_text(FyArena *arena, const char *text);
void fy_arena_free(FyArena *arena);

// ---- record.c: what threads and devices report -----------------------------------------------------------------------------

typedef struct FyTrackName {
  int tid; // the system's number of the thread
  char name[20];
  bool main;
} FyTrackName;

// What was recorded, by thread and in the order of begins. Owned by whoever collects.
typedef struct FyRecords {
  FySpan *spans;
  size_t count;
  FySpan *memory; // FY_SPAN_MEMORY
  size_t memory_count;
  FyActivity *activities; // on devices
  size_t activity_count;
  FyTrackName *tracks;
  int track_count;
  FyArena arena;      // names and shapes
  int64_t begin, end; // of the recording
  int64_t dropped;
  bool simulated;    // what the activities' times are
  const char *model; // on devices that model a GPU: fy_cuda_model()
} FyRecords;

// Recording begins, and ends with all that ranges have closed by then moved to `records` (NULL: thrown away). One at a time,
// which the caller sees to. `stop` waits for the devices first where they are recorded. Neither raises; out of memory it keeps
// less and counts it.
void fy_records_start(const FyProfileOptions *options);
void fy_records_stop(FyRecords *records);
void fy_records_free(FyRecords *records);

// A range of the calling thread by a name that is copied, and its end by the mark (0: it is not recorded; below 2^23, of which
// the recording and the depth take part); what is still open within ends with it.
int fy_range_enter(const char *name);
void fy_range_exit(int mark);

// How many ranges are open on the calling thread, and the end of those beyond.
int fy_open_ranges(void);
void fy_close_ranges(int beyond);

// ---- outside.c: ranges of the program for tools that watch it, whether or not a profile is taken -------------------------

// How many the calling thread has open, one more of that name (at most 255), and no more than `depth`.
int fy_outside_ranges(void);
void fy_outside_enter(const char *name);
void fy_outside_close(int depth);

// ---- profile.c -------------------------------------------------------------------------------------------------------------

struct FyProfile {
  FyObject object;
  FyProfileOptions options;
  FyRecords records;
  bool recording; // records are being made; thrown away in a step of warm-up
  bool kept;      // and not thrown away
  bool open;      // between begin and end
  int64_t step;
  int step_mark; // of the range "ProfilerStep#N"
};

const FyRecords *fy_profile_records(const FyProfile *profile, const char *who); // raises while it records

// ---- flops.c ---------------------------------------------------------------------------------------------------------------

struct FyOpCall;
double fy_flops_of(const struct FyOpCall *call); // 0 where PyTorch counts none

// ---- averages.c ------------------------------------------------------------------------------------------------------------

// "[[64, 784], [], [256]]", in `text`, cut to its capacity.
void fy_shapes_text(const int64_t *shapes, char *text, size_t capacity);

const char *fy_activity_name(const FyActivity *activity);

#endif
