// Convolution, ReLU and max pooling as one op: parameters and geometry, plain C, shared by the CPU and CUDA sources.
#ifndef FERRY_OP_CONV_POOL_H
#define FERRY_OP_CONV_POOL_H

#include "op/conv.h"

typedef struct FyConvPoolParams {
  FyConv2dParams conv; // groups is 1
  int window;          // edge of the square windows, which tile the convolution's output
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

#endif
