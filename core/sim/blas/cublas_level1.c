// SPDX-License-Identifier: MIT
// cuBLAS's operations on vectors. Sums are made in double and rounded once, which is at least as exact as a GPU's.
#include "sim/blas/cublas_impl.h"

#include <math.h>
#include <stdlib.h>

#include "sim/runtime/clock.h"
#include "cudasim_half.h"
#include "sim/base/plugin.h"
#include "model/kernel.h"
#include "sim/base/sim.h"

enum operation { DOT, NRM2, ASUM, SCAL, COPY, SWAP, AXPY, AMAX, AMIN };

struct vector {
  void *data;
  cudaDataType type;
  int increment;
};

struct level1_work {
  struct sim_work base;
  enum operation operation;
  int n;
  double alpha;
  const void *alpha_pointer; // in the device pointer mode; else NULL
  cudaDataType scalar_type;  // alpha's; the result's
  struct vector x, y;
  void *result;
};

static double load(const void *data, cudaDataType type, size_t at) {
  switch (type) {
  case CUDA_R_64F:
    return ((const double *)data)[at];
  case CUDA_R_16F:
    return cudasim_half_to_float(((const uint16_t *)data)[at]);
  case CUDA_R_16BF:
    return cudasim_bfloat16_to_float(((const uint16_t *)data)[at]);
  default:
    return ((const float *)data)[at];
  }
}

static void store(void *data, cudaDataType type, size_t at, double value) {
  if (type == CUDA_R_64F)
    ((double *)data)[at] = value;
  else if (type == CUDA_R_16F)
    ((uint16_t *)data)[at] = cudasim_float_to_half((float)value);
  else if (type == CUDA_R_16BF)
    ((uint16_t *)data)[at] = cudasim_float_to_bfloat16((float)value);
  else
    ((float *)data)[at] = (float)value;
}

// Where element i of n lies: a negative increment walks from the far end.
static size_t element_index(const struct vector *v, int n, int i) {
  return (size_t)(v->increment < 0 ? (long)(i - (n - 1)) * v->increment : (long)i * v->increment);
}

static double element(const struct vector *v, int n, int i) {
  return load(v->data, v->type, element_index(v, n, i));
}

static void set(const struct vector *v, int n, int i, double value) {
  const size_t at = element_index(v, n, i);
  store(v->data, v->type, at, value);
}

// The first of the greatest or least absolute values, counted from 1; 0 for no elements.
static int extreme(const struct level1_work *w) {
  int best = 0;
  double value = 0;
  for (int i = 0; i < w->n; i++) {
    const double next = fabs(element(&w->x, w->n, i));
    if (best == 0 || (w->operation == AMAX ? next > value : next < value)) {
      best = i + 1;
      value = next;
    }
  }
  return best;
}

static double total(const struct level1_work *w) {
  double sum = 0;
  for (int i = 0; i < w->n; i++) {
    const double x = element(&w->x, w->n, i);
    sum += w->operation == DOT ? x * element(&w->y, w->n, i) : w->operation == NRM2 ? x * x : fabs(x);
  }
  return w->operation == NRM2 ? sqrt(sum) : sum;
}

static void change(const struct level1_work *w) {
  const double alpha = w->alpha_pointer ? sim_cublas_scalar(w->alpha_pointer, w->scalar_type) : w->alpha;
  for (int i = 0; i < w->n; i++) {
    const double x = element(&w->x, w->n, i);
    if (w->operation == SCAL) {
      set(&w->x, w->n, i, alpha * x);
      continue;
    }
    if (w->operation == SWAP)
      set(&w->x, w->n, i, element(&w->y, w->n, i));
    set(&w->y, w->n, i, w->operation == AXPY ? alpha * x + element(&w->y, w->n, i) : x);
  }
}

// The bytes from a vector's first element to its last.
static size_t reach(const struct vector *v, int n) {
  return n > 0 ? (((size_t)n - 1) * (size_t)abs(v->increment) + 1) * sim_element_bytes(v->type) : 0;
}

static cudaError_t run_level1(struct sim_work *base) {
  const struct level1_work *w = (struct level1_work *)base;
  const bool finds = w->operation == AMAX || w->operation == AMIN;
  const struct sim_matrix x = sim_cublas_vector(w->x.data, w->x.type, w->x.increment);
  const struct sim_matrix y = sim_cublas_vector(w->y.data, w->y.type, w->y.increment);
  const struct sim_matrix result = sim_cublas_vector(w->result, finds ? CUDA_R_32I : w->scalar_type, 1);
  sim_cublas_reads(&x, 1, w->n, 1);
  if (w->operation == DOT || w->operation == AXPY || w->operation == SWAP)
    sim_cublas_reads(&y, 1, w->n, 1);
  if (finds)
    *(int *)w->result = extreme(w);
  else if (w->result)
    store(w->result, w->scalar_type, 0, total(w));
  else
    change(w);
  if (w->operation == SCAL || w->operation == SWAP)
    sim_cublas_wrote(&x, 1, w->n, 1);
  if (w->operation == AXPY || w->operation == SWAP || w->operation == COPY)
    sim_cublas_wrote(&y, 1, w->n, 1);
  sim_cublas_wrote(&result, 1, 1, 1);
  return cudaSuccess;
}

static void describe_level1(const struct sim_work *work, struct cudasim_activity *activity) {
  (void)work;
  activity->kind = CUDASIM_KERNEL;
  activity->name = "cublas vector";
}

static void cost_level1(const struct sim_work *base, struct sim_cost *cost) {
  const struct level1_work *w = (const struct level1_work *)base;
  const double bytes = (double)w->n * sim_element_bytes(w->x.type);
  const struct model_time time =
      model_streaming(sim.config.gpu, w->y.data ? 2 * bytes : bytes, w->result ? 0 : bytes, 2.0 * w->n);
  cost->engine = MODEL_KERNELS;
  cost->seconds = time.seconds;
  cost->share = time.share;
}

static bool check_vector(const char *function, const char *name, const struct vector *v, int n, int device) {
  return sim_cublas_check(function, name, v->data, reach(v, n), device);
}

static cublasStatus_t level1(const char *function, cublasHandle_t handle, struct level1_work operation) {
  struct CUstream_st *stream;
  const cublasStatus_t status = sim_cublas_stream(handle, &stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  const bool on_host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  if (sim_sticky(stream->device) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (operation.n <= 0 && operation.result == NULL)
    return CUBLAS_STATUS_SUCCESS;
  operation.n = operation.n > 0 ? operation.n : 0;
  if (operation.n > 0 &&
      (!check_vector(function, "x", &operation.x, operation.n, stream->device) ||
       (operation.y.type && operation.y.data == NULL) ||
       (operation.y.data && !check_vector(function, "y", &operation.y, operation.n, stream->device))))
    return CUBLAS_STATUS_SUCCESS; // as on a GPU: the call succeeds, what follows fails
  if (on_host && operation.alpha_pointer) {
    operation.alpha = sim_cublas_scalar(operation.alpha_pointer, operation.scalar_type);
    operation.alpha_pointer = NULL;
  }
  struct level1_work *work = sim_work_new(sizeof *work, run_level1, NULL);
  operation.base = work->base;
  *work = operation;
  work->base.count = sim_cublas_count;
  work->base.describe = describe_level1;
  work->base.cost = cost_level1;
  const cublasStatus_t submitted = sim_cublas_submit(stream, &work->base);
  if (submitted != CUBLAS_STATUS_SUCCESS || operation.result == NULL || !on_host)
    return submitted;
  return cudaStreamSynchronize(handle->stream) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static struct vector vector(const void *data, cudaDataType type, int increment) {
  return (struct vector){(void *)(uintptr_t)data, type, increment};
}

cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void *x, cudaDataType xType, int incx, const void *y,
                           cudaDataType yType, int incy, void *result, cudaDataType resultType,
                           cudaDataType executionType) {
  SIM_CALLED();
  if (result == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool narrow = xType == CUDA_R_16F || xType == CUDA_R_16BF;
  if (xType != yType || xType != resultType || sim_element_bytes(xType) == 0 || xType == CUDA_R_8I ||
      xType == CUDA_R_32I || executionType != (narrow ? CUDA_R_32F : xType))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return level1("cublasDotEx", handle,
                (struct level1_work){.operation = DOT,
                                     .n = n,
                                     .scalar_type = resultType,
                                     .x = vector(x, xType, incx),
                                     .y = vector(y, yType, incy),
                                     .result = result});
}

// The typed functions, for each letter.
#define RESULT(letter, T, TYPE, name, OPERATION)                                                                       \
  cublasStatus_t cublas##letter##name##_v2(cublasHandle_t handle, int n, const T *x, int incx, T *result) {            \
    SIM_CALLED();                                                                                                      \
    if (result == NULL)                                                                                                \
      return CUBLAS_STATUS_INVALID_VALUE;                                                                              \
    return level1(                                                                                                     \
        "cublas" #letter #name, handle,                                                                                \
        (struct level1_work){                                                                                          \
            .operation = OPERATION, .n = n, .scalar_type = TYPE, .x = vector(x, TYPE, incx), .result = result});       \
  }
#define INDEX(letter, T, TYPE, name, OPERATION)                                                                        \
  cublasStatus_t cublasI##letter##name##_v2(cublasHandle_t handle, int n, const T *x, int incx, int *result) {         \
    SIM_CALLED();                                                                                                      \
    if (result == NULL)                                                                                                \
      return CUBLAS_STATUS_INVALID_VALUE;                                                                              \
    return level1("cublasI" #letter #name, handle,                                                                     \
                  (struct level1_work){.operation = OPERATION, .n = n, .x = vector(x, TYPE, incx), .result = result}); \
  }
#define TYPED(S, T, TYPE)                                                                                              \
  cublasStatus_t cublas##S##dot_v2(cublasHandle_t handle, int n, const T *x, int incx, const T *y, int incy,           \
                                   T *result) {                                                                        \
    SIM_CALLED();                                                                                                      \
    return cublasDotEx(handle, n, x, TYPE, incx, y, TYPE, incy, result, TYPE, TYPE);                                   \
  }                                                                                                                    \
  RESULT(S, T, TYPE, nrm2, NRM2)                                                                                       \
  RESULT(S, T, TYPE, asum, ASUM)                                                                                       \
  cublasStatus_t cublas##S##scal_v2(cublasHandle_t handle, int n, const T *alpha, T *x, int incx) {                    \
    SIM_CALLED();                                                                                                      \
    if (alpha == NULL)                                                                                                 \
      return CUBLAS_STATUS_INVALID_VALUE;                                                                              \
    return level1(                                                                                                     \
        "cublas" #S "scal", handle,                                                                                    \
        (struct level1_work){                                                                                          \
            .operation = SCAL, .n = n, .alpha_pointer = alpha, .scalar_type = TYPE, .x = vector(x, TYPE, incx)});      \
  }                                                                                                                    \
  cublasStatus_t cublas##S##copy_v2(cublasHandle_t handle, int n, const T *x, int incx, T *y, int incy) {              \
    SIM_CALLED();                                                                                                      \
    return level1(                                                                                                     \
        "cublas" #S "copy", handle,                                                                                    \
        (struct level1_work){.operation = COPY, .n = n, .x = vector(x, TYPE, incx), .y = vector(y, TYPE, incy)});      \
  }                                                                                                                    \
  cublasStatus_t cublas##S##swap_v2(cublasHandle_t handle, int n, T *x, int incx, T *y, int incy) {                    \
    SIM_CALLED();                                                                                                      \
    return level1(                                                                                                     \
        "cublas" #S "swap", handle,                                                                                    \
        (struct level1_work){.operation = SWAP, .n = n, .x = vector(x, TYPE, incx), .y = vector(y, TYPE, incy)});      \
  }
TYPED(S, float, CUDA_R_32F)
TYPED(D, double, CUDA_R_64F)
INDEX(s, float, CUDA_R_32F, amax, AMAX)
INDEX(s, float, CUDA_R_32F, amin, AMIN)
INDEX(d, double, CUDA_R_64F, amax, AMAX)
INDEX(d, double, CUDA_R_64F, amin, AMIN)

cublasStatus_t cublasDaxpy_v2(cublasHandle_t handle, int n, const double *alpha, const double *x, int incx, double *y,
                              int incy) {
  SIM_CALLED();
  if (alpha == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  return level1("cublasDaxpy", handle,
                (struct level1_work){.operation = AXPY,
                                     .n = n,
                                     .alpha_pointer = alpha,
                                     .scalar_type = CUDA_R_64F,
                                     .x = vector(x, CUDA_R_64F, incx),
                                     .y = vector(y, CUDA_R_64F, incy)});
}
