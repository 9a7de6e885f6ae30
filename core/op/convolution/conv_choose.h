// SPDX-License-Identifier: MIT
// Which algorithm computes a convolution in benchmark mode: FyOp.choose of its ops.
#ifndef FERRY_OP_CONV_CHOOSE_H
#define FERRY_OP_CONV_CHOOSE_H

#include "device/device.h"
#include "op/launch.h"

int fy_choose_conv2d(FyLaunch *launch, FyKernel *kernel, FyDevice device);
int fy_choose_conv2d_backward_input(FyLaunch *launch, FyKernel *kernel, FyDevice device);
int fy_choose_conv2d_backward_weight(FyLaunch *launch, FyKernel *kernel, FyDevice device);
int fy_choose_conv_pool(FyLaunch *launch, FyKernel *kernel, FyDevice device);
int fy_choose_conv_pool_backward(FyLaunch *launch, FyKernel *kernel, FyDevice device);

#endif
