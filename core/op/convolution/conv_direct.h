// SPDX-License-Identifier: MIT
// The convolution of one image straight from its pixels, for one element type. Included by conv_pool_images.h.
//
// The image stands in a frame of zeros, so that every tap of the kernel is at a fixed distance from the pixel it is applied
// to (Taps). The output's channels lie together: a vector runs over channels, and a pixel is broadcast to all of them. With
// few input channels this keeps the arithmetic units busy, where a matrix product would have too short a sum. As many sums
// as the registers hold are under way at a time: PIXELS of them forward, TAPS in the weight's gradient, times two vectors.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it; VL, elements of a vector. No include guard.
#if !defined T || !defined NAME || !defined VL
#error "conv_direct.h expects T, NAME(x), VL"
#endif

typedef T NAME(Vec) __attribute__((vector_size(VL * sizeof(T)), aligned(sizeof(T)), may_alias));

// framed (c, h + 2 padding, w + 2 padding) from image (c, h, w), or (h, w, c) with `last`.
static void NAME(frame)(const FyConvShape *s, bool last, const T *image, T *framed) {
  int64_t fh = s->h + 2 * s->padding, fw = s->w + 2 * s->padding;
  memset(framed, 0, (size_t)(s->c * fh * fw) * sizeof(T));
  for (int64_t c = 0; c < s->c; c++)
    for (int64_t y = 0; y < s->h; y++) {
      T *row = framed + (c * fh + y + s->padding) * fw + s->padding;
      if (last)
        for (int64_t x = 0; x < s->w; x++)
          row[x] = image[(y * s->w + x) * s->c + c];
      else
        memcpy(row, image + (c * s->h + y) * s->w, (size_t)s->w * sizeof(T));
    }
}

// The opposite.
static void NAME(unframe)(const FyConvShape *s, bool last, const T *framed, T *image) {
  int64_t fh = s->h + 2 * s->padding, fw = s->w + 2 * s->padding;
  for (int64_t c = 0; c < s->c; c++)
    for (int64_t y = 0; y < s->h; y++) {
      const T *row = framed + (c * fh + y + s->padding) * fw + s->padding;
      if (last)
        for (int64_t x = 0; x < s->w; x++)
          image[(y * s->w + x) * s->c + c] = row[x];
      else
        memcpy(image + (c * s->h + y) * s->w, row, (size_t)s->w * sizeof(T));
    }
}

// packed (stride / (2 VL), depth, 2 VL): the channels in pairs of vectors, zeros where there are none.
static void NAME(pack_weight)(const FyConvShape *s, int64_t stride, const T *weight, T *packed) {
  int64_t depth = fy_conv_depth(s);
  for (int64_t o0 = 0; o0 < stride; o0 += 2 * VL)
    for (int64_t k = 0; k < depth; k++)
      for (int64_t o = o0; o < o0 + 2 * VL; o++)
        *packed++ = o < s->o ? weight[o * depth + k] : 0;
}

// `count` pixels of one row, `step` apart in the frame, for 2 VL channels.
static inline __attribute__((always_inline)) void NAME(pixels)(int count, int64_t depth, const int64_t *taps,
                                                               const T *restrict pixel, int64_t step,
                                                               const T *restrict weight, const T *bias, T *restrict out,
                                                               int64_t stride) {
  NAME(Vec) sum[PIXELS][2];
  for (int p = 0; p < count; p++)
    for (int v = 0; v < 2; v++)
      sum[p][v] = *(const NAME(Vec) *)(bias + v * VL);
  for (int64_t k = 0; k < depth; k++) {
    NAME(Vec) w[2];
    for (int v = 0; v < 2; v++)
      w[v] = *(const NAME(Vec) *)(weight + (2 * k + v) * VL);
    for (int p = 0; p < count; p++)
      for (int v = 0; v < 2; v++)
        sum[p][v] += pixel[taps[k] + p * step] * w[v];
  }
  for (int p = 0; p < count; p++)
    for (int v = 0; v < 2; v++)
      *(NAME(Vec) *)(out + p * stride + v * VL) = sum[p][v];
}

// out (oh, ow, stride) from the framed image; bias (stride).
static void NAME(direct)(const FyConvShape *s, int64_t stride, const int64_t *taps, const T *framed, const T *packed,
                         const T *bias, T *out) {
  int64_t depth = fy_conv_depth(s), fw = s->w + 2 * s->padding;
  for (int64_t o = 0; o < stride; o += 2 * VL, packed += depth * 2 * VL)
    for (int64_t y = 0; y < s->oh; y++) {
      const T *from = framed + y * s->stride * fw;
      T *to = out + y * s->ow * stride + o;
      int64_t x = 0;
      for (; x + PIXELS <= s->ow; x += PIXELS)
        NAME(pixels)(PIXELS, depth, taps, from + x * s->stride, s->stride, packed, bias + o, to + x * stride, stride);
      for (; x + 2 <= s->ow; x += 2)
        NAME(pixels)(2, depth, taps, from + x * s->stride, s->stride, packed, bias + o, to + x * stride, stride);
      for (; x < s->ow; x++)
        NAME(pixels)(1, depth, taps, from + x * s->stride, s->stride, packed, bias + o, to + x * stride, stride);
    }
}

// weight gradient (count, 2 VL) += every pixel of the image times the gradient at its position.
static inline __attribute__((always_inline)) void NAME(taps_gradient)(int count, const FyConvShape *s, int64_t stride,
                                                                      const int64_t *taps, const T *restrict framed,
                                                                      const T *restrict grad, T *restrict weight) {
  NAME(Vec) sum[TAPS][2];
  int64_t fw = s->w + 2 * s->padding;
  for (int k = 0; k < count; k++)
    for (int v = 0; v < 2; v++)
      sum[k][v] = *(const NAME(Vec) *)(weight + (2 * k + v) * VL);
  for (int64_t y = 0; y < s->oh; y++) {
    const T *pixel = framed + y * s->stride * fw;
    for (int64_t x = 0; x < s->ow; x++, pixel += s->stride, grad += stride) {
      NAME(Vec) g[2];
      for (int v = 0; v < 2; v++)
        g[v] = *(const NAME(Vec) *)(grad + v * VL);
      for (int k = 0; k < count; k++)
        for (int v = 0; v < 2; v++)
          sum[k][v] += pixel[taps[k]] * g[v];
    }
  }
  for (int k = 0; k < count; k++)
    for (int v = 0; v < 2; v++)
      *(NAME(Vec) *)(weight + (2 * k + v) * VL) = sum[k][v];
}

// packed (stride / (2 VL), depth, 2 VL) += the gradient of the weight by one image; grad (oh, ow, stride).
static void NAME(direct_weight)(const FyConvShape *s, int64_t stride, const int64_t *taps, const T *framed,
                                const T *grad, T *packed) {
  int64_t depth = fy_conv_depth(s);
  for (int64_t o = 0; o < stride; o += 2 * VL, packed += depth * 2 * VL) {
    int64_t k = 0;
    for (; k + TAPS <= depth; k += TAPS)
      NAME(taps_gradient)(TAPS, s, stride, taps + k, framed, grad + o, packed + k * 2 * VL);
    for (; k < depth; k++)
      NAME(taps_gradient)(1, s, stride, taps + k, framed, grad + o, packed + k * 2 * VL);
  }
}

// framed: the gradient of the framed image; grad (oh, ow, stride), weight (o, depth), `sums` (depth) is scratch.
static void NAME(direct_input)(const FyConvShape *s, int64_t stride, const int64_t *taps, const T *grad,
                               const T *weight, T *restrict sums, T *restrict framed) {
  int64_t depth = fy_conv_depth(s), fh = s->h + 2 * s->padding, fw = s->w + 2 * s->padding;
  memset(framed, 0, (size_t)(s->c * fh * fw) * sizeof(T));
  for (int64_t y = 0; y < s->oh; y++)
    for (int64_t x = 0; x < s->ow; x++, grad += stride) {
      memset(sums, 0, (size_t)depth * sizeof(T));
      for (int64_t o = 0; o < s->o; o++)
        for (int64_t k = 0; k < depth; k++)
          sums[k] += grad[o] * weight[o * depth + k];
      T *pixel = framed + (y * fw + x) * s->stride;
      for (int64_t k = 0; k < depth; k++)
        pixel[taps[k]] += sums[k];
    }
}
