// What a trap restores and a worker thread inherits: for core/ only.
#ifndef FERRY_BASE_STATE_H
#define FERRY_BASE_STATE_H

#include "base/error.h"

// The calling thread's open scopes, grad mode, autocast and CUDA device and stream.
void fy_thread_state_save(FyThreadState *state);

// Back to `state`: scopes opened since are closed.
void fy_thread_state_restore(const FyThreadState *state);

// Takes over grad mode, autocast, device and stream of another thread, not its scopes.
void fy_thread_state_inherit(const FyThreadState *state);

// The thread's modes that no room of its own keeps.
extern _Thread_local bool fy_grad_enabled;
extern _Thread_local int fy_autocast_state;

#endif
