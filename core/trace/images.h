// SPDX-License-Identifier: MIT
// Convolution with ReLU and 2x2 pooling on packed weights, float32 on the CPU: for trace/ only.
//
// Between the layers an image lies with its channels together, in a frame of zeros as wide as the next convolution's padding. So
// every tap of a kernel finds its pixel at a fixed distance, and the pixels of a row of the kernel are one run of numbers.
#ifndef FERRY_TRACE_IMAGES_H
#define FERRY_TRACE_IMAGES_H

#include "trace/panels.h"
#include <stddef.h>

// An image (height, width, channels) in its frame. Channels beyond the image's own are zeros.
typedef struct FyFrame {
  int64_t channels, height, width, border;
} FyFrame;

static inline int64_t fy_frame_size(const FyFrame *f) { // elements
  return (f->height + 2 * f->border) * (f->width + 2 * f->border) * f->channels;
}
static inline int64_t fy_frame_at(const FyFrame *f, int64_t y, int64_t x) {
  return ((y + f->border) * (f->width + 2 * f->border) + x + f->border) * f->channels;
}

// From and to an image (channels, height, width) of `channels` channels of its own. The border is left as it is.
void fy_frame_fill(const FyFrame *f, int64_t channels, const float *image, float *frame);
void fy_frame_empty(const FyFrame *f, int64_t channels, const float *frame, float *image);

typedef struct FyConvStage {
  FyFrame in, out; // out: of the pooled image
  int64_t kernel_height, kernel_width, stride, dilation;
  int64_t outputs; // channels
  bool relu, pool; // the largest of each 2x2 window; odd rows and columns at the end are left out
  float *packed;   // [panel][kernel row][kernel column][in.channels][FY_PANEL]
  float *bias;     // [panels * FY_PANEL]
} FyConvStage;

static inline int64_t fy_conv_stage_depth(const FyConvStage *s) {
  return s->kernel_height * s->kernel_width * s->in.channels;
}

// The channels that a stage of so many outputs leaves: whole vectors.
static inline int64_t fy_stored_channels(int64_t outputs) {
  return (outputs + FY_LANES - 1) / FY_LANES * FY_LANES;
}

// Fills packed and bias from a weight (outputs, channels, kernel height, kernel width) and a bias (outputs) or NULL.
void fy_conv_stage_pack(FyConvStage *s, const float *weight, int64_t channels, const float *bias);

// The work of an image is out.height rows for each panel: those of [begin, end), counted row by row within panel by panel. Any
// thread.
static inline int64_t fy_conv_stage_units(const FyConvStage *s) {
  return fy_panels(s->outputs) * s->out.height;
}
void fy_conv_stage_run(const FyConvStage *s, const float *in, float *out, int64_t begin, int64_t end);

#endif
