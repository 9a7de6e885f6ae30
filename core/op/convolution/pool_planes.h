// SPDX-License-Identifier: MIT
// Pooling of one plane for one element type. Included by pool_cpu.c.
//
// A maximum remembers which tap of its window it came from: tap = row * kernel + column.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined NAME
#error "pool_planes.h expects T, NAME(x)"
#endif

// Outputs [*begin, *end) of a row whose tap at column j lies inside the plane.
static void NAME(inside)(const FyPoolShape *s, int j, int64_t *begin, int64_t *end) {
  int64_t left = j - s->padding;
  *begin = left < 0 ? (-left + s->stride - 1) / s->stride : 0;
  *end = s->w - left <= 0 ? 0 : (s->w - left - 1) / s->stride + 1;
  *end = *end < s->ow ? *end : s->ow;
  *begin = *begin < *end ? *begin : *end;
}

// One row of maxima: each tap is met by all outputs of the row in turn, in the order of the window. NaN wins.
static void NAME(max_row)(const FyPoolShape *s, const T *restrict in, int64_t y, T *restrict out,
                          int32_t *restrict tap) {
  int64_t top = y * s->stride - s->padding;
  int first = top < 0 ? (int)-top : 0;
  for (int64_t x = 0; x < s->ow; x++) {
    int64_t left = x * s->stride - s->padding;
    out[x] = -(T)INFINITY;
    tap[x] = first * s->kernel + (left < 0 ? (int32_t)-left : 0);
  }
  for (int i = first; i < s->kernel && top + i < s->h; i++) {
    for (int j = 0; j < s->kernel; j++) {
      const T *from = in + (top + i) * s->w + j - s->padding;
      int64_t begin, end, step = s->stride;
      NAME(inside)(s, j, &begin, &end);
      int32_t here = i * s->kernel + j;
      for (int64_t x = begin; x < end; x++) {
        T value = from[x * step];
        bool wins = value > out[x] || value != value;
        out[x] = wins ? value : out[x];
        tap[x] = wins ? here : tap[x];
      }
    }
  }
}

// The same for windows of 2x2 that tile the plane, `n` of them.
static inline __attribute__((always_inline)) void
NAME(max_2x2)(int64_t n, const T *restrict upper, const T *restrict lower, T *restrict out, int32_t *restrict tap) {
  VECTORIZE
  for (int64_t x = 0; x < n; x++) {
    T a = upper[2 * x], b = upper[2 * x + 1], c = lower[2 * x], d = lower[2 * x + 1];
    bool right = (b > a) | (b != b);
    T above = right ? b : a;
    bool lower_left = (c > above) | (c != c);
    T three = lower_left ? c : above;
    bool last = (d > three) | (d != d);
    out[x] = last ? d : three;
    tap[x] = last ? 3 : lower_left ? 2 : right ? 1 : 0;
  }
}

// Rows are short, and what is left over after whole vectors would cost more than they do: the last BLOCK outputs are
// computed together, even if some of them are for the second time.
static void NAME(max_row_2x2)(int64_t ow, const T *upper, const T *lower, T *out, int32_t *tap) {
  if (ow < BLOCK) {
    NAME(max_2x2)(ow, upper, lower, out, tap);
    return;
  }
  for (int64_t x = 0; x < ow; x += BLOCK) {
    x = x + BLOCK <= ow ? x : ow - BLOCK;
    NAME(max_2x2)(BLOCK, upper + 2 * x, lower + 2 * x, out + x, tap + x);
  }
}

static void NAME(max_plane)(const FyPoolShape *s, const T *in, T *out, int32_t *row, uint8_t *narrow, int32_t *wide) {
  bool tiles = s->kernel == 2 && s->stride == 2 && s->padding == 0;
  for (int64_t y = 0; y < s->oh; y++) {
    if (tiles)
      NAME(max_row_2x2)(s->ow, in + 2 * y * s->w, in + (2 * y + 1) * s->w, out + y * s->ow, row);
    else
      NAME(max_row)(s, in, y, out + y * s->ow, row);
    for (int64_t x = 0; x < s->ow; x++) {
      if (narrow)
        narrow[y * s->ow + x] = (uint8_t)row[x];
      else
        wide[y * s->ow + x] = row[x];
    }
  }
}

// 2n pixels from the gradients of n windows: those whose maximum came from the tap `left`, or the one beside it.
static inline __attribute__((always_inline)) void
NAME(spread_2x2)(int64_t n, const T *restrict grad, const uint8_t *restrict tap, int left, T *restrict row) {
  VECTORIZE
  for (int64_t x = 0; x < n; x++) {
    T g = grad[x];
    int from = tap[x];
    row[2 * x] = from == left ? g : 0;
    row[2 * x + 1] = from == left + 1 ? g : 0;
  }
}

static void NAME(spread_row_2x2)(int64_t ow, const T *grad, const uint8_t *tap, int left, T *row) {
  if (ow < BLOCK) {
    NAME(spread_2x2)(ow, grad, tap, left, row);
    return;
  }
  for (int64_t x = 0; x < ow; x += BLOCK) {
    x = x + BLOCK <= ow ? x : ow - BLOCK;
    NAME(spread_2x2)(BLOCK, grad + x, tap + x, left, row + 2 * x);
  }
}

static void NAME(max_plane_backward_2x2)(const FyPoolShape *s, const T *grad, const uint8_t *tap, T *out) {
  for (int64_t y = 0; y < s->oh; y++, grad += s->ow, tap += s->ow) {
    T *upper = out + 2 * y * s->w, *lower = upper + s->w;
    NAME(spread_row_2x2)(s->ow, grad, tap, 0, upper);
    NAME(spread_row_2x2)(s->ow, grad, tap, 2, lower);
    if (s->w % 2)
      upper[s->w - 1] = lower[s->w - 1] = 0;
  }
  if (s->h % 2)
    memset(out + (s->h - 1) * s->w, 0, (size_t)s->w * sizeof(T));
}

static void NAME(max_plane_backward)(const FyPoolShape *s, const T *grad, const uint8_t *narrow, const int32_t *wide,
                                     T *out) {
  if (narrow && s->kernel == 2 && s->stride == 2 && s->padding == 0) {
    NAME(max_plane_backward_2x2)(s, grad, narrow, out);
    return;
  }
  memset(out, 0, (size_t)(s->h * s->w) * sizeof(T));
  for (int64_t y = 0; y < s->oh; y++)
    for (int64_t x = 0; x < s->ow; x++) {
      int64_t o = y * s->ow + x;
      int tap = narrow ? narrow[o] : wide[o];
      int64_t row = y * s->stride - s->padding + tap / s->kernel, column = x * s->stride - s->padding + tap % s->kernel;
      out[row * s->w + column] += grad[o];
    }
}

// The padding counts as zeros, so each window's divisor is the same.
static void NAME(average_plane)(const FyPoolShape *s, const T *restrict in, T *restrict out) {
  T scale = (T)1 / (T)(s->kernel * s->kernel);
  for (int64_t y = 0; y < s->oh; y++, out += s->ow) {
    int64_t top = y * s->stride - s->padding, step = s->stride;
    for (int64_t x = 0; x < s->ow; x++)
      out[x] = 0;
    for (int i = top < 0 ? (int)-top : 0; i < s->kernel && top + i < s->h; i++)
      for (int j = 0; j < s->kernel; j++) {
        const T *from = in + (top + i) * s->w + j - s->padding;
        int64_t begin, end;
        NAME(inside)(s, j, &begin, &end);
        for (int64_t x = begin; x < end; x++)
          out[x] += from[x * step];
      }
    for (int64_t x = 0; x < s->ow; x++)
      out[x] *= scale;
  }
}

static void NAME(average_plane_backward)(const FyPoolShape *s, const T *restrict grad, T *restrict out) {
  T scale = (T)1 / (T)(s->kernel * s->kernel);
  memset(out, 0, (size_t)(s->h * s->w) * sizeof(T));
  for (int64_t y = 0; y < s->oh; y++, grad += s->ow) {
    int64_t top = y * s->stride - s->padding, step = s->stride;
    for (int i = top < 0 ? (int)-top : 0; i < s->kernel && top + i < s->h; i++)
      for (int j = 0; j < s->kernel; j++) {
        T *to = out + (top + i) * s->w + j - s->padding;
        int64_t begin, end;
        NAME(inside)(s, j, &begin, &end);
        for (int64_t x = begin; x < end; x++)
          to[x * step] += grad[x] * scale;
      }
  }
}

#undef T
#undef NAME
