// SPDX-License-Identifier: MIT
// Lists of named tensors, for parameters and state dicts, like a Python dict of tensors. (FyTensors in tensor.h is a
// plain list that borrows its tensors for one call.)
#ifndef FERRY_TENSOR_LIST_H
#define FERRY_TENSOR_LIST_H

#include "tensor/tensor.h"

// A list of named tensors: an object owned by a scope. It holds a reference to each tensor and a copy of each name. A
// name may occur more than once.
typedef struct FyTensorList {
  FyObject object;
  int count;
  FyTensor **items;
  char **names; // for example "fc1.weight"
} FyTensorList;

// Creates an empty list, owned by the innermost scope.
FY_API FyTensorList *fy_tensor_list_new(void);

// Appends an entry: retains the tensor and copies the name. Raises FY_TYPE_ERROR if the tensor is NULL, and
// FY_OUT_OF_MEMORY_ERROR. On an error the list does not change.
FY_API void fy_list_add(FyTensorList *list, const char *name, FyTensor *tensor);

// Return the first tensor with that name, borrowed from the list. If there is none, fy_list_get raises FY_KEY_ERROR and
// fy_list_find returns NULL.
FY_API FyTensor *fy_list_get(const FyTensorList *list, const char *name);
FY_API FyTensor *fy_list_find(const FyTensorList *list, const char *name);

#endif
