// SPDX-License-Identifier: MIT
// What cu2cpp's hooks call. What changed in a lane's variables since the last hook was done by the statement before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/step/step.h"

struct step_variable *step_variables;
int step_variable_count;

static bool same_type(const struct cudasim_step_type *a, const struct cudasim_step_type *b) {
  return a->kind == b->kind && a->bytes == b->bytes && a->count == b->count && a->members == b->members;
}

// An instance of a template may have another type at the same name.
static int variable_of(int function, const char *name, const struct cudasim_step_type *type) {
  static int room;
  for (int i = 0; i < step_variable_count; i++)
    if (step_variables[i].function == function && strcmp(step_variables[i].name, name) == 0 &&
        same_type(&step_variables[i].type, type))
      return i;
  step_variables = step_grown(step_variables, step_variable_count, &room, sizeof *step_variables);
  step_variables[step_variable_count] = (struct step_variable){function, inspect_copy(name, SIZE_MAX), *type};
  return step_variable_count++;
}

// ---- changes ---------------------------------------------------------------------------------------------------------------

static struct step_change *change_of(struct step *s, int variable, int depth, uint32_t bytes) {
  for (int i = 0; i < s->change_count; i++)
    if (s->changes[i].variable == variable && s->changes[i].depth == depth)
      return &s->changes[i];
  s->changes = inspect_resize(s->changes, (size_t)(s->change_count + 1) * sizeof *s->changes);
  s->changes[s->change_count] = (struct step_change){variable, depth, 0, bytes, inspect_allocate((size_t)WARP * bytes)};
  return &s->changes[s->change_count++];
}

static struct step_last *last_of(struct step_frame *frame, int variable) {
  for (int i = 0; i < frame->last_count; i++)
    if (frame->last[i].variable == variable)
      return &frame->last[i];
  frame->last = step_grown(frame->last, frame->last_count, &frame->last_room, sizeof *frame->last);
  struct step_last *last = &frame->last[frame->last_count++];
  last->variable = variable;
  last->bytes = 0;
  return last;
}

static void compare_frame(struct step_lane *lane, int depth) {
  struct step_frame *frame = &lane->frames[depth];
  const int number = (int)(lane - step_block.lanes) % WARP;
  for (int i = 0; i < frame->seen_count; i++) {
    const struct step_seen *seen = &frame->seen[i];
    struct step_last *last = last_of(frame, seen->variable);
    if (last->bytes == seen->bytes && memcmp(last->value, seen->address, seen->bytes) == 0)
      continue;
    last->bytes = seen->bytes;
    memcpy(last->value, seen->address, seen->bytes);
    const struct step_variable *v = &step_variables[seen->variable];
    uint64_t pointer;
    if (v->type.kind == 'p' && seen->bytes == sizeof pointer) {
      memcpy(&pointer, seen->address, sizeof pointer);
      step_note_pointer(v->name, &v->type, pointer);
    }
    struct step_change *c = change_of(step_of_thread(), seen->variable, depth, seen->bytes);
    c->lanes |= 1u << number;
    step_turns_change((int)(lane - step_block.lanes) / WARP);
    memcpy(c->values + (size_t)number * seen->bytes, seen->address, seen->bytes);
  }
}

static void compare_all(struct step_lane *lane) {
  step_settle(lane);
  for (int depth = 0; depth < lane->depth; depth++)
    compare_frame(lane, depth);
}

static void see(struct step_frame *frame, char *const *names, void *const *addresses,
                const struct cudasim_step_type *types, int count) {
  frame->seen_count = 0;
  if (count > frame->seen_room) {
    frame->seen_room = count;
    frame->seen = inspect_resize(frame->seen, (size_t)count * sizeof *frame->seen);
  }
  for (int i = 0; i < count; i++) {
    const uint32_t bytes = (uint32_t)types[i].bytes * types[i].count;
    if (types[i].kind != '?' && bytes > 0 && bytes <= STEP_VARIABLE_BYTES)
      frame->seen[frame->seen_count++] =
          (struct step_seen){addresses[i], variable_of(frame->function, names[i], &types[i]), bytes};
  }
}

char *step_own_pointer(uint64_t address) {
  for (unsigned t = 0; t < step_block.threads; t++)
    for (int d = 0; d < step_block.lanes[t].depth; d++) {
      const struct step_frame *frame = &step_block.lanes[t].frames[d];
      for (int i = 0; i < frame->seen_count; i++) {
        const struct step_variable *v = &step_variables[frame->seen[i].variable];
        const uint64_t offset = address - (uint64_t)(uintptr_t)frame->seen[i].address;
        char *text = NULL;
        if (offset >= frame->seen[i].bytes)
          continue;
        const int made = v->type.count > 1 ? asprintf(&text, "&%s[%d]", v->name, (int)(offset / v->type.bytes))
                                           : asprintf(&text, "&%s", v->name);
        return made < 0 ? NULL : text;
      }
    }
  return NULL;
}

// ---- loops -----------------------------------------------------------------------------------------------------------------

static struct step_turn *turn_of(struct step_frame *frame, int loop) {
  for (int i = 0; i < frame->turn_count; i++)
    if (frame->turns[i].loop == loop)
      return &frame->turns[i];
  frame->turns = step_grown(frame->turns, frame->turn_count, &frame->turn_room, sizeof *frame->turns);
  frame->turns[frame->turn_count] = (struct step_turn){loop, 0};
  return &frame->turns[frame->turn_count++];
}

// False: the hook is no statement of its own.
static bool count_turns(struct step_frame *frame, int statement) {
  const struct step_statement *s = &step_statements[statement];
  const bool again = strcmp(s->kind, "again") == 0, enters = strcmp(s->kind, "enter") == 0;
  if (enters || strcmp(s->kind, "for") == 0)
    turn_of(frame, statement + 1)->count = 0; // its condition's number is the next one
  else if (again || (s->loop_count && s->loops[s->loop_count - 1] == statement))
    turn_of(frame, statement)->count++;
  return !again && !enters;
}

// ---- what cu2cpp calls -----------------------------------------------------------------------------------------------------

static void begin_statement(struct step_lane *lane, char kind) {
  step_leave_step(lane);
  lane->next = kind;
  step_place(lane);
  step_take_turn((int)(lane - step_block.lanes));
}

void cudasim_step_at(int statement, void *const *variables, const struct cudasim_step_type *types, int count) {
  struct step_lane *lane = step_lane();
  if (lane->depth == 0)
    return;
  struct step_frame *frame = &lane->frames[lane->depth - 1];
  see(frame, step_statements[statement].names, variables, types, count);
  compare_all(lane);
  if (!count_turns(frame, statement))
    return;
  frame->statement = statement;
  frame->calls = 0;
  begin_statement(lane, 's');
  if (cudasim_step_records)
    step_of_thread();
}

void cudasim_step_seen(int statement, void *const *variables, const struct cudasim_step_type *types, int count) {
  struct step_lane *lane = step_lane();
  if (lane->depth == 0)
    return;
  struct step_frame *frame = &lane->frames[lane->depth - 1];
  see(frame, step_statements[statement].names, variables, types, count);
  compare_all(lane);
  frame->seen_count = 0; // some end here
}

void cudasim_step_enter(int function, void *const *variables, const struct cudasim_step_type *types, int count) {
  struct step_lane *lane = step_lane();
  lane->started = true;
  compare_all(lane);
  if (lane->depth == lane->room) {
    lane->frames = inspect_resize(lane->frames, (size_t)(lane->room + 4) * sizeof *lane->frames);
    memset(lane->frames + lane->room, 0, 4 * sizeof *lane->frames);
    lane->room += 4;
  }
  struct step_frame *frame = &lane->frames[lane->depth++];
  frame->function = function;
  frame->statement = 0;
  frame->calls = 0;
  frame->turn_count = frame->seen_count = frame->last_count = 0;
  step_functions[function].used = true;
  begin_statement(lane, 's');
  if (!cudasim_step_records)
    return;
  see(frame, step_functions[function].parameters, variables, types, count);
  step_of_thread();
  compare_frame(lane, lane->depth - 1);
}

void cudasim_step_leave(void) {
  struct step_lane *lane = step_lane();
  if (lane->depth == 0)
    return;
  step_settle(lane);
  lane->depth--;
  for (int depth = 0; depth < lane->depth; depth++)
    compare_frame(lane, depth);
  if (lane->depth == 0) {
    step_leave_step(lane);
    lane->done = true;
    return;
  }
  lane->frames[lane->depth - 1].calls++;
  begin_statement(lane, 'r');
}

void cudasim_step_brings(unsigned mask, unsigned long long value, char kind, unsigned bytes, int from) {
  if (!step_is_on() || step_lane()->depth == 0)
    return;
  step_settle(step_lane());
  struct step *s = step_of_thread();
  const int lane = (int)(step_lane() - step_block.lanes) % WARP;
  s->met_mask = mask;
  s->met_lanes |= 1u << lane;
  s->met_type = (struct cudasim_step_type){.kind = kind, .bytes = (unsigned short)bytes, .count = 1};
  s->brings[lane] = value;
  s->from[lane] = from;
}
