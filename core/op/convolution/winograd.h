// SPDX-License-Identifier: MIT
// Winograd's convolution on the CPU: float32, kernels of 3 by 3, stride 1. Taken by the rule where it pays (conv_run.c), and timed
// beside the others in benchmark mode.
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
// Rounding, measured against float64 on normally distributed numbers, of 32 to 64 channels at 14x14 and 28x28: the largest
// error is 1.1e-6 to 1.7e-6 of the largest value, where the direct convolution's is 3e-7 to 7e-7; the mean one (root of the
// squares) 6e-7 to 1e-6 of the mean value, where the direct one's is 2e-7 to 5e-7. What a direct sum's error is measured by
// are the products that it adds up; here they are those of the whole tile, since all its outputs come from the same 36
// points: next to a pixel of 1e6 the outputs of that tile that do not read the pixel have its rounding, too.
//
// Large numbers. An infinity or NaN at a point would spread over the whole tile, 4 by 4 outputs, and not over the 3 by 3
// alone that read it; a number near FLT_MAX would overflow at the points, where the direct sum does not, or, the other way,
// products which overflow one by one could cancel at a point before they do. None of them gets so far: every number that is
// read (pixels, kernels, bias, gradients) is looked at on its way into the frame, and at the first that is not below 2^32,
// which no infinity and no NaN is, all threads stop and FY_WINOGRAD_LARGE is returned. The caller then computes the whole
// call by a direct algorithm, so that its result is that algorithm's to the last bit, wherever infinities stand. It remains
// to be shown that, where all numbers are below 2^32, neither way can meet an infinity, in whatever order it adds up:
//
//   direct    products are below 2^64, and there are fewer than 2^45, since each has a factor of its own in an array, which
//             an address space of 2^47 bytes has to hold. With rounding, which at most doubles what one of them adds, and the
//             bias all partial sums stay below 2^111. float32 ends at 2^128.
//   Winograd  a row of pixels_6 has coefficients whose magnitudes add up to 4.9 at most, one of kernel_6 to 1.7, one of
//             outputs_4 and of outputs_6 to 6.9, one of kernel_3 to 3; both axes square them. So V is below 2^36.6, U below
//             2^33.6, M below 2^70.2 and an output below 2^75.8, the latter two times the input channels; Y is below 2^37.6,
//             U' below 2^74.2 and a kernel's gradient below 2^77.4, times the tiles. Both are fewer than 2^45 again, and
//             rounding again doubles a step at most: below 2^124.
//
// So an output is finite by Winograd's way only if it is finite by the direct one, and the reverse; and what ReLU or pooling
// would hide of a NaN does not matter, since nothing is decided by looking at outputs. Whether a call has a large number
// depends on the numbers alone: results have the same bits for any number of threads. A look costs a multiplication and an
// `or` for each vector that is copied anyway.
#ifndef FERRY_OP_WINOGRAD_H
#define FERRY_OP_WINOGRAD_H

#include "op/convolution/conv_cpu.h"

// What the functions return, besides the dispatcher's codes, where a number is large: the result, and what a hook has made of it, is
// unfinished and to be computed again by another algorithm.
enum { FY_WINOGRAD_LARGE = 1 };

// float32, kernels of 3 by 3 without strides, dilation or groups, and a padding of at most 2.
bool fy_winograd_suits(FyDType dtype, const FyConvShape *s);

int fy_winograd_vector_bytes(void);

// Of a convolution that suits, as fy_dnn_forward and its gradients (conv_cpu.h): row-major but for what a hook says. Any thread; never
// raise; the same bits for any number of threads.
int fy_winograd_forward(FyLaunch *l, const FyConvShape *s, const void *x, const void *weight, const void *bias,
                        void *out, const FyConvHook *hook);
int fy_winograd_backward_input(FyLaunch *l, const FyConvShape *s, const void *grad, const void *weight, void *grad_x,
                               const FyConvHook *hook);
int fy_winograd_backward_weight(FyLaunch *l, const FyConvShape *s, const void *grad, const void *x, void *grad_weight,
                                const FyConvHook *hook);

#endif
