// SPDX-License-Identifier: MIT
// How a simulated function is declared.
//
// Programs may hold this simulator and NVIDIA's libraries at once, so no simulated function keeps its plain name in the
// object files: cudaMalloc is the assembler symbol sim_cudaMalloc. Sources are unaffected.
#ifndef CUDASIM_ABI_H
#define CUDASIM_ABI_H

// True of this simulator's headers, undefined under NVIDIA's.
#define CUDASIM 1

#define CUDASIM_SYMBOL(name) __asm__("sim_" #name)

#ifdef __cplusplus
#define CUDASIM_DEFAULT(value) = value
#define CUDASIM_BEGIN_C extern "C" {
#define CUDASIM_END_C }
#else
#define CUDASIM_DEFAULT(value)
#define CUDASIM_BEGIN_C
#define CUDASIM_END_C
#endif

// AddressSanitizer puts no red zones round thread-local arrays, so such builds keep __shared__ in plain static ones and
// run one block at a time.
#if defined(__SANITIZE_ADDRESS__)
#define CUDASIM_STATIC_SHARED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDASIM_STATIC_SHARED 1
#endif
#endif

#define __host__
// An inspector tells constants and managed variables from others by their section; two in one may be const or not.
#if defined(CUDASIM_INSPECT) || defined(CUDASIM_DUAL_VERSION)
#define CUDASIM_TEXT_OF(x) #x
#define CUDASIM_SECTION(kind, line) __attribute__((section("cudasim_" kind CUDASIM_TEXT_OF(line))))
#define __constant__ CUDASIM_SECTION("constant_", __LINE__)
#define __managed__ CUDASIM_SECTION("managed_", __LINE__)
#else
#define __constant__
#define __managed__
#endif
#ifdef CUDASIM_INSPECT // it wants a kernel's code twice (closure in cudasim_launch.h)
#ifdef CUDASIM_PROGRAM // cu2cpp --program notes which functions are kernels, and takes the word away
#define CUDASIM_KERNEL __cudasim_kernel__
#else
#define CUDASIM_KERNEL
#endif
#ifdef CUDASIM_KERNELS_APART // some that are launched here are defined in another file; then nobody can inline them
#define __global__ CUDASIM_KERNEL
#define __device__
#else
#define __global__ CUDASIM_KERNEL __attribute__((always_inline))
#define __device__                                                                                                     \
  __attribute__((                                                                                                      \
      always_inline)) // g++ tells nobody of a struct that it reads to pass it to a function, or writes as its result
#endif
#else
#if defined(CUDASIM_PROGRAM) && !defined(CUDASIM_HOST) // cu2cpp --program takes it away
#define __global__ __cudasim_global__
#else
#define __global__
#endif
#define __device__
#endif
#define __launch_bounds__(...)
#ifdef CUDASIM_RECURSIVE // of a program in which such a function calls itself, which g++ refuses
#define __forceinline__ inline
#else
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __inline_hint__
#define __CUDA_ARCH_HAS_FEATURE__(...) 0
#ifdef CUDASIM_INSPECT // g++ removes the writes of a static variable that nothing reads, and their races
#define CUDASIM_SHARED_ALIGNED __attribute__((aligned(128), used))
#else
#define CUDASIM_SHARED_ALIGNED __attribute__((aligned(128))) // kernels read float4s of an array of float, as on a GPU
#endif
#if defined(CUDASIM_PROGRAM) // cu2cpp --program turns it into what stands below, or into a pointer where it is extern
#define __shared__ __cudasim_shared__
#elif defined(CUDASIM_STATIC_SHARED)
#define __shared__ static CUDASIM_SHARED_ALIGNED
#else
#define __shared__ thread_local CUDASIM_SHARED_ALIGNED
#endif

#endif
