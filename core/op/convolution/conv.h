// SPDX-License-Identifier: MIT
// Convolution: parameters and geometry, plain C, shared by the CPU and CUDA sources.
#ifndef FERRY_OP_CONV_H
#define FERRY_OP_CONV_H

#include "op/launch.h"

// The ways to compute a convolution or one of its gradients. A kernel that is given another than BY_RULE uses that one, or
// returns FY_LAUNCH_NO_KERNEL where it does not do this convolution.
typedef enum FyConvAlgorithm {
  FY_CONV_BY_RULE, // what the shape suggests, without trying
  // On the CPU
  FY_CONV_IM2COL,    // a matrix product over columns of pixels
  FY_CONV_DNN,       // oneDNN's direct convolution, in chunks of the batch
  FY_CONV_DNN_WHOLE, // the same, all threads on the whole batch
  FY_CONV_WINOGRAD,  // fewer multiplications for 3x3 kernels, and rounding of its own (winograd.h)
  FY_CONV_DIRECT,    // straight from the pixels, with ReLU and pooling in one
  // On CUDA
  FY_CONV_EXPLICIT_GEMM, // a matrix product over columns that are written to memory
  FY_CONV_IMPLICIT_GEMM, // a matrix product over columns that are gathered tile by tile
  FY_CONV_CUDNN,         // cuDNN's algorithm 0 of the pass, on a real GPU; the next seven: its others
  FY_CONV_ALGORITHMS = FY_CONV_CUDNN + 8,
} FyConvAlgorithm;

typedef struct FyConv2dParams {
  int stride, padding, dilation, groups;
  int64_t shape[4]; // backward: of the gradient to be made (the input's, or the weight's)
  int algorithm;    // FyConvAlgorithm; other than BY_RULE only while one is chosen, and when it has been
} FyConv2dParams;

// x (n, c, h, w), weight (o, c / groups, kh, kw), output (n, o, oh, ow).
typedef struct FyConvShape {
  int64_t n, c, h, w, o, kh, kw, oh, ow;
  int64_t stride, padding, dilation, groups;
} FyConvShape;

static inline int64_t fy_conv_out_size(const FyConv2dParams *p, int64_t size, int64_t kernel) {
  return (size + 2 * p->padding - (p->dilation * (kernel - 1) + 1)) / p->stride + 1;
}

static inline FyConvShape fy_conv_shape(const FyConv2dParams *p, const int64_t *x, const int64_t *weight) {
  FyConvShape s;
  s.n = x[0];
  s.c = x[1];
  s.h = x[2];
  s.w = x[3];
  s.o = weight[0];
  s.kh = weight[2];
  s.kw = weight[3];
  s.oh = fy_conv_out_size(p, s.h, s.kh);
  s.ow = fy_conv_out_size(p, s.w, s.kw);
  s.stride = p->stride;
  s.padding = p->padding;
  s.dilation = p->dilation;
  s.groups = p->groups;
  return s;
}

// Of one group: rows of the matrix of columns (c / groups * kh * kw), and its columns (oh * ow).
static inline int64_t fy_conv_depth(const FyConvShape *s) {
  return s->c / s->groups * s->kh * s->kw;
}
static inline int64_t fy_conv_area(const FyConvShape *s) {
  return s->oh * s->ow;
}

// A 1x1 kernel that visits every pixel once: the image is its own matrix of columns.
static inline bool fy_conv_is_pointwise(const FyConvShape *s) {
  return s->kh == 1 && s->kw == 1 && s->stride == 1 && s->padding == 0;
}

#endif
