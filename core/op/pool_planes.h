// Pooling of one plane for one element type: included by pool_cpu.c with T and NAME(x) defined. No include guard.
//
// A maximum remembers which tap of its window it came from: tap = row * kernel + column.

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

// The same for windows of 2x2 that tile the plane.
static void NAME(max_row_2x2)(int64_t ow, const T *restrict upper, const T *restrict lower, T *restrict out,
                              int32_t *restrict tap) {
  for (int64_t x = 0; x < ow; x++) {
    T best = upper[2 * x], b = upper[2 * x + 1], c = lower[2 * x], d = lower[2 * x + 1];
    int32_t from = 0;
    bool wins = b > best || b != b;
    best = wins ? b : best;
    from = wins ? 1 : from;
    wins = c > best || c != c;
    best = wins ? c : best;
    from = wins ? 2 : from;
    wins = d > best || d != d;
    out[x] = wins ? d : best;
    tap[x] = wins ? 3 : from;
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

static void NAME(max_plane_backward_2x2)(const FyPoolShape *s, const T *restrict grad, const uint8_t *restrict tap,
                                         T *restrict out) {
  for (int64_t y = 0; y < s->oh; y++, grad += s->ow, tap += s->ow) {
    T *upper = out + 2 * y * s->w, *lower = upper + s->w;
    for (int64_t x = 0; x < s->ow; x++) {
      upper[2 * x] = tap[x] == 0 ? grad[x] : 0;
      upper[2 * x + 1] = tap[x] == 1 ? grad[x] : 0;
      lower[2 * x] = tap[x] == 2 ? grad[x] : 0;
      lower[2 * x + 1] = tap[x] == 3 ? grad[x] : 0;
    }
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
