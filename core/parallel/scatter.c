// SPDX-License-Identifier: MIT
// scatter and gather: a batch in pieces on several devices, and the pieces back in one.
#include "parallel/impl.h"
#include "tensor/impl.h"

int fy_scatter(FyTensor *t, const int *device_ids, int count, int dim, FyTensor **out) {
  fy_check(t, FY_TYPE_ERROR, "fy_scatter: the tensor is NULL");
  fy_check_device_ids("fy_scatter", device_ids, count);
  fy_check(fy_dim(t) > 0, FY_RUNTIME_ERROR, "chunk expects at least a 1-dimensional tensor");
  int mark = fy_scope_open();
  FyTensor *pieces[FY_MAX_DEVICES];
  int n = fy_chunk(t, count, dim, pieces);
  for (int i = 0; i < n; i++)
    out[i] = fy_keep(fy_to(pieces[i], fy_cuda_device(device_ids[i]), .non_blocking = true));
  fy_scope_close(mark);
  return n;
}

static bool all_scalars(FyTensors tensors) {
  for (int i = 0; i < tensors.count; i++)
    if (fy_dim(tensors.items[i]) > 0)
      return false;
  return true;
}

FyTensor *fy_gather(FyTensors tensors, int target, int dim) {
  static bool warned;
  fy_check_device_ids("fy_gather", &target, 1);
  fy_check(tensors.count > 0 && tensors.count <= FY_MAX_DEVICES, FY_VALUE_ERROR,
           "fy_gather takes 1 to %d tensors, but got %d", FY_MAX_DEVICES, tensors.count);
  bool scalars = all_scalars(tensors) && dim == 0;
  if (scalars)
    fy_warn_once(&warned,
                 "fy_gather: all tensors to gather along dimension 0 are scalars; the result is a vector of them");
  int mark = fy_scope_open();
  FyTensor *moved[FY_MAX_DEVICES];
  for (int i = 0; i < tensors.count; i++) {
    moved[i] = fy_to(tensors.items[i], fy_cuda_device(target), .non_blocking = true);
    if (scalars)
      moved[i] = fy_unsqueeze(moved[i], 0);
  }
  FyTensor *result = moved[0];
  if (tensors.count > 1)
    result = fy_cat((FyTensors){.count = tensors.count, .items = moved}, dim);
  fy_keep(result);
  fy_scope_close(mark);
  return result;
}
