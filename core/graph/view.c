// SPDX-License-Identifier: MIT
// Views and in-place changes.
//
// A view is a tensor that shares the memory of another, its base: row 0 of a matrix, its transpose, a reshape of it. When
// one of them is changed in place, all the others have new values too, although nobody called an op on them. The graph
// has to say so, or gradients would be those of the old values. This file keeps it right by three rules.
//
// 1. A view knows its base, never another view: a view of a view is a view of the base (fy_view_link).
//
// 2. The base's history is the truth. When a view is changed in place, the change is recorded as a change of the base
//    (fy_view_rebase). Say b is a matrix that was computed by f, v = fy_select(b, 0, 0) its first row, and then comes
//    fy_mul_(v, w):
//
//        before                                    after
//
//        f  <---- grad_fn ---- b                   f <----- CopySlices <---- grad_fn ---- b
//        ^                                                    |  (mul, for row 0)
//        |                                                    +---> w
//        Select <- grad_fn --- v                   CopySlices <--- AsStrided <-- grad_fn --- v
//
//    CopySlices is the op "b with row 0 replaced by mul(row 0, w)". The gradient of the new b goes on to the old b: as it
//    is everywhere but in row 0, and through mul's own backward there, which also gives the gradient of w.
//
// 3. A view's own history is written lazily. Every storage counts its changes (its version). A view remembers the version
//    at which its history was written down; when the storage has moved on and somebody asks, the view is what it always
//    was, some elements of the base as the base is now: AsStrided, whose gradient is zeros with the view's gradient put
//    where the view lies (fy_view_refresh). So one change of the base costs nothing for its thousand views, and the view
//    that was changed in rule 2 finds its new history by rule 3, as all the others do.
//
// What rule 3 cannot do right is refused, with PyTorch's words. A view made under fy_no_grad says that its maker did not
// want it in the graph, and a change that is recorded wants it there. Of several views made by one call (fy_chunk), one
// cannot be changed without the others. Such views may be read; to change them or their base in place while recording, and
// then use them, is an error (check_creation).
//
// And two things cannot be changed in place at all while recording: a leaf that requires grad, for its old value is what
// the optimizer and backward know it by, and a view of one, for the same reason (fy_check_in_place). A tensor whose
// elements share memory among themselves (fy_expand) cannot be the target of any in-place op: which value would stay?
// (fy_check_no_overlap)
#include "graph/view.h"
#include "base/state.h"
#include "graph/history.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

// ---- rule 1: what is a view of what --------------------------------------------------------------------------------------

void fy_view_link(FyTensor *view, FyTensor *of, bool one_of_several, int number) {
  FyViewCreation creation = !fy_grad_enabled ? FY_VIEW_UNDER_NO_GRAD
                            : one_of_several ? FY_VIEW_ONE_OF_SEVERAL
                                             : FY_VIEW_ORDINARY;
  view->base = fy_retain(of->base ? of->base : of);
  view->view_creation = (uint8_t)(creation == FY_VIEW_ORDINARY && of->base ? of->view_creation : creation);
  view->view_number = (int16_t)number;
  atomic_store_explicit(&view->view_version, fy_version_of(view), memory_order_relaxed);
}

void fy_view_unlink(FyTensor *view) {
  FyTensor *base = view->base;
  view->base = NULL;
  fy_release(base);
}

static FyGeometry geometry_of(const FyTensor *t, const FyTensor *from) {
  const FyArray *a = &t->array;
  FyGeometry g = {.ndim = a->ndim};
  g.offset = a->data ? fy_storage_offset(t) - fy_storage_offset(from) : 0;
  memcpy(g.shape, a->shape, (size_t)a->ndim * sizeof *a->shape);
  memcpy(g.stride, a->stride, (size_t)a->ndim * sizeof *a->stride);
  return g;
}

static FyRegion region_of(const FyTensor *view) {
  return (FyRegion){.base = geometry_of(view->base, view->base), .view = geometry_of(view, view->base)};
}

// ---- what is refused -----------------------------------------------------------------------------------------------------

// `changed` says who is changed: the view itself, or its base behind its back.
static void check_creation(const FyTensor *view, const char *changed) {
  char origin[96];
  if (view->view_creation == FY_VIEW_ORDINARY)
    return;
  const FyNode *node = view->grad_fn;
  bool no_grad = view->view_creation == FY_VIEW_UNDER_NO_GRAD || !node;
  if (node)
    snprintf(origin, sizeof origin, "Output %d of %s is a view%s", view->view_number, fy_node_name(node),
             no_grad ? " of a view which was created in" : "");
  else
    snprintf(origin, sizeof origin, "A view was created in");
  fy_raise(
      FY_RUNTIME_ERROR, "%s%s and %s modified inplace%s.%s", origin, no_grad ? " no_grad mode" : "", changed,
      no_grad ? " with grad mode enabled" : "",
      view->view_creation == FY_VIEW_ONE_OF_SEVERAL
          ? " This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
          : " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
            "moving both the view and the inplace either both inside the no_grad block (if you don't want the "
            "inplace to be tracked) or both outside (if you want the inplace to be tracked).");
}

void fy_check_in_place(const FyTensor *target) {
  if (target->base) {
    check_creation(target, "is being");
    fy_check(!(fy_has_gradient(target) && !target->base->grad_fn), FY_RUNTIME_ERROR,
             "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  fy_check(!(fy_has_gradient(target) && fy_history_is_leaf(target)), FY_RUNTIME_ERROR,
           "a leaf Variable that requires grad is being used in an in-place operation.");
}

void fy_check_no_overlap(const FyTensor *target) {
  const FyArray *a = &target->array;
  bool overlaps = false;
  for (int d = 0; d < a->ndim && !a->contiguous; d++)
    overlaps |= a->stride[d] == 0 && a->shape[d] > 1;
  fy_check(!overlaps, FY_RUNTIME_ERROR,
           "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
           "Please fy_clone() the tensor before performing the operation.");
}

// ---- rule 3: a view's history, written anew when somebody asks -------------------------------------------------------------

static uint32_t written_at(const FyTensor *view) {
  return atomic_load_explicit(&view->view_version, memory_order_acquire);
}

bool fy_view_is_stale(const FyTensor *view) {
  return view->base && written_at(view) != fy_version_of(view) && (view->grad_fn || view->base->requires_grad);
}

// Threads that read one view at the same time may all find it stale.
static pthread_mutex_t refreshing = PTHREAD_MUTEX_INITIALIZER;

void fy_view_refresh(FyTensor *view) {
  if (!fy_view_is_stale(view))
    return;
  check_creation(view, "its base or another view of its base has been");
  FyTensor *base = view->base;
  FyRegion region = region_of(view);
  uint32_t version = fy_version_of(view);
  int scope = fy_scope_open(); // of the node
  FyNode *node = fy_node_new(fy_as_strided_node, &region, sizeof region, 1, 1);
  node->next[0] = fy_gradient_edge(base);
  fy_meta_describe(&node->inputs[0], base);
  fy_meta_describe(&node->outputs[0], view);
  fy_node_set_stream(node, view->device);
  pthread_mutex_lock(&refreshing);
  if (written_at(view) != version) {
    fy_set_history(view, node, 0);
    atomic_store_explicit(&view->view_version, version, memory_order_release);
  }
  pthread_mutex_unlock(&refreshing);
  fy_scope_close(scope);
}

// ---- rule 2: a change of a view is a change of its base ----------------------------------------------------------------------

static FyEdge copy_of(FyEdge edge) {
  if (edge.node)
    fy_node_retain(edge.node);
  return edge;
}

void fy_view_rebase(FyTensor *view, FyNode *inner) {
  FyTensor *base = view->base;
  FyRegion region = region_of(view);
  FyNode *node = fy_node_new(fy_copy_slices_node, &region, sizeof region, inner->n_in, 1);
  node->inner = fy_node_retain(inner);
  node->next[0] = fy_gradient_edge(base);
  fy_meta_describe(&node->inputs[0], base);
  fy_meta_describe(&node->outputs[0], base);
  for (int i = 1; i < inner->n_in; i++) {
    node->inputs[i] = inner->inputs[i];
    node->next[i] = copy_of(inner->next[i]);
  }
  // The op is asked for the gradient of the view's old value if the old base needs one.
  FyEdge of_view = inner->next[0];
  inner->next[0] = copy_of(node->next[0]);
  fy_node_release(of_view.node);
  fy_node_set_stream(node, base->device);
  fy_set_history(base, node, 0);
  fy_view_refresh(view);
}
