// SPDX-License-Identifier: MIT
// The parameters of the views, for those who read recorded calls. What is not named for a view is 0 there.
#ifndef FERRY_OP_VIEW_H
#define FERRY_OP_VIEW_H

#include "tensor/array.h"

// The `dim` of a view: what stands for a size that another input may have otherwise.
enum { FY_VIEW_AS_GIVEN = 0, FY_VIEW_KEEP_FIRST = -1 }; // k + 1: size k is what the others leave

typedef struct FyViewParams {
  int ndim;                    // view, permute, expand: of the result
  int dim;                     // transpose, select, slice, split, unsqueeze; squeeze: a mask; view: as above
  int dim1;                    // transpose
  int64_t start, step, length; // slice, split; select: start
  int64_t shape[FY_MAX_DIM];   // view, expand (-1 keeps a size); permute: the old dimensions in their new order
} FyViewParams;

#endif
