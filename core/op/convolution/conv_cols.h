// SPDX-License-Identifier: MIT
// The matrix of columns of one element type. Included by conv_im2col.c.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined NAME
#error "conv_cols.h expects T, NAME(x)"
#endif

// Output positions [*begin, *end) along one axis whose tap at `offset` lies inside the image.
static void NAME(valid)(int64_t out, int64_t in, int64_t stride, int64_t offset, int64_t *begin, int64_t *end) {
  int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t last = in - offset <= 0 ? 0 : (in - offset - 1) / stride + 1;
  *end = last < out ? last : out;
  *begin = first < *end ? first : *end;
}

// columns (channels * kh * kw, oh * ow): for each tap of the kernel, the pixels it meets; zero in the padding.
static void NAME(im2col)(const FyConvShape *s, int64_t channels, const T *restrict image, T *restrict columns) {
  for (int64_t row = 0; row < channels * s->kh * s->kw; row++) {
    const T *plane = image + row / (s->kh * s->kw) * s->h * s->w;
    int64_t top = row / s->kw % s->kh * s->dilation - s->padding, left = row % s->kw * s->dilation - s->padding;
    int64_t y0, y1, x0, x1;
    NAME(valid)(s->oh, s->h, s->stride, top, &y0, &y1);
    NAME(valid)(s->ow, s->w, s->stride, left, &x0, &x1);
    memset(columns, 0, (size_t)(y0 * s->ow) * sizeof(T));
    for (int64_t y = y0; y < y1; y++) {
      const T *from = plane + (y * s->stride + top) * s->w + left;
      T *to = columns + y * s->ow;
      for (int64_t x = 0; x < x0; x++)
        to[x] = 0;
      if (s->stride == 1)
        for (int64_t x = x0; x < x1; x++)
          to[x] = from[x];
      else
        for (int64_t x = x0; x < x1; x++)
          to[x] = from[x * s->stride];
      for (int64_t x = x1; x < s->ow; x++)
        to[x] = 0;
    }
    memset(columns + y1 * s->ow, 0, (size_t)((s->oh - y1) * s->ow) * sizeof(T));
    columns += s->oh * s->ow;
  }
}

// The opposite: every pixel gets the sum over the taps that met it.
static void NAME(col2im)(const FyConvShape *s, int64_t channels, const T *restrict columns, T *restrict image) {
  memset(image, 0, (size_t)(channels * s->h * s->w) * sizeof(T));
  for (int64_t row = 0; row < channels * s->kh * s->kw; row++) {
    T *plane = image + row / (s->kh * s->kw) * s->h * s->w;
    int64_t top = row / s->kw % s->kh * s->dilation - s->padding, left = row % s->kw * s->dilation - s->padding;
    int64_t y0, y1, x0, x1;
    NAME(valid)(s->oh, s->h, s->stride, top, &y0, &y1);
    NAME(valid)(s->ow, s->w, s->stride, left, &x0, &x1);
    for (int64_t y = y0; y < y1; y++) {
      const T *from = columns + y * s->ow;
      T *to = plane + (y * s->stride + top) * s->w + left;
      if (s->stride == 1)
        for (int64_t x = x0; x < x1; x++)
          to[x] += from[x];
      else
        for (int64_t x = x0; x < x1; x++)
          to[x * s->stride] += from[x];
    }
    columns += s->oh * s->ow;
  }
}

// out (o, area) = bias (o), one value per channel.
static void NAME(fill_bias)(int64_t o, int64_t area, const T *restrict bias, T *restrict out) {
  for (int64_t i = 0; i < o; i++)
    for (int64_t j = 0; j < area; j++)
      out[i * area + j] = bias[i];
}

// total (n) = the sum of `parts` arrays that lie one after the other.
static void NAME(sum_parts)(int64_t parts, int64_t n, const T *part, T *total) {
  memmove(total, part, (size_t)n * sizeof(T));
  for (int64_t p = 1; p < parts; p++)
    for (int64_t i = 0; i < n; i++)
      total[i] += part[p * n + i];
}

#undef T
#undef NAME
