// Batch normalisation of a block of channels for one element type. Included by norm_cpu.c.
//
// Images (n, c, h, w) are read in runs of h * w values of one channel; vectors (n, c) row by row over the block's channels.
// Sums are float64: over runs they gather in float lanes of at most RUN values, which costs no accuracy that T has.
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

// out = grad * scale.
static void NAME(scaled)(const FyNormShape *s, const T *grad, int64_t c, int count, const T *restrict scale, T *out) {
  for (int64_t n = 0; n < s->images; n++) {
    const T *restrict from = grad + NAME(at)(s, n, c);
    T *restrict to = out + NAME(at)(s, n, c);
    if (s->area == 1) {
      for (int j = 0; j < count; j++)
        to[j] = from[j] * scale[j];
      continue;
    }
    for (int j = 0; j < count; j++, from += s->area, to += s->area)
      for (int64_t i = 0; i < s->area; i++)
        to[i] = from[i] * scale[j];
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

// grad_weight, grad_bias and grad_x of the block: see norm.c. The running statistics do not depend on x, so that its gradient
// is the scaled one, even where x is infinite.
static void NAME(backward)(const Norm *p, int64_t c, int count) {
  const T *weight = p->weight, *mean = (const T *)p->mean + c, *invstd = (const T *)p->invstd + c;
  T *grad_weight = p->grad_weight, *grad_bias = p->grad_bias, scale[CHANNELS], level[CHANNELS], slope[CHANNELS];
  double exact_mean[CHANNELS], sum[CHANNELS], product[CHANNELS], n = (double)(p->s.images * p->s.area);
  for (int j = 0; j < count; j++)
    exact_mean[j] = (double)mean[j];
  NAME(sums)(&p->s, p->grad, c, count, sum);
  NAME(products)(&p->s, p->grad, p->x, c, count, exact_mean, product);
  for (int j = 0; j < count; j++) {
    grad_weight[c + j] = (T)(product[j] * (double)invstd[j]);
    grad_bias[c + j] = (T)sum[j];
    scale[j] = invstd[j] * (weight ? weight[c + j] : 1);
    level[j] = (T)(sum[j] / n);
    slope[j] = (T)(product[j] / n * (double)invstd[j] * (double)invstd[j]);
  }
  if (p->params->training)
    NAME(gradient)(&p->s, p->grad, p->x, c, count, mean, scale, level, slope, p->out);
  else
    NAME(scaled)(&p->s, p->grad, c, count, scale, p->out);
}

#undef T
#undef NAME
