// Recording: what a call leaves behind for backward.
#include "base/state.h"
#include "graph/view.h"
#include "op/op.h"
#include "op/ops.h"

void fy_save_input(FyNode *node, FyCall *call, int i) {
  FyTensor *t = call->in[i];
  if (call->in_place && i == 0)
    t = fy_clone(fy_detach(t)); // its old value
  else if (t && call->in_place && t == call->in[0])
    t = fy_detach(t); // the target itself would hold its own history in a circle
  else if (t && t->requires_grad && !t->grad_fn)
    t = fy_detach(t); // a parameter: its module may be converted or moved, and the parameter get other memory inside
  fy_node_save(node, t, t ? fy_version_of(t) : 0, -1);
}

// Stored detached, for the same reason.
void fy_save_output(FyNode *node, FyCall *call, int i) {
  FyTensor *alias = fy_detach(call->out[i]);
  fy_node_save(node, alias, fy_version_of(alias), i);
}

static FyNode *node_of_call(FyCall *call, FyTensor *const *inputs) {
  const FyOp *op = call->op;
  FyNodeKind kind = {.name = op->grad_name, .name_of = op->grad_name_of, .backward = op->backward};
  FyNode *node = fy_node_new(kind, call->params, op->params_size, call->n_in, call->n_out);
  for (int i = 0; i < call->n_in; i++) {
    fy_meta_describe(&node->inputs[i], inputs[i]);
    if (inputs[i] && fy_dtype_is_floating(inputs[i]->array.dtype))
      node->next[i] = fy_gradient_edge(inputs[i]);
  }
  for (int i = 0; i < call->n_out; i++)
    fy_meta_describe(&node->outputs[i], call->out[i]);
  fy_node_set_stream(node, call->device);
  if (op->save)
    op->save(call, node);
  return node;
}

void fy_record(FyCall *call, FyTensor *const *inputs) {
  FyNode *node = node_of_call(call, inputs);
  for (int i = 0; i < call->n_out; i++)
    if (fy_dtype_is_floating(call->out[i]->array.dtype))
      fy_set_history(call->out[i], node, i);
}

FyNode *fy_record_change(FyCall *call, FyTensor *const *inputs) {
  bool enabled = fy_grad_enabled;
  fy_grad_enabled = false; // copies of old values have no history
  FyNode *node = node_of_call(call, inputs);
  fy_meta_describe(&node->outputs[0], inputs[0]);
  fy_grad_enabled = enabled;
  return node;
}

void fy_record_changed(FyTensor *target, FyNode *node) {
  for (int i = 0; i < node->n_saved; i++)
    if (node->saved[i].output_index >= 0)
      node->saved[i].version = fy_version_of(target);
  if (target->base)
    fy_view_rebase(target, node);
  else
    fy_set_history(target, node, 0);
}
