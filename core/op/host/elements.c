// SPDX-License-Identifier: MIT
// A tensor's elements on the host: copying them out, and comparing.
#include "device/runtime.h"
#include "op/ops.h"
#include "tensor/element.h"
#include "tensor/impl.h"
#include <math.h>

void fy_copy_to_host(const FyTensor *t, void *host) {
  fy_scope {
    FyTensor *row_major = fy_contiguous(fy_detach(t));
    int device = t->device.type == FY_CUDA ? t->device.index : -1;
    if (device < 0 && row_major->array.numel)
      memcpy(host, row_major->array.data, fy_nbytes(t));
    else if (row_major->array.numel)
      fy_copy_bytes(host, -1, false, row_major->array.data, device, false, fy_nbytes(t), false);
  }
}

// The tensor's elements on the host, row-major; belongs to the caller's scope.
static const void *host_elements(const FyTensor *t) {
  FyTensor *row_major = fy_contiguous(fy_cpu(fy_detach(t)));
  return row_major->array.data;
}

bool fy_equal(const FyTensor *a, const FyTensor *b) {
  bool equal =
      fy_same_shape(&a->array, &b->array) && a->array.dtype == b->array.dtype && fy_device_equal(a->device, b->device);
  if (!equal)
    return false;
  fy_scope {
    const void *x = host_elements(a), *y = host_elements(b);
    FyDType dtype = a->array.dtype;
    for (int64_t i = 0; i < a->array.numel && equal; i++)
      equal = dtype == FY_INT64 ? ((const int64_t *)x)[i] == ((const int64_t *)y)[i]
                                : fy_element_double(x, dtype, i) == fy_element_double(y, dtype, i);
  }
  return equal;
}

bool fy_allclose(const FyTensor *a, const FyTensor *b, double rtol, double atol) {
  fy_check(fy_same_shape(&a->array, &b->array), FY_RUNTIME_ERROR, "fy_allclose: the shapes %s and %s differ",
           fy_shape_string(a), fy_shape_string(b));
  bool close = true;
  fy_scope {
    const void *x = host_elements(a), *y = host_elements(b);
    for (int64_t i = 0; i < a->array.numel && close; i++) {
      double u = fy_element_double(x, a->array.dtype, i), v = fy_element_double(y, b->array.dtype, i);
      close = u == v || (isfinite(u) && isfinite(v) && fabs(u - v) <= atol + rtol * fabs(v));
    }
  }
  return close;
}
