// SPDX-License-Identifier: MIT
// Who runs next. A lane's position says how far it is: for each of its frames the turns of the loops around its statement, the statement,
// and the calls that it has made. The lane with the least position of its warp runs first: lanes that part at a condition meet again
// behind it, and a warp runs in lockstep, without any analysis of the control flow.
//
// A lane may wait for one that is ahead of it, by polling: a lock, a flag. So a lane or a warp that was passed over for
// PATIENCE steps has a turn; after IDLE steps, if those changed nothing.
#include <string.h>

#include "inspect/step/step.h"
#include "sim/base/plugin.h"

enum { PATIENCE = 100, IDLE = 8 };

static uint64_t warp_steps[MAX_WARPS], began; // of each warp; of the running one when its turn began
static uint64_t changed[MAX_WARPS];           // the warp's last step that changed a variable or memory

static uint64_t patience(unsigned warp) {
  return warp_steps[warp] > changed[warp] + IDLE ? IDLE : PATIENCE;
}

void step_turns_change(int warp) {
  changed[warp] = warp_steps[warp];
}

static void push(struct step_lane *lane, uint32_t number) {
  lane->position = step_grown(lane->position, (int)lane->length, &lane->position_room, sizeof *lane->position);
  lane->position[lane->length++] = number;
}

static uint32_t turns_of(const struct step_frame *frame, int loop) {
  for (int i = 0; i < frame->turn_count; i++)
    if (frame->turns[i].loop == loop)
      return frame->turns[i].count;
  return 0;
}

void step_place(struct step_lane *lane) {
  lane->length = 0;
  for (int i = 0; i < lane->depth; i++) {
    const struct step_frame *frame = &lane->frames[i];
    const struct step_statement *s = &step_statements[frame->statement];
    for (int l = 0; frame->statement && l < s->loop_count; l++) {
      push(lane, (uint32_t)s->loops[l]);
      push(lane, turns_of(frame, s->loops[l]));
    }
    push(lane, (uint32_t)frame->statement);
    push(lane, frame->calls);
  }
}

int step_compare_positions(const uint32_t *a, uint32_t a_length, const uint32_t *b, uint32_t b_length) {
  const uint32_t common = a_length < b_length ? a_length : b_length;
  for (uint32_t i = 0; i < common; i++)
    if (a[i] != b[i])
      return a[i] < b[i] ? -1 : 1;
  return (a_length > b_length) - (a_length < b_length);
}

static int compare(unsigned a, unsigned b) {
  const struct step_lane *x = &step_block.lanes[a], *y = &step_block.lanes[b];
  if (x->started != y->started)
    return x->started ? 1 : -1;
  return step_compare_positions(x->position, x->length, y->position, y->length);
}

static bool can_run(unsigned thread) {
  return !step_block.lanes[thread].done && sim_thread_can_run(thread);
}

// The warp's lane to run; -1: none can.
static int best_of(unsigned warp) {
  int best = -1;
  const unsigned begin = warp * WARP, end = begin + WARP < step_block.threads ? begin + WARP : step_block.threads;
  for (unsigned t = begin; t < end; t++)
    if (step_block.lanes[t].started && warp_steps[warp] > step_block.lanes[t].looked + patience(warp) && can_run(t))
      return (int)t;
  for (unsigned t = begin; t < end; t++)
    if (can_run(t) && (best < 0 || compare(t, (unsigned)best) < 0))
      best = (int)t;
  return best;
}

void step_turns_begin(void) {
  memset(warp_steps, 0, sizeof warp_steps);
  memset(changed, 0, sizeof changed);
  step_block.warp = 0;
  began = 0;
}

void step_turns_count(int warp) {
  warp_steps[warp]++;
}

void step_turns_barrier(void) {
  step_block.warp = 0;
  began = warp_steps[0];
}

void step_take_turn(int thread) {
  struct step_lane *lane = &step_block.lanes[thread];
  for (bool first = true; cudasim_step_records; first = false) {
    unsigned warp = (unsigned)step_block.warp;
    if (warp_steps[warp] > began + patience(warp) && first) { // it may wait for another warp
      warp = (warp + 1) % step_block.warps;
      began = warp_steps[warp];
    }
    int best = best_of(warp);
    for (unsigned w = 0; best < 0 && w < step_block.warps; w++)
      if ((best = best_of(w)) >= 0) {
        warp = w;
        began = warp_steps[w];
      }
    step_block.warp = (int)warp;
    if (best < 0 || best == thread)
      break;
    sim_let_run((unsigned)best);
  }
  lane->looked = warp_steps[thread / WARP];
}
