// SPDX-License-Identifier: MIT
// Cross entropy of rows on the CPU for one type: included by cross_entropy.c with T (float or double) and S (f32 or f64)
// defined. No include guard.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, S)
#define EXP JOIN(fy_exp_, S)
#define LOG JOIN(fy_log_, S)
#define SUM JOIN(fy_sum_, T)
#define MAX JOIN(fy_max_, T)

// The loss of a row, -log p[t], from what is larger than p: log(sum of e^(x - max)) - (x[t] - max). A row whose target is
// ignored has none.
static T NAME(row_loss_)(const Rows *rows, int64_t r, T max, T log_sum) {
  const T *x = (const T *)rows->x + r * rows->classes;
  int64_t t = rows->target[r];
  return t == rows->ignore_index ? 0 : log_sum - (x[t] - max);
}

// Row r: p[i] = e^(x[i] - max) / sum. Taking the maximum away keeps every power at or below 1, and cancels in the quotient.
static void NAME(forward_row_)(const Rows *rows, int64_t r) {
  int64_t n = rows->classes;
  const T *restrict x = (const T *)rows->x + r * n;
  T *restrict p = (T *)rows->p + r * n;
  T max = MAX(x, n);
  for (int64_t i = 0; i < n; i++)
    p[i] = EXP(x[i] - max);
  double sum = SUM(p, NULL, n);
  T factor = (T)(1 / sum);
  for (int64_t i = 0; i < n; i++)
    p[i] *= factor;
  ((T *)rows->losses)[r] = NAME(row_loss_)(rows, r, max, (T)log(sum));
}

// The same of `count` rows from r on, of a few classes each, transposed: a vector holds the same class of many rows.
static void NAME(forward_narrow_rows_)(const Rows *rows, int64_t r, int64_t count) {
  int64_t n = rows->classes;
  const T *restrict x = (const T *)rows->x + r * n;
  T *restrict p = (T *)rows->p + r * n;
  T tile[NARROW][LANES], max[LANES], sum[LANES], factor[LANES];
  for (int64_t k = 0; k < LANES; k++)
    for (int64_t i = 0; i < n; i++)
      tile[i][k] = x[(k < count ? k : 0) * n + i];
  for (int k = 0; k < LANES; k++) {
    max[k] = -(T)INFINITY;
    sum[k] = 0;
  }
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < LANES; k++)
      max[k] = tile[i][k] > max[k] ? tile[i][k] : max[k];
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < LANES; k++) {
      tile[i][k] = EXP(tile[i][k] - max[k]);
      sum[k] += tile[i][k];
    }
  for (int k = 0; k < LANES; k++) {
    factor[k] = 1 / sum[k];
    sum[k] = LOG(sum[k]);
  }
  for (int64_t k = 0; k < count; k++) {
    for (int64_t i = 0; i < n; i++)
      p[k * n + i] = tile[i][k] * factor[k];
    ((T *)rows->losses)[r + k] = NAME(row_loss_)(rows, r + k, max[k], sum[k]);
  }
}

static void NAME(forward_)(int64_t begin, int64_t end, void *context) {
  const Rows *rows = context;
  for (int64_t r = begin, count; r < end; r += count) {
    bool narrow = rows->classes <= NARROW;
    count = !narrow ? 1 : end - r < LANES ? end - r : LANES;
    if (narrow)
      NAME(forward_narrow_rows_)(rows, r, count);
    else
      NAME(forward_row_)(rows, r);
  }
}

// The losses, summed in their order, and how many rows count.
static void NAME(reduce_)(const Rows *rows, T *out, T *count) {
  const T *losses = rows->losses;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t r = 0; r < rows->n; r++) {
    sum += (double)losses[r];
    counted += rows->target[r] != rows->ignore_index;
  }
  *count = (T)counted;
  if (rows->reduction != FY_LOSS_NONE)
    *out = (T)(rows->reduction == FY_LOSS_MEAN ? sum / (double)counted : sum);
}

// grad_x[i] = (p[i] - (i is the target)) * scale, scale being the gradient of the row's loss: 0 of an ignored one.
static void NAME(backward_)(int64_t begin, int64_t end, void *context) {
  const Rows *rows = context;
  const T *grad = rows->grad, *count = rows->count;
  int64_t n = rows->classes;
  for (int64_t r = begin; r < end; r++) {
    const T *restrict p = (const T *)rows->p + r * n;
    T *restrict out = (T *)rows->grad_x + r * n;
    int64_t t = rows->target[r];
    bool ignored = t == rows->ignore_index;
    T scale = rows->reduction == FY_LOSS_NONE ? grad[r] : rows->reduction == FY_LOSS_MEAN ? *grad / *count : *grad;
    scale = ignored ? 0 : scale;
    for (int64_t i = 0; i < n; i++)
      out[i] = p[i] * scale;
    if (!ignored)
      out[t] -= scale;
  }
}

#undef MAX
#undef SUM
#undef LOG
#undef EXP
#undef NAME
#undef JOIN
#undef JOIN_
#undef T
#undef S
