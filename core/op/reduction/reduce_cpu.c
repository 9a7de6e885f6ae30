// SPDX-License-Identifier: MIT
// sum and mean on the CPU.
//
// Outputs are summed in one of two ways, whichever reads the memory in its order. By rows: the terms of an output lie side by
// side, as in the sum of each row of a matrix; an output is summed and stored, then the next. By columns: the outputs lie side by
// side, as in the sum of each column; rows are added onto a row of sums.
//
// The work is cut by the shape alone, never by the number of threads, so a sum has the same bits on any machine width:
// task = (outer output, tile of inner outputs, chunk of the terms). One output of many terms is cut into chunks, whose sums are
// kept aside and added up at the end, in their order.
#include "base/threads.h"
#include "op/reduction/reduce.h"
#include "op/reduction/reduce_cpu.h"
#include "tensor/half.h"
#include <string.h>

enum {
  TILE = 1024,      // outputs that one task accumulates side by side
  BLOCK_ROWS = 64,  // rows of float32 terms added before going to double
  CHUNK = 32768,    // fewest terms worth a task of their own
  MAX_CHUNKS = 64,  // chunks per output
  TASK_TARGET = 16, // with that many tasks the terms need not be cut
  NARROW = 16,      // rows shorter than this are summed by columns
  PARALLEL_GRAIN = 16384,
};

typedef union Sum {
  double f; // of floating terms
  int64_t i;
} Sum;

typedef struct Terms {
  size_t size;
  bool floating;
  // Adds n terms, `stride` elements apart, to *sum.
  void (*row)(Sum *sum, const void *x, int64_t n, int64_t stride);
  // Adds `rows` rows of n terms to sum[0..n): term j of row r is x[r * row_stride + j * stride].
  void (*columns)(Sum *sum, const void *x, int64_t n, int64_t stride, int64_t rows, int64_t row_stride);
  // NULL, or: adds n <= FY_SUM_BLOCK terms, side by side, to each of two sums.
  void (*two_rows)(Sum *sum, const void *x, Sum *other, const void *y, int64_t n);
} Terms;

// ---- the inner loops -------------------------------------------------------------------------------------------------

#define T float
#define NAME(x) float_##x
#define float_sum_of fy_sum_float
#define float_pair_of fy_sum_float_pair
#include "op/reduction/reduce_floats.h"

#define T double
#define NAME(x) double_##x
#define double_sum_of fy_sum_double
#define double_pair_of fy_sum_double_pair
#include "op/reduction/reduce_floats.h"

// bfloat16 terms, as rows of float32 ones made in a buffer in the nearest cache.
enum { WIDENED = 1024 };

static void widen(float *restrict to, const uint16_t *restrict from, int64_t n, int64_t stride) {
  if (stride == 1)
    fy_widen_bfloat16(to, from, n);
  else
    for (int64_t i = 0; i < n; i++)
      to[i] = fy_bfloat16_to_float(from[i * stride]);
}

static void bfloat16_row(Sum *sum, const void *data, int64_t n, int64_t stride) {
  const uint16_t *x = data;
  float terms[WIDENED];
  for (int64_t i = 0; i < n; i += WIDENED) {
    int64_t count = n - i < WIDENED ? n - i : WIDENED;
    widen(terms, x + i * stride, count, stride);
    float_row(sum, terms, count, 1);
  }
}

static void bfloat16_columns(Sum *sum, const void *data, int64_t n, int64_t stride, int64_t rows, int64_t row_stride) {
  enum { ROWS = 4 };
  const uint16_t *x = data;
  float terms[ROWS][TILE], part[TILE];
  for (int64_t r = 0; r < rows; r += BLOCK_ROWS) {
    int64_t end = r + BLOCK_ROWS < rows ? r + BLOCK_ROWS : rows;
    memset(part, 0, (size_t)n * sizeof *part);
    for (int64_t i = r; i < end; i += ROWS) {
      int64_t count = end - i < ROWS ? end - i : ROWS;
      for (int64_t k = 0; k < count; k++)
        widen(terms[k], x + (i + k) * row_stride, n, stride);
      float_add_rows(part, terms[0], n, count, TILE);
    }
    for (int64_t j = 0; j < n; j++)
      sum[j].f += (double)part[j];
  }
}

// Integers add up in 64 bits, and wrap around.
#define DEFINE_INTEGER_SUMS(T)                                                                                         \
  static void row_##T(Sum *sum, const void *data, int64_t n, int64_t stride) {                                         \
    const T *x = data;                                                                                                 \
    uint64_t total = 0;                                                                                                \
    if (stride == 1)                                                                                                   \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        total += (uint64_t)x[i];                                                                                       \
    else                                                                                                               \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        total += (uint64_t)x[i * stride];                                                                              \
    sum->i = (int64_t)((uint64_t)sum->i + total);                                                                      \
  }                                                                                                                    \
  static void columns_##T(Sum *sum, const void *data, int64_t n, int64_t stride, int64_t rows, int64_t row_stride) {   \
    const T *x = data;                                                                                                 \
    for (int64_t r = 0; r < rows; r++, x += row_stride)                                                                \
      for (int64_t j = 0; j < n; j++)                                                                                  \
        sum[j].i = (int64_t)((uint64_t)sum[j].i + (uint64_t)x[j * stride]);                                            \
  }
DEFINE_INTEGER_SUMS(uint8_t)
DEFINE_INTEGER_SUMS(int32_t)
DEFINE_INTEGER_SUMS(int64_t)

static const Terms *terms_of(int dtype) {
  static const Terms floats = {sizeof(float), true, float_row, float_columns, float_two_rows};
  static const Terms bfloats = {sizeof(uint16_t), true, bfloat16_row, bfloat16_columns, NULL};
  static const Terms doubles = {sizeof(double), true, double_row, double_columns, double_two_rows};
  static const Terms bytes = {1, false, row_uint8_t, columns_uint8_t, NULL};
  static const Terms ints = {sizeof(int32_t), false, row_int32_t, columns_int32_t, NULL};
  static const Terms longs = {sizeof(int64_t), false, row_int64_t, columns_int64_t, NULL};
  switch (dtype) {
  case FY_FLOAT32:
    return &floats;
  case FY_BFLOAT16:
    return &bfloats;
  case FY_FLOAT64:
    return &doubles;
  case FY_BOOL:
  case FY_UINT8:
    return &bytes;
  case FY_INT32:
    return &ints;
  case FY_INT64:
    return &longs;
  default:
    return NULL;
  }
}

// ---- cutting the work ------------------------------------------------------------------------------------------------

typedef struct Job {
  const char *in;
  const Terms *terms;
  FyReducePlan plan; // kept: the outer outputs only
  int64_t outer_count;
  FyReduceDim inner; // outputs that a task accumulates side by side; size 1 when the terms are summed row by row
  int64_t tile, tiles, chunk, chunks;
  Sum *partials; // [outer][tiles][chunks][tile], when chunks > 1
  const FyArray *out;
  double divisor;
} Job;

static int64_t offset_of(const FyReduceDim *dims, int n, int64_t index) {
  int64_t offset = 0;
  for (int d = n - 1; d > 0; d--) {
    offset += index % dims[d].size * dims[d].stride;
    index /= dims[d].size;
  }
  return n ? offset + index * dims[0].stride : 0;
}

static void store(const Job *job, int64_t at, const Sum *sum, int64_t n) {
  switch (job->out->dtype) {
  case FY_FLOAT32:
    for (int64_t j = 0; j < n; j++)
      ((float *)job->out->data)[at + j] = (float)(sum[j].f / job->divisor);
    break;
  case FY_BFLOAT16:
    for (int64_t j = 0; j < n; j++)
      ((uint16_t *)job->out->data)[at + j] = fy_float_to_bfloat16((float)(sum[j].f / job->divisor));
    break;
  case FY_FLOAT64:
    for (int64_t j = 0; j < n; j++)
      ((double *)job->out->data)[at + j] = sum[j].f / job->divisor;
    break;
  default:
    for (int64_t j = 0; j < n; j++)
      ((int64_t *)job->out->data)[at + j] = sum[j].i;
  }
}

static void merge(const Job *job, Sum *sum, const Sum *part, int64_t n) {
  for (int64_t j = 0; j < n; j++)
    if (job->terms->floating)
      sum[j].f += part[j].f;
    else
      sum[j].i = (int64_t)((uint64_t)sum[j].i + (uint64_t)part[j].i);
}

// Rows of a few terms that lie end to end are added as wider rows, and the wide sum is folded: full vectors.
static void add_columns(const Job *job, Sum *sum, const char *x, int64_t n, int64_t rows, int64_t row_stride) {
  const Terms *terms = job->terms;
  int64_t factor = TILE / 4 / n;
  if (job->inner.stride == 1 && row_stride == n && factor > 1 && rows >= 4 * factor) {
    Sum wide[TILE / 4];
    memset(wide, 0, (size_t)(n * factor) * sizeof(Sum));
    terms->columns(wide, x, n * factor, 1, rows / factor, n * factor);
    for (int64_t k = 0; k < factor; k++)
      merge(job, sum, wide + k * n, n);
    int64_t done = rows / factor * factor;
    x += done * n * (int64_t)terms->size;
    rows -= done;
  }
  terms->columns(sum, x, n, job->inner.stride, rows, row_stride);
}

// Adds the terms [begin, end) of `n` neighboring outputs, the first of which starts at x.
static void accumulate(const Job *job, Sum *sum, const char *x, int64_t n, int64_t begin, int64_t end) {
  const FyReducePlan *plan = &job->plan;
  int outer = plan->n_reduced - 1;
  FyReduceDim inner = plan->reduced[outer];
  for (int64_t at = begin, length; at < end; at += length) {
    int64_t first = outer ? at % inner.size : at;
    length = inner.size - first < end - at ? inner.size - first : end - at;
    int64_t offset = first * inner.stride + (outer ? offset_of(plan->reduced, outer, at / inner.size) : 0);
    const char *from = x + offset * (int64_t)job->terms->size;
    if (job->inner.size == 1)
      job->terms->row(sum, from, length, inner.stride);
    else
      add_columns(job, sum, from, n, length, inner.stride);
  }
}

static void run_tasks(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  Sum sum[TILE];
  for (int64_t task = begin; task < end; task++) {
    int64_t chunk = job->chunks > 1 ? task % job->chunks : 0;
    int64_t group = job->chunks > 1 ? task / job->chunks : task;
    int64_t tile = job->tiles > 1 ? group % job->tiles : 0;
    int64_t outer = job->tiles > 1 ? group / job->tiles : group;
    int64_t first = tile * job->tile;
    int64_t n = job->inner.size - first < job->tile ? job->inner.size - first : job->tile;
    int64_t from = chunk * job->chunk;
    int64_t to = from + job->chunk < job->plan.reduced_count ? from + job->chunk : job->plan.reduced_count;
    int64_t offset = offset_of(job->plan.kept, job->plan.n_kept, outer) + first * job->inner.stride;
    memset(sum, 0, (size_t)n * sizeof(Sum));
    accumulate(job, sum, job->in + offset * (int64_t)job->terms->size, n, from, to);
    if (job->chunks > 1)
      memcpy(job->partials + task * job->tile, sum, (size_t)n * sizeof(Sum));
    else
      store(job, outer * job->inner.size + first, sum, n);
  }
}

static const char *terms_at(const Job *job, int64_t output) {
  return job->in + offset_of(job->plan.kept, job->plan.n_kept, output) * (int64_t)job->terms->size;
}

// Outputs [begin, end) whose terms are one run each, as those of a matrix's rows: a tile of sums is stored at a time. Short rows are
// read as pairs that lie far apart, as the blocks of a long sum are (reduce_cpu.h).
static void run_rows(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  const Terms *terms = job->terms;
  const FyReduceDim row = job->plan.reduced[0];
  const bool pairs = terms->two_rows && row.stride == 1 && row.size <= FY_SUM_BLOCK;
  Sum sum[TILE];
  for (int64_t first = begin, n; first < end; first += n) {
    n = end - first < TILE ? end - first : TILE;
    memset(sum, 0, (size_t)n * sizeof(Sum));
    const int64_t half = pairs ? n / 2 : 0;
    for (int64_t i = 0; i < half; i++)
      terms->two_rows(&sum[i], terms_at(job, first + i), &sum[half + i], terms_at(job, first + half + i), row.size);
    for (int64_t i = 2 * half; i < n; i++)
      terms->row(&sum[i], terms_at(job, first + i), row.size, row.stride);
    store(job, first, sum, n);
  }
}

static void join_chunks(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  for (int64_t group = begin; group < end; group++) {
    int64_t first = group % job->tiles * job->tile;
    int64_t n = job->inner.size - first < job->tile ? job->inner.size - first : job->tile;
    Sum *sum = job->partials + group * job->chunks * job->tile;
    for (int64_t c = 1; c < job->chunks; c++)
      merge(job, sum, sum + c * job->tile, n);
    store(job, group / job->tiles * job->inner.size + first, sum, n);
  }
}

static bool by_columns(const FyReducePlan *plan) {
  if (fy_reduce_by_columns(plan))
    return true;
  return plan->n_kept && plan->reduced[plan->n_reduced - 1].size < NARROW &&
         plan->kept[plan->n_kept - 1].size >= NARROW;
}

static void cut(Job *job) {
  FyReducePlan *plan = &job->plan;
  job->inner = (FyReduceDim){1, 0};
  job->outer_count = plan->kept_count;
  if (by_columns(plan)) {
    job->inner = plan->kept[--plan->n_kept];
    job->outer_count /= job->inner.size;
  }
  if (!plan->n_reduced)
    plan->reduced[plan->n_reduced++] = (FyReduceDim){1, 0};
  job->tile = job->inner.size < TILE ? job->inner.size : TILE;
  job->tiles = (job->inner.size + job->tile - 1) / job->tile;
  job->chunks = 1;
  if (job->outer_count * job->tiles < TASK_TARGET)
    job->chunks = plan->reduced_count / (CHUNK / job->tile);
  job->chunks = job->chunks < 1 ? 1 : job->chunks > MAX_CHUNKS ? MAX_CHUNKS : job->chunks;
  job->chunk = (plan->reduced_count + job->chunks - 1) / job->chunks;
}

static int reduce(FyLaunch *launch, bool mean) {
  const FyReduceParams *p = launch->params;
  const FyArray *in = launch->in[0];
  Job job = {.in = in->data, .terms = terms_of(in->dtype), .out = launch->out[0], .divisor = 1};
  if (!job.terms)
    return FY_LAUNCH_NO_KERNEL;
  job.plan = fy_reduce_plan(in, p->dims);
  if (!job.plan.kept_count)
    return FY_LAUNCH_OK;
  if (mean)
    job.divisor = (double)job.plan.reduced_count;
  cut(&job);
  int64_t groups = job.outer_count * job.tiles, tasks = groups * job.chunks;
  if (job.chunks > 1) {
    job.partials = launch->workspace(launch, (size_t)(tasks * job.tile) * sizeof(Sum));
    if (!job.partials)
      return FY_LAUNCH_NO_MEMORY;
  }
  int64_t work = job.chunk * job.tile;
  bool rows = job.inner.size == 1 && job.chunks == 1 && job.plan.n_reduced == 1;
  fy_parallel_for(tasks, work < PARALLEL_GRAIN ? PARALLEL_GRAIN / (work + 1) : 1, rows ? run_rows : run_tasks, &job);
  if (job.chunks > 1)
    fy_parallel_for(groups, TASK_TARGET, join_chunks, &job);
  return FY_LAUNCH_OK;
}

int fy_cpu_sum(FyLaunch *launch) {
  return reduce(launch, false);
}

int fy_cpu_mean(FyLaunch *launch) {
  return reduce(launch, true);
}
