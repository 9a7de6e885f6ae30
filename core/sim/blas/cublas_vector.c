// SPDX-License-Identifier: MIT
// Simulated cuBLAS: matrices by vectors, and saxpy, in float.
#include "sim/blas/cublas_impl.h"

#include <stdlib.h>

#include "sim/runtime/clock.h"
#include "sim/base/cudasim.h"
#include "sim/base/plugin.h"
#include "model/kernel.h"
#include "sim/base/sim.h"

struct vector_work {
  struct sim_work base;
  bool transpose;
  int m, n, lda, incx, incy;
  float alpha, beta;
  const float *alpha_pointer, *beta_pointer; // in the device pointer mode; else NULL
  const float *a, *x;                        // a NULL: y = alpha x + y
  float *y;
};

// A negative increment walks a vector of n elements from its far end.
static long first_index(int n, int increment) {
  return increment < 0 ? (long)(1 - n) * increment : 0;
}

static float dot(const struct vector_work *w, int row) {
  int length = w->transpose ? w->m : w->n;
  const float *x = w->x + first_index(length, w->incx);
  size_t along = w->transpose ? 1 : (size_t)w->lda;
  const float *a = w->a + (size_t)row * (w->transpose ? (size_t)w->lda : 1);
  float sum = 0;
  for (int i = 0; i < length; i++)
    sum += a[(size_t)i * along] * x[(long)i * w->incx];
  return sum;
}

static void describe_vector(const struct sim_work *work, struct cudasim_activity *activity) {
  (void)work;
  activity->kind = CUDASIM_KERNEL;
  activity->name = "cublas gemv"; // or a dot product
}

static void cost_vector(const struct sim_work *base, struct sim_cost *cost) {
  const struct vector_work *w = (const struct vector_work *)base;
  const double matrix = w->a ? (double)w->m * w->n : 0, x = w->a && w->transpose ? w->m : w->n;
  const double y = w->a && !w->transpose ? w->m : w->n;
  const struct model_time time = model_streaming(sim.config.gpu, 4 * (matrix + x + y), 4 * y, 2 * (matrix + y));
  cost->engine = MODEL_KERNELS;
  cost->seconds = time.seconds;
  cost->share = time.share;
}

static cudaError_t run_vector(struct sim_work *base) {
  struct vector_work *w = (struct vector_work *)base;
  float alpha = w->alpha_pointer ? *w->alpha_pointer : w->alpha;
  float beta = w->beta_pointer ? *w->beta_pointer : w->beta;
  int length = w->a ? (w->transpose ? w->n : w->m) : w->n;
  float *y = w->y + first_index(length, w->incy);
  const float *x = w->x + first_index(w->n, w->incx);
  const struct sim_matrix a = {(void *)(uintptr_t)w->a, CUDA_R_32F, w->lda, 0};
  const struct sim_matrix x_vector = sim_cublas_vector(w->x, CUDA_R_32F, w->incx);
  const struct sim_matrix y_vector = sim_cublas_vector(w->y, CUDA_R_32F, w->incy);
  sim_cublas_reads(&a, w->m, w->n, 1);
  sim_cublas_reads(&x_vector, 1, w->a && w->transpose ? w->m : w->n, 1);
  for (int i = 0; i < length; i++) {
    float *out = &y[(long)i * w->incy];
    if (w->a)
      *out = alpha * dot(w, i) + (beta == 0 ? 0 : beta * *out);
    else
      *out += alpha * x[(long)i * w->incx];
  }
  sim_cublas_wrote(&y_vector, 1, length, 1);
  return cudaSuccess;
}

static size_t vector_bytes(int n, int increment) {
  return n > 0 ? ((size_t)(n - 1) * (size_t)abs(increment) + 1) * sizeof(float) : 0;
}

static cublasStatus_t vector_operation(const char *function, cublasHandle_t handle, struct vector_work operation,
                                       size_t a_bytes, size_t x_bytes, size_t y_bytes) {
  struct CUstream_st *stream;
  cublasStatus_t status = sim_cublas_stream(handle, &stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (sim_sticky(stream->device) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!sim_cublas_check(function, "A", operation.a, a_bytes, stream->device) ||
      !sim_cublas_check(function, "x", operation.x, x_bytes, stream->device) ||
      !sim_cublas_check(function, "y", operation.y, y_bytes, stream->device))
    return CUBLAS_STATUS_SUCCESS;
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    operation.alpha = *operation.alpha_pointer;
    operation.beta = operation.beta_pointer ? *operation.beta_pointer : 1;
    operation.alpha_pointer = operation.beta_pointer = NULL;
  }
  struct vector_work *work = sim_work_new(sizeof *work, run_vector, NULL);
  operation.base = work->base;
  *work = operation;
  work->base.count = sim_cublas_count;
  work->base.describe = describe_vector;
  work->base.cost = cost_vector;
  return sim_cublas_submit(stream, &work->base);
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
                              const float *A, int lda, const float *x, int incx, const float *beta, float *y,
                              int incy) {
  SIM_CALLED();
  if (m < 0 || n < 0 || lda < (m > 1 ? m : 1) || incx == 0 || incy == 0 || alpha == NULL || beta == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  bool transpose = trans != CUBLAS_OP_N;
  struct vector_work operation = {.transpose = transpose,
                                  .m = m,
                                  .n = n,
                                  .lda = lda,
                                  .incx = incx,
                                  .incy = incy,
                                  .alpha_pointer = alpha,
                                  .beta_pointer = beta,
                                  .a = A,
                                  .x = x,
                                  .y = y};
  struct sim_matrix a = {(void *)(uintptr_t)A, CUDA_R_32F, lda, 0};
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return vector_operation("cublasSgemv", handle, operation, sim_cublas_reach(&a, m, n, 1),
                          vector_bytes(transpose ? m : n, incx), vector_bytes(transpose ? n : m, incy));
}

cublasStatus_t cublasSaxpy_v2(cublasHandle_t handle, int n, const float *alpha, const float *x, int incx, float *y,
                              int incy) {
  SIM_CALLED();
  if (alpha == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  struct vector_work operation = {.n = n, .incx = incx, .incy = incy, .alpha_pointer = alpha, .x = x, .y = y};
  if (n <= 0)
    return CUBLAS_STATUS_SUCCESS;
  return vector_operation("cublasSaxpy", handle, operation, 0, vector_bytes(n, incx), vector_bytes(n, incy));
}
