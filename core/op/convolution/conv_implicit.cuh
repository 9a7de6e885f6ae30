// SPDX-License-Identifier: MIT
// F.conv2d and its gradients on CUDA as one matrix product whose columns are never written to memory: each tile of them is
// gathered from the images when it is needed (implicit GEMM). It needs no workspace, and reads pixels again instead of columns.
//
//   c (m x n) = a (m x k) b (k x n), for each group
//
//                      m           n                     k
//   forward            channels o  positions (n, y, x)   taps (c, i, j)          a: weight   b: x
//   input's gradient   channels c  pixels (n, y, x)      taps (o, i, j)          a: weight   b: gradient, where a tap met it
//   weight's gradient  channels o  taps (c, i, j)        positions (n, y, x)     a: gradient b: x
//
// A block makes a tile of c: TILE x TILE elements, each thread EACH x EACH of them in registers. k is taken in steps of STEP, in
// order, so results are the same in every run. Sums are in FyMath<T>::type.
#ifndef FERRY_OP_CONV_IMPLICIT_CUH
#define FERRY_OP_CONV_IMPLICIT_CUH

#include "op/convolution/conv.h"
#include "op/kernel/cuda_common.cuh"

enum { CONV_TILE = 64, CONV_STEP = 16, CONV_EACH = 4 };

// What each pass multiplies: sizes of the product, and elements of a, b and c. `g` is the group. Indices outside are not asked for.
struct FyConvForward {
  FY_HOST_DEVICE int64_t m(const FyConvShape &s) {
    return s.o / s.groups;
  }
  FY_HOST_DEVICE int64_t n(const FyConvShape &s) {
    return s.n * s.oh * s.ow;
  }
  FY_HOST_DEVICE int64_t k(const FyConvShape &s) {
    return s.c / s.groups * s.kh * s.kw;
  }
  template <class T>
  FY_DEVICE typename FyMath<T>::type a(const FyConvShape &s, const T *weight, int64_t g, int64_t i, int64_t tap) {
    return fy_load(weight + (g * m(s) + i) * k(s) + tap);
  }
  // The pixel that the tap meets at the position; 0 outside of the image.
  template <class T>
  FY_DEVICE typename FyMath<T>::type b(const FyConvShape &s, const T *x, int64_t g, int64_t tap, int64_t position) {
    const int64_t area = s.oh * s.ow, image = position / area, at = position % area, kernel = s.kh * s.kw;
    const int64_t channel = g * (s.c / s.groups) + tap / kernel;
    const int64_t row = at / s.ow * s.stride + tap % kernel / s.kw * s.dilation - s.padding;
    const int64_t column = at % s.ow * s.stride + tap % s.kw * s.dilation - s.padding;
    if (row < 0 || row >= s.h || column < 0 || column >= s.w)
      return 0;
    return fy_load(x + ((image * s.c + channel) * s.h + row) * s.w + column);
  }
  FY_HOST_DEVICE int64_t c(const FyConvShape &s, int64_t g, int64_t i, int64_t position) {
    const int64_t area = s.oh * s.ow;
    return (position / area * s.o + g * m(s) + i) * area + position % area;
  }
  FY_HOST_DEVICE int64_t channel(const FyConvShape &s, int64_t g, int64_t i) {
    return g * m(s) + i;
  }
};

struct FyConvBackwardInput {
  FY_HOST_DEVICE int64_t m(const FyConvShape &s) {
    return s.c / s.groups;
  }
  FY_HOST_DEVICE int64_t n(const FyConvShape &s) {
    return s.n * s.h * s.w;
  }
  FY_HOST_DEVICE int64_t k(const FyConvShape &s) {
    return s.o / s.groups * s.kh * s.kw;
  }
  template <class T>
  FY_DEVICE typename FyMath<T>::type a(const FyConvShape &s, const T *weight, int64_t g, int64_t i, int64_t tap) {
    const int64_t kernel = s.kh * s.kw, o = g * (s.o / s.groups) + tap / kernel;
    return fy_load(weight + (o * m(s) + i) * kernel + tap % kernel);
  }
  // The gradient of the position at which the tap met the pixel; 0 where there is none.
  template <class T>
  FY_DEVICE typename FyMath<T>::type b(const FyConvShape &s, const T *grad, int64_t g, int64_t tap, int64_t pixel) {
    const int64_t plane = s.h * s.w, image = pixel / plane, at = pixel % plane, kernel = s.kh * s.kw;
    const int64_t top = at / s.w + s.padding - tap % kernel / s.kw * s.dilation, row = top / s.stride;
    const int64_t left = at % s.w + s.padding - tap % s.kw * s.dilation, column = left / s.stride;
    if (top < 0 || left < 0 || top % s.stride != 0 || left % s.stride != 0 || row >= s.oh || column >= s.ow)
      return 0;
    const int64_t o = g * (s.o / s.groups) + tap / kernel;
    return fy_load(grad + ((image * s.o + o) * s.oh + row) * s.ow + column);
  }
  FY_HOST_DEVICE int64_t c(const FyConvShape &s, int64_t g, int64_t i, int64_t pixel) {
    const int64_t plane = s.h * s.w;
    return (pixel / plane * s.c + g * m(s) + i) * plane + pixel % plane;
  }
  FY_HOST_DEVICE int64_t channel(const FyConvShape &s, int64_t g, int64_t i) {
    return g * m(s) + i;
  }
};

struct FyConvBackwardWeight {
  FY_HOST_DEVICE int64_t m(const FyConvShape &s) {
    return s.o / s.groups;
  }
  FY_HOST_DEVICE int64_t n(const FyConvShape &s) {
    return s.c / s.groups * s.kh * s.kw;
  }
  FY_HOST_DEVICE int64_t k(const FyConvShape &s) {
    return s.n * s.oh * s.ow;
  }
  template <class T>
  FY_DEVICE typename FyMath<T>::type a(const FyConvShape &s, const T *grad, int64_t g, int64_t i, int64_t position) {
    return fy_load(grad + FyConvForward::c(s, g, i, position));
  }
  template <class T>
  FY_DEVICE typename FyMath<T>::type b(const FyConvShape &s, const T *x, int64_t g, int64_t position, int64_t tap) {
    return FyConvForward::b(s, x, g, tap, position);
  }
  FY_HOST_DEVICE int64_t c(const FyConvShape &s, int64_t g, int64_t i, int64_t tap) {
    return (g * m(s) + i) * n(s) + tap;
  }
  FY_HOST_DEVICE int64_t channel(const FyConvShape &s, int64_t g, int64_t i) {
    return g * m(s) + i;
  }
};

// Blocks: tiles of n, tiles of m, groups. Threads: (CONV_TILE / CONV_EACH) squared.
template <class Pass, class T>
__global__ void implicit_conv(FyConvShape s, T *c, const T *a, const T *b, const T *bias) {
  typedef typename FyMath<T>::type X;
  enum { ACROSS = CONV_TILE / CONV_EACH, THREADS = ACROSS * ACROSS };
  __shared__ X a_tile[CONV_STEP][CONV_TILE + 1], b_tile[CONV_STEP][CONV_TILE + 1];
  const int64_t m = Pass::m(s), n = Pass::n(s), k = Pass::k(s), g = blockIdx.z;
  const int64_t row = (int64_t)blockIdx.y * CONV_TILE, column = (int64_t)blockIdx.x * CONV_TILE;
  const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
  X sum[CONV_EACH][CONV_EACH];
  for (int i = 0; i < CONV_EACH; i++)
    for (int j = 0; j < CONV_EACH; j++)
      sum[i][j] = 0;
  for (int64_t begin = 0; begin < k; begin += CONV_STEP) {
    for (int e = threadIdx.x; e < CONV_STEP * CONV_TILE; e += THREADS) {
      // Neighboring threads read neighboring elements: along k of a, along n of b.
      const int64_t a_row = row + e / CONV_STEP, a_k = begin + e % CONV_STEP;
      const int64_t b_column = column + e % CONV_TILE, b_k = begin + e / CONV_TILE;
      a_tile[e % CONV_STEP][e / CONV_STEP] = a_row < m && a_k < k ? Pass::a(s, a, g, a_row, a_k) : (X)0;
      b_tile[e / CONV_TILE][e % CONV_TILE] = b_column < n && b_k < k ? Pass::b(s, b, g, b_k, b_column) : (X)0;
    }
    __syncthreads();
    for (int t = 0; t < CONV_STEP; t++)
      for (int i = 0; i < CONV_EACH; i++)
        for (int j = 0; j < CONV_EACH; j++)
          sum[i][j] += a_tile[t][y + i * ACROSS] * b_tile[t][x + j * ACROSS];
    __syncthreads();
  }
  for (int i = 0; i < CONV_EACH; i++)
    for (int j = 0; j < CONV_EACH; j++) {
      const int64_t at_m = row + y + i * ACROSS, at_n = column + x + j * ACROSS;
      if (at_m < m && at_n < n)
        fy_store(c + Pass::c(s, g, at_m, at_n), sum[i][j] + (bias ? fy_load(bias + Pass::channel(s, g, at_m)) : (X)0));
    }
}

// Returns what a kernel returns; FY_LAUNCH_NO_KERNEL where the product has more tiles than a grid has blocks.
template <class Pass>
static int fy_implicit_conv(FyLaunch *l, FyConvShape s, FyArray *c, const void *a, const void *b, const void *bias) {
  enum { THREADS = (CONV_TILE / CONV_EACH) * (CONV_TILE / CONV_EACH), MOST = 65535 };
  const int64_t across = (Pass::n(s) + CONV_TILE - 1) / CONV_TILE, down = (Pass::m(s) + CONV_TILE - 1) / CONV_TILE;
  if (across > INT32_MAX || down > MOST || s.groups > MOST)
    return FY_LAUNCH_NO_KERNEL;
  const dim3 blocks((unsigned)across, (unsigned)down, (unsigned)s.groups);
  FY_SWITCH_FLOATING(c->dtype, T, {
    implicit_conv<Pass, T>
        <<<blocks, THREADS, 0, fy_stream(l)>>>(s, (T *)c->data, (const T *)a, (const T *)b, (const T *)bias);
  });
  return (int)cudaGetLastError();
}

#endif
