// SPDX-License-Identifier: MIT
// cuBLAS's operations on many matrices that arrays of pointers name, and sums of matrices.
#include "sim/blas/cublas_impl.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/plugin.h"
#include "sim/base/sim.h"

// ---- products ----

struct batch_work {
  struct sim_work base;
  struct sim_gemm gemm; // of one of them
  const void *const *a, *const *b;
  void *const *c;
  const void *alpha, *beta; // in the device pointer mode; else NULL
  cudaDataType scalar_type;
  int count;
};

static cudaError_t run_batch(struct sim_work *base) {
  const struct batch_work *w = (const struct batch_work *)base;
  struct sim_gemm gemm = w->gemm;
  if (w->alpha) {
    gemm.alpha = sim_cublas_scalar(w->alpha, w->scalar_type);
    gemm.beta = sim_cublas_scalar(w->beta, w->scalar_type);
  }
  for (int i = 0; i < w->count; i++) {
    gemm.a.data = (void *)(uintptr_t)w->a[i];
    gemm.b.data = (void *)(uintptr_t)w->b[i];
    gemm.c.data = w->c[i];
    if (!sim_cublas_run_gemm(&gemm))
      return cudaErrorLaunchFailure;
  }
  return cudaSuccess;
}

static void describe_batch(const struct sim_work *work, struct cudasim_activity *activity) {
  (void)work;
  activity->kind = CUDASIM_KERNEL;
  activity->name = "cublas batched";
}

static cublasStatus_t batched(const char *function, cublasHandle_t handle, struct batch_work operation,
                              const void *alpha, const void *beta) {
  struct CUstream_st *stream;
  const cublasStatus_t status = sim_cublas_stream(handle, &stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  const struct sim_gemm *g = &operation.gemm;
  const int a_rows = g->transpose_a ? g->k : g->m, b_rows = g->transpose_b ? g->n : g->k;
  if (g->m < 0 || g->n < 0 || g->k < 0 || operation.count < 0 || alpha == NULL || beta == NULL ||
      g->a.leading < a_rows || g->b.leading < b_rows || g->c.leading < g->m)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (sim_sticky(stream->device) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  const size_t bytes = (size_t)operation.count * sizeof(void *);
  if (!sim_cublas_check(function, "the array of pointers to A", operation.a, bytes, stream->device) ||
      !sim_cublas_check(function, "the array of pointers to B", operation.b, bytes, stream->device) ||
      !sim_cublas_check(function, "the array of pointers to C", operation.c, bytes, stream->device))
    return CUBLAS_STATUS_SUCCESS; // as on a GPU: the call succeeds, what follows fails
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    operation.gemm.alpha = sim_cublas_scalar(alpha, operation.scalar_type);
    operation.gemm.beta = sim_cublas_scalar(beta, operation.scalar_type);
  } else {
    operation.alpha = alpha;
    operation.beta = beta;
  }
  struct batch_work *work = sim_work_new(sizeof *work, run_batch, NULL);
  operation.base = work->base;
  *work = operation;
  work->base.count = sim_cublas_count;
  work->base.describe = describe_batch;
  return sim_cublas_submit(stream, &work->base);
}

#define GEMM_BATCHED(S, T, TYPE)                                                                                       \
  cublasStatus_t cublas##S##gemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,     \
                                        int m, int n, int k, const T *alpha, const T *const *A, int lda,               \
                                        const T *const *B, int ldb, const T *beta, T *const *C, int ldc, int count) {  \
    SIM_CALLED();                                                                                                      \
    struct batch_work operation = {.gemm = {.transpose_a = transa != CUBLAS_OP_N,                                      \
                                            .transpose_b = transb != CUBLAS_OP_N,                                      \
                                            .m = m,                                                                    \
                                            .n = n,                                                                    \
                                            .k = k,                                                                    \
                                            .count = 1,                                                                \
                                            .a = {.type = TYPE, .leading = lda},                                       \
                                            .b = {.type = TYPE, .leading = ldb},                                       \
                                            .c = {.type = TYPE, .leading = ldc}},                                      \
                                   .a = (const void *const *)A,                                                        \
                                   .b = (const void *const *)B,                                                        \
                                   .c = (void *const *)C,                                                              \
                                   .scalar_type = TYPE,                                                                \
                                   .count = count};                                                                    \
    return batched("cublas" #S "gemmBatched", handle, operation, alpha, beta);                                         \
  }
GEMM_BATCHED(S, float, CUDA_R_32F)
GEMM_BATCHED(D, double, CUDA_R_64F)
GEMM_BATCHED(H, __half, CUDA_R_16F)

// ---- C = alpha op(A) + beta op(B) ----

struct sum_work {
  struct sim_work base;
  int m, n;
  bool transpose_a, transpose_b;
  double alpha, beta;
  const void *alpha_pointer, *beta_pointer; // in the device pointer mode; else NULL
  struct sim_matrix a, b, c;
  bool reads_a, reads_b;
};

static double at(const struct sim_matrix *matrix, bool transpose, int row, int column) {
  const size_t i = (size_t)(transpose ? row : column) * (size_t)matrix->leading + (size_t)(transpose ? column : row);
  return matrix->type == CUDA_R_64F ? ((const double *)matrix->data)[i] : (double)((const float *)matrix->data)[i];
}

static cudaError_t run_sum(struct sim_work *base) {
  const struct sum_work *w = (const struct sum_work *)base;
  const double alpha = w->alpha_pointer ? sim_cublas_scalar(w->alpha_pointer, w->c.type) : w->alpha;
  const double beta = w->beta_pointer ? sim_cublas_scalar(w->beta_pointer, w->c.type) : w->beta;
  if (w->reads_a)
    sim_cublas_reads(&w->a, w->transpose_a ? w->n : w->m, w->transpose_a ? w->m : w->n, 1);
  if (w->reads_b)
    sim_cublas_reads(&w->b, w->transpose_b ? w->n : w->m, w->transpose_b ? w->m : w->n, 1);
  for (int column = 0; column < w->n; column++)
    for (int row = 0; row < w->m; row++) {
      const double sum = (alpha == 0 ? 0 : alpha * at(&w->a, w->transpose_a, row, column)) +
                         (beta == 0 ? 0 : beta * at(&w->b, w->transpose_b, row, column));
      const size_t i = (size_t)column * (size_t)w->c.leading + (size_t)row;
      if (w->c.type == CUDA_R_64F)
        ((double *)w->c.data)[i] = sum;
      else
        ((float *)w->c.data)[i] = (float)sum;
    }
  sim_cublas_wrote(&w->c, w->m, w->n, 1);
  return cudaSuccess;
}

static cublasStatus_t add_matrices(const char *function, cublasHandle_t handle, struct sum_work sum) {
  struct CUstream_st *stream;
  const cublasStatus_t status = sim_cublas_stream(handle, &stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  const int a_rows = sum.transpose_a ? sum.n : sum.m, b_rows = sum.transpose_b ? sum.n : sum.m;
  if (sum.m < 0 || sum.n < 0 || sum.alpha_pointer == NULL || sum.beta_pointer == NULL || sum.a.leading < a_rows ||
      sum.b.leading < b_rows || sum.c.leading < sum.m)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (sum.m == 0 || sum.n == 0)
    return CUBLAS_STATUS_SUCCESS;
  if (sim_sticky(stream->device) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    sum.alpha = sim_cublas_scalar(sum.alpha_pointer, sum.c.type);
    sum.beta = sim_cublas_scalar(sum.beta_pointer, sum.c.type);
    sum.alpha_pointer = sum.beta_pointer = NULL;
  }
  sum.reads_a = sum.alpha_pointer || sum.alpha != 0;
  sum.reads_b = sum.beta_pointer || sum.beta != 0;
  const size_t a_bytes = sum.reads_a ? sim_cublas_reach(&sum.a, a_rows, sum.transpose_a ? sum.m : sum.n, 1) : 0;
  const size_t b_bytes = sum.reads_b ? sim_cublas_reach(&sum.b, b_rows, sum.transpose_b ? sum.m : sum.n, 1) : 0;
  if (!sim_cublas_check(function, "A", sum.a.data, a_bytes, stream->device) ||
      !sim_cublas_check(function, "B", sum.b.data, b_bytes, stream->device) ||
      !sim_cublas_check(function, "C", sum.c.data, sim_cublas_reach(&sum.c, sum.m, sum.n, 1), stream->device))
    return CUBLAS_STATUS_SUCCESS;
  struct sum_work *work = sim_work_new(sizeof *work, run_sum, NULL);
  sum.base = work->base;
  *work = sum;
  work->base.count = sim_cublas_count;
  work->base.describe = describe_batch;
  return sim_cublas_submit(stream, &work->base);
}

#define GEAM(S, T, TYPE)                                                                                               \
  cublasStatus_t cublas##S##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, const T *alpha, const T *A, int lda, const T *beta, const T *B, int ldb, T *C, \
                                 int ldc) {                                                                            \
    SIM_CALLED();                                                                                                      \
    return add_matrices("cublas" #S "geam", handle,                                                                    \
                        (struct sum_work){.m = m,                                                                      \
                                          .n = n,                                                                      \
                                          .transpose_a = transa != CUBLAS_OP_N,                                        \
                                          .transpose_b = transb != CUBLAS_OP_N,                                        \
                                          .alpha_pointer = alpha,                                                      \
                                          .beta_pointer = beta,                                                        \
                                          .a = {.data = (void *)(uintptr_t)A, .type = TYPE, .leading = lda},           \
                                          .b = {.data = (void *)(uintptr_t)B, .type = TYPE, .leading = ldb},           \
                                          .c = {.data = C, .type = TYPE, .leading = ldc}});                            \
  }
GEAM(S, float, CUDA_R_32F)
GEAM(D, double, CUDA_R_64F)

// ---- LU with partial pivoting, in place ----

struct lu_work {
  struct sim_work base;
  bool in_double;
  int n, leading, count;
  void *const *a;
  int *pivots, *info;
};

// One n x n matrix at a; pivots may be NULL: then rows stay where they are. 0, or which diagonal element of U is 0.
#define FACTORIZE(name, T, absolute)                                                                                   \
  static int name(T *a, int n, int leading, int *pivots) {                                                             \
    int singular = 0;                                                                                                  \
    for (int k = 0; k < n; k++) {                                                                                      \
      T *column = a + (size_t)k * (size_t)leading;                                                                     \
      int pivot = k;                                                                                                   \
      for (int i = k + 1; pivots && i < n; i++)                                                                        \
        if (absolute(column[i]) > absolute(column[pivot]))                                                             \
          pivot = i;                                                                                                   \
      if (pivots)                                                                                                      \
        pivots[k] = pivot + 1;                                                                                         \
      for (int j = 0; pivot != k && j < n; j++) {                                                                      \
        T *other = a + (size_t)j * (size_t)leading, swapped = other[k];                                                \
        other[k] = other[pivot];                                                                                       \
        other[pivot] = swapped;                                                                                        \
      }                                                                                                                \
      if (column[k] == 0) {                                                                                            \
        singular = singular ? singular : k + 1;                                                                        \
        continue;                                                                                                      \
      }                                                                                                                \
      for (int i = k + 1; i < n; i++)                                                                                  \
        column[i] /= column[k];                                                                                        \
      for (int j = k + 1; j < n; j++) {                                                                                \
        T *other = a + (size_t)j * (size_t)leading;                                                                    \
        for (int i = k + 1; i < n; i++)                                                                                \
          other[i] -= column[i] * other[k];                                                                            \
      }                                                                                                                \
    }                                                                                                                  \
    return singular;                                                                                                   \
  }
FACTORIZE(factorize_float, float, fabsf)
FACTORIZE(factorize_double, double, fabs)

static cudaError_t run_lu(struct sim_work *base) {
  const struct lu_work *w = (const struct lu_work *)base;
  const struct sim_matrix pointers = sim_cublas_vector(w->a, CUDA_R_64F, 1),
                          info = sim_cublas_vector(w->info, CUDA_R_32I, 1);
  const struct sim_matrix all_pivots = sim_cublas_vector(w->pivots, CUDA_R_32I, 1);
  sim_cublas_reads(&pointers, 1, w->count, 1);
  for (int i = 0; i < w->count; i++) {
    const struct sim_matrix a = {w->a[i], w->in_double ? CUDA_R_64F : CUDA_R_32F, w->leading, 0};
    int *pivots = w->pivots ? w->pivots + (size_t)i * (size_t)w->n : NULL;
    sim_cublas_reads(&a, w->n, w->n, 1);
    w->info[i] = w->in_double ? factorize_double(w->a[i], w->n, w->leading, pivots)
                              : factorize_float(w->a[i], w->n, w->leading, pivots);
    sim_cublas_wrote(&a, w->n, w->n, 1);
  }
  sim_cublas_wrote(&info, 1, w->count, 1);
  sim_cublas_wrote(&all_pivots, 1, w->count * w->n, 1);
  return cudaSuccess;
}

static cublasStatus_t factorize(const char *function, cublasHandle_t handle, struct lu_work lu) {
  struct CUstream_st *stream;
  const cublasStatus_t status = sim_cublas_stream(handle, &stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (lu.n < 0 || lu.count < 0 || lu.leading < (lu.n > 1 ? lu.n : 1))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (sim_sticky(stream->device) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  const size_t count = (size_t)lu.count;
  if (!sim_cublas_check(function, "the array of pointers to A", lu.a, count * sizeof(void *), stream->device) ||
      !sim_cublas_check(function, "info", lu.info, count * sizeof(int), stream->device) ||
      (lu.pivots &&
       !sim_cublas_check(function, "the pivots", lu.pivots, count * (size_t)lu.n * sizeof(int), stream->device)))
    return CUBLAS_STATUS_SUCCESS;
  struct lu_work *work = sim_work_new(sizeof *work, run_lu, NULL);
  lu.base = work->base;
  *work = lu;
  work->base.count = sim_cublas_count;
  work->base.describe = describe_batch;
  return sim_cublas_submit(stream, &work->base);
}

cublasStatus_t cublasSgetrfBatched(cublasHandle_t handle, int n, float *const *A, int lda, int *pivots, int *info,
                                   int count) {
  SIM_CALLED();
  return factorize(
      "cublasSgetrfBatched", handle,
      (struct lu_work){.n = n, .leading = lda, .count = count, .a = (void *const *)A, .pivots = pivots, .info = info});
}
cublasStatus_t cublasDgetrfBatched(cublasHandle_t handle, int n, double *const *A, int lda, int *pivots, int *info,
                                   int count) {
  SIM_CALLED();
  return factorize("cublasDgetrfBatched", handle,
                   (struct lu_work){.in_double = true,
                                    .n = n,
                                    .leading = lda,
                                    .count = count,
                                    .a = (void *const *)A,
                                    .pivots = pivots,
                                    .info = info});
}
