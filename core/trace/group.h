// SPDX-License-Identifier: MIT
// A group: several ops of a program that run as one on the CPU, float32: convolutions with ReLU and pooling, or linear layers with
// ReLU. Nothing between its stages is an array of the plan. For trace/ only.
//
// Many samples are shared out in chunks: a thread takes a chunk through all stages while it is in its cache. Of few samples each
// stage is cut into parts, and a stage begins when the one before it is done.
#ifndef FERRY_TRACE_GROUP_H
#define FERRY_TRACE_GROUP_H

#include "op/launch.h"
#include "trace/dense.h"
#include "trace/images.h"

typedef enum FyStageKind { FY_STAGE_FRAME, FY_STAGE_CONV, FY_STAGE_EMPTY, FY_STAGE_DENSE } FyStageKind;

typedef struct FyStage {
  FyStageKind kind;
  int64_t channels; // frame, empty: the image's own
  FyFrame frame;
  FyConvStage conv;
  FyDense dense;
  int64_t out_size;   // elements of a sample that it makes
  int64_t out_offset; // of its outputs in a thread's memory, in elements
  int64_t parts;      // it is cut into at most so many
} FyStage;

enum { FY_MOST_STAGES = 24 };

typedef struct FyGroup {
  FyStage stages[FY_MOST_STAGES];
  int count;
  bool images;               // convolutions, not linear layers
  int64_t samples;           // of a run
  int64_t in_size, out_size; // elements of a sample
  int64_t chunk;             // samples of a task, with all its stages; 0: stages are cut instead
  int64_t memory;            // elements of a thread's memory, or, with stages cut, of all threads'
  float *weights;            // all packed weights and biases
} FyGroup;

// Adds a stage. False where the group has no room for it.
bool fy_group_add(FyGroup *group, const FyStage *stage);

// When all stages are there: decides between chunks and parts, and lays out the memory. Threads: how many will run it.
void fy_group_finish(FyGroup *group, int64_t samples, int threads);

void fy_group_free(FyGroup *group);

// ---- running: a group with chunks is one step of `tasks`, one without is one step for each stage ----------------------------------

int fy_group_steps(const FyGroup *group);
int64_t fy_group_tasks(const FyGroup *group, int step);

// One task. `memory` is the thread's, or the one of all threads without chunks; it began as zeros. Any thread.
void fy_group_run(const FyGroup *group, int step, int64_t task, const float *in, float *out, float *memory);

#endif
