// SPDX-License-Identifier: MIT
// Lists of named tensors.
#include "tensor/list.h"
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

FyTensor *fy_list_find(const FyTensorList *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->names[i], name) == 0)
      return list->items[i];
  return NULL;
}

FyTensor *fy_list_get(const FyTensorList *list, const char *name) {
  FyTensor *tensor = fy_list_find(list, name);
  fy_check(tensor, FY_KEY_ERROR, "'%s'", name);
  return tensor;
}
