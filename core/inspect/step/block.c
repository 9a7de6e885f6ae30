// SPDX-License-Identifier: MIT
// The recorded block, as the simulator reports it, and its steps.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/step/exit_status.h"
#include "inspect/step/step.h"

#include "cudasim_launch.h"

enum { MOST_STEPS = 20000, KEPT_STEPS = 20000 }; // by default; steps whose accesses are at hand

struct step *step_steps;
int step_count;
struct step_block step_block;
bool step_mode;
__thread int cudasim_step_records;

static int warp_step[MAX_WARPS]; // the last step of each warp; -1: none
static unsigned wanted_launch, launches, wanted_block;
static bool recorded, ended;

// ---- steps ---------------------------------------------------------------------------------------------------------------

struct step_lane *step_lane(void) {
  return &step_block.lanes[inspect_current->thread];
}

static void free_accesses(struct step *s) {
  free(s->accesses);
  s->accesses = NULL;
  s->access_count = 0;
}

static void close_step(struct step *s) {
  if (s->text)
    return;
  s->text = step_text(s);
  for (int i = 0; i < s->change_count; i++)
    free(s->changes[i].values);
  free(s->changes);
  free(s->position);
  free(s->calls);
  free(s->note);
  s->changes = NULL;
  s->change_count = 0;
  s->position = NULL;
  s->calls = NULL;
  s->note = NULL;
  const int old = (int)(s - step_steps) - KEPT_STEPS;
  if (old >= 0 && step_steps[old].text)
    free_accesses(&step_steps[old]);
}

static int new_step(struct step step) {
  static int room;
  step_steps = step_grown(step_steps, step_count, &room, sizeof *step_steps);
  step_steps[step_count] = step;
  return step_count++;
}

int step_add_event(char kind, int warp, uint32_t lanes, char *note) {
  return new_step((struct step){.kind = kind, .warp = warp, .lanes = lanes, .note = note});
}

static void stop_at_limit(void) {
  if (step_count < step_block.limit || step_block.end)
    return;
  step_block.end = "limit";
  cudasim_step_records = 0;
}

static int begin_step(const struct step_lane *lane, int warp) {
  const struct step_frame *frame = &lane->frames[lane->depth - 1];
  struct step step = {.kind = lane->next,
                      .warp = warp,
                      .statement = frame->statement,
                      .function = frame->function,
                      .depth = lane->depth - 1,
                      .length = lane->length};
  step.position = inspect_resize(NULL, lane->length * sizeof *step.position);
  memcpy(step.position, lane->position, lane->length * sizeof *step.position);
  step.calls = inspect_resize(NULL, (size_t)lane->depth * sizeof *step.calls);
  for (int i = 0; i + 1 < lane->depth; i++)
    step.calls[i] = lane->frames[i].statement;
  memset(step.from, -1, sizeof step.from);
  const int number = new_step(step);
  if (warp_step[warp] >= 0 && step_steps[warp_step[warp]].users == 0)
    close_step(&step_steps[warp_step[warp]]);
  warp_step[warp] = number;
  step_turns_count(warp);
  stop_at_limit();
  return number;
}

// Lanes of a warp at the same position take part in the same step, if the warp has done no other since.
struct step *step_of_thread(void) {
  struct step_lane *lane = step_lane();
  const int warp = inspect_current->thread / WARP;
  const uint32_t bit = 1u << inspect_current->thread % WARP;
  if (lane->step < 0) {
    const int last = warp_step[warp];
    struct step *s = last >= 0 ? &step_steps[last] : NULL;
    const bool joins = s && s->kind == lane->next && !(s->lanes & bit) && s->position &&
                       step_compare_positions(s->position, s->length, lane->position, lane->length) == 0;
    lane->step = joins ? last : begin_step(lane, warp);
    step_steps[lane->step].lanes |= bit;
    step_steps[lane->step].users++;
  }
  return &step_steps[lane->step];
}

void step_leave_step(struct step_lane *lane) {
  if (lane->step < 0)
    return;
  struct step *s = &step_steps[lane->step];
  if (--s->users == 0 && warp_step[s->warp] != lane->step)
    close_step(s);
  lane->step = -1;
}

// ---- launches and blocks --------------------------------------------------------------------------------------------------

static unsigned long number_of(const char *name, unsigned long otherwise) {
  const char *value = getenv(name);
  return value ? strtoul(value, NULL, 10) : otherwise;
}

void step_begin(void) {
  const char *table = getenv("FERRY_STEP_TABLE");
  if (table == NULL)
    return;
  step_mode = true;
  wanted_launch = (unsigned)number_of("FERRY_STEP_LAUNCH", 0);
  step_block.limit = (int)number_of("FERRY_STEP_LIMIT", MOST_STEPS);
  step_table_read(table);
}

// FERRY_STEP_BLOCK=x,y,z
static void choose_block(const char *kernel, struct cudasim_dim3 grid) {
  unsigned at[3] = {0};
  const char *wanted = getenv("FERRY_STEP_BLOCK");
  if (wanted)
    sscanf(wanted, "%u,%u,%u", &at[0], &at[1], &at[2]); // NOLINT: ./ferry has checked it
  if (at[0] >= grid.x || at[1] >= grid.y || at[2] >= grid.z) {
    fprintf(stderr, "ferry step: %s was launched with a grid of %u x %u x %u blocks: there is no block %u,%u,%u\n",
            kernel, grid.x, grid.y, grid.z, at[0], at[1], at[2]);
    fflush(NULL);
    _exit(STEP_NO_BLOCK);
  }
  wanted_block = at[0] + grid.x * (at[1] + grid.y * at[2]);
}

bool step_wants_launch(const struct cudasim_launch_request *request) {
  if (recorded || launches++ != wanted_launch)
    return false;
  step_block.kernel = request->name ? request->name : "kernel";
  step_block.launch = wanted_launch;
  step_block.grid = request->grid;
  step_block.block = request->block;
  choose_block(step_block.kernel, request->grid);
  return true;
}

unsigned step_wanted_block(void) {
  return wanted_block;
}

void step_block_begin(struct block_state *bs) {
  recorded = true;
  step_block.at[0] = blockIdx.x;
  step_block.at[1] = blockIdx.y;
  step_block.at[2] = blockIdx.z;
  step_block.threads = bs->launch->threads;
  step_block.warps = (step_block.threads + WARP - 1) / WARP;
  step_block.dynamic_bytes = bs->dynamic_bytes;
  step_block.lanes = inspect_allocate(step_block.threads * sizeof *step_block.lanes);
  for (unsigned t = 0; t < step_block.threads; t++)
    step_block.lanes[t].step = step_block.lanes[t].array = -1;
  memset(warp_step, -1, sizeof warp_step);
  step_turns_begin();
  finding_observer = &step_findings;
  cudasim_step_records = 1;
}

void step_block_end(void) {
  if (ended || !recorded)
    return;
  ended = true;
  finding_observer = NULL;
  cudasim_step_records = 0;
  if (!step_block.end)
    step_block.end = "complete";
  for (int i = 0; i < step_count; i++)
    close_step(&step_steps[i]);
  step_write_record();
  if (getenv("FERRY_STEP_OUTPUT")) // a test wants to see what the program prints
    return;
  fflush(NULL);
  _exit(0); // what the program does afterwards is not of interest
}

// ---- threads, barriers -------------------------------------------------------------------------------------------------------

void step_thread_done(int thread) {
  struct step_lane *lane = &step_block.lanes[thread];
  const int warp = thread / WARP;
  if (!cudasim_step_records)
    return;
  lane->done = true;
  lane->depth = 0;
  for (int i = step_count - 1; i >= 0 && step_steps[i].warp == warp; i--)
    if (step_steps[i].kind == 'e' && step_steps[i].text == NULL) {
      step_steps[i].lanes |= 1u << thread % WARP;
      return;
    } else if (step_steps[i].kind != 'e') {
      break;
    }
  step_add_event('e', warp, 1u << thread % WARP, NULL);
}

void step_barrier_opens(int line) {
  char *note = NULL;
  if (!cudasim_step_records)
    return;
  if (asprintf(&note, "The barrier of line %d opens: all threads have come.", line) < 0)
    note = NULL;
  step_add_event('b', -1, 0, note);
  step_turns_barrier();
}
