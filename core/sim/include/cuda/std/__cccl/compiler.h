// SPDX-License-Identifier: MIT
// In front of NVIDIA's CCCL (thrust), where it is: its host code alone is compiled, as for a machine without CUDA.
#ifndef CUDASIM_CCCL_COMPILER_H
#define CUDASIM_CCCL_COMPILER_H

#pragma push_macro("__CUDACC__")
#pragma push_macro("__NVCC__")
#pragma push_macro("__CUDA_ARCH__")
#undef __CUDACC__
#undef __NVCC__
#undef __CUDA_ARCH__
#define CCCL_DISABLE_FP16_SUPPORT
#define CCCL_DISABLE_BF16_SUPPORT
#define CCCL_DISABLE_NVFP8_SUPPORT
#define CCCL_DISABLE_NVFP6_SUPPORT
#define CCCL_DISABLE_NVFP4_SUPPORT
#pragma GCC system_header
#include_next <cuda/std/__cccl/compiler.h>
#pragma pop_macro("__CUDACC__")
#pragma pop_macro("__NVCC__")
#pragma pop_macro("__CUDA_ARCH__")

#endif
