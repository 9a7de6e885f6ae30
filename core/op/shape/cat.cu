// SPDX-License-Identifier: MIT
// cat and stack on CUDA: one kernel per input copies it into its part of the output, whatever the strides.
#include "op/shape/cat.h"
#include "op/kernel/cuda_common.cuh"

template <class T> __global__ void copy_part(T *out, const T *in, FyIndexer<2> indexer, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    const FyOffsets<2> offset = indexer.offsets(i);
    out[offset.at[0]] = in[offset.at[1]];
  }
}

template <class T> static void copy(FyLaunch *l, const FyArray *slice, const FyArray *in) {
  FyIter iter;
  fy_iter_of(&iter, slice, 1, &in);
  copy_part<T><<<fy_blocks(l, in->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)slice->data, (const T *)in->data,
                                                                       fy_indexer<2>(&iter), in->numel);
}

extern "C" int fy_cuda_cat(FyLaunch *l) {
  const FyCatParams *p = (const FyCatParams *)l->params;
  const int size = (int)fy_dtype_size(l->out[0]->dtype);
  int64_t offset = p->offset;
  for (int i = p->first; i < l->n_in; i++) {
    const FyArray *in = l->in[i];
    if (in->numel) {
      const FyArray slice = fy_cat_slice(l->out[0], in, p, size, offset);
      if (size == 1)
        copy<uint8_t>(l, &slice, in);
      else if (size == 2)
        copy<uint16_t>(l, &slice, in);
      else if (size == 4)
        copy<uint32_t>(l, &slice, in);
      else
        copy<uint64_t>(l, &slice, in);
    }
    offset += fy_cat_length(p, in->ndim, in->shape);
  }
  return (int)cudaGetLastError();
}
