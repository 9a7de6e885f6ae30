// SPDX-License-Identifier: MIT
// Recording: what a call leaves behind for backward.
//
// Tensors are saved detached, as aliases. A tensor that its own history held would never be freed, and an op in place can
// bring that about later (y = f(x); x += y). And a parameter may get other memory inside, when its module is moved.
#include "graph/view.h"
#include "op/op.h"
#include "op/ops.h"

void fy_save_input(FyNode *node, FyOpCall *call, int i) {
  FyTensor *t = call->in[i];
  const bool is_view = t && t->base;
  if (t)
    t = call->in_place && i == 0 ? fy_copy_of(t, (FyDType)t->array.dtype) : fy_detach(t); // the old value, or an alias
  fy_node_save(node, t, -1, i, is_view);
}

void fy_save_output(FyNode *node, FyOpCall *call, int i) {
  fy_node_save(node, fy_detach(call->out[i]), i, -1, call->out[i]->base != NULL);
}

static FyNode *node_of_call(FyOpCall *call, FyTensor *const *inputs) {
  const FyOp *op = call->op;
  FyNodeKind kind = {.name = op->grad_name, .name_of = op->grad_name_of, .backward = op->backward};
  FyNode *node = fy_node_new(kind, call->params, op->params_size, call->n_in, call->n_out);
  for (int i = 0; i < call->n_in; i++) {
    fy_meta_describe(&node->inputs[i], inputs[i]);
    if (inputs[i] && fy_dtype_is_floating(inputs[i]->array.dtype))
      node->next[i] = fy_gradient_edge(inputs[i]);
    if (inputs[i] && inputs[i]->base)
      fy_node_make_youngest(node);
  }
  for (int i = 0; i < call->n_out; i++)
    fy_meta_describe(&node->outputs[i], call->out[i]);
  fy_node_set_stream(node, call->device);
  if (op->save)
    op->save(call, node);
  return node;
}

void fy_record(FyOpCall *call, FyTensor *const *inputs) {
  FyNode *node = node_of_call(call, inputs);
  for (int i = 0; i < call->n_out; i++)
    if (fy_dtype_is_floating(call->out[i]->array.dtype))
      fy_set_history(call->out[i], node, i);
}

FyNode *fy_record_change(FyOpCall *call, FyTensor *const *inputs) {
  return node_of_call(call, inputs);
}

void fy_record_changed(FyTensor *target, FyNode *node) {
  for (int i = 0; i < node->n_saved; i++)
    if (node->saved[i].output >= 0)
      node->saved[i].version = fy_version_of(target);
  target->storage->changed_by = target->base ? "CopySlices" : fy_node_name(node);
  target->storage->changed_at = fy_version_of(target);
  if (target->base)
    fy_view_rebase(target, node);
  else
    fy_set_history(target, node, 0);
}
