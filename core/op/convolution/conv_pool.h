// SPDX-License-Identifier: MIT
// Convolution, ReLU and max pooling as one op: parameters and geometry, plain C, shared by the CPU and CUDA sources.
#ifndef FERRY_OP_CONV_POOL_H
#define FERRY_OP_CONV_POOL_H

#include "op/convolution/conv.h"

typedef struct FyConvPoolParams {
  FyConv2dParams conv; // groups is 1
  int window;          // edge of the square windows, which tile the convolution's output
  bool channels_last;  // the result is (n, o, ph, pw) in shape and (n, ph, pw, o) in memory: on the CPU
  bool needs[3];       // backward: which gradients are wanted, of x, weight, bias
} FyConvPoolParams;

// The convolution's output (n, o, oh, ow) is pooled to (n, o, ph, pw); rows and columns that fill no window are left out.
typedef struct FyConvPoolShape {
  FyConvShape conv;
  int64_t ph, pw, window;
} FyConvPoolShape;

// For each pooled value, the tap of its window (row * window + column) that it came from, or that ReLU made it zero.
enum { FY_TAP_NONE = 255, FY_MAX_TAP_WINDOW = 15 };

static inline FyConvPoolShape fy_conv_pool_shape(const FyConvPoolParams *p, const int64_t *x, const int64_t *weight) {
  FyConvPoolShape s;
  s.conv = fy_conv_shape(&p->conv, x, weight);
  s.window = p->window;
  s.ph = s.conv.oh / p->window;
  s.pw = s.conv.ow / p->window;
  return s;
}

// Whether the channels of (n, c, h, w) lie together in memory: (n, h, w, c).
static inline bool fy_is_channels_last(const FyArray *a) {
  const int64_t c = a->shape[1], h = a->shape[2], w = a->shape[3];
  return a->ndim == 4 && a->stride[1] == 1 && a->stride[3] == c && a->stride[2] == w * c && a->stride[0] == h * w * c;
}

#ifndef __cplusplus
#include "op/ops.h"

// fy_conv2d_relu_max_pool2d, whose result on the CPU has its channels together: for a next layer of the same kind, which
// computes in that layout and has its input's gradient in it too. Elsewhere the two are the same.
FyTensor *fy_conv2d_relu_max_pool2d_channels_last(FyTensor *x, FyTensor *weight, FyConv2d conv, FyPool2d pool);
#endif

#endif
