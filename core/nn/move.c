// SPDX-License-Identifier: MIT
// module.to(): tensors keep their identity, and get another inside.
#include "graph/history.h"
#include "nn/impl.h"
#include <string.h>

typedef struct Destination {
  bool move; // to `device`; otherwise each tensor stays where it is
  FyDevice device;
  FyDType dtype; // of floating tensors; FY_DEFAULT_DTYPE keeps theirs
  bool non_blocking;
} Destination;

static FyTo target_of(const FyTensor *t, const Destination *d) {
  FyTo to = {.device = d->move ? d->device : t->device, .dtype = t->array.dtype, .non_blocking = d->non_blocking};
  if (d->dtype && fy_dtype_is_floating(t->array.dtype))
    to.dtype = d->dtype;
  return to;
}

static bool is_there(const FyTensor *t, FyTo to) {
  return fy_device_equal(t->device, to.device) && t->array.dtype == to.dtype;
}

// What Python writes as t.data = t.data.to(...): everyone who holds t sees it at its new place.
static void move_inside(FyTensor *t, FyTo to) {
  if (is_there(t, to))
    return;
  fy_scope {
    fy_no_grad {
      FyTensor *moved = fy_to_with(fy_detach(t), to);
      FyStorage *storage = t->storage;
      atomic_store(&moved->storage->version, atomic_load(&storage->version)); // a move is no change of the value
      t->storage = moved->storage;
      moved->storage = storage;
      t->array = moved->array;
      t->device = moved->device;
      fy_release(t->base); // no longer a view of it
      t->base = NULL;
      fy_accumulator_forget(t);
    }
  }
}

// A tensor with a history is replaced, as the result of a copy that gradients flow through.
static void replace(FyModule *owner, FyField *field, FyTo to) {
  FyTensor *old = field->tensor;
  FyTensor *moved = fy_to_with(old, to);
  field->tensor = fy_retain(moved);
  if (field->offset >= 0)
    memcpy((char *)owner + field->offset, &moved, sizeof moved);
  fy_release(old);
}

static void move_field(FyModule *owner, FyField *field, const char *name, void *context) {
  (void)name;
  FyTensor *t = field->tensor;
  FyTo to = target_of(t, context);
  if (!fy_is_leaf(t)) {
    replace(owner, field, to);
    return;
  }
  move_inside(t, to);
  if (t->grad)
    move_inside(t->grad, to);
}

static void *move_all(FyModule *module, Destination *d) {
  fy_module_required(module, "fy_module_to");
  fy_check(!d->dtype || fy_dtype_is_floating(d->dtype), FY_TYPE_ERROR,
           "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%s",
           fy_dtype_name(d->dtype));
  fy_module_visit(module, 1u << FY_PARAMETER | 1u << FY_BUFFER, move_field, d);
  return module;
}

void *fy_module_to_of(FyModule *module, FyTo options) {
  return move_all(module, &(Destination){.move = true,
                                         .device = fy_resolve_device(options.device),
                                         .dtype = options.dtype,
                                         .non_blocking = options.non_blocking});
}

void *fy_module_to_dtype_of(FyModule *module, FyDType dtype) {
  return move_all(module, &(Destination){.dtype = dtype});
}
