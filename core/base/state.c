// One place that knows what belongs to a thread, so that traps and workers treat all of it alike.
#include "base/state.h"
#include "base/scope_impl.h"
#include "device/runtime.h"

_Thread_local bool fy_grad_enabled = true;
_Thread_local int fy_autocast_state;

void fy_thread_state_save(FyThreadState *state) {
  state->scope_depth = fy_scope_depth();
  state->grad_enabled = fy_grad_enabled;
  state->autocast = fy_autocast_state;
  fy_device_state_save(state);
}

void fy_thread_state_inherit(const FyThreadState *state) {
  fy_grad_enabled = state->grad_enabled;
  fy_autocast_state = state->autocast;
  fy_device_state_restore(state);
}

void fy_thread_state_restore(const FyThreadState *state) {
  fy_scope_close_to_depth(state->scope_depth);
  fy_thread_state_inherit(state);
}
