// SPDX-License-Identifier: MIT
// Hooks, buckets, and when they are sent. Each parameter has a hook that runs when its gradient has been added to; the
// last one of an iteration waits for all buckets, so that after backward the gradients are the averages.
#include "distributed/reducer.h"
#include "autograd/autograd.h"
#include "distributed/shared.h"
#include "graph/history.h"
#include "graph/place.h"
#include "op/creation/factory.h"
#include "op/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct FyGradHookContext {
  FyReducer *reducer; // NULL: it is gone
  int parameter;
} FyGradHookContext;

enum { BUCKET_ALIGNMENT = 4096 };

// ---- buckets -----------------------------------------------------------------------------------------------------------

static void free_buckets(FyReducer *r) {
  for (int b = 0; b < r->bucket_count; b++) {
    fy_release(r->buckets[b].work);
    fy_release(r->buckets[b].flat);
    free(r->buckets[b].parameters);
  }
  for (int i = 0; i < r->parameters->count; i++) {
    FyTensor *leaf = r->parameters->items[i];
    if (leaf->grad_place == r->views[i])
      fy_set_grad_place(leaf, NULL);
    fy_release(r->views[i]);
    r->views[i] = NULL;
  }
  free(r->buckets);
  r->buckets = NULL;
  r->bucket_count = 0;
}

static void list_bucket(FyReducer *r, int index, const int *bucket_of, const int *place) {
  FyBucket *bucket = &r->buckets[index];
  const int n = r->parameters->count;
  bucket->parameters = calloc((size_t)n, sizeof *bucket->parameters);
  fy_check(bucket->parameters, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a bucket");
  for (int i = 0; i < n; i++)
    if (bucket_of[i] == index) {
      bucket->parameters[place[i]] = i;
      bucket->count++;
      bucket->elements += fy_numel(r->parameters->items[i]);
    }
}

static const FyTensor *first_of(const FyReducer *r, const FyBucket *bucket) {
  return r->parameters->items[bucket->parameters[0]];
}

// What a bucket takes of the memory that ranks share; those on a device take none.
static size_t shared_bytes(const FyReducer *r, const FyBucket *bucket) {
  const FyTensor *like = first_of(r, bucket);
  const size_t bytes = (size_t)bucket->elements * fy_dtype_size(like->array.dtype);
  return like->device.type == FY_CPU ? (bytes + BUCKET_ALIGNMENT - 1) / BUCKET_ALIGNMENT * BUCKET_ALIGNMENT : 0;
}

// `shared` NULL: in memory of its own.
static void fill_bucket(FyReducer *r, FyBucket *bucket, FyShared *shared, size_t *at) {
  const FyTensor *like = first_of(r, bucket);
  const FyDType dtype = (FyDType)like->array.dtype;
  if (shared && like->device.type == FY_CPU)
    bucket->flat = fy_new_tensor_in((char *)fy_shared_data(shared) + *at, shared, dtype, bucket->elements);
  else
    bucket->flat = fy_zeros(fy_shape(bucket->elements), .dtype = dtype, .device = like->device);
  fy_retain(bucket->flat);
  *at += shared_bytes(r, bucket);
  int64_t offset = 0;
  for (int k = 0; k < bucket->count; k++) {
    const int i = bucket->parameters[k];
    const FySize size = fy_size(r->parameters->items[i]);
    int64_t stride[FY_MAX_DIM], next = 1;
    for (int d = size.ndim - 1; d >= 0; d--) {
      stride[d] = next;
      next *= size.dim[d];
    }
    r->views[i] = fy_retain(fy_new_alias(bucket->flat, size.ndim, size.dim, stride, offset));
    offset += next;
    if (like->device.type == FY_CPU)
      fy_set_grad_place(r->parameters->items[i], r->views[i]); // backward writes it there
  }
}

// `order` NULL: that of the parameters, the last first.
static void make_buckets(FyReducer *r, const int *order, const size_t *limits, int limit_count) {
  const int n = r->parameters->count;
  fy_scope {
    int place[n];
    free_buckets(r);
    int count = fy_assign_buckets(r->parameters, order, limits, limit_count, r->bucket_of, place);
    r->buckets = calloc((size_t)count, sizeof *r->buckets);
    fy_check(r->buckets, FY_OUT_OF_MEMORY_ERROR, "out of host memory for %d buckets", count);
    r->bucket_count = count;
    for (int i = 0; i < n && !order; i++)
      r->bucket_of[i] = count - 1 - r->bucket_of[i];
    size_t bytes = 0, at = 0;
    for (int b = 0; b < count; b++) {
      list_bucket(r, b, r->bucket_of, place);
      bytes += shared_bytes(r, &r->buckets[b]);
    }
    FyShared *shared = bytes > 0 && r->group->size > 1 ? fy_shared_new(r->group, bytes) : NULL;
    fy_no_grad
      for (int b = 0; b < count; b++)
        fill_bucket(r, &r->buckets[b], shared, &at);
  }
}

// ---- one iteration -------------------------------------------------------------------------------------------------------

static void finish(FyReducer *r);

// A step ahead with the first bucket that is under way: what is added up in shared memory has no thread of its own.
static void go_on(FyReducer *r) {
  for (int b = 0; b < r->next_bucket; b++) {
    FyWork *work = r->buckets[b].work;
    if (work && work->shared && !fy_engine_is_done(work))
      return;
  }
}

// The last one is waited for at once, so that no thread need be woken for it.
static void send_full_buckets(FyReducer *r) {
  while (r->next_bucket < r->bucket_count && r->buckets[r->next_bucket].pending == 0) {
    FyBucket *bucket = &r->buckets[r->next_bucket++];
    bucket->work = fy_retain(fy_average_bucket(r->group, bucket->flat, r->next_bucket == r->bucket_count));
  }
  if (r->next_bucket == r->bucket_count)
    finish(r);
  else
    go_on(r);
}

static void mark_ready(FyReducer *r, int i) {
  r->ready[i] = true;
  r->unfinished = true;
  r->arrival[r->arrived++] = i;
  r->buckets[r->bucket_of[i]].pending--;
  send_full_buckets(r);
}

// The gradient goes to its place in the bucket, and lives there from now on.
static void take_gradient(FyTensor *leaf, FyGradHookContext *context) {
  FyReducer *r = context->reducer;
  const int i = context->parameter;
  if (!r || !r->expecting || r->ready[i])
    return;
  fy_scope {
    fy_no_grad {
      FyTensor *view = r->views[i], *grad = fy_grad(leaf);
      if (grad->array.data != view->array.data) { // it was there before the buckets, or is the user's
        fy_copy_(view, grad);
        fy_set_grad(leaf, view);
      }
      r->used[i] = 1;
      mark_ready(r, i);
    }
  }
}

static void leaf_hook(FyTensor *leaf, void *context) {
  take_gradient(leaf, context);
}

static void free_context(void *pointer) {
  FyGradHookContext *context = pointer;
  if (context->reducer)
    context->reducer->contexts[context->parameter] = NULL;
  free(context);
}

// Parameters that no rank has used keep the gradient they had; those that another rank has used get its share.
static void give_to_unused(FyReducer *r) {
  const int n = r->parameters->count;
  int32_t all[(size_t)n * (size_t)r->group->size];
  fy_group_gather_bytes(r->group, r->used, all, (size_t)n * sizeof *all);
  for (int i = 0; i < n; i++) {
    bool any = false;
    for (int k = 0; k < r->group->size; k++)
      any |= all[k * n + i] != 0;
    if (any && !r->used[i])
      fy_set_grad(r->parameters->items[i], r->views[i]);
  }
}

static void finish(FyReducer *r) {
  r->expecting = r->unfinished = false;
  for (int b = 0; b < r->bucket_count; b++) {
    FyWork *work = r->buckets[b].work;
    r->buckets[b].work = NULL;
    if (work)
      fy_work_wait(fy_adopt(work));
  }
  if (r->find_unused)
    give_to_unused(r);
}

static _Noreturn void raise_unfinished(const FyReducer *r) {
  char indices[160] = "", names[300] = "";
  size_t a = 0, b = 0;
  for (int i = 0; i < r->parameters->count; i++) {
    if (r->ready[i])
      continue;
    if (a + 12 < sizeof indices)
      a += (size_t)snprintf(indices + a, sizeof indices - a, " %d", i);
    if (b + strlen(r->parameters->names[i]) + 3 < sizeof names)
      b += (size_t)snprintf(names + b, sizeof names - b, "%s%s", b ? ", " : "", r->parameters->names[i]);
  }
  fy_raise(
      FY_RUNTIME_ERROR,
      "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates "
      "that your module has parameters that were not used in producing loss. You can enable unused parameter "
      "detection by passing the option `.find_unused_parameters = true` to `fy_distributed_data_parallel`, and by \n"
      "making sure all `forward` function outputs participate in calculating loss. \n"
      "Parameter indices which did not receive grad for rank %d:%s\n"
      "Parameters which did not receive grad for rank %d: %s",
      fy_distributed.rank, indices, fy_distributed.rank, names);
}

void fy_reducer_prepare_forward(FyReducer *r) {
  const int n = r->parameters->count;
  if (r->unfinished)
    raise_unfinished(r);
  if (r->find_unused || r->rebuilt || r->arrived < n)
    return;
  fy_group_broadcast_bytes(r->group, r->arrival, (size_t)n * sizeof *r->arrival);
  const size_t limits[] = {r->first_bytes, r->cap_bytes};
  make_buckets(r, r->arrival, limits, 2);
  r->rebuilt = true;
}

// ---- which parameters the output depends on --------------------------------------------------------------------------------

typedef struct Search {
  FyObject object;
  const FyNode **seen, **stack; // open addressing; what is still to be followed
  size_t slots, count, depth;
} Search;

static void free_search(void *object) {
  Search *s = object;
  free(s->seen);
  free(s->stack);
  free(s);
}

static bool add_to(const FyNode **slots, size_t count, const FyNode *node) {
  size_t at = ((uintptr_t)node >> 4) * 0x9e3779b97f4a7c15u >> 20 & (count - 1);
  while (slots[at] && slots[at] != node)
    at = (at + 1) & (count - 1);
  const bool fresh = !slots[at];
  slots[at] = node;
  return fresh;
}

static void widen(Search *s) {
  const size_t wide = s->slots ? 2 * s->slots : 1024;
  const FyNode **seen = calloc(wide, sizeof *seen), **stack = realloc(s->stack, wide * sizeof *stack);
  s->stack = stack ? stack : s->stack;
  if (!seen || !stack)
    free(seen);
  fy_check(seen && stack, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a search of the graph");
  for (size_t i = 0; i < s->slots; i++)
    if (s->seen[i])
      add_to(seen, wide, s->seen[i]);
  free(s->seen);
  s->seen = seen;
  s->slots = wide;
}

static void follow(Search *s, const FyNode *node) {
  if (!node)
    return;
  if (2 * (s->count + 1) > s->slots)
    widen(s);
  if (add_to(s->seen, s->slots, node)) {
    s->count++;
    s->stack[s->depth++] = node;
  }
}

static void mark_reachable(FyReducer *r, FyTensor *output, bool *reachable) {
  fy_scope {
    Search *s = fy_object_new(sizeof *s, free_search);
    follow(s, fy_history_node(output));
    while (s->depth > 0) {
      const FyNode *node = s->stack[--s->depth];
      for (int i = 0; node->leaf && i < r->parameters->count; i++)
        reachable[i] |= node->leaf == r->parameters->items[i];
      for (int i = 0; i < node->n_in && !node->leaf; i++)
        follow(s, node->next[i].node);
    }
  }
}

void fy_reducer_prepare_backward(FyReducer *r, FyTensor *output) {
  const int n = r->parameters->count;
  for (int b = 0; b < r->bucket_count; b++)
    r->buckets[b].pending = r->buckets[b].count;
  memset(r->ready, 0, (size_t)n * sizeof *r->ready);
  memset(r->used, 0, (size_t)n * sizeof *r->used);
  r->next_bucket = r->arrived = 0;
  r->expecting = true;
  if (!r->find_unused)
    return;
  bool reachable[n];
  memset(reachable, 0, sizeof reachable);
  mark_reachable(r, output, reachable);
  fy_no_grad
    for (int i = 0; i < n; i++)
      if (!reachable[i]) {
        fy_zero_(r->views[i]);
        mark_ready(r, i);
      }
  r->unfinished = false; // until the first gradient comes
}

// ---- making and freeing ------------------------------------------------------------------------------------------------------

void fy_reducer_free(FyReducer *r) {
  if (!r)
    return;
  for (int i = 0; r->parameters && r->contexts && i < r->parameters->count; i++)
    if (r->contexts[i])
      r->contexts[i]->reducer = NULL;
  if (r->parameters && r->views)
    free_buckets(r);
  fy_release(r->parameters);
  free(r->contexts);
  free(r->views);
  free(r->bucket_of);
  free(r->ready);
  free(r->used);
  free(r->arrival);
  free(r);
}

static void add_hook(FyReducer *r, int i) {
  FyGradHookContext *context = malloc(sizeof *context);
  fy_check(context, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a hook");
  *context = (FyGradHookContext){r, i};
  r->contexts[i] = context;
  fy_register_post_accumulate_grad_hook(r->parameters->items[i], leaf_hook, context, free_context);
}

FyReducer *fy_reducer_new(FyGroup *group, FyTensorList *parameters, double bucket_cap_mb, bool find_unused) {
  const size_t n = (size_t)parameters->count;
  FyReducer *r = calloc(1, sizeof *r);
  fy_check(r, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a reducer");
  r->group = group;
  r->parameters = fy_retain(parameters);
  r->contexts = calloc(n, sizeof *r->contexts);
  r->views = calloc(n, sizeof *r->views);
  r->bucket_of = calloc(n, sizeof *r->bucket_of);
  r->ready = calloc(n, sizeof *r->ready);
  r->used = calloc(n, sizeof *r->used);
  r->arrival = calloc(n, sizeof *r->arrival);
  r->find_unused = find_unused;
  r->cap_bytes = (size_t)((bucket_cap_mb > 0 ? bucket_cap_mb : 25) * 1048576);
  r->first_bytes = bucket_cap_mb > 0 ? r->cap_bytes : 1048576;
  FyError error;
  fy_trap(error) {
    fy_check(r->contexts && r->views && r->bucket_of && r->ready && r->used && r->arrival, FY_OUT_OF_MEMORY_ERROR,
             "out of host memory for a reducer of %d parameters", parameters->count);
    const size_t limits[] = {r->first_bytes, r->cap_bytes}, none[] = {SIZE_MAX};
    make_buckets(r, NULL, find_unused ? limits : none, find_unused && r->first_bytes < r->cap_bytes ? 2 : 1);
    for (int i = 0; i < parameters->count; i++)
      add_hook(r, i);
  }
  if (error.kind) {
    fy_reducer_free(r);
    fy_raise_again(&error);
  }
  return r;
}
