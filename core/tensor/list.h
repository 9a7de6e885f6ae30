// SPDX-License-Identifier: MIT
// Tensors by name, as parameters and state dicts have them: Python's dict of tensors. (FyTensors, tensor.h, is its plain list:
// it borrows the tensors for the time of a call.)
#ifndef FERRY_TENSOR_LIST_H
#define FERRY_TENSOR_LIST_H

#include "tensor/tensor.h"

// An object of the scope; each tensor counted, each name copied. A name may come twice.
typedef struct FyTensorList {
  FyObject object;
  int count;
  FyTensor **items;
  char **names; // "fc1.weight"
} FyTensorList;

// An empty list, owned by the innermost scope.
FY_API FyTensorList *fy_tensor_list_new(void);

// A further entry: the tensor is retained, the name copied. Raises FY_TYPE_ERROR for a tensor that is NULL and
// FY_OUT_OF_MEMORY_ERROR; the list is then as it was.
FY_API void fy_list_add(FyTensorList *list, const char *name, FyTensor *tensor);

// The first tensor of that name, borrowed from the list; fy_list_get raises FY_KEY_ERROR where there is none, fy_list_find
// returns NULL.
FY_API FyTensor *fy_list_get(const FyTensorList *list, const char *name);
FY_API FyTensor *fy_list_find(const FyTensorList *list, const char *name);

#endif
