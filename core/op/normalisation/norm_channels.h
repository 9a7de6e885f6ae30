// Batch normalisation of a block of channels for one element type. Included by norm_cpu.c.
//
// Images (n, c, h, w) are read in runs of h * w values of one channel; vectors (n, c) row by row over the block's channels.
// Sums are float64: over runs they gather in float lanes of at most RUN values, which costs no accuracy that T has.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined NAME
#error "norm_channels.h expects T, NAME(x)"
#endif

// The sum of n values f(i), in lanes that the compiler turns into vectors; `i` is the index in `expression`.
#define LANE_SUM(n, expression)                                                                                        \
  T lanes[LANES] = {0};                                                                                                \
  double total = 0;                                                                                                    \
  int64_t i = 0;                                                                                                       \
  for (; i + LANES <= (n);) {                                                                                          \
    int64_t stop = (n)-i < RUN ? (n)-LANES : i + RUN - LANES;                                                          \
    for (; i <= stop; i += LANES)                                                                                      \
      for (int lane = 0; lane < LANES; lane++)                                                                         \
        lanes[lane] += expression(i + lane);                                                                           \
    for (int lane = 0; lane < LANES; lane++) {                                                                         \
      total += (double)lanes[lane];                                                                                    \
      lanes[lane] = 0;                                                                                                 \
    }                                                                                                                  \
  }                                                                                                                    \
  for (; i < (n); i++)                                                                                                 \
    total += (double)expression(i);                                                                                    \
  return total

static double NAME(run_sum)(int64_t n, const T *restrict x) {
#define VALUE(i) x[i]
  LANE_SUM(n, VALUE);
#undef VALUE
}

static double NAME(run_squares)(int64_t n, const T *restrict x, T mean) {
#define VALUE(i) ((x[i] - mean) * (x[i] - mean))
  LANE_SUM(n, VALUE);
#undef VALUE
}

static double NAME(run_products)(int64_t n, const T *restrict grad, const T *restrict x, T mean) {
#define VALUE(i) (grad[i] * (x[i] - mean))
  LANE_SUM(n, VALUE);
#undef VALUE
}

#undef LANE_SUM

// The first value of channel c in image n.
static int64_t NAME(at)(const FyNormShape *s, int64_t n, int64_t c) {
  return (n * s->channels + c) * s->area;
}

// sum (count) of channels c.. over the batch.
static void NAME(sums)(const FyNormShape *s, const T *x, int64_t c, int count, double *restrict sum) {
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict row = x + NAME(at)(s, n, c);
    for (int j = 0; j < count; j++)
      sum[j] += s->area == 1 ? (double)row[j] : NAME(run_sum)(s->area, row + j * s->area);
  }
}

// The same of squared distances to the mean.
static void NAME(squares)(const FyNormShape *s, const T *x, int64_t c, int count, const double *mean,
                          double *restrict sum) {
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict row = x + NAME(at)(s, n, c);
    if (s->area == 1)
      for (int j = 0; j < count; j++)
        sum[j] += ((double)row[j] - mean[j]) * ((double)row[j] - mean[j]);
    else
      for (int j = 0; j < count; j++)
        sum[j] += NAME(run_squares)(s->area, row + j * s->area, (T)mean[j]);
  }
}

// The same of grad * (x - mean).
static void NAME(products)(const FyNormShape *s, const T *grad, const T *x, int64_t c, int count, const double *mean,
                           double *restrict sum) {
  memset(sum, 0, (size_t)count * sizeof *sum);
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict g = grad + NAME(at)(s, n, c);
    const T *restrict row = x + NAME(at)(s, n, c);
    if (s->area == 1)
      for (int j = 0; j < count; j++)
        sum[j] += (double)g[j] * ((double)row[j] - mean[j]);
    else
      for (int j = 0; j < count; j++)
        sum[j] += NAME(run_products)(s->area, g + j * s->area, row + j * s->area, (T)mean[j]);
  }
}

// out = (x - mean) * scale + shift.
static void NAME(normalise)(const FyNormShape *s, const T *x, int64_t c, int count, const T *restrict mean,
                            const T *restrict scale, const T *restrict shift, T *out) {
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict from = x + NAME(at)(s, n, c);
    T *restrict to = out + NAME(at)(s, n, c);
    if (s->area == 1) {
      for (int j = 0; j < count; j++)
        to[j] = (from[j] - mean[j]) * scale[j] + shift[j];
      continue;
    }
    for (int j = 0; j < count; j++, from += s->area, to += s->area)
      for (int64_t i = 0; i < s->area; i++)
        to[i] = (from[i] - mean[j]) * scale[j] + shift[j];
  }
}

// out = (grad - level - (x - mean) * slope) * scale.
static void NAME(gradient)(const FyNormShape *s, const T *grad, const T *x, int64_t c, int count,
                           const T *restrict mean, const T *restrict scale, const T *restrict level,
                           const T *restrict slope, T *out) {
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict g = grad + NAME(at)(s, n, c);
    const T *restrict from = x + NAME(at)(s, n, c);
    T *restrict to = out + NAME(at)(s, n, c);
    if (s->area == 1) {
      for (int j = 0; j < count; j++)
        to[j] = (g[j] - level[j] - (from[j] - mean[j]) * slope[j]) * scale[j];
      continue;
    }
    for (int j = 0; j < count; j++, g += s->area, from += s->area, to += s->area)
      for (int64_t i = 0; i < s->area; i++)
        to[i] = (g[i] - level[j] - (from[i] - mean[j]) * slope[j]) * scale[j];
  }
}

// Mean and 1 / sqrt(variance + eps) of the block, from the batch (two passes, then the running ones follow) or from the
// running statistics.
static void NAME(statistics)(const Norm *p, int64_t c, int count, double *mean, double *invstd) {
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
  NAME(sums)(s, p->x, c, count, mean);
  for (int j = 0; j < count; j++)
    mean[j] /= n;
  NAME(squares)(s, p->x, c, count, mean, squares);
  double momentum = p->params->momentum;
  for (int j = 0; j < count; j++) {
    invstd[j] = 1 / sqrt(squares[j] / n + p->params->eps);
    if (running_mean)
      running_mean[c + j] = (T)((1 - momentum) * (double)running_mean[c + j] + momentum * mean[j]);
    if (running_var)
      running_var[c + j] = (T)((1 - momentum) * (double)running_var[c + j] + momentum * squares[j] / (n - 1));
  }
}

static void NAME(forward)(const Norm *p, int64_t c, int count) {
  const T *weight = p->weight, *bias = p->bias;
  T *mean = (T *)p->mean + c, *invstd = (T *)p->invstd + c, scale[CHANNELS], shift[CHANNELS];
  double exact_mean[CHANNELS], exact_invstd[CHANNELS];
  NAME(statistics)(p, c, count, exact_mean, exact_invstd);
  for (int j = 0; j < count; j++) {
    mean[j] = (T)exact_mean[j];
    invstd[j] = (T)exact_invstd[j];
    scale[j] = invstd[j] * (weight ? weight[c + j] : 1);
    shift[j] = bias ? bias[c + j] : 0;
  }
  NAME(normalise)(&p->s, p->x, c, count, mean, scale, shift, p->out);
}

// With the batch's statistics, the gradient loses its mean and its part along x.
static void NAME(backward)(const Norm *p, int64_t c, int count) {
  const T *weight = p->weight, *mean = (const T *)p->mean + c, *invstd = (const T *)p->invstd + c;
  T *grad_weight = p->grad_weight, *grad_bias = p->grad_bias, scale[CHANNELS], level[CHANNELS], slope[CHANNELS];
  double exact_mean[CHANNELS], sum[CHANNELS], product[CHANNELS], n = (double)(p->s.images * p->s.area);
  for (int j = 0; j < count; j++)
    exact_mean[j] = (double)mean[j];
  NAME(sums)(&p->s, p->grad, c, count, sum);
  NAME(products)(&p->s, p->grad, p->x, c, count, exact_mean, product);
  for (int j = 0; j < count; j++) {
    bool training = p->params->training;
    grad_weight[c + j] = (T)(product[j] * (double)invstd[j]);
    grad_bias[c + j] = (T)sum[j];
    scale[j] = invstd[j] * (weight ? weight[c + j] : 1);
    level[j] = training ? (T)(sum[j] / n) : 0;
    slope[j] = training ? (T)(product[j] / n * (double)invstd[j] * (double)invstd[j]) : 0;
  }
  NAME(gradient)(&p->s, p->grad, p->x, c, count, mean, scale, level, slope, p->out);
}

#undef T
#undef NAME
