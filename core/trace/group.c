// SPDX-License-Identifier: MIT
#include "trace/group.h"
#include <stdlib.h>
#include <string.h>

// Multiply-adds that are worth a task of their own: some microseconds of work.
enum { WORTH_A_TASK = 64 << 10 };

bool fy_group_add(FyGroup *group, const FyStage *stage) {
  if (group->count == FY_MOST_STAGES)
    return false;
  group->stages[group->count++] = *stage;
  return true;
}

void fy_group_free(FyGroup *group) {
  if (group)
    free(group->weights);
  free(group);
}

// ---- how it is cut ---------------------------------------------------------------------------------------------------------------

static int64_t units_of(const FyStage *stage) { // of a sample
  switch (stage->kind) {
  case FY_STAGE_CONV:
    return fy_conv_stage_units(&stage->conv);
  case FY_STAGE_DENSE:
    return fy_panels(stage->dense.out);
  default:
    return 1;
  }
}

static int64_t work_of(const FyStage *stage) { // of a sample
  const FyConvStage *c = &stage->conv;
  switch (stage->kind) {
  case FY_STAGE_CONV:
    return c->out.height * c->out.width * (c->pool ? 4 : 1) * fy_panels(c->outputs) * FY_PANEL * fy_conv_stage_depth(c);
  case FY_STAGE_DENSE:
    return stage->dense.in * fy_panels(stage->dense.out) * FY_PANEL;
  default:
    return 8 * stage->out_size;
  }
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// So that all threads have something, and each sample's arrays stay in the second-level cache: for images a few of them. Linear
// layers read their weights once for each chunk, so their chunks are large.
static int64_t chunk_of(const FyGroup *group, int64_t samples, int threads) {
  enum { CACHE = 128 << 10, MOST_ROWS = 20 * FY_MOST_SUMS };
  const int64_t share = (samples + threads - 1) / threads;
  if (!group->images)
    return least(share, MOST_ROWS);
  int64_t sizes = 0;
  for (int i = 0; i < group->count; i++)
    sizes += group->stages[i].out_size;
  const int64_t fit = CACHE / (sizes + 1) + 1, shares = (samples + 4 * threads - 1) / (4 * threads);
  return least(fit, shares);
}

void fy_group_finish(FyGroup *group, int64_t samples, int threads) {
  int64_t work = 0;
  group->samples = samples;
  for (int i = 0; i < group->count; i++)
    work += work_of(&group->stages[i]);
  const bool many = samples >= 2 * threads || threads == 1 || work * samples < 2 * WORTH_A_TASK;
  group->chunk = many ? chunk_of(group, samples, threads) : 0;
  if (many && work * samples < 2 * WORTH_A_TASK)
    group->chunk = samples;
  const int64_t held = many ? group->chunk : samples;
  for (int i = 0; i < group->count; i++) {
    FyStage *stage = &group->stages[i];
    stage->out_offset = group->memory;
    if (i < group->count - 1)
      group->memory += (held * stage->out_size + FY_LANES - 1) / FY_LANES * FY_LANES;
    stage->parts = least(units_of(stage), least(work_of(stage) / WORTH_A_TASK + 1, 4 * threads));
  }
}

// ---- stages ----------------------------------------------------------------------------------------------------------------------

static const float *input_of(const FyGroup *group, int i, const float *in, const float *memory) {
  return i ? memory + group->stages[i - 1].out_offset : in;
}
static float *output_of(const FyGroup *group, int i, float *out, float *memory) {
  return i < group->count - 1 ? memory + group->stages[i].out_offset : out;
}

// The units [begin, end) of one image.
static void run_image(const FyStage *stage, const float *in, float *out, int64_t begin, int64_t end) {
  if (stage->kind == FY_STAGE_FRAME)
    fy_frame_fill(&stage->frame, stage->channels, in, out);
  else if (stage->kind == FY_STAGE_EMPTY)
    fy_frame_empty(&stage->frame, stage->channels, in, out);
  else
    fy_conv_stage_run(&stage->conv, in, out, begin, end);
}

static int64_t in_size_of(const FyGroup *group, int i) {
  return i ? group->stages[i - 1].out_size : group->in_size;
}

static void run_chunk(const FyGroup *group, int64_t first, const float *in, float *out, float *memory) {
  const int64_t count = least(group->chunk, group->samples - first);
  in += first * group->in_size;
  out += first * group->out_size;
  for (int i = 0; i < group->count; i++) {
    const FyStage *stage = &group->stages[i];
    const float *from = input_of(group, i, in, memory);
    float *to = output_of(group, i, out, memory);
    if (stage->kind == FY_STAGE_DENSE)
      fy_dense_panels(&stage->dense, count, from, in_size_of(group, i), to, stage->out_size, 0, units_of(stage));
    for (int64_t n = 0; stage->kind != FY_STAGE_DENSE && n < count; n++)
      run_image(stage, from + n * in_size_of(group, i), to + n * stage->out_size, 0, units_of(stage));
  }
}

// Part `task` of a stage: of one image, or of the panels for all rows.
static void run_part(const FyGroup *group, int i, int64_t task, const float *in, float *out, float *memory) {
  const FyStage *stage = &group->stages[i];
  const float *from = input_of(group, i, in, memory);
  float *to = output_of(group, i, out, memory);
  const int64_t n = task / stage->parts, part = task % stage->parts, units = units_of(stage);
  const int64_t begin = units * part / stage->parts, end = units * (part + 1) / stage->parts;
  if (stage->kind == FY_STAGE_DENSE)
    fy_dense_panels(&stage->dense, group->samples, from, in_size_of(group, i), to, stage->out_size, begin, end);
  else
    run_image(stage, from + n * in_size_of(group, i), to + n * stage->out_size, begin, end);
}

// ---- running ---------------------------------------------------------------------------------------------------------------------

int fy_group_steps(const FyGroup *group) {
  return group->chunk ? 1 : group->count;
}

int64_t fy_group_tasks(const FyGroup *group, int step) {
  if (group->chunk)
    return (group->samples + group->chunk - 1) / group->chunk;
  return group->stages[step].parts * (group->stages[step].kind == FY_STAGE_DENSE ? 1 : group->samples);
}

void fy_group_run(const FyGroup *group, int step, int64_t task, const float *in, float *out, float *memory) {
  if (group->chunk)
    run_chunk(group, task * group->chunk, in, out, memory);
  else
    run_part(group, step, task, in, out, memory);
}
