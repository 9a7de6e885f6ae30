// SPDX-License-Identifier: MIT
// What a profiler is told: for core/ only.
//
// Rooms report ranges of time (an op, a node of backward, a call of the CUDA runtime) where they happen. profiler/, above
// them all, brings the functions that listen before main, and switches them on while a profile is taken. Otherwise a report
// costs the test of a flag.
#ifndef FERRY_BASE_WATCH_H
#define FERRY_BASE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum FyRangeKind {
  FY_RANGE_OP,
  FY_RANGE_NODE,    // a node of backward
  FY_RANGE_LIBRARY, // a step of an optimizer, the next batch of a loader: what is made of ops
  FY_RANGE_USER,    // fy_record_function
  FY_RANGE_RUNTIME, // a call of the CUDA runtime
} FyRangeKind;

typedef struct FyWatchedRange {
  FyRangeKind kind;
  const char *name; // lives as long as the program
  const char *file; // where it was asked for; NULL: the thread's last public call
  int line;
  uint64_t sequence; // of the node of the graph that it runs; 0: none
} FyWatchedRange;

// A range ends on the thread on which it began, after all that began within it. Neither raises.
typedef struct FyWatcher {
  void (*begin)(const FyWatchedRange *range);
  void (*end)(void);
} FyWatcher;

extern FyWatcher fy_watcher;    // filled in before main
extern atomic_bool fy_watching; // set while a profile is taken

static inline bool fy_is_watched(void) {
  return __builtin_expect(atomic_load_explicit(&fy_watching, memory_order_relaxed), false);
}

// Returns whether anybody listens: to be given to fy_range_close. What an error leaves open is closed by the trap.
static inline bool fy_range_open(FyRangeKind kind, const char *name) {
  if (!fy_is_watched())
    return false;
  fy_watcher.begin(&(FyWatchedRange){.kind = kind, .name = name});
  return true;
}
static inline void fy_range_close(bool opened) {
  if (__builtin_expect(opened, false))
    fy_watcher.end();
}

#endif
