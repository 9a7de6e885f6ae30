// The losses on the CPU. Rows and chunks are summed in order, so the bits do not depend on the number of threads.
#include "base/threads.h"
#include "op/loss/loss.h"
#include "op/elementwise/pointwise_math.h"
#include "op/reduction/reduce_cpu.h"

enum { BLOCK = 1024, CHUNK = 16384, PARALLEL_GRAIN = 8192 };

// ---- cross_entropy -----------------------------------------------------------------------------------------------------

typedef struct Rows {
  int64_t n, classes;
  const void *x, *grad;
  const int64_t *target;
  int64_t ignore_index;
  int reduction;
  void *stats; // (n, 2)
  const void *count;
  void *out;
} Rows;

// Rows of a few classes are taken LANES at a time, transposed: a vector holds the same class of many rows.
enum { NARROW = 16, LANES = 16 };

#define DEFINE_NARROW_ROWS(T, S)                                                                                       \
  static void narrow_stats_##S(T *restrict stats, const T *restrict x, int64_t n, int64_t rows) {                      \
    T tile[NARROW][LANES], max[LANES], sum[LANES];                                                                     \
    for (int64_t r = 0; r < LANES; r++) {                                                                              \
      const T *row = x + (r < rows ? r : 0) * n;                                                                       \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        tile[i][r] = row[i];                                                                                           \
    }                                                                                                                  \
    for (int r = 0; r < LANES; r++) {                                                                                  \
      max[r] = tile[0][r];                                                                                             \
      sum[r] = 0;                                                                                                      \
    }                                                                                                                  \
    for (int64_t i = 1; i < n; i++)                                                                                    \
      for (int r = 0; r < LANES; r++)                                                                                  \
        max[r] = tile[i][r] > max[r] ? tile[i][r] : max[r];                                                            \
    for (int64_t i = 0; i < n; i++)                                                                                    \
      for (int r = 0; r < LANES; r++)                                                                                  \
        sum[r] += fy_exp_##S(tile[i][r] - max[r]);                                                                     \
    for (int r = 0; r < LANES; r++)                                                                                    \
      sum[r] = fy_log_##S(sum[r]);                                                                                     \
    for (int64_t r = 0; r < rows; r++) {                                                                               \
      stats[2 * r] = max[r];                                                                                           \
      stats[2 * r + 1] = sum[r];                                                                                       \
    }                                                                                                                  \
  }
DEFINE_NARROW_ROWS(float, f32)
DEFINE_NARROW_ROWS(double, f64)

#define DEFINE_CROSS_ENTROPY(T, S)                                                                                     \
  static double exp_sum_##S(const T *restrict x, int64_t n, T max) {                                                   \
    T e[BLOCK];                                                                                                        \
    double sum = 0;                                                                                                    \
    for (int64_t b = 0; b < n; b += BLOCK) {                                                                           \
      int64_t length = n - b < BLOCK ? n - b : BLOCK;                                                                  \
      for (int64_t i = 0; i < length; i++)                                                                             \
        e[i] = fy_exp_##S(x[b + i] - max);                                                                             \
      sum += fy_sum_##T(e, NULL, length);                                                                              \
    }                                                                                                                  \
    return sum;                                                                                                        \
  }                                                                                                                    \
  static void stats_##S(int64_t begin, int64_t end, void *context) {                                                   \
    const Rows *rows = context;                                                                                        \
    T *stats = rows->stats;                                                                                            \
    for (int64_t r = begin; r < end; r++) {                                                                            \
      const T *x = (const T *)rows->x + r * rows->classes;                                                             \
      if (rows->classes <= NARROW) {                                                                                   \
        int64_t together = end - r < LANES ? end - r : LANES;                                                          \
        narrow_stats_##S(stats + 2 * r, x, rows->classes, together);                                                   \
        r += together - 1;                                                                                             \
        continue;                                                                                                      \
      }                                                                                                                \
      T max = fy_max_##T(x, rows->classes);                                                                            \
      stats[2 * r] = max;                                                                                              \
      stats[2 * r + 1] = (T)log(exp_sum_##S(x, rows->classes, max));                                                   \
    }                                                                                                                  \
  }                                                                                                                    \
  static void losses_##S(const Rows *rows, T *count) {                                                                 \
    const T *x = rows->x, *stats = rows->stats;                                                                        \
    T *out = rows->out;                                                                                                \
    double sum = 0;                                                                                                    \
    int64_t counted = 0;                                                                                               \
    for (int64_t r = 0; r < rows->n; r++) {                                                                            \
      int64_t t = rows->target[r];                                                                                     \
      bool ignored = t == rows->ignore_index;                                                                          \
      T loss = ignored ? 0 : stats[2 * r + 1] - (x[r * rows->classes + t] - stats[2 * r]);                             \
      if (rows->reduction == FY_LOSS_NONE)                                                                             \
        out[r] = loss;                                                                                                 \
      sum += (double)loss;                                                                                             \
      counted += !ignored;                                                                                             \
    }                                                                                                                  \
    *count = (T)counted;                                                                                               \
    if (rows->reduction != FY_LOSS_NONE)                                                                               \
      out[0] = (T)(rows->reduction == FY_LOSS_MEAN ? sum / (double)counted : sum);                                     \
  }                                                                                                                    \
  static void gradients_##S(int64_t begin, int64_t end, void *context) {                                               \
    const Rows *rows = context;                                                                                        \
    const T *grad = rows->grad, *stats = rows->stats, *count = rows->count;                                            \
    for (int64_t r = begin; r < end; r++) {                                                                            \
      const T *restrict x = (const T *)rows->x + r * rows->classes;                                                    \
      T *restrict out = (T *)rows->out + r * rows->classes;                                                            \
      int64_t t = rows->target[r];                                                                                     \
      if (t == rows->ignore_index) {                                                                                   \
        memset(out, 0, (size_t)rows->classes * sizeof(T));                                                             \
        continue;                                                                                                      \
      }                                                                                                                \
      T scale = rows->reduction == FY_LOSS_NONE   ? grad[r]                                                            \
                : rows->reduction == FY_LOSS_MEAN ? grad[0] / count[0]                                                 \
                                                  : grad[0];                                                           \
      T max = stats[2 * r], log_sum = stats[2 * r + 1];                                                                \
      for (int64_t i = 0; i < rows->classes; i++)                                                                      \
        out[i] = fy_exp_##S(x[i] - max - log_sum) * scale;                                                             \
      out[t] -= scale;                                                                                                 \
    }                                                                                                                  \
  }
DEFINE_CROSS_ENTROPY(float, f32)
DEFINE_CROSS_ENTROPY(double, f64)

static Rows rows_of(FyLaunch *launch, const FyArray *x, const FyArray *target) {
  const FyLossParams *p = launch->params;
  return (Rows){
      .n = x->ndim == 2 ? x->shape[0] : 1,
      .classes = x->shape[x->ndim - 1],
      .x = x->data,
      .target = target->data,
      .ignore_index = p->ignore_index,
      .reduction = p->reduction,
      .out = launch->out[0]->data,
  };
}

int fy_cpu_cross_entropy(FyLaunch *launch) {
  const FyArray *x = launch->in[0];
  Rows rows = rows_of(launch, x, launch->in[1]);
  rows.stats = launch->out[1]->data;
  int64_t grain = PARALLEL_GRAIN / (rows.classes + 1) + 1;
  if (x->dtype == FY_FLOAT32) {
    fy_parallel_for(rows.n, grain, stats_f32, &rows);
    losses_f32(&rows, launch->out[2]->data);
  } else if (x->dtype == FY_FLOAT64) {
    fy_parallel_for(rows.n, grain, stats_f64, &rows);
    losses_f64(&rows, launch->out[2]->data);
  } else {
    return FY_LAUNCH_NO_KERNEL;
  }
  return FY_LAUNCH_OK;
}

int fy_cpu_cross_entropy_backward(FyLaunch *launch) {
  const FyArray *x = launch->in[1];
  Rows rows = rows_of(launch, x, launch->in[2]);
  rows.grad = launch->in[0]->data;
  rows.stats = launch->in[3]->data;
  rows.count = launch->in[4]->data;
  if (x->dtype != FY_FLOAT32 && x->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  fy_parallel_for(rows.n, PARALLEL_GRAIN / (rows.classes + 1) + 1,
                  x->dtype == FY_FLOAT32 ? gradients_f32 : gradients_f64, &rows);
  return FY_LAUNCH_OK;
}

// ---- mse_loss ------------------------------------------------------------------------------------------------------------

typedef struct Pairs {
  int64_t n;
  const void *x, *target, *grad;
  int reduction;
  double *sums; // one per chunk
  void *out;
} Pairs;

#define DEFINE_MSE(T, S)                                                                                               \
  static void squares_##S(int64_t begin, int64_t end, void *context) {                                                 \
    const Pairs *pairs = context;                                                                                      \
    const T *restrict x = pairs->x, *restrict target = pairs->target;                                                  \
    T *restrict out = pairs->out;                                                                                      \
    for (int64_t i = begin; i < end; i++)                                                                              \
      out[i] = (x[i] - target[i]) * (x[i] - target[i]);                                                                \
  }                                                                                                                    \
  static void chunk_sums_##S(int64_t begin, int64_t end, void *context) {                                              \
    const Pairs *pairs = context;                                                                                      \
    for (int64_t c = begin; c < end; c++) {                                                                            \
      int64_t from = c * CHUNK, n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;                                 \
      pairs->sums[c] = fy_squared_distance_##T((const T *)pairs->x + from, (const T *)pairs->target + from, n);        \
    }                                                                                                                  \
  }                                                                                                                    \
  static void differences_##S(int64_t begin, int64_t end, void *context) {                                             \
    const Pairs *pairs = context;                                                                                      \
    const T *restrict x = pairs->x, *restrict target = pairs->target, *grad = pairs->grad;                             \
    T *restrict out = pairs->out;                                                                                      \
    if (pairs->reduction == FY_LOSS_NONE) {                                                                            \
      for (int64_t i = begin; i < end; i++)                                                                            \
        out[i] = 2 * (x[i] - target[i]) * grad[i];                                                                     \
      return;                                                                                                          \
    }                                                                                                                  \
    T scale = pairs->reduction == FY_LOSS_MEAN ? 2 * grad[0] / (T)pairs->n : 2 * grad[0];                              \
    for (int64_t i = begin; i < end; i++)                                                                              \
      out[i] = (x[i] - target[i]) * scale;                                                                             \
  }
DEFINE_MSE(float, f32)
DEFINE_MSE(double, f64)

int fy_cpu_mse_loss(FyLaunch *launch) {
  const FyLossParams *p = launch->params;
  const FyArray *x = launch->in[0];
  bool is_float = x->dtype == FY_FLOAT32;
  Pairs pairs = {.n = x->numel, .x = x->data, .target = launch->in[1]->data, .out = launch->out[0]->data};
  if (!is_float && x->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  if (p->reduction == FY_LOSS_NONE) {
    fy_parallel_for(pairs.n, PARALLEL_GRAIN, is_float ? squares_f32 : squares_f64, &pairs);
    return FY_LAUNCH_OK;
  }
  int64_t chunks = (pairs.n + CHUNK - 1) / CHUNK;
  double one, sum = 0;
  pairs.sums = chunks > 1 ? launch->workspace(launch, (size_t)chunks * sizeof(double)) : &one;
  if (!pairs.sums)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_for(chunks, 1, is_float ? chunk_sums_f32 : chunk_sums_f64, &pairs);
  for (int64_t c = 0; c < chunks; c++)
    sum += pairs.sums[c];
  if (p->reduction == FY_LOSS_MEAN)
    sum /= (double)pairs.n;
  if (is_float)
    *(float *)pairs.out = (float)sum;
  else
    *(double *)pairs.out = sum;
  return FY_LAUNCH_OK;
}

int fy_cpu_mse_loss_backward(FyLaunch *launch) {
  const FyLossParams *p = launch->params;
  const FyArray *x = launch->in[1];
  Pairs pairs = {.n = x->numel,
                 .x = x->data,
                 .target = launch->in[2]->data,
                 .grad = launch->in[0]->data,
                 .reduction = p->reduction,
                 .out = launch->out[0]->data};
  if (x->dtype != FY_FLOAT32 && x->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  fy_parallel_for(pairs.n, PARALLEL_GRAIN, x->dtype == FY_FLOAT32 ? differences_f32 : differences_f64, &pairs);
  return FY_LAUNCH_OK;
}
