// SPDX-License-Identifier: MIT
// Batch normalization of a block of channels for one element type. Included by norm_cpu.c.
//
// Images (n, c, h, w) are read in runs of h * w values of one channel; vectors (n, c) row by row over the block's channels.
// Sums are float64: over runs they gather in float lanes of at most RUN values, which costs no accuracy that T has.
//
// The images may be bfloat16 where T is float: what is read at a time is widened, what is written is rounded.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined NAME
#error "norm_channels.h expects T, NAME(x)"
#endif

// Sums of a run of n values. LANES partial sums make vectors; each takes RUN / LANES values, then they are added up in float64.

// x[0] + ... + x[n-1]
static double NAME(run_sum)(int64_t n, const T *restrict x) {
  double total = 0;
  for (int64_t i = 0; i < n;) {
    T lanes[LANES] = {0};
    int64_t end = i + RUN < n ? i + RUN : n;
    for (; i + LANES <= end; i += LANES)
      for (int lane = 0; lane < LANES; lane++)
        lanes[lane] += x[i + lane];
    for (int lane = 0; lane < LANES; lane++)
      total += (double)lanes[lane];
    for (; i < end; i++)
      total += (double)x[i];
  }
  return total;
}

// The same of (x[i] - mean)^2.
static double NAME(run_squares)(int64_t n, const T *restrict x, T mean) {
  double total = 0;
  for (int64_t i = 0; i < n;) {
    T lanes[LANES] = {0};
    int64_t end = i + RUN < n ? i + RUN : n;
    for (; i + LANES <= end; i += LANES)
      for (int lane = 0; lane < LANES; lane++)
        lanes[lane] += (x[i + lane] - mean) * (x[i + lane] - mean);
    for (int lane = 0; lane < LANES; lane++)
      total += (double)lanes[lane];
    for (; i < end; i++)
      total += (double)((x[i] - mean) * (x[i] - mean));
  }
  return total;
}

// The same of grad[i] * (x[i] - mean).
static double NAME(run_products)(int64_t n, const T *restrict grad, const T *restrict x, T mean) {
  double total = 0;
  for (int64_t i = 0; i < n;) {
    T lanes[LANES] = {0};
    int64_t end = i + RUN < n ? i + RUN : n;
    for (; i + LANES <= end; i += LANES)
      for (int lane = 0; lane < LANES; lane++)
        lanes[lane] += grad[i + lane] * (x[i + lane] - mean);
    for (int lane = 0; lane < LANES; lane++)
      total += (double)lanes[lane];
    for (; i < end; i++)
      total += (double)(grad[i] * (x[i] - mean));
  }
  return total;
}

// The first value of channel c in image n.
static int64_t NAME(at)(const FyNormShape *s, int64_t n, int64_t c) {
  return (n * s->channels + c) * s->area;
}

// Values [at, at + n) of the images in `array`, as T; those of bfloat16 at place k of `wide`.
static const T *NAME(values)(const Norm *p, const void *array, int64_t at, int64_t n, T *wide, int k) {
  if (!p->half)
    return (const T *)array + at;
  wide += k * n;
  fy_widen_bfloat16((float *)(void *)wide, (const uint16_t *)array + at, n);
  return wide;
}

// Where values of the output go, and what brings those of bfloat16 from there.
static T *NAME(begin_values)(const Norm *p, int64_t at, T *wide) {
  return p->half ? wide : (T *)p->out + at;
}
static void NAME(end_values)(const Norm *p, int64_t at, int64_t n, const T *wide) {
  if (p->half)
    fy_narrow_floats((uint16_t *)p->out + at, (const float *)(const void *)wide, n);
}

// sum (count) of channels c.. over the batch.
static void NAME(sums)(const Norm *p, const void *x, int64_t c, int count, T *wide, double *restrict sum) {
  const FyNormShape *s = &p->s;
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict row = NAME(values)(p, x, NAME(at)(s, n, c), count * s->area, wide, 0);
    for (int j = 0; j < count; j++)
      sum[j] += s->area == 1 ? (double)row[j] : NAME(run_sum)(s->area, row + j * s->area);
  }
}

// The same of squared distances to the mean.
static void NAME(squares)(const Norm *p, int64_t c, int count, const double *mean, T *wide, double *restrict sum) {
  const FyNormShape *s = &p->s;
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict row = NAME(values)(p, p->x, NAME(at)(s, n, c), count * s->area, wide, 0);
    if (s->area == 1)
      for (int j = 0; j < count; j++)
        sum[j] += ((double)row[j] - mean[j]) * ((double)row[j] - mean[j]);
    else
      for (int j = 0; j < count; j++)
        sum[j] += NAME(run_squares)(s->area, row + j * s->area, (T)mean[j]);
  }
}

// The same of grad * (x - mean).
static void NAME(products)(const Norm *p, int64_t c, int count, const double *mean, T *wide, double *restrict sum) {
  const FyNormShape *s = &p->s;
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t n = 0; n < s->images; n++) {
    const int64_t at = NAME(at)(s, n, c), values = count * s->area;
    const T *restrict g = NAME(values)(p, p->grad, at, values, wide, 0);
    const T *restrict row = NAME(values)(p, p->x, at, values, wide, 1);
    if (s->area == 1)
      for (int j = 0; j < count; j++)
        sum[j] += (double)g[j] * ((double)row[j] - mean[j]);
    else
      for (int j = 0; j < count; j++)
        sum[j] += NAME(run_products)(s->area, g + j * s->area, row + j * s->area, (T)mean[j]);
  }
}

// out = (x - mean) * scale + shift.
static void NAME(normalize)(const Norm *p, int64_t c, int count, const T *restrict mean, const T *restrict scale,
                            const T *restrict shift, T *wide) {
  const FyNormShape *s = &p->s;
  for (int64_t n = 0; n < s->images; n++) {
    const int64_t at = NAME(at)(s, n, c), values = count * s->area;
    const T *restrict from = NAME(values)(p, p->x, at, values, wide, 1);
    T *restrict to = NAME(begin_values)(p, at, wide);
    if (s->area == 1)
      for (int j = 0; j < count; j++)
        to[j] = (from[j] - mean[j]) * scale[j] + shift[j];
    for (int j = 0; s->area > 1 && j < count; j++, from += s->area, to += s->area)
      for (int64_t i = 0; i < s->area; i++)
        to[i] = (from[i] - mean[j]) * scale[j] + shift[j];
    NAME(end_values)(p, at, values, wide);
  }
}

// out = grad * scale.
static void NAME(scaled)(const Norm *p, int64_t c, int count, const T *restrict scale, T *wide) {
  const FyNormShape *s = &p->s;
  for (int64_t n = 0; n < s->images; n++) {
    const int64_t at = NAME(at)(s, n, c), values = count * s->area;
    const T *restrict from = NAME(values)(p, p->grad, at, values, wide, 1);
    T *restrict to = NAME(begin_values)(p, at, wide);
    if (s->area == 1)
      for (int j = 0; j < count; j++)
        to[j] = from[j] * scale[j];
    for (int j = 0; s->area > 1 && j < count; j++, from += s->area, to += s->area)
      for (int64_t i = 0; i < s->area; i++)
        to[i] = from[i] * scale[j];
    NAME(end_values)(p, at, values, wide);
  }
}

// out = (grad - level - (x - mean) * slope) * scale.
static void NAME(gradient)(const Norm *p, int64_t c, int count, const T *restrict mean, const T *restrict scale,
                           const T *restrict level, const T *restrict slope, T *wide) {
  const FyNormShape *s = &p->s;
  for (int64_t n = 0; n < s->images; n++) {
    const int64_t at = NAME(at)(s, n, c), values = count * s->area;
    const T *restrict g = NAME(values)(p, p->grad, at, values, wide, 1);
    const T *restrict from = NAME(values)(p, p->x, at, values, wide, 2);
    T *restrict to = NAME(begin_values)(p, at, wide);
    if (s->area == 1)
      for (int j = 0; j < count; j++)
        to[j] = (g[j] - level[j] - (from[j] - mean[j]) * slope[j]) * scale[j];
    for (int j = 0; s->area > 1 && j < count; j++, g += s->area, from += s->area, to += s->area)
      for (int64_t i = 0; i < s->area; i++)
        to[i] = (g[i] - level[j] - (from[i] - mean[j]) * slope[j]) * scale[j];
    NAME(end_values)(p, at, values, wide);
  }
}

// Mean and 1 / sqrt(variance + eps) of the block, from the batch (two passes, then the running ones follow) or from the
// running statistics.
static void NAME(statistics)(const Norm *p, int64_t c, int count, T *wide, double *mean, double *invstd) {
  const FyNormShape *s = &p->s;
  T *running_mean = p->running_mean, *running_var = p->running_var;
  double squares[CHANNELS], n = (double)(s->images * s->area);
  if (!p->params->training) {
    for (int j = 0; j < count; j++) {
      mean[j] = (double)running_mean[c + j];
      invstd[j] = 1 / sqrt((double)running_var[c + j] + p->params->eps);
    }
    return;
  }
  NAME(sums)(p, p->x, c, count, wide, mean);
  for (int j = 0; j < count; j++)
    mean[j] /= n;
  NAME(squares)(p, c, count, mean, wide, squares);
  double momentum = p->params->momentum;
  for (int j = 0; j < count; j++) {
    invstd[j] = 1 / sqrt(squares[j] / n + p->params->eps);
    if (running_mean)
      running_mean[c + j] = (T)((1 - momentum) * (double)running_mean[c + j] + momentum * mean[j]);
    if (running_var)
      running_var[c + j] = (T)((1 - momentum) * (double)running_var[c + j] + momentum * squares[j] / (n - 1));
  }
}

static void NAME(forward)(const Norm *p, int64_t c, int count, T *wide) {
  const T *weight = p->weight, *bias = p->bias;
  T *mean = (T *)p->mean + c, *invstd = (T *)p->invstd + c, scale[CHANNELS], shift[CHANNELS];
  double exact_mean[CHANNELS], exact_invstd[CHANNELS];
  NAME(statistics)(p, c, count, wide, exact_mean, exact_invstd);
  for (int j = 0; j < count; j++) {
    mean[j] = (T)exact_mean[j];
    invstd[j] = (T)exact_invstd[j];
    scale[j] = invstd[j] * (weight ? weight[c + j] : 1);
    shift[j] = bias ? bias[c + j] : 0;
  }
  NAME(normalize)(p, c, count, mean, scale, shift, wide);
}

// grad_weight, grad_bias and grad_x of the block: see norm.c. The running statistics do not depend on x, so that its gradient
// is the scaled one, even where x is infinite.
static void NAME(backward)(const Norm *p, int64_t c, int count, T *wide) {
  const T *weight = p->weight, *mean = (const T *)p->mean + c, *invstd = (const T *)p->invstd + c;
  T *grad_weight = p->grad_weight, *grad_bias = p->grad_bias, scale[CHANNELS], level[CHANNELS], slope[CHANNELS];
  double exact_mean[CHANNELS], sum[CHANNELS], product[CHANNELS], n = (double)(p->s.images * p->s.area);
  for (int j = 0; j < count; j++)
    exact_mean[j] = (double)mean[j];
  NAME(sums)(p, p->grad, c, count, wide, sum);
  NAME(products)(p, c, count, exact_mean, wide, product);
  for (int j = 0; j < count; j++) {
    grad_weight[c + j] = (T)(product[j] * (double)invstd[j]);
    grad_bias[c + j] = (T)sum[j];
    scale[j] = invstd[j] * (weight ? weight[c + j] : 1);
    level[j] = (T)(sum[j] / n);
    slope[j] = (T)(product[j] / n * (double)invstd[j] * (double)invstd[j]);
  }
  if (p->params->training)
    NAME(gradient)(p, c, count, mean, scale, level, slope, wide);
  else
    NAME(scaled)(p, c, count, scale, wide);
}

#undef T
#undef NAME
