// SPDX-License-Identifier: MIT
// The tasks of one backward call: which nodes run, and in which order. For autograd/ only.
#ifndef FERRY_AUTOGRAD_TASKS_H
#define FERRY_AUTOGRAD_TASKS_H

#include "autograd/engine.h"

// A node on its way through backward.
typedef struct Task {
  FyNode *node;
  FyTensor **grads; // [n_out], counted; NULL where nothing has arrived
  int dependencies; // edges into it that have not delivered yet
  bool needed;      // its function runs; the others at most hand their gradient to whoever captures it
  bool captured;    // somebody wants the gradient that arrives here
} Task;

enum { FEW = 16 }; // nodes of a small graph, for which the engine needs no further memory

// All of one backward call. An object, so that an error on the way frees it with its scope.
typedef struct Engine {
  FyObject object;
  Task *tasks;
  int count, capacity;
  int *slots; // open addressing: node -> task index + 1
  int slot_count;
  int *heap; // ready tasks, latest sequence on top
  int ready;
  const FyEngineRun *run;
  uint64_t outer; // the backward call that this one was made in, 0 for none
  Task few_tasks[FEW];
  int few_slots[4 * FEW], few_heap[FEW];
} Engine;

// Owned by the innermost scope; `run` has to outlive it. Raises FY_OUT_OF_MEMORY_ERROR, as the next three.
Engine *fy_engine_new(const FyEngineRun *run);

// The task of a node, made when it is new. It moves when another is made.
Task *fy_engine_task(Engine *e, FyNode *node);

// Finds every node reachable from the root and counts the edges into each; with captures, marks those that are needed and
// does not count the edges of others. The root's task is the first.
void fy_engine_discover(Engine *e, FyNode *root);

// Puts a task, by its index, among the ready ones; takes the ready one out whose node is youngest. Neither raises.
void fy_engine_push(Engine *e, int task);
int fy_engine_pop(Engine *e);

#endif
