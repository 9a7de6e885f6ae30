// SPDX-License-Identifier: MIT
// Convolution, ReLU and max pooling in one on the CPU. The convolution is Winograd's or oneDNN's where there are channels enough
// (conv_run.c), else the direct one; each leaves an image's channels together, which is what pooling's vectors run over. Threads share the
// batch; the order of every sum depends on the shapes alone.
#include "base/threads.h"
#include "op/convolution/conv_cpu.h"
#include "op/convolution/conv_pool.h"
#include "op/copy/transpose.h"
#include "op/kernel/dnn.h"
#include "tensor/half.h"
#include <string.h>

FyKernel fy_cpu_conv2d_relu_max_pool2d, fy_cpu_conv2d_relu_max_pool2d_backward;

#if defined(__AVX512F__)
enum { CONV_VECTOR_BYTES = 64, PIXELS = 8, TAPS = 9 };
#elif defined(__AVX__)
enum { CONV_VECTOR_BYTES = 32, PIXELS = 4, TAPS = 5 };
#else
enum { CONV_VECTOR_BYTES = 16, PIXELS = 4, TAPS = 5 };
#endif

typedef struct Layer {
  const FyConvPoolShape *s;
  FyConvAlgorithm algorithm;
  FyDType dtype;  // of the arithmetic
  int64_t size;   // bytes of an element of it
  bool half;      // images are bfloat16, and `dtype` float32
  int64_t stride; // channels of a position of the convolution's output, with those that fill it up
  const void *x, *weight, *grad, *bias, *packed; // those the pass has; bias (stride)
  bool x_last, out_last; // the channels of x and its gradient, of the result and its gradient, lie together
  uint8_t *taps;
  void *out;              // pooled values, gradient of x, or parts of the weight's
  const int64_t *offsets; // of each tap of the kernel, in the framed image
  char *slots;            // one per thread
  int64_t slot_bytes;
  int64_t parts, part; // of the weight's gradient, and the elements of one
} Layer;

// Elements of the framed image, in whole cache lines.
static int64_t framed_size(const FyConvShape *s) {
  return (s->c * (s->h + 2 * s->padding) * (s->w + 2 * s->padding) + 15) / 16 * 16;
}

#define T float
#define INTEGER int32_t
#define NAME(x) f32_##x
#include "op/convolution/conv_pool_images.h"

#define T double
#define INTEGER int64_t
#define NAME(x) f64_##x
#include "op/convolution/conv_pool_images.h"

// ---- the direct convolution ------------------------------------------------------------------------------------------------

static bool is_float(const Layer *layer) {
  return layer->dtype == FY_FLOAT32;
}

static int64_t *tap_offsets(FyLaunch *l, const FyConvShape *s) {
  int64_t fh = s->h + 2 * s->padding, fw = s->w + 2 * s->padding, *offsets, k = 0;
  offsets = l->workspace(l, (size_t)fy_conv_depth(s) * sizeof *offsets);
  if (!offsets)
    return NULL;
  for (int64_t c = 0; c < s->c; c++)
    for (int64_t i = 0; i < s->kh; i++)
      for (int64_t j = 0; j < s->kw; j++)
        offsets[k++] = (c * fh + i * s->dilation) * fw + j * s->dilation;
  return offsets;
}

static bool begin_direct(FyLaunch *l, Layer *layer) {
  const FyConvShape *s = &layer->s->conv;
  int64_t vectors = 2 * CONV_VECTOR_BYTES / layer->size;
  layer->stride = (s->o + vectors - 1) / vectors * vectors;
  int64_t outputs = (fy_conv_area(s) + layer->s->ph * layer->s->pw) * layer->stride;
  int64_t wide = layer->half ? s->c * s->h * s->w + s->o * layer->s->ph * layer->s->pw : 0;
  layer->slot_bytes = ((framed_size(s) + outputs + fy_conv_depth(s) + wide) * layer->size + 63) / 64 * 64;
  layer->slots = l->workspace(l, (size_t)(layer->slot_bytes * fy_get_num_threads()));
  layer->offsets = tap_offsets(l, s);
  return layer->slots && layer->offsets;
}

// The weight as the arithmetic wants it.
static bool widen_weight(FyLaunch *l, Layer *layer) {
  int64_t count = layer->s->conv.o * fy_conv_depth(&layer->s->conv);
  float *wide = layer->half ? l->workspace(l, (size_t)count * sizeof *wide) : NULL;
  if (wide) {
    fy_widen_bfloat16(wide, layer->weight, count);
    layer->weight = wide;
  }
  return wide || !layer->half;
}

static void fill_bias(const Layer *layer, const FyArray *bias, void *filled) {
  memset(filled, 0, (size_t)(layer->stride * layer->size));
  if (bias && layer->half)
    fy_widen_bfloat16(filled, bias->data, layer->s->conv.o);
  else if (bias)
    memcpy(filled, bias->data, (size_t)(layer->s->conv.o * layer->size));
}

static int direct_forward(FyLaunch *l, Layer *layer, const FyArray *bias) {
  const FyConvShape *s = &layer->s->conv;
  if (!begin_direct(l, layer) || !widen_weight(l, layer))
    return FY_LAUNCH_NO_MEMORY;
  char *packed = l->workspace(l, (size_t)((fy_conv_depth(s) + 1) * layer->stride * layer->size));
  if (!packed)
    return FY_LAUNCH_NO_MEMORY;
  char *filled = packed + fy_conv_depth(s) * layer->stride * layer->size;
  fill_bias(layer, bias, filled);
  layer->packed = packed;
  layer->bias = filled;
  if (is_float(layer))
    f32_pack_weight(s, layer->stride, layer->weight, (void *)packed);
  else
    f64_pack_weight(s, layer->stride, layer->weight, (void *)packed);
  fy_parallel_turns(s->n, is_float(layer) ? f32_forward_images : f64_forward_images, layer);
  return FY_LAUNCH_OK;
}

static int direct_backward_input(FyLaunch *l, Layer *layer, FyArray *grad_x) {
  if (!begin_direct(l, layer) || !widen_weight(l, layer))
    return FY_LAUNCH_NO_MEMORY;
  layer->out = grad_x->data;
  fy_parallel_turns(layer->s->conv.n, is_float(layer) ? f32_backward_input_images : f64_backward_input_images, layer);
  return FY_LAUNCH_OK;
}

static int direct_backward_weight(FyLaunch *l, Layer *layer, void *weight, void *bias) {
  enum { MOST_BYTES = 64 << 20 };
  const FyConvShape *s = &layer->s->conv;
  if (!begin_direct(l, layer))
    return FY_LAUNCH_NO_MEMORY;
  layer->part = (fy_conv_depth(s) + 1) * layer->stride;
  layer->parts = s->n < FY_CONV_MOST_PARTS ? s->n : FY_CONV_MOST_PARTS;
  while (layer->parts > 1 && layer->parts * layer->part * layer->size > MOST_BYTES)
    layer->parts /= 2;
  layer->out = l->workspace(l, (size_t)(layer->parts * layer->part * layer->size));
  if (!layer->out)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_turns(layer->parts, is_float(layer) ? f32_backward_weight_parts : f64_backward_weight_parts, layer);
  if (is_float(layer))
    f32_finish_weight(layer, weight, bias);
  else
    f64_finish_weight(layer, weight, bias);
  return FY_LAUNCH_OK;
}

// ---- Winograd's and oneDNN's, chunk by chunk ----------------------------------------------------------------------------------

static void pool_chunk(const void *context, int64_t first, int64_t images, int64_t part, void *chunk, void *scratch) {
  const Layer *layer = context;
  const FyConvPoolShape *s = layer->s;
  int64_t pooled = s->conv.o * s->ph * s->pw, conv = s->conv.o * fy_conv_area(&s->conv);
  float *wide = (float *)scratch + pooled;
  (void)part;
  for (int64_t i = 0; i < images; i++) {
    float *out = f32_begin_image(layer, first + i, pooled, wide);
    f32_relu_max_pool(s, s->conv.o, layer->out_last, (const float *)chunk + i * conv, scratch, out,
                      layer->taps + (first + i) * pooled);
    f32_end_image(layer, first + i, pooled, wide);
  }
}

static void spread_chunk(const void *context, int64_t first, int64_t images, int64_t part, void *chunk, void *scratch) {
  const Layer *layer = context;
  const FyConvPoolShape *s = layer->s;
  int64_t pooled = s->conv.o * s->ph * s->pw, conv = s->conv.o * fy_conv_area(&s->conv);
  float *bias = layer->out ? (float *)layer->out + part * s->conv.o : NULL; // parts of its gradient
  float *wide = (float *)scratch + pooled;
  for (int64_t i = 0; i < images; i++) {
    const float *grad = f32_image_of(layer, layer->grad, first + i, pooled, wide);
    float *spread = layer->half ? wide + pooled : (float *)chunk + i * conv;
    f32_spread(s, s->conv.o, layer->out_last, grad, layer->taps + (first + i) * pooled, scratch, spread, bias);
    if (layer->half)
      fy_narrow_floats((uint16_t *)chunk + i * conv, spread, conv);
  }
}

static void begin_bias(const void *context) {
  const Layer *layer = context;
  if (layer->out)
    memset(layer->out, 0, (size_t)(FY_CONV_MOST_PARTS * layer->s->conv.o) * sizeof(float));
}

static FyConvHook hook_of(const Layer *layer, bool forward) {
  const FyConvPoolShape *s = layer->s;
  int64_t pooled = s->ph * s->pw * s->conv.o, spread = forward ? 0 : s->conv.o * fy_conv_area(&s->conv);
  return (FyConvHook){
      .begin = forward ? NULL : begin_bias,
      .meet = forward ? pool_chunk : spread_chunk,
      .context = layer,
      .x_channels_last = layer->x_last,
      .scratch_bytes = (size_t)(pooled + (layer->half ? pooled + spread : 0)) * sizeof(float),
  };
}

static FyDType dtype_of(const Layer *layer) { // of the images
  return layer->half ? FY_BFLOAT16 : layer->dtype;
}

static bool suits_dnn(const Layer *layer) {
  return layer->algorithm != FY_CONV_DIRECT && is_float(layer) &&
         layer->s->conv.o * (int64_t)sizeof(float) % CONV_VECTOR_BYTES == 0;
}

// After oneDNN, which has declined.
static bool suits_direct(const Layer *layer) {
  return layer->algorithm == FY_CONV_BY_RULE || layer->algorithm == FY_CONV_DIRECT;
}

// The weight's gradient and the bias's, which falls off on the way.
static int dnn_backward_weight(FyLaunch *l, Layer *layer, float *weight, float *bias) {
  int64_t o = layer->s->conv.o;
  float *parts = l->workspace(l, (size_t)(FY_CONV_MOST_PARTS * o) * sizeof *parts);
  float *unwanted = weight ? weight : l->workspace(l, (size_t)(o * fy_conv_depth(&layer->s->conv)) * sizeof *weight);
  if (!parts || !unwanted)
    return FY_LAUNCH_NO_MEMORY;
  layer->out = parts;
  FyConvHook hook = hook_of(layer, false);
  const FyConvShape *s = &layer->s->conv;
  int status = fy_conv_run_backward_weight(l, &layer->algorithm, s, dtype_of(layer), NULL, layer->x, unwanted, &hook);
  if (status != FY_LAUNCH_OK || !bias)
    return status;
  fy_conv_sum_parts(FY_FLOAT32, FY_CONV_MOST_PARTS, o, parts, bias);
  return FY_LAUNCH_OK;
}

// ---- kernels -------------------------------------------------------------------------------------------------------------------

// `pooled`: the result or its gradient.
static Layer layer_of(const FyLaunch *l, const FyConvPoolShape *s, const FyArray *x, const FyArray *pooled) {
  Layer layer = {.s = s, .half = x->dtype == FY_BFLOAT16};
  layer.algorithm = (FyConvAlgorithm)((const FyConvPoolParams *)l->params)->conv.algorithm;
  layer.dtype = layer.half ? FY_FLOAT32 : (FyDType)x->dtype;
  layer.size = (int64_t)fy_dtype_size(layer.dtype);
  layer.x_last = !x->contiguous;
  layer.out_last = !pooled->contiguous;
  return layer;
}

int fy_cpu_conv2d_relu_max_pool2d(FyLaunch *l) {
  const FyArray *x = l->in[0], *weight = l->in[1], *bias = l->in[2];
  FyConvPoolShape s = fy_conv_pool_shape(l->params, x->shape, weight->shape);
  Layer layer = layer_of(l, &s, x, l->out[0]);
  int status = FY_LAUNCH_NO_KERNEL;
  layer.x = x->data;
  layer.weight = weight->data;
  layer.out = l->out[0]->data;
  layer.taps = l->out[1]->data;
  if (suits_dnn(&layer)) {
    FyConvHook hook = hook_of(&layer, true);
    status = fy_conv_run_forward(l, &layer.algorithm, &s.conv, (FyDType)x->dtype, x->data, weight->data,
                                 bias ? bias->data : NULL, NULL, &hook);
  }
  return status == FY_LAUNCH_NO_KERNEL && suits_direct(&layer) ? direct_forward(l, &layer, bias) : status;
}

static int backward_input(FyLaunch *l, Layer layer) {
  int status = FY_LAUNCH_NO_KERNEL;
  layer.out = NULL;
  if (suits_dnn(&layer)) {
    FyConvHook hook = hook_of(&layer, false);
    status = fy_conv_run_backward_input(l, &layer.algorithm, &layer.s->conv, dtype_of(&layer), NULL, layer.weight,
                                        l->out[0]->data, &hook);
  }
  return status == FY_LAUNCH_NO_KERNEL && suits_direct(&layer) ? direct_backward_input(l, &layer, l->out[0]) : status;
}

// Where a gradient of the arithmetic's dtype goes first: NULL without an output.
static void *gradient_of(FyLaunch *l, const Layer *layer, const FyArray *out, bool *made) {
  if (!out || !layer->half)
    return out ? out->data : NULL;
  void *wide = l->workspace(l, (size_t)out->numel * sizeof(float));
  *made &= wide != NULL;
  return wide;
}

static int backward_weight(FyLaunch *l, Layer layer) {
  bool made = true;
  void *weight = gradient_of(l, &layer, l->out[1], &made), *bias = gradient_of(l, &layer, l->out[2], &made);
  if (!made)
    return FY_LAUNCH_NO_MEMORY;
  int status = suits_dnn(&layer) ? dnn_backward_weight(l, &layer, weight, bias) : FY_LAUNCH_NO_KERNEL;
  if (status == FY_LAUNCH_NO_KERNEL && suits_direct(&layer))
    status = direct_backward_weight(l, &layer, weight, bias);
  if (status != FY_LAUNCH_OK)
    return status;
  if (weight && layer.half)
    fy_narrow_floats(l->out[1]->data, weight, l->out[1]->numel);
  if (bias && layer.half)
    fy_narrow_floats(l->out[2]->data, bias, l->out[2]->numel);
  return status;
}

int fy_cpu_conv2d_relu_max_pool2d_backward(FyLaunch *l) {
  const FyArray *grad = l->in[0], *taps = l->in[1], *x = l->in[2], *weight = l->in[3];
  FyConvPoolShape s = fy_conv_pool_shape(l->params, x->shape, weight->shape);
  Layer layer = layer_of(l, &s, x, grad);
  int status = FY_LAUNCH_OK;
  layer.x = x->data;
  layer.weight = weight->data;
  layer.grad = grad->data;
  layer.taps = taps->data;
  if (l->out[0])
    status = backward_input(l, layer);
  if (status == FY_LAUNCH_OK && (l->out[1] || l->out[2]))
    status = backward_weight(l, layer);
  return status;
}
