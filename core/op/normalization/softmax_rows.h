// SPDX-License-Identifier: MIT
// Softmax of rows and of columns on the CPU, for one type. Included by softmax.c.
// Each row is read while it is in cache: its maximum, then exponentials and their sum, then the result.
//
// Expects, for each inclusion: T, the element type; S, the end of names for it (f32 or f64). No include guard.
#if !defined T || !defined S
#error "softmax_rows.h expects T, S"
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, S)
#define EXP JOIN(fy_exp_, S)
#define SUM JOIN(fy_sum_, T)
#define DOT JOIN(fy_dot_, T)
#define MAX JOIN(fy_max_, T)

static void NAME(forward_row_)(T *restrict y, const T *restrict x, int64_t n, bool take_log) {
  T max = MAX(x, n);
  for (int64_t i = 0; i < n; i++)
    y[i] = EXP(x[i] - max);
  double sum = SUM(y, NULL, n);
  T log_sum = (T)log(sum), factor = (T)(1 / sum);
  if (take_log)
    for (int64_t i = 0; i < n; i++)
      y[i] = x[i] - max - log_sum;
  else
    for (int64_t i = 0; i < n; i++)
      y[i] *= factor;
}

static void NAME(backward_row_)(T *restrict out, const T *restrict grad, const T *restrict y, int64_t n,
                                bool take_log) {
  T sum = (T)(take_log ? SUM(grad, NULL, n) : DOT(grad, y, n));
  if (take_log)
    for (int64_t i = 0; i < n; i++)
      out[i] = grad[i] - EXP(y[i]) * sum;
  else
    for (int64_t i = 0; i < n; i++)
      out[i] = (grad[i] - sum) * y[i];
}

// `columns` <= TILE columns side by side; the elements of a column are `stride` apart.
static void NAME(forward_columns_)(T *restrict y, const T *restrict x, int64_t columns, int64_t n, int64_t stride,
                                   bool take_log) {
  T max[TILE], sum[TILE];
  for (int64_t j = 0; j < columns; j++) {
    max[j] = x[j];
    sum[j] = 0;
  }
  for (int64_t i = 1; i < n; i++)
    for (int64_t j = 0; j < columns; j++)
      max[j] = x[i * stride + j] > max[j] ? x[i * stride + j] : max[j];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < columns; j++) {
      T e = EXP(x[i * stride + j] - max[j]);
      y[i * stride + j] = e;
      sum[j] += e;
    }
  for (int64_t j = 0; j < columns; j++)
    sum[j] = take_log ? (T)log(sum[j]) : 1 / sum[j];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < columns; j++) {
      int64_t at = i * stride + j;
      y[at] = take_log ? x[at] - max[j] - sum[j] : y[at] * sum[j];
    }
}

static void NAME(backward_columns_)(T *restrict out, const T *restrict grad, const T *restrict y, int64_t columns,
                                    int64_t n, int64_t stride, bool take_log) {
  T sum[TILE];
  memset(sum, 0, (size_t)columns * sizeof(T));
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < columns; j++)
      sum[j] += take_log ? grad[i * stride + j] : grad[i * stride + j] * y[i * stride + j];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < columns; j++) {
      int64_t at = i * stride + j;
      out[at] = take_log ? grad[at] - EXP(y[at]) * sum[j] : (grad[at] - sum[j]) * y[at];
    }
}

static void NAME(run_)(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  FySoftmaxShape s = job->shape;
  T *out = job->out;
  const T *a = job->a, *y = job->y;
  for (int64_t task = begin; task < end; task++) {
    if (s.inner == 1) {
      if (y)
        NAME(backward_row_)(out + task * s.n, a + task * s.n, y + task * s.n, s.n, job->take_log);
      else
        NAME(forward_row_)(out + task * s.n, a + task * s.n, s.n, job->take_log);
      continue;
    }
    int64_t first = task % job->tiles * TILE, at = task / job->tiles * s.n * s.inner + first;
    int64_t columns = s.inner - first < TILE ? s.inner - first : TILE;
    if (y)
      NAME(backward_columns_)(out + at, a + at, y + at, columns, s.n, s.inner, job->take_log);
    else
      NAME(forward_columns_)(out + at, a + at, columns, s.n, s.inner, job->take_log);
  }
}

#undef MAX
#undef DOT
#undef SUM
#undef EXP
#undef NAME
#undef JOIN
#undef JOIN_
#undef T
#undef S
