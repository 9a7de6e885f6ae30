// SPDX-License-Identifier: MIT
// Nodes: how they are made and freed.
#include "graph/node.h"
#include "base/small.h"
#include "device/runtime.h"
#include "graph/history.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_ullong next_sequence = 1;

// ---- freeing -----------------------------------------------------------------------------------------------------------

void fy_free_hooks(FyHook *hook) {
  while (hook) {
    FyHook *next = hook->next;
    if (hook->free_context)
      hook->free_context(hook->context);
    free(hook);
    hook = next;
  }
}

static void free_retained(FyRetained *retained) {
  while (retained) {
    FyRetained *next = retained->next;
    free(retained);
    retained = next;
  }
}

// A long chain of nodes would overflow the stack if each freed the next from inside: the thread keeps a list instead.
static _Thread_local FyNode *doomed;
static _Thread_local bool freeing;

static void node_free(FyNode *node) {
  FyTensor *leaf = node->leaf;
  for (int i = 0; i < node->n_saved; i++) {
    fy_release(node->saved[i].tensor);
    fy_release(node->saved[i].packed);
  }
  if (node->hooks)
    fy_free_hooks(node->hooks);
  if (node->retained)
    free_retained(node->retained);
  if (node->stream)
    fy_release(node->stream);
  fy_release(node->owned);
  for (int i = 0; i < node->n_in; i++)
    if (node->next[i].node)
      fy_node_release(node->next[i].node);
  if (node->inner)
    fy_node_release(node->inner);
  fy_small_free(node, node->bytes);
  fy_release(leaf);
}

static void bury(void *pointer) {
  FyNode *node = pointer;
  if (freeing) {
    memcpy(node->params, &doomed, sizeof doomed); // params are of no use any more
    doomed = node;
    return;
  }
  freeing = true;
  node_free(node);
  while (doomed) {
    FyNode *next = doomed;
    memcpy(&doomed, next->params, sizeof doomed);
    node_free(next);
  }
  freeing = false;
}

FyNode *fy_node_retain(FyNode *node) {
  return fy_retain(node);
}

// A leaf knows its accumulator without counting it, so the last reference to one goes under the lock of that knowledge.
void fy_node_release(FyNode *node) {
  if (!node)
    return;
  if (!node->leaf)
    fy_release(node);
  else if (fy_accumulator_unlink(node))
    bury(node);
}

// ---- making ------------------------------------------------------------------------------------------------------------

static FyNode *node_new(FyNodeKind kind, size_t params_bytes, int n_in, int n_out) {
  size_t inputs = (size_t)n_in * (sizeof(FyEdge) + sizeof(FyMeta)), outputs = (size_t)n_out * sizeof(FyMeta);
  size_t params = params_bytes / 16 * 16 + 16; // never none: see bury
  size_t bytes = sizeof(FyNode) + params + inputs + outputs;
  FyNode *node = fy_small_alloc(bytes);
  fy_check(node, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the autograd graph");
  memset(node, 0, offsetof(FyNode, saved));
  node->backward = kind.backward;
  node->name = kind.name;
  node->name_of = kind.name_of;
  node->sequence = atomic_fetch_add_explicit(&next_sequence, 1, memory_order_relaxed);
  node->n_in = n_in;
  node->n_out = n_out;
  node->bytes = bytes;
  node->inputs = (FyMeta *)(void *)(node->params + params);
  node->outputs = node->inputs + n_in;
  node->next = (FyEdge *)(node->outputs + n_out);
  memset(node->next, 0, (size_t)n_in * sizeof(FyEdge));
  node->file = fy_where_file;
  node->line = fy_where_line;
  return node;
}

FyNode *fy_node_new(FyNodeKind kind, const void *params, size_t params_bytes, int n_in, int n_out) {
  FyNode *node = node_new(kind, params_bytes, n_in, n_out);
  fy_object_init(node, bury);
  if (params)
    memcpy(node->params, params, params_bytes);
  return node;
}

FyNode *fy_node_new_accumulator(FyTensor *leaf) {
  FyStream *stream = leaf->device.type == FY_CUDA ? fy_current_stream(leaf->device) : NULL;
  FyNode *node = node_new((FyNodeKind){.name = "AccumulateGrad"}, 0, 0, 1);
  node->object = (FyObject){.references = 1, .destroy = bury};
  node->sequence = UINT64_MAX; // runs as soon as it is ready
  fy_meta_describe(&node->outputs[0], leaf);
  node->leaf = fy_retain(leaf);
  node->stream = fy_retain(stream);
  return node;
}

void fy_node_make_youngest(FyNode *node) {
  node->sequence = atomic_fetch_add_explicit(&next_sequence, 1, memory_order_relaxed);
}

void fy_node_set_stream(FyNode *node, FyDevice device) {
  if (device.type == FY_CUDA)
    node->stream = fy_retain(fy_current_stream(device));
}

void fy_meta_describe(FyMeta *meta, const FyTensor *t) {
  meta->ndim = t ? t->array.ndim : 0;
  meta->dtype = t ? t->array.dtype : 0;
  meta->device = t ? t->device : FY_CPU_DEVICE;
  for (int d = 0; d < meta->ndim; d++)
    meta->shape[d] = t->array.shape[d];
}

const char *fy_node_name(const FyNode *node) {
  return node->name_of ? node->name_of(node) : node->name;
}
