// SPDX-License-Identifier: MIT
// One place that knows what belongs to a thread, so that traps and workers treat all of it alike.
#include "base/state.h"
#include "base/scope_impl.h"

enum { MAX_PARTS = 8 };

_Thread_local bool fy_grad_enabled = true;

static const FyThreadPart *parts[MAX_PARTS]; // the highest room first
static int part_count;

static size_t words_of(const FyThreadPart *part) {
  return (part->bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

void fy_thread_part_register(const FyThreadPart *part) {
  size_t words = words_of(part);
  for (int i = 0; i < part_count; i++)
    words += words_of(parts[i]);
  if (part_count == MAX_PARTS || words > FY_THREAD_STATE_WORDS)
    fy_panic("no room for the thread's state of %s/", part->room);
  int place = part_count++;
  for (; place > 0 && parts[place - 1]->height < part->height; place--)
    parts[place] = parts[place - 1];
  parts[place] = part;
}

void fy_thread_state_save(FyThreadState *state) {
  uint64_t *saved = state->parts;
  state->scope_depth = fy_scope_depth();
  state->grad_enabled = fy_grad_enabled;
  for (int i = 0; i < part_count; i++) {
    parts[i]->save(saved);
    saved += words_of(parts[i]);
  }
}

void fy_thread_state_inherit(const FyThreadState *state) {
  const uint64_t *saved = state->parts;
  fy_grad_enabled = state->grad_enabled;
  for (int i = 0; i < part_count; i++) {
    parts[i]->restore(saved);
    saved += words_of(parts[i]);
  }
}

void fy_thread_state_restore(const FyThreadState *state) {
  fy_scope_close_to_depth(state->scope_depth);
  fy_thread_state_inherit(state);
}

void fy_thread_parts_shut_down(void) {
  for (int i = 0; i < part_count; i++)
    if (parts[i]->shut_down)
      parts[i]->shut_down();
}
