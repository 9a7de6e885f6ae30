// SPDX-License-Identifier: MIT
// Convolution on the CPU as matrix products over columns: for float64, for few input channels, and wherever oneDNN
// declines. Threads share the images of the batch; the order of sums depends on the shapes alone.
#include "base/threads.h"
#include "op/convolution/conv_cpu.h"
#include "op/product/gemm.h"
#include <stdatomic.h>
#include <string.h>

#define T float
#define NAME(x) f32_##x
#include "op/convolution/conv_cols.h"

#define T double
#define NAME(x) f64_##x
#include "op/convolution/conv_cols.h"

void fy_conv_sum_parts(FyDType dtype, int64_t parts, int64_t n, const void *part, void *total) {
  if (dtype == FY_FLOAT32)
    f32_sum_parts(parts, n, part, total);
  else
    f64_sum_parts(parts, n, part, total);
}

typedef struct Conv {
  const FyConvShape *s;
  FyDType dtype;
  int64_t size;                         // bytes of an element
  const char *x, *weight, *bias, *grad; // those the pass has
  char *out;                            // the result: output, gradient of x, or partial gradients of the weight
  char *columns;                        // one matrix per thread
  int64_t columns_bytes;
  int64_t parts; // of the weight's gradient
  int (*gemm)(FyDType, bool, bool, int64_t, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t,
              double, void *, int64_t);
  atomic_int status;
} Conv;

static int begin_conv(FyLaunch *l, Conv *conv) {
  const FyConvShape *s = conv->s;
  conv->size = (int64_t)fy_dtype_size(conv->dtype);
  conv->gemm = s->n == 1 ? fy_gemm : fy_gemm_serial; // a single image leaves the threads to its product
  conv->columns_bytes = (fy_conv_depth(s) * fy_conv_area(s) * conv->size + 63) / 64 * 64;
  conv->columns = l->workspace(l, (size_t)(conv->columns_bytes * fy_get_num_threads()) + 1);
  return conv->columns ? FY_LAUNCH_OK : FY_LAUNCH_NO_MEMORY;
}

static char *columns_of_worker(const Conv *conv, int worker) {
  return conv->columns + worker * conv->columns_bytes;
}

static void multiply(Conv *conv, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const void *a,
                     const void *b, double beta, void *c) {
  int status =
      conv->gemm(conv->dtype, trans_a, trans_b, m, n, k, 1, a, trans_a ? m : k, b, trans_b ? k : n, beta, c, n);
  if (status != FY_LAUNCH_OK)
    atomic_store(&conv->status, status);
}

// The columns of group g of image i: made in `buffer`, or the image itself where it is its own.
static const void *columns_of(const Conv *conv, int64_t i, int64_t g, char *buffer) {
  const FyConvShape *s = conv->s;
  int64_t channels = s->c / s->groups;
  const char *image = conv->x + (i * s->c + g * channels) * s->h * s->w * conv->size;
  if (fy_conv_is_pointwise(s))
    return image;
  if (conv->dtype == FY_FLOAT32)
    f32_im2col(s, channels, (const void *)image, (void *)buffer);
  else
    f64_im2col(s, channels, (const void *)image, (void *)buffer);
  return buffer;
}

static void forward_images(int worker, FyTurns *turns, void *context) {
  Conv *conv = context;
  const FyConvShape *s = conv->s;
  int64_t o = s->o / s->groups, depth = fy_conv_depth(s), area = fy_conv_area(s);
  char *buffer = columns_of_worker(conv, worker);
  for (int64_t i; fy_next_turn(turns, &i);) {
    char *out = conv->out + i * s->o * area * conv->size;
    if (conv->bias && conv->dtype == FY_FLOAT32)
      f32_fill_bias(s->o, area, (const void *)conv->bias, (void *)out);
    else if (conv->bias)
      f64_fill_bias(s->o, area, (const void *)conv->bias, (void *)out);
    for (int64_t g = 0; g < s->groups; g++)
      multiply(conv, false, false, o, area, depth, conv->weight + g * o * depth * conv->size,
               columns_of(conv, i, g, buffer), conv->bias ? 1 : 0, out + g * o * area * conv->size);
  }
}

static void backward_input_images(int worker, FyTurns *turns, void *context) {
  Conv *conv = context;
  const FyConvShape *s = conv->s;
  int64_t o = s->o / s->groups, channels = s->c / s->groups, depth = fy_conv_depth(s), area = fy_conv_area(s);
  char *buffer = columns_of_worker(conv, worker);
  for (int64_t i; fy_next_turn(turns, &i);)
    for (int64_t g = 0; g < s->groups; g++) {
      char *image = conv->out + (i * s->c + g * channels) * s->h * s->w * conv->size;
      char *columns = fy_conv_is_pointwise(s) ? image : buffer;
      multiply(conv, true, false, depth, area, o, conv->weight + g * o * depth * conv->size,
               conv->grad + (i * s->o + g * o) * area * conv->size, 0, columns);
      if (columns == image)
        continue;
      if (conv->dtype == FY_FLOAT32)
        f32_col2im(s, channels, (const void *)columns, (void *)image);
      else
        f64_col2im(s, channels, (const void *)columns, (void *)image);
    }
}

// Part p of the batch adds its images' gradients up in its own array.
static void backward_weight_parts(int worker, FyTurns *turns, void *context) {
  Conv *conv = context;
  const FyConvShape *s = conv->s;
  int64_t o = s->o / s->groups, depth = fy_conv_depth(s), area = fy_conv_area(s);
  char *buffer = columns_of_worker(conv, worker);
  for (int64_t part; fy_next_turn(turns, &part);) {
    char *out = conv->out + part * s->o * depth * conv->size;
    int64_t first = s->n * part / conv->parts, last = s->n * (part + 1) / conv->parts;
    for (int64_t i = first; i < last; i++)
      for (int64_t g = 0; g < s->groups; g++)
        multiply(conv, false, true, o, depth, area, conv->grad + (i * s->groups + g) * o * area * conv->size,
                 columns_of(conv, i, g, buffer), i == first ? 0 : 1, out + g * o * depth * conv->size);
  }
}

int fy_im2col_forward(FyLaunch *l, const FyConvShape *s, FyDType dtype, const void *x, const void *weight,
                      const void *bias, void *out) {
  Conv conv = {.s = s, .dtype = dtype, .x = x, .weight = weight, .bias = bias, .out = out};
  int status = begin_conv(l, &conv);
  if (status != FY_LAUNCH_OK)
    return status;
  fy_parallel_turns(s->n, forward_images, &conv);
  return atomic_load(&conv.status);
}

int fy_im2col_backward_input(FyLaunch *l, const FyConvShape *s, FyDType dtype, const void *grad, const void *weight,
                             void *grad_x) {
  Conv conv = {.s = s, .dtype = dtype, .grad = grad, .weight = weight, .out = grad_x};
  int status = begin_conv(l, &conv);
  if (status != FY_LAUNCH_OK)
    return status;
  fy_parallel_turns(s->n, backward_input_images, &conv);
  return atomic_load(&conv.status);
}

int fy_im2col_backward_weight(FyLaunch *l, const FyConvShape *s, FyDType dtype, const void *grad, const void *x,
                              void *grad_weight) {
  enum { MOST_PARTS = 16, MOST_BYTES = 64 << 20 };
  Conv conv = {.s = s, .dtype = dtype, .grad = grad, .x = x};
  int64_t count = s->o * fy_conv_depth(s);
  int status = begin_conv(l, &conv);
  if (status != FY_LAUNCH_OK)
    return status;
  conv.parts = s->n < MOST_PARTS ? s->n : MOST_PARTS;
  while (conv.parts > 1 && conv.parts * count * conv.size > MOST_BYTES)
    conv.parts /= 2;
  conv.out = conv.parts == 1 ? grad_weight : l->workspace(l, (size_t)(conv.parts * count * conv.size) + 1);
  if (!conv.out)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_turns(conv.parts, backward_weight_parts, &conv);
  if (conv.parts > 1)
    fy_conv_sum_parts(dtype, conv.parts, count, conv.out, grad_weight);
  return atomic_load(&conv.status);
}
