// SPDX-License-Identifier: MIT
// Convolution, ReLU and max pooling of images on one thread, for one element type, which float32's also do for bfloat16: an image
// is widened when its turn comes. Included by conv_pool_cpu.c.
//
// Expects, for each inclusion: T, the element type; INTEGER, an integer type of T's size; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined INTEGER || !defined NAME
#error "conv_pool_images.h expects T, INTEGER, NAME(x)"
#endif

#define VL ((int64_t)(CONV_VECTOR_BYTES / sizeof(T)))

#include "op/convolution/conv_direct.h"
#include "op/convolution/pool_last.h"

// The arrays of an image that one thread works on. The last two are images of a bfloat16 tensor.
typedef struct NAME(Slot) {
  T *framed, *conv, *pooled, *sums, *wide_x, *wide_pooled;
} NAME(Slot);

static NAME(Slot) NAME(slot_of)(const Layer *layer, int worker) {
  const FyConvShape *s = &layer->s->conv;
  T *slot = (T *)(void *)(layer->slots + worker * layer->slot_bytes);
  NAME(Slot) result = {.framed = slot};
  result.conv = result.framed + framed_size(s);
  result.pooled = result.conv + fy_conv_area(s) * layer->stride;
  result.sums = result.pooled + layer->s->ph * layer->s->pw * layer->stride;
  result.wide_x = result.sums + fy_conv_depth(s);
  result.wide_pooled = result.wide_x + s->c * s->h * s->w;
  return result;
}

// Image i of a tensor whose images have `count` elements, to be read: where it is or, of bfloat16, in `wide`.
static const T *NAME(image_of)(const Layer *layer, const void *tensor, int64_t i, int64_t count, T *wide) {
  if (!layer->half)
    return (const T *)tensor + i * count;
  fy_widen_bfloat16((float *)(void *)wide, (const uint16_t *)tensor + i * count, count);
  return wide;
}

// Image i of the result: where it is to be written, and, of bfloat16, what brings it from there to where it belongs.
static T *NAME(begin_image)(const Layer *layer, int64_t i, int64_t count, T *wide) {
  return layer->half ? wide : (T *)layer->out + i * count;
}
static void NAME(end_image)(const Layer *layer, int64_t i, int64_t count, const T *wide) {
  if (layer->half)
    fy_narrow_floats((uint16_t *)layer->out + i * count, (const float *)(const void *)wide, count);
}

static void NAME(forward_images)(int worker, FyTurns *turns, void *context) {
  Layer *layer = context;
  const FyConvShape *s = &layer->s->conv;
  NAME(Slot) slot = NAME(slot_of)(layer, worker);
  int64_t pooled = s->o * layer->s->ph * layer->s->pw;
  for (int64_t i; fy_next_turn(turns, &i);) {
    NAME(frame)(s, layer->x_last, NAME(image_of)(layer, layer->x, i, s->c * s->h * s->w, slot.wide_x), slot.framed);
    NAME(direct)(s, layer->stride, layer->offsets, slot.framed, layer->packed, layer->bias, slot.conv);
    NAME(relu_max_pool)
    (layer->s, layer->stride, layer->out_last, slot.conv, slot.pooled,
     NAME(begin_image)(layer, i, pooled, slot.wide_pooled), layer->taps + i * pooled);
    NAME(end_image)(layer, i, pooled, slot.wide_pooled);
  }
}

static void NAME(spread_image)(const Layer *layer, int64_t i, NAME(Slot) slot, T *bias) {
  int64_t pooled = layer->s->conv.o * layer->s->ph * layer->s->pw;
  NAME(spread)
  (layer->s, layer->stride, layer->out_last, NAME(image_of)(layer, layer->grad, i, pooled, slot.wide_pooled),
   layer->taps + i * pooled, slot.pooled, slot.conv, bias);
}

static void NAME(backward_input_images)(int worker, FyTurns *turns, void *context) {
  Layer *layer = context;
  const FyConvShape *s = &layer->s->conv;
  NAME(Slot) slot = NAME(slot_of)(layer, worker);
  for (int64_t i; fy_next_turn(turns, &i);) {
    NAME(spread_image)(layer, i, slot, NULL);
    NAME(direct_input)(s, layer->stride, layer->offsets, slot.conv, layer->weight, slot.sums, slot.framed);
    int64_t pixels = s->c * s->h * s->w;
    NAME(unframe)(s, layer->x_last, slot.framed, NAME(begin_image)(layer, i, pixels, slot.wide_x));
    NAME(end_image)(layer, i, pixels, slot.wide_x);
  }
}

// A part: the gradients of packed weight and bias by some of the images.
static void NAME(backward_weight_parts)(int worker, FyTurns *turns, void *context) {
  Layer *layer = context;
  const FyConvShape *s = &layer->s->conv;
  NAME(Slot) slot = NAME(slot_of)(layer, worker);
  for (int64_t part; fy_next_turn(turns, &part);) {
    T *weight = (T *)layer->out + part * layer->part, *bias = weight + fy_conv_depth(s) * layer->stride;
    memset(weight, 0, (size_t)layer->part * sizeof(T));
    for (int64_t i = s->n * part / layer->parts; i < s->n * (part + 1) / layer->parts; i++) {
      NAME(frame)(s, layer->x_last, NAME(image_of)(layer, layer->x, i, s->c * s->h * s->w, slot.wide_x), slot.framed);
      NAME(spread_image)(layer, i, slot, bias);
      NAME(direct_weight)(s, layer->stride, layer->offsets, slot.framed, slot.conv, weight);
    }
  }
}

// The sum of the parts, in their order, brought into the tensors' layout; either gradient may be NULL.
static void NAME(finish_weight)(const Layer *layer, T *weight, T *bias) {
  const FyConvShape *s = &layer->s->conv;
  int64_t depth = fy_conv_depth(s);
  T *total = layer->out;
  fy_conv_sum_parts(layer->dtype, layer->parts, layer->part, total, total);
  for (int64_t o = 0; weight && o < s->o; o++)
    for (int64_t k = 0; k < depth; k++)
      weight[o * depth + k] = total[(o / (2 * VL) * depth + k) * 2 * VL + o % (2 * VL)];
  if (bias)
    memcpy(bias, total + depth * layer->stride, (size_t)s->o * sizeof(T));
}

#undef VL
#undef T
#undef INTEGER
#undef NAME
