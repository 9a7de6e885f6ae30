// SPDX-License-Identifier: MIT
// The part of CUDA that prove-races (core/inspect/prove) understands, for clang, which includes it before the file. Functions are only
// declared: llvm.c knows which of them synchronize or access memory. What is not here does not compile, so nothing is said about it.
#ifndef PROVE_CUDA_H
#define PROVE_CUDA_H

// The simulator's headers have the vector types and the host's functions. What they have for kernels is not for clang.
#define CUDASIM_HOST
#define CUDASIM_CUDA_RUNTIME_H
#pragma clang force_cuda_host_device begin
#include <cuda_runtime_api.h>
#include <vector_functions.h>
#pragma clang force_cuda_host_device end

#undef __host__
#undef __device__
#undef __global__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __align__
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#include <__clang_cuda_builtin_vars.h>

// ---- synchronization: known to llvm.c by name ----
extern "C" __device__ int __syncthreads_count(int);
extern "C" __device__ int __syncthreads_and(int);
extern "C" __device__ int __syncthreads_or(int);
__device__ void __syncwarp(unsigned mask = ~0u);
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ unsigned __activemask();
__device__ unsigned __ballot_sync(unsigned, int);
__device__ int __any_sync(unsigned, int);
__device__ int __all_sync(unsigned, int);
template <class T> __device__ T __shfl_sync(unsigned, T, int, int = 32);
template <class T> __device__ T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
__device__ long long clock64();

#define ATOMICS(type)                                                                                                  \
  __device__ type atomicAdd(type *, type);                                                                             \
  __device__ type atomicSub(type *, type);                                                                             \
  __device__ type atomicExch(type *, type);                                                                            \
  __device__ type atomicMin(type *, type);                                                                             \
  __device__ type atomicMax(type *, type);                                                                             \
  __device__ type atomicAnd(type *, type);                                                                             \
  __device__ type atomicOr(type *, type);                                                                              \
  __device__ type atomicXor(type *, type);                                                                             \
  __device__ type atomicCAS(type *, type, type);
ATOMICS(int)
ATOMICS(unsigned)
ATOMICS(unsigned long long)
#undef ATOMICS
__device__ float atomicAdd(float *, float);
__device__ double atomicAdd(double *, double);
__device__ float atomicExch(float *, float);
__device__ unsigned atomicInc(unsigned *, unsigned);
__device__ unsigned atomicDec(unsigned *, unsigned);

// ---- functions of their arguments ----
#define PURE __device__ __attribute__((const))
#define FLOAT1(name)                                                                                                   \
  extern "C" PURE double name(double) noexcept;                                                                        \
  extern "C" PURE float name##f(float) noexcept;                                                                       \
  PURE float name(float) noexcept;
#define FLOAT2(name)                                                                                                   \
  extern "C" PURE double name(double, double) noexcept;                                                                \
  extern "C" PURE float name##f(float, float) noexcept;                                                                \
  PURE float name(float, float) noexcept;
FLOAT1(sqrt)
FLOAT1(rsqrt)
FLOAT1(exp)
FLOAT1(exp2)
FLOAT1(exp10)
FLOAT1(expm1)
FLOAT1(log)
FLOAT1(log2)
FLOAT1(log10)
FLOAT1(log1p)
FLOAT1(sin)
FLOAT1(cos)
FLOAT1(tan)
FLOAT1(asin)
FLOAT1(acos)
FLOAT1(atan)
FLOAT1(sinh)
FLOAT1(cosh)
FLOAT1(tanh)
FLOAT1(erf)
FLOAT1(erfc)
FLOAT1(floor)
FLOAT1(ceil)
FLOAT1(round)
FLOAT1(trunc)
FLOAT1(rint)
FLOAT1(fabs)
FLOAT1(cbrt)
FLOAT2(pow)
FLOAT2(fmin)
FLOAT2(fmax)
FLOAT2(fmod)
FLOAT2(atan2)
FLOAT2(hypot)
#undef FLOAT1
#undef FLOAT2
extern "C" PURE float fmaf(float, float, float) noexcept;
extern "C" PURE double fma(double, double, double) noexcept;
extern "C" PURE float __expf(float) noexcept;
extern "C" PURE float __exp10f(float) noexcept;
extern "C" PURE float __logf(float) noexcept;
extern "C" PURE float __log2f(float) noexcept;
extern "C" PURE float __sinf(float) noexcept;
extern "C" PURE float __cosf(float) noexcept;
extern "C" PURE float __powf(float, float) noexcept;
extern "C" PURE float __fdividef(float, float) noexcept;
extern "C" PURE float __frcp_rn(float) noexcept;
extern "C" PURE float __fsqrt_rn(float) noexcept;
extern "C" PURE int __float_as_int(float) noexcept;
extern "C" PURE float __int_as_float(int) noexcept;
extern "C" PURE int __popc(unsigned) noexcept;
extern "C" PURE int __clz(int) noexcept;
extern "C" PURE int __ffs(int) noexcept;
extern "C" PURE unsigned __brev(unsigned) noexcept;
extern "C" PURE float __saturatef(float) noexcept;

#define CHOICES(type)                                                                                                  \
  static __inline__ __host__ __device__ type min(type a, type b) {                                                     \
    return a < b ? a : b;                                                                                              \
  }                                                                                                                    \
  static __inline__ __host__ __device__ type max(type a, type b) {                                                     \
    return a > b ? a : b;                                                                                              \
  }
CHOICES(int)
CHOICES(unsigned)
CHOICES(long)
CHOICES(unsigned long)
CHOICES(long long)
CHOICES(unsigned long long)
CHOICES(float)
CHOICES(double)
#undef CHOICES
extern "C" __inline__ __device__ int abs(int a) noexcept {
  return a < 0 ? -a : a;
}
static __inline__ __device__ float abs(float a) {
  return fabsf(a);
}
static __inline__ __device__ int __mul24(int a, int b) {
  return (a << 8 >> 8) * (b << 8 >> 8);
}
static __inline__ __device__ unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
template <class T> __device__ T __ldg(const T *p) {
  return *p;
}
extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ void __assert_fail(const char *, const char *, unsigned, const char *) noexcept
    __attribute__((noreturn));
#undef PURE

extern "C" int cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = nullptr);

#endif
