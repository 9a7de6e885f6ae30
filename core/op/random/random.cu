// SPDX-License-Identifier: MIT
// Random ops on CUDA: one thread per Philox block, as many elements as it holds. The numbers are the CPU's.
#include "op/kernel/cuda_common.cuh"
#include "op/random/random.h"

static const uint64_t *base_of(const FyLaunch *l) {
  return l->n_in > 1 ? (const uint64_t *)l->in[1]->data : NULL;
}

// ---- the elements of a block: 4 of up to 4 bytes, or 2 of 8 --------------------------------------------------------------

struct FyUniform {
  __device__ __forceinline__ void operator()(float *x, FyPhilox block, const FyRandom &p) const {
    for (int k = 0; k < 4; k++)
      x[k] = fy_uniform_f32(block.word[k], &p);
  }
  __device__ __forceinline__ void operator()(double *x, FyPhilox block, const FyRandom &p) const {
    for (int k = 0; k < 2; k++)
      x[k] = fy_uniform_f64(fy_random_word64(block, k), &p);
  }
};

struct FyNormal {
  __device__ __forceinline__ void operator()(float *x, FyPhilox block, const FyRandom &p) const {
    fy_normal_pair_f32(block.word[0], block.word[1], (float)p.a, (float)p.b, x, x + 1);
    fy_normal_pair_f32(block.word[2], block.word[3], (float)p.a, (float)p.b, x + 2, x + 3);
  }
  __device__ __forceinline__ void operator()(double *x, FyPhilox block, const FyRandom &p) const {
    fy_normal_pair_f64(block, p.a, p.b, x, x + 1);
  }
};

struct FyRandint {
  __device__ __forceinline__ void operator()(int64_t *x, FyPhilox block, const FyRandom &p) const {
    for (int k = 0; k < 2; k++)
      x[k] = fy_randint_of(fy_random_word64(block, k), &p);
  }
};

// Elements i * N to i * N + N - 1 of n: by one instruction where they are among the whole vectors, else one by one. A thread's own
// elements lie side by side, so that one by one a warp would touch each sector N times.
template <int N, class T, class X> FY_DEVICE void store_all(T *out, const X *x, int64_t i, int64_t vectors, int64_t n) {
  if (i < vectors) {
    FyVector<T, N> all;
    for (int k = 0; k < N; k++)
      fy_store(&all.at[k], x[k]);
    ((FyVector<T, N> *)out)[i] = all;
    return;
  }
  for (int k = 0; k < N; k++)
    if (i * N + k < n)
      fy_store(out + i * N + k, x[k]);
}

// How many vectors of N elements there are that can move so.
template <int N, class T> static int64_t whole_vectors(const T *p, int64_t n) {
  return fy_is_aligned(p, sizeof(FyVector<T, N>)) ? n / N : 0;
}

// X: the type the numbers are made in; its size says how many a block holds.
// `base`: seed and offset that a CUDA graph's numbers begin at, or NULL.
template <class T, class X, class Make>
__global__ void random_kernel(T *out, Make make, FyRandom p, const uint64_t *base, int64_t vectors, int64_t n) {
  enum { N = 16 / sizeof(X) };
  if (base) {
    p.seed = base[0];
    p.offset += base[1];
  }
  FY_GRID_STRIDE(i, (n + N - 1) / N) {
    X x[N];
    make(x, fy_philox(p.seed, p.offset + (uint64_t)i), p);
    store_all<N>(out, x, i, vectors, n);
  }
}

template <class T, class X, class Make> static int launch(FyLaunch *l, Make make) {
  const int64_t n = l->out[0]->numel;
  if (n == 0)
    return FY_LAUNCH_OK;
  T *out = (T *)l->out[0]->data;
  random_kernel<T, X, Make><<<fy_blocks(l, n * (int64_t)sizeof(X) / 16 + 1), FY_BLOCK, 0, fy_stream(l)>>>(
      out, make, *(const FyRandom *)l->params, base_of(l), whole_vectors<16 / sizeof(X)>(out, n), n);
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_uniform(FyLaunch *l) {
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, return (launch<T, typename FyMath<T>::type>(l, FyUniform())));
}

extern "C" int fy_cuda_normal(FyLaunch *l) {
  if (!l->out[0]->numel) // of any dtype
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, return (launch<T, typename FyMath<T>::type>(l, FyNormal())));
}

extern "C" int fy_cuda_randint(FyLaunch *l) {
  FY_SWITCH_ALL(l->out[0]->dtype, T, return (launch<T, int64_t>(l, FyRandint())));
}

// ---- dropout ---------------------------------------------------------------------------------------------------------------

template <class T>
__global__ void dropout_kernel(T *out, const T *in, FyRandom p, const uint64_t *base, uint32_t below,
                               typename FyMath<T>::type scale, int64_t vectors, int64_t n) {
  typedef typename FyMath<T>::type X;
  if (base) {
    p.seed = base[0];
    p.offset += base[1];
  }
  FY_GRID_STRIDE(i, (n + 3) / 4) {
    const FyPhilox block = fy_philox(p.seed, p.offset + (uint64_t)i);
    X x[4] = {};
    if (i < vectors) {
      const FyVector<T, 4> all = ((const FyVector<T, 4> *)in)[i];
      for (int k = 0; k < 4; k++)
        x[k] = fy_load(&all.at[k]);
    } else {
      for (int k = 0; k < 4 && i * 4 + k < n; k++)
        x[k] = fy_load(in + i * 4 + k);
    }
    for (int k = 0; k < 4; k++)
      x[k] *= block.word[k] < below ? scale : (X)0;
    store_all<4>(out, x, i, vectors, n);
  }
}

extern "C" int fy_cuda_dropout(FyLaunch *l) {
  const FyRandom *p = (const FyRandom *)l->params;
  const uint64_t threshold = fy_dropout_threshold(p->a);
  const uint32_t below = threshold > UINT32_MAX ? UINT32_MAX : (uint32_t)threshold;
  const double scale = p->a < 1 ? 1 / (1 - p->a) : 0;
  const int64_t n = l->out[0]->numel;
  if (n == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, {
    T *out = (T *)l->out[0]->data;
    const T *in = (const T *)l->in[0]->data;
    const int64_t outs = whole_vectors<4>(out, n), ins = whole_vectors<4>(in, n);
    dropout_kernel<T><<<fy_blocks(l, (n + 3) / 4), FY_BLOCK, 0, fy_stream(l)>>>(
        out, in, *p, base_of(l), below, (typename FyMath<T>::type)scale, outs < ins ? outs : ins, n);
  });
  return (int)cudaGetLastError();
}
