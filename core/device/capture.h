// SPDX-License-Identifier: MIT
// Captures as other files of core/ see them.
#ifndef FERRY_DEVICE_CAPTURE_H
#define FERRY_DEVICE_CAPTURE_H

#include "device/cuda_graph.h"
#include <stdatomic.h>

// How many captures are under way in the process.
extern atomic_int fy_capture_count;
static inline bool fy_is_capturing(void) {
  return __builtin_expect(atomic_load_explicit(&fy_capture_count, memory_order_relaxed) > 0, false);
}

// The graph into which the raw stream of `device` is being captured, by whatever thread; NULL: none. Never raises.
FyCudaGraph *fy_captured_into(int device, void *raw_stream);

// Does the calling thread have a capture open? Never raises.
bool fy_thread_is_capturing(void);

// What a room above brings into a graph, one of each kind (`key`: an address that stands for it): an object that the graph keeps
// until it is reset, and that may have something queued on the stream of a replay before it. Both may raise.
typedef struct FyGraphPart {
  FyObject object;
  const void *key;
  void (*before_replay)(struct FyGraphPart *part, int device, void *raw_stream);
  struct FyGraphPart *next;
} FyGraphPart;
FyGraphPart *fy_graph_part(const FyCudaGraph *graph, const void *key); // NULL: not there. Never raises
void fy_graph_add_part(FyCudaGraph *graph, FyGraphPart *part);         // counted by the graph from now on. Never raises

// Called before a capture on `device` begins, for parts that every graph has: filled in before main. May raise.
extern void (*fy_before_capture)(FyCudaGraph *graph, int device);

// Raises PyTorch's error, which begins with `attempt`, when the current stream of `device` is being captured (-1: of the
// current device, where there is one).
void fy_check_not_capturing(int device, const char *attempt);

// ---- device/ only --------------------------------------------------------------------------------------------------------

typedef struct FyKeptBlock {
  void *block;
  struct FyKeptBlock *next;
} FyKeptBlock;

struct FyCudaGraph {
  FyObject object;
  int device;
  void *ready; // cudaGraphExec_t; NULL: nothing is captured
  size_t nodes;
  FyPoolId pool;
  unsigned pool_devices; // bit i: the graph counts among the pool's users on device i
  FyGraphPart *parts;    // each counted
  FyKeptBlock *blocks;
  // While it is being captured:
  uint64_t capture;   // its id; 0: it is not
  FyStream *stream;   // counted
  FyCudaGraph *outer; // the thread's capture around this one
  FyCudaGraph *next;  // among all captures
};

// capture.c: none of these raises. The first adds a graph whose capture has begun to the captures of the process and of the
// calling thread, which holds a reference to it. The second removes the thread's innermost one and releases its stream, but not the
// thread's reference, which the caller gets.
void fy_capture_list_add(FyCudaGraph *graph);
void fy_capture_list_remove(FyCudaGraph *graph);
bool fy_captures_to(FyPoolId pool);      // does a capture in progress allocate from the pool?
FyCudaGraph *fy_innermost_capture(void); // of the calling thread, borrowed; NULL: none

// What the runtime refuses the calling thread while captures go on: FY_CAPTURE_RELAXED, nothing. Returns what it was, to be put
// back. For memory that a capture takes for itself, and for what has nothing to do with any. Never raises.
int fy_set_capture_mode(int mode);

// The pool of the capture with this id, for blocks on `device`. `*first`: the graph has not used it there before, and counts as
// one more user. False: not a capture that Ferry began. Never raises.
bool fy_capture_pool(uint64_t capture, int device, FyPoolId *pool, bool *first);

// The graph keeps a block of its pool until it is reset. Never raises; false without memory.
bool fy_capture_keep_block(FyCudaGraph *graph, void *block);

// The calling thread's open captures, and ending the innermost until `count` are left, without graphs. Never raise.
int fy_thread_captures(void);
void fy_abandon_captures(int count);

// caching_allocator.c: a graph needs its pool no more. Never raises.
void fy_allocator_release_pool(int device, FyPoolId pool);

#endif
