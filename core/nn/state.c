// SPDX-License-Identifier: MIT
// A module's tensors by name: parameters, buffers, state_dict and its way back.
#include "base/text.h"
#include "nn/impl.h"
#include "tensor/impl.h"
#include <string.h>

static void add_once(FyModule *owner, FyField *field, const char *name, void *context) {
  (void)owner;
  FyTensorList *list = context;
  for (int i = 0; i < list->count; i++)
    if (list->items[i] == field->tensor)
      return;
  fy_list_add(list, name, field->tensor);
}

FyTensorList *fy_parameters_of(FyModule *module) {
  fy_module_required(module, "fy_parameters");
  FyTensorList *list = fy_tensor_list_new();
  fy_module_visit(module, 1u << FY_PARAMETER, add_once, list);
  return list;
}

FyTensorList *fy_buffers_of(FyModule *module) {
  fy_module_required(module, "fy_buffers");
  FyTensorList *list = fy_tensor_list_new();
  fy_module_visit(module, 1u << FY_BUFFER, add_once, list);
  return list;
}

static void add_detached(FyModule *owner, FyField *field, const char *name, void *context) {
  (void)owner;
  FyTensor *alias = fy_detach(field->tensor);
  fy_list_add(context, name, alias);
  fy_drop(alias);
}

FyTensorList *fy_state_dict_of(FyModule *module) {
  fy_module_required(module, "fy_state_dict");
  FyTensorList *list = fy_tensor_list_new();
  fy_module_visit(module, 1u << FY_PARAMETER | 1u << FY_BUFFER, add_detached, list);
  return list;
}

// ---- loading -----------------------------------------------------------------------------------------------------------

typedef struct Loading {
  const FyTensorList *state;
  FyTensorList *own;
  FyText *missing, *unexpected, *sizes;
} Loading;

static void compare(Loading *l) {
  for (int i = 0; i < l->own->count; i++) {
    const char *name = l->own->names[i];
    const FyTensor *given = fy_list_find(l->state, name);
    if (!given)
      fy_text_add(l->missing, "%s\"%s\"", l->missing->length ? ", " : "", name);
    else if (!fy_same_shape(&given->array, &l->own->items[i]->array))
      fy_text_add(
          l->sizes,
          "\n\tsize mismatch for %s: copying a param with shape %s from checkpoint, the shape in current model is %s.",
          name, fy_shape_string(given), fy_shape_string(l->own->items[i]));
  }
  for (int i = 0; i < l->state->count; i++)
    if (!fy_list_find(l->own, l->state->names[i]))
      fy_text_add(l->unexpected, "%s\"%s\"", l->unexpected->length ? ", " : "", l->state->names[i]);
}

// What an error has room for, beside what is said before it ("Caught RuntimeError in replica 0 ...").
enum { LONGEST = sizeof((FyError *)0)->message - 128 };

static void raise_differences(const Loading *l, const FyModule *module) {
  if (!l->missing->length && !l->unexpected->length && !l->sizes->length)
    return;
  FyText *text = fy_text_new();
  fy_text_add(text, "Error(s) in loading state_dict for %s:", module->type->name);
  if (l->missing->length)
    fy_text_add(text, "\n\tMissing key(s) in state_dict: %s. ", l->missing->bytes);
  if (l->unexpected->length)
    fy_text_add(text, "\n\tUnexpected key(s) in state_dict: %s. ", l->unexpected->bytes);
  fy_text_add(text, "%s", l->sizes->bytes);
  if (text->length > LONGEST)
    strcpy(text->bytes + LONGEST - 3, "...");
  fy_raise(FY_RUNTIME_ERROR, "%s", text->bytes);
}

void fy_load_state_dict_of(FyModule *module, const FyTensorList *state) {
  fy_module_required(module, "fy_load_state_dict");
  fy_check(state, FY_TYPE_ERROR, "fy_load_state_dict: the state dict is NULL");
  fy_scope {
    Loading l = {.state = state,
                 .own = fy_state_dict_of(module),
                 .missing = fy_text_new(),
                 .unexpected = fy_text_new(),
                 .sizes = fy_text_new()};
    compare(&l);
    raise_differences(&l, module);
    fy_no_grad {
      for (int i = 0; i < l.own->count; i++)
        fy_copy_(l.own->items[i], fy_list_find(state, l.own->names[i]));
    }
  }
}
