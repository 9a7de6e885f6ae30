// SPDX-License-Identifier: MIT
// The table of kernels of programs with adopted kernels: op/kernels.cu with an adapter for each op that answers can replace. A
// program is linked with this object before libferry.a, so that the linker never takes the library's table.
#include "op/launch.h"

#define fy_cuda_add fy_adopted_add
#define fy_cuda_sub fy_adopted_sub
#define fy_cuda_sum fy_adopted_sum
#define fy_cuda_max fy_adopted_max
#define fy_cuda_max_dim fy_adopted_max_dim
#define fy_cuda_argmax fy_adopted_argmax
#define fy_cuda_matmul fy_adopted_matmul
#define fy_cuda_linear fy_adopted_linear
#define fy_cuda_copy fy_adopted_copy
#define fy_cuda_softmax fy_adopted_softmax
#include "op/kernels.cu"
