// SPDX-License-Identifier: MIT
// What a trap restores and a worker thread inherits: for core/ only.
//
// base/ keeps the scopes and the grad mode of each thread. A room above that keeps more (device/: which device and streams are
// current) registers a part, so that traps, workers and the program's end treat all of it alike and base/ names no room.
#ifndef FERRY_BASE_STATE_H
#define FERRY_BASE_STATE_H

#include "base/error.h"

typedef struct FyThreadPart {
  const char *room;
  int height;   // the higher its room stands, the earlier it is restored and shut down: device/ 1
  size_t bytes; // of what it saves
  // Writes what the calling thread has to `saved`, which is aligned for any pointer.
  void (*save)(void *saved);
  // Back to `saved`, which may be another thread's. Runs while an error is on its way, so it raises none.
  void (*restore)(const void *saved);
  // When the program ends, after the last scope has closed; may be NULL.
  void (*shut_down)(void);
} FyThreadPart;

// Adds a part, which is borrowed for the program's life. To be called before main (__attribute__((constructor))), while
// there is one thread and no trap.
void fy_thread_part_register(const FyThreadPart *part);

// The calling thread's open scopes, modes and parts.
void fy_thread_state_save(FyThreadState *state);

// Back to `state`: scopes opened since are closed.
void fy_thread_state_restore(const FyThreadState *state);

// Takes over the modes and parts of another thread, not its scopes.
void fy_thread_state_inherit(const FyThreadState *state);

// When the program ends: every part's shut_down.
void fy_thread_parts_shut_down(void);

// The thread's mode that no room of its own keeps.
extern _Thread_local bool fy_grad_enabled;

#endif
