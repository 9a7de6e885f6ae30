// SPDX-License-Identifier: MIT
// copy and fill on CUDA: any dtype to any dtype, any strides.
#include "op/copy/copy.h"
#include "op/kernel/cuda_common.cuh"

// ---- same dtype: by element size -----------------------------------------------------------------------------------------

template <class T> __global__ void move_kernel(T *out, const T *in, FyIndexer<2> indexer, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    const FyOffsets<2> offset = indexer.offsets(i);
    out[offset.at[0]] = in[offset.at[1]];
  }
}

// A plane with its rows contiguous in the input and its columns in the output goes through shared memory in square tiles, so
// that both sides are coalesced. The odd width keeps a column's elements in different banks.
enum { TILE = 64, TILE_ROWS = 4 };

typedef struct Planes {
  int64_t rows, columns, out_stride, in_stride; // out[r * out_stride + c] = in[c * in_stride + r]
  int64_t tiles_down, tiles_across;
} Planes;

// [transpose]
template <class T> __global__ void transpose_kernel(T *out, const T *in, Planes p, FyIndexer<2> planes, int64_t tiles) {
  __shared__ T tile[TILE][TILE + 1];
  const int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t across = t % p.tiles_across, down = t / p.tiles_across % p.tiles_down;
    const FyOffsets<2> plane = planes.offsets(t / p.tiles_across / p.tiles_down);
    const int64_t row = down * TILE, column = across * TILE;
    for (int c = y; c < TILE; c += TILE_ROWS)
      if (column + c < p.columns && row + x < p.rows)
        tile[c][x] = in[plane.at[1] + (column + c) * p.in_stride + row + x];
    __syncthreads();
    for (int r = y; r < TILE; r += TILE_ROWS)
      if (row + r < p.rows && column + x < p.columns)
        out[plane.at[0] + (row + r) * p.out_stride + column + x] = tile[x][r];
    __syncthreads();
  }
}
// [end]

// The dimension that is contiguous in the input where the last is in the output, if there is a plane worth a tile; else -1.
static int transposed_row(const FyIter *iter) {
  const int last = iter->ndim - 1;
  if (iter->stride[0][last] != 1 || iter->stride[1][last] == 1 || iter->shape[last] < TILE / 4)
    return -1;
  for (int d = 0; d < last; d++)
    if (iter->stride[1][d] == 1 && iter->shape[d] >= TILE / 4)
      return d;
  return -1;
}

template <class T> static int transpose(FyLaunch *l, const FyIter *iter, int row) {
  const int last = iter->ndim - 1;
  FyIter rest = *iter; // the dimensions around the plane
  Planes p = {iter->shape[row], iter->shape[last], iter->stride[0][row], iter->stride[1][last], 0, 0};
  p.tiles_down = (p.rows + TILE - 1) / TILE;
  p.tiles_across = (p.columns + TILE - 1) / TILE;
  rest.shape[row] = 1;
  rest.shape[last] = 1;
  rest.numel = iter->numel / p.rows / p.columns;
  const int64_t tiles = rest.numel * p.tiles_down * p.tiles_across;
  fy_iter_finish(&rest, false);
  transpose_kernel<T><<<fy_blocks(l, tiles * FY_BLOCK), FY_BLOCK, 0, fy_stream(l)>>>(
      (T *)iter->data[0], (const T *)iter->data[1], p, fy_indexer<2>(&rest), tiles);
  return (int)cudaGetLastError();
}

template <class T> static int move(FyLaunch *l, const FyIter *iter) {
  const int row = transposed_row(iter);
  if (row >= 0)
    return transpose<T>(l, iter, row);
  move_kernel<T><<<fy_blocks(l, iter->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)iter->data[0], (const T *)iter->data[1],
                                                                           fy_indexer<2>(iter), iter->numel);
  return (int)cudaGetLastError();
}

static int move_any(FyLaunch *l, const FyIter *iter) {
  switch (iter->size[0]) {
  case 1:
    return move<uint8_t>(l, iter);
  case 2:
    return move<uint16_t>(l, iter);
  case 4:
    return move<uint32_t>(l, iter);
  default:
    return move<uint64_t>(l, iter);
  }
}

// out[...] = in[...] of one dtype.
static int move_array(FyLaunch *l, const FyArray *out, const FyArray *in) {
  FyIter iter;
  fy_iter_of(&iter, out, 1, &in);
  if (iter.ndim == 1 && iter.stride[0][0] == 1 && iter.stride[1][0] == 1)
    return (int)cudaMemcpyAsync(out->data, in->data, (size_t)out->numel * (size_t)iter.size[0],
                                cudaMemcpyDeviceToDevice, fy_stream(l));
  return move_any(l, &iter);
}

// ---- conversions ---------------------------------------------------------------------------------------------------------
// Between row-major arrays. One kernel per target type, in which a block looks at the source's type once.

template <class To, class From> FY_DEVICE void convert_from(To *out, const From *in, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    out[i] = fy_cast<To>(in[i]);
  }
}

template <class To> __global__ void convert_kernel(To *out, const void *in, int dtype, int64_t n) {
#define FROM(DTYPE, TYPE)                                                                                              \
  case DTYPE:                                                                                                          \
    return convert_from(out, (const TYPE *)in, n);
  switch (dtype) {
    FROM(FY_BOOL, bool)
    FROM(FY_UINT8, uint8_t)
    FROM(FY_INT32, int32_t)
    FROM(FY_INT64, int64_t)
    FROM(FY_FLOAT16, __half)
    FROM(FY_BFLOAT16, __nv_bfloat16)
    FROM(FY_FLOAT32, float)
    FROM(FY_FLOAT64, double)
  }
#undef FROM
}

static int convert(FyLaunch *l, void *out, int out_dtype, const void *in, int in_dtype, int64_t n) {
  FY_SWITCH_ALL(out_dtype, To,
                { convert_kernel<To><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((To *)out, in, in_dtype, n); });
  return (int)cudaGetLastError();
}

// A row-major array of out's shape in scratch memory; its data is NULL when there is none.
static FyArray scratch(FyLaunch *l, const FyArray *out, int dtype) {
  FyArray a = *out;
  int64_t stride = 1;
  for (int d = a.ndim - 1; d >= 0; d--) {
    a.stride[d] = stride;
    stride *= a.shape[d];
  }
  a.dtype = (uint8_t)dtype;
  a.contiguous = true;
  a.data = l->workspace(l, (size_t)a.numel * fy_dtype_size(dtype));
  return a;
}

// Converts through row-major copies of whichever side is laid out otherwise.
static int convert_array(FyLaunch *l, const FyArray *out, const FyArray *in) {
  FyArray from = *in, to = *out;
  int error = FY_LAUNCH_OK;
  if (!in->contiguous || in->numel != out->numel) {
    from = scratch(l, out, in->dtype);
    error = from.data ? move_array(l, &from, in) : FY_LAUNCH_NO_MEMORY;
  }
  if (!out->contiguous && !error) {
    to = scratch(l, out, out->dtype);
    error = to.data ? FY_LAUNCH_OK : FY_LAUNCH_NO_MEMORY;
  }
  if (!error)
    error = convert(l, to.data, to.dtype, from.data, from.dtype, out->numel);
  return error || out->contiguous ? error : move_array(l, out, &to);
}

extern "C" int fy_cuda_copy(FyLaunch *l) {
  const FyArray *out = l->out[0], *in = l->in[l->n_in - 1];
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  return out->dtype == in->dtype ? move_array(l, out, in) : convert_array(l, out, in);
}

// ---- fill ----------------------------------------------------------------------------------------------------------------

template <class T> __global__ void fill_kernel(T *out, T value, FyIndexer<1> indexer, bool flat, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    out[flat ? i : indexer.offsets(i).at[0]] = value;
  }
}

template <class T> static int fill(FyLaunch *l, const FyIter *iter, const void *element) {
  T value;
  memcpy((void *)&value, element, sizeof value);
  const bool flat = iter->ndim == 1 && iter->stride[0][0] == 1;
  fill_kernel<T><<<fy_blocks(l, iter->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)iter->data[0], value,
                                                                           fy_indexer<1>(iter), flat, iter->numel);
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_fill(FyLaunch *l) {
  const FyArray *out = l->out[0];
  const double value = ((const FyFill *)l->params)->value;
  uint64_t element = 0;
  FyIter iter;
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_ALL(out->dtype, T, {
    const T converted = fy_cast<T>(value);
    memcpy(&element, (const void *)&converted, sizeof converted);
  });
  if (out->contiguous && element == 0)
    return (int)cudaMemsetAsync(out->data, 0, (size_t)out->numel * fy_dtype_size(out->dtype), fy_stream(l));
  fy_iter_of(&iter, out, 0, NULL);
  switch (iter.size[0]) {
  case 1:
    return fill<uint8_t>(l, &iter, &element);
  case 2:
    return fill<uint16_t>(l, &iter, &element);
  case 4:
    return fill<uint32_t>(l, &iter, &element);
  default:
    return fill<uint64_t>(l, &iter, &element);
  }
}
