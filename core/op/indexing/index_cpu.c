// SPDX-License-Identifier: MIT
// index_select, embedding and index_add on the CPU.
#include "base/threads.h"
#include "op/indexing/index.h"
#include "op/kernel/iter.h"
#include <string.h>

enum { PARALLEL_GRAIN = 16384 };

typedef struct Job {
  FyIndexShape shape;
  const void *index;
  bool wide; // int64 indices
  char *out;
  const char *in;
  int64_t bytes; // of an element
} Job;

static int64_t index_at(const Job *job, int64_t i) {
  return job->wide ? ((const int64_t *)job->index)[i] : ((const int32_t *)job->index)[i];
}

static int64_t grain_of(const Job *job) {
  return PARALLEL_GRAIN / (job->shape.inner + 1) + 1;
}

// ---- picking: row r of the output is (r / k, index[r % k]) of the input --------------------------------------------------

#define DEFINE_PICK_ELEMENTS(BITS)                                                                                     \
  static void pick_##BITS(int64_t begin, int64_t end, void *context) {                                                 \
    const Job *job = context;                                                                                          \
    uint##BITS##_t *out = (uint##BITS##_t *)(void *)job->out;                                                          \
    const uint##BITS##_t *in = (const uint##BITS##_t *)(const void *)job->in;                                          \
    int64_t k = job->shape.k, outer = begin / k, i = begin % k;                                                        \
    for (int64_t r = begin; r < end; outer++, i = 0) {                                                                 \
      const uint##BITS##_t *row = in + outer * job->shape.n;                                                           \
      for (; i < k && r < end; i++, r++)                                                                               \
        out[r] = row[index_at(job, i)];                                                                                \
    }                                                                                                                  \
  }
DEFINE_PICK_ELEMENTS(32)
DEFINE_PICK_ELEMENTS(64)

static void pick_rows(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  int64_t bytes = job->shape.inner * job->bytes;
  int64_t outer = begin / job->shape.k, i = begin % job->shape.k;
  for (int64_t r = begin; r < end; r++) {
    memcpy(job->out + r * bytes, job->in + (outer * job->shape.n + index_at(job, i)) * bytes, (size_t)bytes);
    if (++i == job->shape.k) {
      i = 0;
      outer++;
    }
  }
}

static int pick(FyLaunch *launch, const FyArray *a, const FyArray *index, int dim) {
  Job job = {
      .shape = fy_index_shape(a, dim, index),
      .index = index->data,
      .wide = index->dtype == FY_INT64,
      .out = launch->out[0]->data,
      .in = a->data,
      .bytes = (int)fy_dtype_size(a->dtype),
  };
  bool single = job.shape.inner == 1;
  if (launch->out[0]->numel)
    fy_parallel_for(job.shape.outer * job.shape.k, grain_of(&job),
                    single && job.bytes == 4   ? pick_32
                    : single && job.bytes == 8 ? pick_64
                                               : pick_rows,
                    &job);
  return FY_LAUNCH_OK;
}

int fy_cpu_index_select(FyLaunch *launch) {
  const FyIndexParams *p = launch->params;
  return pick(launch, launch->in[0], launch->in[1], p->dim);
}

int fy_cpu_embedding(FyLaunch *launch) {
  return pick(launch, launch->in[1], launch->in[0], 0);
}

// ---- adding --------------------------------------------------------------------------------------------------------------

// Rows [begin, end) of the output's (outer, n), each by one thread, which goes through all indices for them: sums are in
// the order of the indices, for any number of threads.
#define DEFINE_ADD_ROWS(NAME, T, SUM)                                                                                  \
  static void add_rows_##NAME(int64_t begin, int64_t end, void *context) {                                             \
    const Job *job = context;                                                                                          \
    FyIndexShape s = job->shape;                                                                                       \
    for (int64_t outer = begin / s.n; outer * s.n < end; outer++)                                                      \
      for (int64_t i = 0; i < s.k; i++) {                                                                              \
        int64_t row = outer * s.n + index_at(job, i);                                                                  \
        if (row < begin || row >= end)                                                                                 \
          continue;                                                                                                    \
        T *restrict out = (T *)(void *)job->out + row * s.inner;                                                       \
        const T *restrict in = (const T *)(const void *)job->in + (outer * s.k + i) * s.inner;                         \
        for (int64_t j = 0; j < s.inner; j++)                                                                          \
          out[j] = (T)((SUM)out[j] + (SUM)in[j]);                                                                      \
      }                                                                                                                \
  }
DEFINE_ADD_ROWS(float, float, float)
DEFINE_ADD_ROWS(double, double, double)
DEFINE_ADD_ROWS(int64, int64_t, uint64_t)
DEFINE_ADD_ROWS(int32, int32_t, uint32_t)
DEFINE_ADD_ROWS(uint8, uint8_t, unsigned)

int fy_cpu_index_add(FyLaunch *launch) {
  const FyIndexParams *p = launch->params;
  const FyArray *a = launch->in[0], *index = launch->in[1];
  static void (*const add_rows[FY_DTYPE_COUNT])(int64_t, int64_t, void *) = {
      [FY_FLOAT32] = add_rows_float, [FY_FLOAT64] = add_rows_double, [FY_INT64] = add_rows_int64,
      [FY_INT32] = add_rows_int32,   [FY_UINT8] = add_rows_uint8,
  };
  Job job = {
      .shape = fy_index_shape(a, p->dim, index),
      .index = index->data,
      .wide = index->dtype == FY_INT64,
      .out = launch->out[0]->data,
      .in = launch->in[2]->data,
      .bytes = (int)fy_dtype_size(a->dtype),
  };
  if (!add_rows[a->dtype])
    return FY_LAUNCH_NO_KERNEL;
  if (a->data != launch->out[0]->data)
    memcpy(job.out, a->data, (size_t)(a->numel * job.bytes));
  // Every part reads all indices: few parts, each worth it.
  int64_t rows = job.shape.outer * job.shape.n, work = job.shape.outer * job.shape.k * job.shape.inner;
  if (a->numel && work)
    fy_parallel_for(rows, work < 4 * PARALLEL_GRAIN ? rows : 1, add_rows[a->dtype], &job);
  return FY_LAUNCH_OK;
}
