// SPDX-License-Identifier: MIT
// max, min, argmax and argmin on the CPU: one kernel gives the value, its first index, or both. NaN is beyond everything.
#include "base/threads.h"
#include "op/kernel/streaming.h"
#include "op/kernel/vector.h"
#include "op/reduction/reduce.h"

enum {
  BLOCK = 4096,     // elements of a row looked at before the best block is updated
  AHEAD = 16 << 10, // bytes: a row or block is fetched that far ahead, while the end of one before it is waited for
  TILE = 512,       // columns side by side
  CHUNK = 65536,    // elements of a long row that are worth a task
  MAX_CHUNKS = 64,  // and how many such tasks
  TASK_TARGET = 16, // with that many rows a row is not cut
  PARALLEL_GRAIN = 16384,
};

// Four vectors' lanes, but so many at least that compilers keep their loop, and vectorize it, and no more than short rows have.
enum { LEAST_LANES = 32, MOST_LANES = 64 };
#define FOUR_VECTORS(T) (4 * FY_VECTOR_BYTES / (int)sizeof(T))
#define LANES_OF(T)                                                                                                    \
  (FOUR_VECTORS(T) < LEAST_LANES ? LEAST_LANES : FOUR_VECTORS(T) > MOST_LANES ? MOST_LANES : FOUR_VECTORS(T))

typedef struct Found {
  union {
    double f;
    int64_t i;
  } value;
  int64_t index; // -1: nothing yet
} Found;

typedef struct Search {
  size_t size;
  // The extremum of x[0..n), n > 0, merged into *best; the index is relative to `first`.
  void (*row)(Found *best, const void *x, int64_t n, int64_t first);
  // The same for `columns` columns of n rows, from x[0] on; rows are `stride` elements apart. Results go to values and
  // indices, either may be NULL.
  void (*column_tile)(void *values, int64_t *indices, const void *x, int64_t columns, int64_t n, int64_t stride);
  void (*put)(void *values, int64_t at, const Found *found);
} Search;

// `BEYOND` is > or <, FIELD where a value of type T fits, FLOATING 1 where T has NaNs. Comparisons alone would lose a NaN, so the
// elements are also added up: the sum is a NaN if one of them is. It also is if there are infinities of both signs, or sums beyond
// the largest number, so a NaN is then looked for.
#define DEFINE_SEARCH(NAME, T, FLOATING, FIELD, BEYOND)                                                                \
  static bool NAME##_any_nan(const T *x, int64_t n) {                                                                  \
    bool any = false;                                                                                                  \
    for (int64_t i = 0; i < n; i++)                                                                                    \
      any |= x[i] != x[i];                                                                                             \
    return any;                                                                                                        \
  }                                                                                                                    \
  static T NAME##_block(const T *x, int64_t n, bool *has_nan) {                                                        \
    enum { LANES = LANES_OF(T) };                                                                                      \
    T lane[LANES], sum[LANES], best = x[0], total = 0;                                                                 \
    int64_t i = 0;                                                                                                     \
    if (n >= LANES) {                                                                                                  \
      for (int j = 0; j < LANES; j++)                                                                                  \
        lane[j] = sum[j] = x[j];                                                                                       \
      for (i = LANES; i + LANES <= n; i += LANES) {                                                                    \
        for (int j = 0; j < LANES; j += FY_LINE / (int)sizeof(T))                                                      \
          __builtin_prefetch((const char *)(x + i + j) + AHEAD);                                                       \
        for (int j = 0; j < LANES; j++) {                                                                              \
          lane[j] = x[i + j] BEYOND lane[j] ? x[i + j] : lane[j];                                                      \
          if (FLOATING)                                                                                                \
            sum[j] += x[i + j];                                                                                        \
        }                                                                                                              \
      }                                                                                                                \
      for (int half = LANES / 2; half; half /= 2)                                                                      \
        for (int j = 0; j < half; j++) {                                                                               \
          lane[j] = lane[j + half] BEYOND lane[j] ? lane[j + half] : lane[j];                                          \
          if (FLOATING)                                                                                                \
            sum[j] += sum[j + half];                                                                                   \
        }                                                                                                              \
      best = lane[0];                                                                                                  \
      total = FLOATING ? sum[0] : 0;                                                                                   \
    }                                                                                                                  \
    for (; i < n; i++) {                                                                                               \
      best = x[i] BEYOND best ? x[i] : best;                                                                           \
      total += FLOATING ? x[i] : 0;                                                                                    \
    }                                                                                                                  \
    *has_nan = total != total && NAME##_any_nan(x, n);                                                                 \
    return best;                                                                                                       \
  }                                                                                                                    \
  /* The first place of the value, or of a NaN, in x[0..n); n where there is none. */                                  \
  static int64_t NAME##_find(const T *x, int64_t n, T value, bool nan) {                                               \
    enum { GROUP = 64 };                                                                                               \
    int64_t i = 0;                                                                                                     \
    for (; i + GROUP <= n; i += GROUP) { /* the first of a group, in vectors: a loop that ends early has none */       \
      int32_t first = GROUP;                                                                                           \
      for (int32_t j = 0; j < GROUP; j++) {                                                                            \
        int32_t at = (nan ? x[i + j] != x[i + j] : x[i + j] == value) ? j : GROUP;                                     \
        first = at < first ? at : first;                                                                               \
      }                                                                                                                \
      if (first < GROUP)                                                                                               \
        return i + first;                                                                                              \
    }                                                                                                                  \
    while (i < n && !(nan ? x[i] != x[i] : x[i] == value))                                                             \
      i++;                                                                                                             \
    return i;                                                                                                          \
  }                                                                                                                    \
  static void NAME##_row(Found *best, const void *data, int64_t n, int64_t first) {                                    \
    const T *x = data;                                                                                                 \
    T value = (T)best->value.FIELD;                                                                                    \
    int64_t at = -1;                                                                                                   \
    bool nan = false;                                                                                                  \
    if (best->index >= 0 && value != value)                                                                            \
      return;                                                                                                          \
    for (int64_t b = 0; b < n && !nan; b += BLOCK) {                                                                   \
      T found = NAME##_block(x + b, n - b < BLOCK ? n - b : BLOCK, &nan);                                              \
      if (nan || (at < 0 && best->index < 0) || found BEYOND value) {                                                  \
        value = found;                                                                                                 \
        at = b;                                                                                                        \
      }                                                                                                                \
    }                                                                                                                  \
    if (at < 0)                                                                                                        \
      return;                                                                                                          \
    at += NAME##_find(x + at, n - at, value, nan);                                                                     \
    best->value.FIELD = x[at];                                                                                         \
    best->index = first + at;                                                                                          \
  }                                                                                                                    \
  static void NAME##_columns(void *values, int64_t *indices, const void *data, int64_t columns, int64_t n,             \
                             int64_t stride) {                                                                         \
    const T *x = data;                                                                                                 \
    T best[TILE];                                                                                                      \
    int64_t index[TILE];                                                                                               \
    for (int64_t j = 0; j < columns; j++) {                                                                            \
      best[j] = x[j];                                                                                                  \
      index[j] = 0;                                                                                                    \
    }                                                                                                                  \
    for (int64_t r = 1; r < n; r++) {                                                                                  \
      const T *row = x + r * stride;                                                                                   \
      for (int64_t j = 0; j < columns; j++) {                                                                          \
        bool better = (row[j] BEYOND best[j]) | ((row[j] != row[j]) & (best[j] == best[j]));                           \
        best[j] = better ? row[j] : best[j];                                                                           \
        index[j] = better ? r : index[j];                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
    for (int64_t j = 0; values && j < columns; j++)                                                                    \
      ((T *)values)[j] = best[j];                                                                                      \
    for (int64_t j = 0; indices && j < columns; j++)                                                                   \
      indices[j] = index[j];                                                                                           \
  }                                                                                                                    \
  static void NAME##_put(void *values, int64_t at, const Found *found) {                                               \
    ((T *)values)[at] = (T)found->value.FIELD;                                                                         \
  }

#define DEFINE_SEARCHES(T, FLOATING, FIELD)                                                                            \
  DEFINE_SEARCH(max_##T, T, FLOATING, FIELD, >)                                                                        \
  DEFINE_SEARCH(min_##T, T, FLOATING, FIELD, <)
DEFINE_SEARCHES(float, 1, f)
DEFINE_SEARCHES(double, 1, f)
DEFINE_SEARCHES(int64_t, 0, i)
DEFINE_SEARCHES(int32_t, 0, i)
DEFINE_SEARCHES(uint8_t, 0, i)

#define SEARCHES_OF(T)                                                                                                 \
  {                                                                                                                    \
    {sizeof(T), max_##T##_row, max_##T##_columns, max_##T##_put}, {                                                    \
      sizeof(T), min_##T##_row, min_##T##_columns, min_##T##_put                                                       \
    }                                                                                                                  \
  }

static const Search *search_of(int dtype, bool max) {
  static const Search floats[2] = SEARCHES_OF(float), doubles[2] = SEARCHES_OF(double), longs[2] = SEARCHES_OF(int64_t),
                      ints[2] = SEARCHES_OF(int32_t), bytes[2] = SEARCHES_OF(uint8_t);
  switch (dtype) {
  case FY_FLOAT32:
    return &floats[!max];
  case FY_FLOAT64:
    return &doubles[!max];
  case FY_INT64:
    return &longs[!max];
  case FY_INT32:
    return &ints[!max];
  case FY_UINT8:
  case FY_BOOL:
    return &bytes[!max];
  default:
    return NULL;
  }
}

// ---- the work: input (outer, n, inner), row-major ----------------------------------------------------------------------

typedef struct Job {
  const char *in;
  const Search *search;
  int64_t outer, n, inner;
  int64_t chunk, chunks, tiles; // of n when inner is 1; of inner
  char *values;
  int64_t *indices;
  Found *partials; // [outer][chunks], when chunks > 1
} Job;

static void finish(const Job *job, int64_t at, const Found *found) {
  if (job->values)
    job->search->put(job->values, at, found);
  if (job->indices)
    job->indices[at] = found->index;
}

static void search_rows(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  for (int64_t task = begin; task < end; task++) {
    int64_t outer = task / job->chunks, first = task % job->chunks * job->chunk;
    int64_t n = job->n - first < job->chunk ? job->n - first : job->chunk;
    Found found = {.index = -1};
    job->search->row(&found, job->in + (outer * job->n + first) * (int64_t)job->search->size, n, first);
    if (job->chunks > 1)
      job->partials[task] = found;
    else
      finish(job, outer, &found);
  }
}

static void search_columns(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  int64_t size = (int64_t)job->search->size;
  for (int64_t task = begin; task < end; task++) {
    int64_t outer = task / job->tiles, first = task % job->tiles * TILE;
    int64_t columns = job->inner - first < TILE ? job->inner - first : TILE;
    int64_t at = outer * job->inner + first;
    job->search->column_tile(job->values ? job->values + at * size : NULL, job->indices ? job->indices + at : NULL,
                             job->in + (outer * job->n * job->inner + first) * size, columns, job->n, job->inner);
  }
}

// Joins the chunks of each row by searching their values, in order.
static void join_chunks(const Job *job) {
  int64_t size = (int64_t)job->search->size;
  for (int64_t outer = 0; outer < job->outer; outer++) {
    Found *part = job->partials + outer * job->chunks;
    for (int64_t c = 1; c < job->chunks; c++)
      job->search->row(part, job->in + (outer * job->n + part[c].index) * size, 1, part[c].index);
    finish(job, outer, part);
  }
}

static int run_rows(FyLaunch *launch, Job *job) {
  job->chunks = job->outer < TASK_TARGET ? job->n / CHUNK : 1;
  job->chunks = job->chunks < 1 ? 1 : job->chunks > MAX_CHUNKS ? MAX_CHUNKS : job->chunks;
  job->chunk = (job->n + job->chunks - 1) / job->chunks;
  job->chunks = (job->n + job->chunk - 1) / job->chunk;
  if (job->chunks > 1) {
    job->partials = launch->workspace(launch, (size_t)(job->outer * job->chunks) * sizeof(Found));
    if (!job->partials)
      return FY_LAUNCH_NO_MEMORY;
  }
  fy_parallel_for(job->outer * job->chunks, PARALLEL_GRAIN / (job->chunk + 1) + 1, search_rows, job);
  if (job->chunks > 1)
    join_chunks(job);
  return FY_LAUNCH_OK;
}

static int extremum(FyLaunch *launch, bool max, FyArray *values, FyArray *indices) {
  const FyExtremumParams *p = launch->params;
  const FyArray *in = launch->in[0];
  Job job = {.in = in->data, .search = search_of(in->dtype, max), .outer = 1, .n = 1, .inner = 1};
  if (!job.search)
    return FY_LAUNCH_NO_KERNEL;
  job.values = values ? values->data : NULL;
  job.indices = indices ? indices->data : NULL;
  for (int d = 0; d < in->ndim; d++)
    *(p->dim < 0 || d == p->dim ? &job.n : d < p->dim ? &job.outer : &job.inner) *= in->shape[d];
  if (!in->numel)
    return FY_LAUNCH_OK;
  if (job.inner == 1)
    return run_rows(launch, &job);
  job.tiles = (job.inner + TILE - 1) / TILE;
  int64_t work = job.n * (job.inner < TILE ? job.inner : TILE);
  fy_parallel_for(job.outer * job.tiles, PARALLEL_GRAIN / (work + 1) + 1, search_columns, &job);
  return FY_LAUNCH_OK;
}

int fy_cpu_max(FyLaunch *launch) {
  return extremum(launch, true, launch->out[0], NULL);
}

int fy_cpu_min(FyLaunch *launch) {
  return extremum(launch, false, launch->out[0], NULL);
}

int fy_cpu_max_dim(FyLaunch *launch) {
  return extremum(launch, true, launch->out[0], launch->out[1]);
}

int fy_cpu_min_dim(FyLaunch *launch) {
  return extremum(launch, false, launch->out[0], launch->out[1]);
}

int fy_cpu_argmax(FyLaunch *launch) {
  return extremum(launch, true, NULL, launch->out[0]);
}

int fy_cpu_argmin(FyLaunch *launch) {
  return extremum(launch, false, NULL, launch->out[0]);
}
