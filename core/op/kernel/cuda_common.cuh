// SPDX-License-Identifier: MIT
// What the CUDA kernels share: dtypes, loads and stores, launch sizes, reductions, and indexing of strided arrays.
//
// A kernel is a template over the storage type T of its elements and computes in FyMath<T>::type, so that the half types
// calculate in float:
//
//   template <class T> __global__ void scale(T *out, const T *in, float by, int64_t n) {
//     FY_GRID_STRIDE(i, n) {
//       fy_store(out + i, fy_load(in + i) * by);
//     }
//   }
//   ...
//   FY_SWITCH_FLOATING(l->out[0]->dtype, T, {
//     scale<T><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)..., (const T *)..., 2.0f, n);
//   });
//   return (int)cudaGetLastError();
#ifndef FERRY_OP_CUDA_COMMON_CUH
#define FERRY_OP_CUDA_COMMON_CUH

#include <assert.h>
#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

#include "op/kernel/iter.h"
#include "op/launch.h"

#define FY_HOST_DEVICE static __host__ __device__ __forceinline__
#define FY_DEVICE static __device__ __forceinline__

enum { FY_WARP = 32, FY_BLOCK = 256 };

// ---- dtype to type -----------------------------------------------------------------------------------------------------

// Runs the statements with T standing for the C type of `dtype`; returns FY_LAUNCH_NO_KERNEL from the function for a dtype
// outside the list.
#define FY_CASE_(DTYPE, TYPE, T, ...)                                                                                  \
  case DTYPE: {                                                                                                        \
    typedef TYPE T;                                                                                                    \
    __VA_ARGS__;                                                                                                       \
    break;                                                                                                             \
  }
#define FY_CASES_FLOATING_(T, ...)                                                                                     \
  FY_CASE_(FY_FLOAT32, float, T, __VA_ARGS__)                                                                          \
  FY_CASE_(FY_FLOAT64, double, T, __VA_ARGS__)                                                                         \
  FY_CASE_(FY_FLOAT16, __half, T, __VA_ARGS__)                                                                         \
  FY_CASE_(FY_BFLOAT16, __nv_bfloat16, T, __VA_ARGS__)
#define FY_CASES_INTEGER_(T, ...)                                                                                      \
  FY_CASE_(FY_INT64, int64_t, T, __VA_ARGS__)                                                                          \
  FY_CASE_(FY_INT32, int32_t, T, __VA_ARGS__)                                                                          \
  FY_CASE_(FY_UINT8, uint8_t, T, __VA_ARGS__)
#define FY_SWITCH_(dtype, ...)                                                                                         \
  switch (dtype) {                                                                                                     \
    __VA_ARGS__                                                                                                        \
  default:                                                                                                             \
    return FY_LAUNCH_NO_KERNEL;                                                                                        \
  }
#define FY_SWITCH_FLOATING(dtype, T, ...) FY_SWITCH_(dtype, FY_CASES_FLOATING_(T, __VA_ARGS__))
#define FY_SWITCH_INTEGER(dtype, T, ...) FY_SWITCH_(dtype, FY_CASES_INTEGER_(T, __VA_ARGS__))
#define FY_SWITCH_NUMBER(dtype, T, ...)                                                                                \
  FY_SWITCH_(dtype, FY_CASES_FLOATING_(T, __VA_ARGS__) FY_CASES_INTEGER_(T, __VA_ARGS__))
#define FY_SWITCH_ALL(dtype, T, ...)                                                                                   \
  FY_SWITCH_(dtype, FY_CASES_FLOATING_(T, __VA_ARGS__) FY_CASES_INTEGER_(T, __VA_ARGS__)                               \
                        FY_CASE_(FY_BOOL, bool, T, __VA_ARGS__))

// The type that elements of T are computed in.
template <class T> struct FyMath { typedef T type; };
template <> struct FyMath<__half> { typedef float type; };
template <> struct FyMath<__nv_bfloat16> { typedef float type; };

// Values between types, as copies do it: to bool by != 0, to uint8 by the low bits, from and to the half types by float.
template <class To, class From> struct FyCast {
  FY_HOST_DEVICE To from(From x) {
    return (To)x;
  }
};
template <class From> struct FyCast<bool, From> {
  FY_HOST_DEVICE bool from(From x) {
    return x != (From)0;
  }
};
template <> struct FyCast<uint8_t, float> {
  FY_HOST_DEVICE uint8_t from(float x) {
    return (uint8_t)(int64_t)x;
  }
};
template <> struct FyCast<uint8_t, double> {
  FY_HOST_DEVICE uint8_t from(double x) {
    return (uint8_t)(int64_t)x;
  }
};
template <class To> struct FyCast<To, __half> {
  FY_HOST_DEVICE To from(__half x) {
    return FyCast<To, float>::from(__half2float(x));
  }
};
template <class To> struct FyCast<To, __nv_bfloat16> {
  FY_HOST_DEVICE To from(__nv_bfloat16 x) {
    return FyCast<To, float>::from(__bfloat162float(x));
  }
};
template <> struct FyCast<bool, __half> {
  FY_HOST_DEVICE bool from(__half x) {
    return __half2float(x) != 0.0f;
  }
};
template <> struct FyCast<bool, __nv_bfloat16> {
  FY_HOST_DEVICE bool from(__nv_bfloat16 x) {
    return __bfloat162float(x) != 0.0f;
  }
};
#define FY_CAST_TO_HALF_(HALF, CONVERT)                                                                                \
  template <class From> struct FyCast<HALF, From> {                                                                    \
    FY_HOST_DEVICE HALF from(From x) {                                                                                 \
      return CONVERT((float)x);                                                                                        \
    }                                                                                                                  \
  };                                                                                                                   \
  template <> struct FyCast<HALF, __half> {                                                                            \
    FY_HOST_DEVICE HALF from(__half x) {                                                                               \
      return CONVERT(__half2float(x));                                                                                 \
    }                                                                                                                  \
  };                                                                                                                   \
  template <> struct FyCast<HALF, __nv_bfloat16> {                                                                     \
    FY_HOST_DEVICE HALF from(__nv_bfloat16 x) {                                                                        \
      return CONVERT(__bfloat162float(x));                                                                             \
    }                                                                                                                  \
  };
FY_CAST_TO_HALF_(__half, __float2half_rn)
FY_CAST_TO_HALF_(__nv_bfloat16, __float2bfloat16_rn)
#undef FY_CAST_TO_HALF_

template <class To, class From> FY_HOST_DEVICE To fy_cast(From x) {
  return FyCast<To, From>::from(x);
}

// *p in the type it is computed in; *p = x from any type.
template <class T> FY_DEVICE typename FyMath<T>::type fy_load(const T *p) {
  return fy_cast<typename FyMath<T>::type>(*p);
}
template <class T, class X> FY_DEVICE void fy_store(T *p, X x) {
  *p = fy_cast<T>(x);
}

// The element of a one-element array in host memory (FyArray.host_scalar), read at launch.
template <class X> static X fy_host_value(const FyArray *a) {
  switch (a->dtype) {
  case FY_BOOL:
    return fy_cast<X>(*(const bool *)a->data);
  case FY_UINT8:
    return fy_cast<X>(*(const uint8_t *)a->data);
  case FY_INT32:
    return fy_cast<X>(*(const int32_t *)a->data);
  case FY_INT64:
    return fy_cast<X>(*(const int64_t *)a->data);
  case FY_FLOAT16:
    return fy_cast<X>(*(const __half *)a->data);
  case FY_BFLOAT16:
    return fy_cast<X>(*(const __nv_bfloat16 *)a->data);
  case FY_FLOAT32:
    return fy_cast<X>(*(const float *)a->data);
  default:
    return fy_cast<X>(*(const double *)a->data);
  }
}

// N elements that move by one instruction where N * sizeof(T) is 16, 8, 4 or 2 bytes.
template <class T, int N> struct __align__(sizeof(T) * N) FyVector {
  T at[N];
};
static inline bool fy_is_aligned(const void *p, size_t bytes) {
  return ((uintptr_t)p & (bytes - 1)) == 0;
}

// ---- launches ----------------------------------------------------------------------------------------------------------

static inline cudaStream_t fy_stream(const FyLaunch *l) {
  return (cudaStream_t)l->stream;
}

// Blocks of FY_BLOCK threads for n threads' worth of work, at most what the device needs to be full: kernels stride over
// the grid. At least 1.
static inline unsigned fy_blocks(const FyLaunch *l, int64_t n) {
  int64_t blocks = (n + FY_BLOCK - 1) / FY_BLOCK;
  int64_t full = (int64_t)(l->multi_processors > 0 ? l->multi_processors : 1) * 32;
  return (unsigned)(blocks < 1 ? 1 : blocks < full ? blocks : full);
}

// A block for each row, which strides over the grid where there are more rows than blocks.
static inline unsigned fy_row_blocks(int64_t rows) {
  return (unsigned)(rows < INT32_MAX ? rows : INT32_MAX);
}

// Sets the outputs [first, end) to zero. 0, or a cudaError_t.
static inline int fy_clear_outputs(const FyLaunch *l, int first, int end) {
  for (int i = first; i < end; i++)
    if (l->out[i]->numel > 0)
      cudaMemsetAsync(l->out[i]->data, 0, fy_array_bytes(l->out[i]), fy_stream(l));
  return (int)cudaGetLastError();
}

// The step is computed once: a kernel's stores could otherwise change gridDim, for all that a compiler knows.
#define FY_GRID_STRIDE(i, n)                                                                                           \
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, fy_stride = (int64_t)gridDim.x * blockDim.x;        \
       i < (n); i += fy_stride)

// ---- reductions --------------------------------------------------------------------------------------------------------

struct FySum {
  template <class X> __device__ __forceinline__ X operator()(X a, X b) const {
    return a + b;
  }
};
// NaN wins, as in PyTorch.
struct FyMax {
  template <class X> __device__ __forceinline__ X operator()(X a, X b) const {
    return a > b || a != a ? a : b;
  }
};
struct FyMin {
  template <class X> __device__ __forceinline__ X operator()(X a, X b) const {
    return a < b || a != a ? a : b;
  }
};

// [block_reduce]
// The reduction over the 32 lanes of a full warp, in every lane.
template <class X, class Op> FY_DEVICE X fy_warp_reduce(X x, Op op) {
  for (int lanes = FY_WARP / 2; lanes > 0; lanes /= 2)
    x = op(x, __shfl_xor_sync(0xffffffffu, x, lanes));
  return x;
}

// The reduction over a one-dimensional block of whole warps, in every thread. May be called again at once.
template <class X, class Op> __device__ X fy_block_reduce(X x, Op op) {
  __shared__ X partial[FY_WARP];
  x = fy_warp_reduce(x, op);
  if (blockDim.x == FY_WARP)
    return x;
  if (threadIdx.x % FY_WARP == 0)
    partial[threadIdx.x / FY_WARP] = x;
  __syncthreads();
  x = partial[0];
  for (unsigned warp = 1; warp < blockDim.x / FY_WARP; warp++)
    x = op(x, partial[warp]);
  __syncthreads();
  return x;
}
// [end]

template <class X> FY_DEVICE X fy_warp_sum(X x) {
  return fy_warp_reduce(x, FySum());
}
template <class X> FY_DEVICE X fy_warp_max(X x) {
  return fy_warp_reduce(x, FyMax());
}
template <class X> FY_DEVICE X fy_block_sum(X x) {
  return fy_block_reduce(x, FySum());
}
template <class X> FY_DEVICE X fy_block_max(X x) {
  return fy_block_reduce(x, FyMax());
}

// atomicAdd where CUDA has no overload of its own.
template <class T> FY_DEVICE void fy_atomic_add(T *address, T value) {
  atomicAdd(address, value);
}
FY_DEVICE void fy_atomic_add(int64_t *address, int64_t value) {
  atomicAdd((unsigned long long *)address, (unsigned long long)value);
}
// The half types and bytes: compare-and-swap of the 32-bit word around the element.
template <class T> FY_DEVICE void fy_atomic_add_word(T *address, T value) {
  const unsigned shift = (unsigned)((uintptr_t)address & 3) * 8;
  const unsigned mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
  unsigned *word = (unsigned *)((uintptr_t)address & ~(uintptr_t)3);
  unsigned seen = *word, expected;
  do {
    expected = seen;
    const unsigned bits = (expected & mask) >> shift;
    T old;
    memcpy((void *)&old, &bits, sizeof old);
    const T sum = fy_cast<T>((float)old + (float)value);
    unsigned desired = 0;
    memcpy(&desired, (const void *)&sum, sizeof sum);
    seen = atomicCAS(word, expected, (expected & ~mask) | (desired << shift));
  } while (seen != expected);
}
FY_DEVICE void fy_atomic_add(__half *address, __half value) {
  fy_atomic_add_word(address, value);
}
FY_DEVICE void fy_atomic_add(__nv_bfloat16 *address, __nv_bfloat16 value) {
  fy_atomic_add_word(address, value);
}
FY_DEVICE void fy_atomic_add(uint8_t *address, uint8_t value) {
  fy_atomic_add_word(address, value);
}

// ---- strided arrays ----------------------------------------------------------------------------------------------------

// From the row-major index of an element to its offset in each of N arrays. Made on the host from an FyIter, passed by
// value. Sizes divide by multiplication (q = (mulhi(i, multiplier) + i) >> shift) when all indices are below 2^31.
template <int N> struct FyOffsets { int64_t at[N]; };
template <int N> struct FyIndexer {
  int ndim;
  bool wide; // an index may not fit in 31 bits
  int64_t size[FY_MAX_DIM];
  uint32_t multiplier[FY_MAX_DIM], shift[FY_MAX_DIM];
  int64_t stride[FY_MAX_DIM][N]; // in elements

  __device__ __forceinline__ FyOffsets<N> offsets(int64_t index) const {
    FyOffsets<N> offset = {};
    if (wide) {
      for (int d = ndim - 1; d >= 0; d--) {
        const int64_t rest = d > 0 ? index / size[d] : 0;
        add(offset, d, index - rest * size[d]);
        index = rest;
      }
      return offset;
    }
    uint32_t i = (uint32_t)index;
    for (int d = ndim - 1; d > 0; d--) {
      const uint32_t rest = (__umulhi(i, multiplier[d]) + i) >> shift[d];
      add(offset, d, i - rest * (uint32_t)size[d]);
      i = rest;
    }
    add(offset, 0, i);
    return offset;
  }

  __device__ __forceinline__ void add(FyOffsets<N> &offset, int d, int64_t coordinate) const {
    for (int k = 0; k < N; k++)
      offset.at[k] += coordinate * stride[d][k];
  }
};

// `iter` has at least N operands.
template <int N> static FyIndexer<N> fy_indexer(const FyIter *iter) {
  FyIndexer<N> indexer = {};
  indexer.ndim = iter->ndim;
  indexer.wide = iter->numel > INT32_MAX;
  for (int d = 0; d < iter->ndim; d++) {
    const uint64_t size = iter->shape[d] > 0 ? (uint64_t)iter->shape[d] : 1;
    indexer.size[d] = (int64_t)size;
    if (!indexer.wide) {
      uint32_t shift = 0;
      while (((uint64_t)1 << shift) < size)
        shift++;
      indexer.shift[d] = shift;
      indexer.multiplier[d] = (uint32_t)(((((uint64_t)1 << shift) - size) << 32) / size + 1);
    }
    for (int k = 0; k < N; k++)
      indexer.stride[d][k] = iter->stride[k][d];
  }
  return indexer;
}

// The indexer of a single array over its own shape: offset of its i-th element in row-major order.
static inline FyIndexer<1> fy_indexer_of(const FyArray *a) {
  FyIter iter;
  fy_iter_begin(&iter, a->ndim, a->shape);
  fy_iter_add(&iter, a);
  fy_iter_finish(&iter, false);
  return fy_indexer<1>(&iter);
}

#endif
