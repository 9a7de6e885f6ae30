// SPDX-License-Identifier: MIT
// Layer normalization of rows on the CPU, for one type. Included by layer_norm.c.
// A row is read while it is in the L1 cache: its mean, then its variance, then the result.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined NAME
#error "layer_norm_rows.h expects T, NAME(x)"
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define SUM JOIN(fy_sum_, T)
#define DOT JOIN(fy_dot_, T)
#define SQUARES JOIN(squares_block_, T)

// The sum of (x[i] - mean)^2.
static double NAME(squares)(const T *x, T mean, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i += FY_SUM_BLOCK)
    sum += SQUARES(x + i, &mean, fy_smaller(n - i, FY_SUM_BLOCK));
  return sum;
}

static void NAME(forward)(int64_t begin, int64_t end, void *context) {
  const LayerNorm *p = context;
  const T *restrict weight = p->weight, *restrict bias = p->bias;
  const int64_t n = p->s.n;
  for (int64_t row = begin; row < end; row++) {
    const T *restrict x = (const T *)p->x + row * n;
    T *restrict out = (T *)p->out + row * n;
    const T mean = (T)(SUM(x, NULL, n) / (double)n);
    const T rstd = (T)(1 / sqrt(NAME(squares)(x, mean, n) / (double)n + p->eps));
    ((T *)p->mean)[row] = mean;
    ((T *)p->rstd)[row] = rstd;
    for (int64_t i = 0; i < n; i++)
      out[i] = (x[i] - mean) * rstd * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
  }
}

// One row: see layer_norm.c. Adds to the column sums of the parameters' gradients where they are wanted. xhat and scaled are
// scratch rows.
static void NAME(backward_row)(const LayerNorm *p, int64_t row, T *restrict sums, T *restrict xhat,
                               T *restrict scaled) {
  const int64_t n = p->s.n;
  const T *restrict x = (const T *)p->x + row * n, *restrict grad = (const T *)p->grad + row * n;
  const T *restrict weight = p->weight;
  const T mean = ((const T *)p->mean)[row], rstd = ((const T *)p->rstd)[row];
  T *restrict out = (T *)p->out + row * n;
  for (int64_t i = 0; i < n; i++) {
    xhat[i] = (x[i] - mean) * rstd;
    scaled[i] = grad[i] * (weight ? weight[i] : 1);
  }
  if (sums)
    for (int64_t i = 0; i < n; i++) {
      sums[i] += grad[i] * xhat[i];
      sums[n + i] += grad[i];
    }
  const T level = (T)(SUM(scaled, NULL, n) / (double)n), slope = (T)(DOT(scaled, xhat, n) / (double)n);
  for (int64_t i = 0; i < n; i++)
    out[i] = (scaled[i] - level - xhat[i] * slope) * rstd;
}

// Chunks of rows. Column sums gather in T for a few rows at a time, then in float64.
static void NAME(backward)(int64_t begin, int64_t end, void *context) {
  LayerNorm *p = context;
  const int64_t n = p->s.n;
  T *scratch = (T *)p->scratch + atomic_fetch_add(&p->next_thread, 1) * SCRATCH_ROWS * n;
  T *sums = p->parts ? scratch + 2 * n : NULL;
  for (int64_t chunk = begin; chunk < end; chunk++) {
    const int64_t first = chunk * p->s.rows / p->chunks, last = (chunk + 1) * p->s.rows / p->chunks;
    double *part = p->parts ? p->parts + chunk * 2 * n : NULL;
    for (int64_t row = first; row < last;) {
      const int64_t stop = fy_smaller(row + GATHERED, last);
      if (sums)
        memset(sums, 0, (size_t)(2 * n) * sizeof *sums);
      for (; row < stop; row++)
        NAME(backward_row)(p, row, sums, scratch, scratch + n);
      for (int64_t i = 0; sums && i < 2 * n; i++)
        part[i] += (double)sums[i];
    }
  }
}

// The parameters' gradients: the sums of all chunks, column by column.
static void NAME(join)(int64_t begin, int64_t end, void *context) {
  const LayerNorm *p = context;
  const int64_t n = p->s.n;
  for (int64_t i = begin; i < end; i++) {
    double weight = 0, bias = 0;
    for (int64_t chunk = 0; chunk < p->chunks; chunk++) {
      weight += p->parts[chunk * 2 * n + i];
      bias += p->parts[chunk * 2 * n + n + i];
    }
    ((T *)p->grad_weight)[i] = (T)weight;
    ((T *)p->grad_bias)[i] = (T)bias;
  }
}

#undef SQUARES
#undef DOT
#undef SUM
#undef JOIN
#undef JOIN_
#undef T
#undef NAME
