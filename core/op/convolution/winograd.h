// Winograd's convolution on the CPU: float32, kernels of 3 by 3, stride 1. For benchmark mode, which times it beside the others.
//
// A tile of 4 by 4 outputs is a sum over input channels of 3x3 kernels slid over 6 by 6 pixels: 144 products for each pair of an
// input and an output channel. A slide is a product of polynomials, and a polynomial is known by its values at enough points: so
// bring pixels and kernel to 6 points along each axis, multiply point by point, and come back. That takes 36 products, and the
// ways there and back are additions and small factors which are paid once per channel and not once per pair of channels.
//
//   V[point][tile][c]     = the tile's pixels at the points     (6, 6) from (6, 6), for each tile and input channel
//   U[point][c][o]        = the kernel at the points            (6, 6) from (3, 3), once per call
//   M[point][tile][o]     = sum over c of V[point][tile][c] * U[point][c][o]      36 matrix products: nearly all of the time
//   out[tile][o]          = M brought back                      (4, 4) from (6, 6)
//
// The gradient of the input is the same with the kernel turned round and the channels exchanged. That of the weight goes to the
// points with the pixels and with the output's gradient, multiplies those, sums over tiles, and comes back to (3, 3) at the end:
//
//   U'[point][c][o]       = sum over tiles of V[point][tile][c] * Y[point][tile][o]
//
// A thread takes so many tiles at a time that V and M stay in its second-level cache; vectors run over channels.
//
// Rounding, measured against float64 on normally distributed numbers, of 32 to 64 channels at 14x14 and 28x28: the largest error
// is 1.1e-6 to 1.7e-6 of the largest value, where the direct convolution's is 3e-7 to 7e-7; the mean one (root of the squares) 6e-7
// to 1e-6 of the mean value, where the direct one's is 2e-7 to 5e-7. An infinity or NaN spreads over the whole tile, 4 by 4 outputs,
// and not over 3 by 3 alone.
#ifndef FERRY_OP_WINOGRAD_H
#define FERRY_OP_WINOGRAD_H

#include "op/convolution/conv_cpu.h"

// float32, kernels of 3 by 3 without strides, dilation or groups, and a padding of at most 2.
bool fy_winograd_suits(FyDType dtype, const FyConvShape *s);

// As fy_dnn_forward and its gradients (conv_cpu.h): row-major but for what a hook says. FY_LAUNCH_NO_KERNEL unless
// FY_CONV_WINOGRAD is asked for and suits. Any thread; never raise; the same bits for any number of threads.
int fy_winograd_forward(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype, const void *x,
                        const void *weight, const void *bias, void *out, const FyConvHook *hook);
int fy_winograd_backward_input(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype,
                               const void *grad, const void *weight, void *grad_x, const FyConvHook *hook);
int fy_winograd_backward_weight(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype,
                                const void *grad, const void *x, void *grad_weight, const FyConvHook *hook);

#endif
