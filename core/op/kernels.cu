// SPDX-License-Identifier: MIT
// The CUDA kernel of each op by its id (FY_OP_ID_..., op.h): what a backend's table points at.
#include "op/launch.h"

#define FY_OP(name) extern "C" int fy_cuda_##name(FyLaunch *launch);
#define FY_VIEW(name)
#include "op/ops.def"
#undef FY_OP
#undef FY_VIEW

FyKernel *const fy_cuda_kernels[] = {
#define FY_OP(name) fy_cuda_##name,
#define FY_VIEW(name) NULL,
#include "op/ops.def"
#undef FY_OP
#undef FY_VIEW
};
