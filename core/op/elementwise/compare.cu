// SPDX-License-Identifier: MIT
// Comparisons, isfinite and where on CUDA.
#include "op/elementwise/pointwise.cuh"
#include "op/elementwise/pointwise_math.h"

enum Comparison { EQ, NE, LT, LE, GT, GE };

template <class X> struct FyCompare {
  int operation;
  __device__ __forceinline__ bool operator()(X a, X b) const {
    switch (operation) {
    case EQ:
      return a == b;
    case NE:
      return a != b;
    case LT:
      return a < b;
    case LE:
      return a <= b;
    case GT:
      return a > b;
    default:
      return a >= b;
    }
  }
};

// The dtype the inputs are compared in: host scalars beside a device array may still be of another.
static int compared_dtype(const FyLaunch *l) {
  return l->in[0]->host_scalar ? l->in[1]->dtype : l->in[0]->dtype;
}

static int compare(FyLaunch *l, int operation) {
  FY_SWITCH_ALL(compared_dtype(l), T, {
    const FyCompare<typename FyMath<T>::type> f = {operation};
    return fy_launch_binary<bool, T>(l, f);
  });
}

extern "C" int fy_cuda_eq(FyLaunch *l) {
  return compare(l, EQ);
}
extern "C" int fy_cuda_ne(FyLaunch *l) {
  return compare(l, NE);
}
extern "C" int fy_cuda_lt(FyLaunch *l) {
  return compare(l, LT);
}
extern "C" int fy_cuda_le(FyLaunch *l) {
  return compare(l, LE);
}
extern "C" int fy_cuda_gt(FyLaunch *l) {
  return compare(l, GT);
}
extern "C" int fy_cuda_ge(FyLaunch *l) {
  return compare(l, GE);
}

// ---- isfinite ------------------------------------------------------------------------------------------------------------

struct FyIsFinite {
  __device__ __forceinline__ bool operator()(float a) const {
    return fy_isfinite_f32(a);
  }
  __device__ __forceinline__ bool operator()(double a) const {
    return fy_isfinite_f64(a);
  }
  template <class X> __device__ __forceinline__ bool operator()(X) const {
    return true;
  }
};

extern "C" int fy_cuda_isfinite(FyLaunch *l) {
  FY_SWITCH_ALL(l->in[0]->dtype, T, return fy_launch_unary<bool, T>(l, FyIsFinite()));
}

// ---- where ---------------------------------------------------------------------------------------------------------------
// Values are moved, never computed with: a kernel per element size. Host scalars come as bits of the output's dtype.

template <class T> struct FyBits {
  const T *data;
  T value;
};

template <class T>
__global__ void where_kernel(T *out, FyBits<bool> condition, FyBits<T> a, FyBits<T> b, FyIndexer<4> indexer,
                             int64_t n) {
  FY_GRID_STRIDE(i, n) {
    const FyOffsets<4> offset = indexer.offsets(i);
    const bool c = condition.data ? condition.data[offset.at[1]] : condition.value;
    const T x = a.data ? a.data[offset.at[2]] : a.value;
    const T y = b.data ? b.data[offset.at[3]] : b.value;
    out[offset.at[0]] = c ? x : y;
  }
}

// The value of a host scalar in the bits of `dtype`.
static int host_bits(void *bits, const FyArray *a, int dtype) {
  FY_SWITCH_ALL(dtype, T, {
    const T value = fy_cast<T>(fy_host_value<typename FyMath<T>::type>(a));
    memcpy(bits, (const void *)&value, sizeof value);
  });
  return FY_LAUNCH_OK;
}

template <class T> static FyBits<T> bits_of(const FyArray *a, int dtype) {
  FyBits<T> bits = {};
  if (a->host_scalar)
    host_bits(&bits.value, a, dtype);
  else
    bits.data = (const T *)a->data;
  return bits;
}

template <class T> static int where(FyLaunch *l) {
  const FyArray *out = l->out[0];
  FyIter iter;
  fy_iter_of(&iter, out, 3, l->in);
  where_kernel<T><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>(
      (T *)out->data, bits_of<bool>(l->in[0], FY_BOOL), bits_of<T>(l->in[1], out->dtype),
      bits_of<T>(l->in[2], out->dtype), fy_indexer<4>(&iter), out->numel);
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_where(FyLaunch *l) {
  if (l->out[0]->numel == 0)
    return FY_LAUNCH_OK;
  switch (fy_dtype_size(l->out[0]->dtype)) {
  case 1:
    return where<uint8_t>(l);
  case 2:
    return where<uint16_t>(l);
  case 4:
    return where<uint32_t>(l);
  default:
    return where<uint64_t>(l);
  }
}
