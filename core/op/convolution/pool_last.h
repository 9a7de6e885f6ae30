// SPDX-License-Identifier: MIT
// ReLU and max pooling of one image whose channels lie together, for one element type. Included by conv_pool_images.h.
//
// Channels are what the vectors run over; `stride` channels, a multiple of VL, belong to each position.
//
// Expects, for each inclusion: T, the element type; INTEGER, an integer type of T's size; NAME(x), x with the type in it; VL, elements of a vector. No include guard.
#if !defined T || !defined INTEGER || !defined NAME || !defined VL
#error "pool_last.h expects T, INTEGER, NAME(x), VL"
#endif

typedef INTEGER NAME(Mask) __attribute__((vector_size(VL * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef uint8_t NAME(Bytes) __attribute__((vector_size(VL), aligned(1), may_alias));

static inline NAME(Vec) NAME(pick)(NAME(Mask) mask, NAME(Vec) yes, NAME(Vec) no) {
  return (NAME(Vec))((mask & (NAME(Mask))yes) | (~mask & (NAME(Mask))no));
}

static inline NAME(Bytes) NAME(load_taps)(const uint8_t *taps, int64_t count) {
  NAME(Bytes) bytes = {0};
  if (count >= VL)
    return *(const NAME(Bytes) *)taps;
  memcpy(&bytes, taps, (size_t)count);
  return bytes;
}

static inline void NAME(store_taps)(uint8_t *taps, NAME(Mask) from, int64_t count) {
  NAME(Bytes) bytes = __builtin_convertvector(from, NAME(Bytes));
  if (count >= VL)
    *(NAME(Bytes) *)taps = bytes;
  else
    memcpy(taps, &bytes, (size_t)count);
}

// One vector of channels of one window, whose first element is at `top`; `line` elements are between rows. Returns the
// pooled values. A NaN wins, goes through, and so does its gradient.
static inline __attribute__((always_inline)) NAME(Vec)
    NAME(window)(int window, const T *top, int64_t stride, int64_t line, NAME(Mask) * from) {
  NAME(Vec) best = *(const NAME(Vec) *)top;
  NAME(Mask) tap = {0}, cut;
  for (int i = 0; i < window; i++)
    for (int j = i == 0; j < window; j++) {
      NAME(Vec) value = *(const NAME(Vec) *)(top + i * line + j * stride);
      NAME(Mask) wins = (NAME(Mask))(value > best) | (NAME(Mask))(value != value);
      best = NAME(pick)(wins, value, best);
      tap = (wins & (i * window + j)) | (~wins & tap);
    }
  cut = (NAME(Mask))(best <= (NAME(Vec)){0});
  *from = tap | (cut & FY_TAP_NONE);
  return NAME(pick)(cut, (NAME(Vec)){0}, best);
}

// row (pw, stride) and taps (pw, o): the windows of one row of the pooled image.
static void NAME(relu_max_row)(const FyConvPoolShape *s, int64_t stride, const T *top, T *row, uint8_t *taps) {
  int window = (int)s->window;
  int64_t o = s->conv.o, line = s->conv.ow * stride;
  for (int64_t x = 0; x < s->pw; x++, row += stride, taps += o, top += window * stride)
    for (int64_t c = 0; c < o; c += VL) {
      NAME(Mask) from;
      if (window == 2)
        *(NAME(Vec) *)(row + c) = NAME(window)(2, top + c, stride, line, &from);
      else
        *(NAME(Vec) *)(row + c) = NAME(window)(window, top + c, stride, line, &from);
      NAME(store_taps)(taps + c, from, o - c);
    }
}

// out (o, ph, pw), or (ph, pw, o) with `last`, and taps (ph, pw, o) from conv (oh, ow, stride). `pooled` (ph * pw, stride) is
// scratch.
static void NAME(relu_max_pool)(const FyConvPoolShape *s, int64_t stride, bool last, const T *conv, T *pooled, T *out,
                                uint8_t *taps) {
  int64_t area = s->ph * s->pw;
  bool in_place = last && stride == s->conv.o;
  if (in_place)
    pooled = out;
  for (int64_t y = 0; y < s->ph; y++)
    NAME(relu_max_row)
  (s, stride, conv + y * s->window * s->conv.ow * stride, pooled + y * s->pw * stride, taps + y * s->pw * s->conv.o);
  if (!last)
    fy_transpose_matrix(sizeof(T), out, area, pooled, stride, s->conv.o, area);
  for (int64_t i = 0; i < area && last && !in_place; i++)
    memcpy(out + i * s->conv.o, pooled + i * stride, (size_t)s->conv.o * sizeof(T));
}

// The gradient of one window's convolution outputs from that of its pooled value, for one vector of channels.
static inline __attribute__((always_inline)) void NAME(spread_window)(int window, NAME(Vec) grad, NAME(Mask) tap,
                                                                      T *top, int64_t stride, int64_t line) {
  for (int i = 0; i < window; i++)
    for (int j = 0; j < window; j++)
      *(NAME(Vec) *)(top + i * line + j * stride) =
          NAME(pick)((NAME(Mask))(tap == i * window + j), grad, (NAME(Vec)){0});
}

// One row of windows. Channels from o on have no taps and no gradient.
static void NAME(spread_row)(const FyConvPoolShape *s, int64_t stride, const T *grad, const uint8_t *taps, T *top,
                             T *bias) {
  int window = (int)s->window;
  int64_t o = s->conv.o, line = s->conv.ow * stride;
  for (int64_t x = 0; x < s->pw; x++, grad += stride, taps += o, top += window * stride)
    for (int64_t c = 0; c < stride; c += VL) {
      NAME(Vec) g = c < o ? *(const NAME(Vec) *)(grad + c) : (NAME(Vec)){0};
      NAME(Mask) tap = c < o ? __builtin_convertvector(NAME(load_taps)(taps + c, o - c), NAME(Mask)) : (NAME(Mask)){0};
      if (window == 2)
        NAME(spread_window)(2, g, tap, top + c, stride, line);
      else
        NAME(spread_window)(window, g, tap, top + c, stride, line);
      if (bias)
        *(NAME(Vec) *)(bias + c) += NAME(pick)((NAME(Mask))(tap == FY_TAP_NONE), (NAME(Vec)){0}, g);
    }
}

// grad (o, ph, pw), or (ph, pw, o) with `last`, as (ph * pw, stride): in `pooled`, or where it is.
static const T *NAME(grad_last)(const FyConvPoolShape *s, int64_t stride, bool last, const T *grad, T *pooled) {
  int64_t area = s->ph * s->pw, o = s->conv.o;
  if (last && o == stride)
    return grad;
  if (o < stride)
    memset(pooled, 0, (size_t)(area * stride) * sizeof(T));
  if (!last)
    fy_transpose_matrix(sizeof(T), pooled, stride, grad, area, area, o);
  for (int64_t i = 0; i < area && last; i++)
    memcpy(pooled + i * stride, grad + i * o, (size_t)o * sizeof(T));
  return pooled;
}

// The gradient of conv (oh, ow, stride) from that of the pooled image, as grad_last takes it; `pooled` (ph * pw, stride) is
// scratch. Adds up the bias's gradient (stride), unless it is NULL.
static void NAME(spread)(const FyConvPoolShape *s, int64_t stride, bool last, const T *grad, const uint8_t *taps,
                         T *pooled, T *conv, T *bias) {
  int64_t o = s->conv.o, line = s->conv.ow * stride, window = s->window;
  grad = NAME(grad_last)(s, stride, last, grad, pooled);
  for (int64_t y = 0; y < s->ph; y++) {
    NAME(spread_row)
    (s, stride, grad + y * s->pw * stride, taps + y * s->pw * o, conv + y * window * line, bias);
    for (int64_t i = 0; i < window; i++) // columns that fill no window
      memset(conv + (y * window + i) * line + s->pw * window * stride, 0,
             (size_t)((s->conv.ow - s->pw * window) * stride) * sizeof(T));
  }
  memset(conv + s->ph * window * line, 0, (size_t)((s->conv.oh - s->ph * window) * line) * sizeof(T));
}
