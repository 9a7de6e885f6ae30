// SPDX-License-Identifier: MIT
// Which nodes a backward call runs, and in which order: the youngest of those that are ready first.
#include "autograd/tasks.h"
#include "base/small.h"
#include <stdlib.h>
#include <string.h>

static void engine_destroy(void *pointer) {
  Engine *e = pointer;
  fy_backward_number = e->outer;
  for (int i = 0; i < e->count; i++) {
    for (int k = 0; k < e->tasks[i].node->n_out && e->tasks[i].grads; k++)
      fy_release(e->tasks[i].grads[k]);
    fy_small_free(e->tasks[i].grads, (size_t)e->tasks[i].node->n_out * sizeof *e->tasks[i].grads);
    fy_node_release(e->tasks[i].node);
  }
  if (e->capacity > FEW) {
    free(e->tasks);
    free(e->slots);
    free(e->heap);
  }
  fy_small_free(e, sizeof *e);
}

Engine *fy_engine_new(const FyEngineRun *run) {
  Engine *e = fy_object_new(sizeof *e, engine_destroy);
  e->run = run;
  e->outer = fy_backward_enter();
  e->tasks = e->few_tasks;
  e->slots = e->few_slots;
  e->heap = e->few_heap;
  e->capacity = FEW;
  e->slot_count = 4 * FEW;
  return e;
}

// ---- the map of nodes --------------------------------------------------------------------------------------------------

static int *slot_of(Engine *e, const FyNode *node) {
  size_t mask = (size_t)e->slot_count - 1;
  size_t i = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15u >> 20 & mask;
  while (e->slots[i] && e->tasks[e->slots[i] - 1].node != node)
    i = (i + 1) & mask;
  return &e->slots[i];
}

static void grow(Engine *e) {
  size_t old = (size_t)e->capacity, capacity = 2 * old;
  bool own = e->capacity > FEW;
  Task *tasks = malloc(capacity * sizeof *tasks);
  int *heap = malloc(capacity * sizeof *heap), *slots = calloc(4 * capacity, sizeof *slots);
  if (!tasks || !heap || !slots) {
    free(tasks);
    free(heap);
    free(slots);
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "out of host memory for backward over %zu nodes", capacity);
  }
  memcpy(tasks, e->tasks, old * sizeof *tasks);
  memcpy(heap, e->heap, old * sizeof *heap);
  if (own) {
    free(e->tasks);
    free(e->heap);
    free(e->slots);
  }
  e->tasks = tasks;
  e->heap = heap;
  e->slots = slots;
  e->capacity = (int)capacity;
  e->slot_count = 4 * e->capacity;
  for (int i = 0; i < e->count; i++)
    *slot_of(e, e->tasks[i].node) = i + 1;
}

Task *fy_engine_task(Engine *e, FyNode *node) {
  if (e->count == e->capacity)
    grow(e);
  int *slot = slot_of(e, node);
  if (!*slot) {
    FyTensor **grads = fy_small_alloc_zeroed((size_t)node->n_out * sizeof *grads);
    fy_check(grads, FY_OUT_OF_MEMORY_ERROR, "out of host memory for backward");
    e->tasks[e->count] = (Task){.node = fy_node_retain(node), .grads = grads, .needed = true};
    *slot = ++e->count;
  }
  return &e->tasks[*slot - 1];
}

// Finds every node reachable from the root and counts the edges into each. The task list is its own work list.
static void discover(Engine *e, FyNode *root) {
  fy_engine_task(e, root);
  for (int i = 0; i < e->count; i++) {
    FyNode *node = e->tasks[i].node; // `tasks` moves when the list grows
    for (int k = 0; k < node->n_in; k++)
      if (node->next[k].node)
        fy_engine_task(e, node->next[k].node)->dependencies++;
  }
}

static int by_sequence(const void *a, const void *b) {
  const Task *const *x = a, *const *y = b;
  uint64_t s = (*x)->node->sequence, t = (*y)->node->sequence;
  return (s > t) - (s < t);
}

static bool leads_on(Engine *e, const FyNode *node) {
  for (int k = 0; k < node->n_in; k++) {
    if (!node->next[k].node)
      continue;
    const Task *next = fy_engine_task(e, node->next[k].node);
    if (next->needed || next->captured)
      return true;
  }
  return false;
}

// With captures, a node is needed when a captured one lies behind it. An op's node is younger than all it leads to, but for
// leaves' nodes, which lead nowhere: going from the oldest to the youngest, each knows of those behind it already.
static void mark_needed(Engine *e) {
  Task **order = fy_small_alloc((size_t)e->count * sizeof *order);
  fy_check(order, FY_OUT_OF_MEMORY_ERROR, "out of host memory for backward over %d nodes", e->count);
  for (int i = 0; i < e->count; i++) {
    order[i] = &e->tasks[i];
    order[i]->needed = false;
    for (int k = 0; k < e->run->capture_count; k++)
      order[i]->captured |= e->run->capture_edges[k].node == order[i]->node;
  }
  qsort(order, (size_t)e->count, sizeof *order, by_sequence);
  for (int i = 0; i < e->count; i++)
    order[i]->needed = leads_on(e, order[i]->node);
  fy_small_free(order, (size_t)e->count * sizeof *order);
}

// Nodes that do not run deliver nothing.
static void count_needed(Engine *e) {
  for (int i = 0; i < e->count; i++) {
    const FyNode *node = e->tasks[i].node;
    for (int k = 0; k < node->n_in && !e->tasks[i].needed; k++)
      if (node->next[k].node)
        fy_engine_task(e, node->next[k].node)->dependencies--;
  }
}

void fy_engine_discover(Engine *e, FyNode *root) {
  discover(e, root);
  if (!e->run->capture_count)
    return;
  mark_needed(e);
  count_needed(e);
}

// ---- the ready heap ------------------------------------------------------------------------------------------------------

static uint64_t key(const Engine *e, int i) {
  return e->tasks[e->heap[i]].node->sequence;
}

static void swap(Engine *e, int i, int j) {
  int t = e->heap[i];
  e->heap[i] = e->heap[j];
  e->heap[j] = t;
}

void fy_engine_push(Engine *e, int task) {
  int i = e->ready++;
  e->heap[i] = task;
  while (i > 0 && key(e, (i - 1) / 2) < key(e, i)) {
    swap(e, i, (i - 1) / 2);
    i = (i - 1) / 2;
  }
}

int fy_engine_pop(Engine *e) {
  int top = e->heap[0], i = 0;
  e->heap[0] = e->heap[--e->ready];
  for (;;) {
    int largest = i;
    for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
      if (child < e->ready && key(e, child) > key(e, largest))
        largest = child;
    if (largest == i)
      return top;
    swap(e, i, largest);
    i = largest;
  }
}
