// Lists of named tensors: parameters, buffers, state_dict and its way back.
#include "nn/impl.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void destroy_list(void *object) {
  FyTensorList *list = object;
  for (int i = 0; i < list->count; i++) {
    fy_release(list->items[i]);
    free(list->names[i]);
  }
  free(list->items);
  free(list->names);
  free(list);
}

FyTensorList *fy_tensor_list_new(void) {
  return fy_object_new(sizeof(FyTensorList), destroy_list);
}

void fy_list_add(FyTensorList *list, const char *name, FyTensor *tensor) {
  fy_check(tensor, FY_TYPE_ERROR, "\"%s\" is NULL, not a tensor", name);
  if ((list->count & (list->count - 1)) == 0) { // full at every power of two
    size_t capacity = list->count ? 2 * (size_t)list->count : 1;
    FyTensor **items = realloc(list->items, capacity * sizeof *items);
    if (items)
      list->items = items;
    char **names = realloc(list->names, capacity * sizeof *names);
    if (names)
      list->names = names;
    fy_check(items && names, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a list of %zu tensors", capacity);
  }
  char *copy = strdup(name);
  fy_check(copy, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the name of a tensor");
  list->names[list->count] = copy;
  list->items[list->count++] = fy_retain(tensor);
}

static FyTensor *find(const FyTensorList *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->names[i], name) == 0)
      return list->items[i];
  return NULL;
}

FyTensor *fy_list_get(const FyTensorList *list, const char *name) {
  FyTensor *tensor = find(list, name);
  fy_check(tensor, FY_KEY_ERROR, "'%s'", name);
  return tensor;
}

// ---- a module's tensors ------------------------------------------------------------------------------------------------

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

// Error text of bounded size; what does not fit is cut, which shows as "...".
typedef struct Text {
  size_t length;
  char bytes[sizeof((FyError *)0)->message - 128];
} Text;

__attribute__((format(printf, 2, 3))) static void append(Text *text, const char *format, ...) {
  size_t room = sizeof text->bytes - text->length;
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(text->bytes + text->length, room, format, arguments);
  va_end(arguments);
  if (written < 0)
    return;
  if ((size_t)written < room) {
    text->length += (size_t)written;
    return;
  }
  text->length = sizeof text->bytes - 1;
  memcpy(text->bytes + text->length - 3, "...", 3);
}

typedef struct Loading {
  const FyTensorList *state;
  FyTensorList *own;
  Text missing, unexpected, sizes;
} Loading;

static bool same_shape(const FyTensor *a, const FyTensor *b) {
  FySize x = fy_size(a), y = fy_size(b);
  return x.ndim == y.ndim && memcmp(x.dim, y.dim, (size_t)x.ndim * sizeof *x.dim) == 0;
}

static void compare(Loading *l) {
  for (int i = 0; i < l->own->count; i++) {
    const char *name = l->own->names[i];
    const FyTensor *given = find(l->state, name);
    if (!given)
      append(&l->missing, "%s\"%s\"", l->missing.length ? ", " : "", name);
    else if (!same_shape(given, l->own->items[i]))
      append(
          &l->sizes,
          "\n\tsize mismatch for %s: copying a param with shape %s from checkpoint, the shape in current model is %s.",
          name, fy_shape_string(given), fy_shape_string(l->own->items[i]));
  }
  for (int i = 0; i < l->state->count; i++)
    if (!find(l->own, l->state->names[i]))
      append(&l->unexpected, "%s\"%s\"", l->unexpected.length ? ", " : "", l->state->names[i]);
}

static void raise_differences(const Loading *l, const FyModule *module) {
  if (!l->missing.length && !l->unexpected.length && !l->sizes.length)
    return;
  Text text = {0};
  append(&text, "Error(s) in loading state_dict for %s:", module->type->name);
  if (l->missing.length)
    append(&text, "\n\tMissing key(s) in state_dict: %s. ", l->missing.bytes);
  if (l->unexpected.length)
    append(&text, "\n\tUnexpected key(s) in state_dict: %s. ", l->unexpected.bytes);
  append(&text, "%s", l->sizes.bytes);
  fy_raise(FY_RUNTIME_ERROR, "%s", text.bytes);
}

void fy_load_state_dict_of(FyModule *module, const FyTensorList *state) {
  fy_module_required(module, "fy_load_state_dict");
  fy_check(state, FY_TYPE_ERROR, "fy_load_state_dict: the state dict is NULL");
  fy_scope {
    Loading l = {.state = state, .own = fy_state_dict_of(module)};
    compare(&l);
    raise_differences(&l, module);
    fy_no_grad {
      for (int i = 0; i < l.own->count; i++)
        fy_copy_(l.own->items[i], find(state, l.own->names[i]));
    }
  }
}
