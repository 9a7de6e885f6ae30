// Simulated cuBLAS: checks the arguments, reads alpha and beta, and queues the computation in the handle's stream.
#include "cublas_v2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cudasim.h"
#include "gemm.h"
#include "inspector.h"
#include "memory.h"
#include "model/kernel.h"
#include "node.h"
#include "sim.h"
#include "stream.h"

struct cublasContext {
  cudaStream_t stream;
  int device;
  cublasMath_t math;
  cublasPointerMode_t pointer_mode;
};

// ---- handles ----

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
  if (handle == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (sim_enter() != cudaSuccess)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = sim_allocate(sizeof **handle);
  **handle = (struct cublasContext){.device = sim_current_device};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  free(handle);
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version) {
  (void)handle;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}

// Products here are the same with and without atomics.
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  (void)mode;
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

// No workspace is needed.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes) {
  (void)workspace;
  (void)bytes;
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "CUBLAS_STATUS_ALLOC_FAILED";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_ARCH_MISMATCH:
    return "CUBLAS_STATUS_ARCH_MISMATCH";
  case CUBLAS_STATUS_MAPPING_ERROR:
    return "CUBLAS_STATUS_MAPPING_ERROR";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case CUBLAS_STATUS_INTERNAL_ERROR:
    return "CUBLAS_STATUS_INTERNAL_ERROR";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  case CUBLAS_STATUS_LICENSE_ERROR:
    return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "success";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "the library was not initialized";
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "the resource allocation failed";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "an invalid value was used as an argument";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "the function failed to launch on the GPU";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "the functionality is not supported";
  default:
    return "an internal operation failed";
  }
}

// ---- operands ----

static double scalar(const void *pointer, cudaDataType type) {
  return type == CUDA_R_64F ? *(const double *)pointer : (double)*(const float *)pointer;
}

// A matrix that a kernel could not use, or not all of: says so, and fails the device as the access would.
static bool check_operand(const char *function, const char *name, const void *data, size_t bytes, int device) {
  if (bytes == 0 || !sim.config.check)
    return true;
  const char *fault = data ? sim_pointer_fault(data, device) : "nothing (NULL)";
  if (fault == NULL && sim_range_check(data, bytes) != cudaSuccess)
    fault = "too little memory: the matrix goes on beyond its allocation";
  if (fault == NULL)
    return true;
  fprintf(stderr, "cudasim: %s: %s (%p) points to %s\n", function, name, (void *)(uintptr_t)data, fault);
  sim_set_sticky(device, cudaErrorIllegalAddress);
  return false;
}

static cublasStatus_t submit(struct CUstream_st *stream, struct sim_work *work) {
  return sim_submit(stream, work, NULL) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static cublasStatus_t find_stream(cublasHandle_t handle, struct CUstream_st **stream) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  bool legacy = handle->stream == NULL || handle->stream == cudaStreamLegacy;
  if (legacy)
    *stream = sim.device[handle->device].legacy;
  else if (sim_stream_get(handle->stream, stream) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  return CUBLAS_STATUS_SUCCESS;
}

static void count_product(const struct sim_work *work) {
  (void)work;
  sim_count_kernel(&sim.counters.matrix_products);
}

// ---- products ----

struct gemm_work {
  struct sim_work base;
  struct sim_gemm gemm;
  const void *alpha, *beta; // in the device pointer mode; else NULL
  cudaDataType scalar_type;
};

static void describe_gemm(const struct sim_work *work, struct cudasim_activity *activity) {
  (void)work;
  activity->kind = CUDASIM_KERNEL;
  activity->name = "cublas gemm";
}

static void cost_gemm(const struct sim_work *base, struct sim_cost *cost) {
  const struct sim_gemm *g = &((const struct gemm_work *)base)->gemm;
  const int bytes = sim_element_bytes(g->a.type);
  const enum model_product type = bytes == 8   ? MODEL_PRODUCT_FP64
                                  : bytes == 2 ? MODEL_PRODUCT_HALF
                                               : MODEL_PRODUCT_FP32;
  const struct model_time time = model_product(sim.config.gpu, g->m, g->n, g->k, g->count, type);
  cost->engine = MODEL_KERNELS;
  cost->seconds = time.seconds;
  cost->share = time.share;
}

// The bytes from a matrix's (or batch's) first element to its last.
static size_t reach(const struct sim_matrix *matrix, int rows, int columns, int count) {
  if (rows == 0 || columns == 0 || count == 0)
    return 0;
  long long last = (long long)(columns - 1) * matrix->leading + rows + matrix->stride * (count - 1);
  return (size_t)last * sim_element_bytes(matrix->type);
}

static cudaError_t run_gemm(struct sim_work *base) {
  struct gemm_work *work = (struct gemm_work *)base;
  struct sim_gemm gemm = work->gemm;
  if (work->alpha) {
    gemm.alpha = scalar(work->alpha, work->scalar_type);
    gemm.beta = scalar(work->beta, work->scalar_type);
  }
  bool done = sim_gemm_run(&gemm);
  SIM_TELL(wrote(gemm.c.data, reach(&gemm.c, gemm.m, gemm.n, gemm.count)));
  return done ? cudaSuccess : cudaErrorLaunchFailure;
}

static bool check_shape(const struct sim_gemm *g) {
  if (g->m < 0 || g->n < 0 || g->k < 0 || g->count < 0)
    return false;
  int a_rows = g->transpose_a ? g->k : g->m, b_rows = g->transpose_b ? g->n : g->k;
  return g->a.leading >= (a_rows > 1 ? a_rows : 1) && g->b.leading >= (b_rows > 1 ? b_rows : 1) &&
         g->c.leading >= (g->m > 1 ? g->m : 1);
}

static bool check_operands(const char *function, const struct sim_gemm *g, int device) {
  int a_rows = g->transpose_a ? g->k : g->m, a_columns = g->transpose_a ? g->m : g->k;
  int b_rows = g->transpose_b ? g->n : g->k, b_columns = g->transpose_b ? g->k : g->n;
  if (g->m == 0 || g->n == 0)
    return true;
  return check_operand(function, "A", g->a.data, reach(&g->a, a_rows, a_columns, g->count), device) &&
         check_operand(function, "B", g->b.data, reach(&g->b, b_rows, b_columns, g->count), device) &&
         check_operand(function, "C", g->c.data, reach(&g->c, g->m, g->n, g->count), device);
}

static cublasStatus_t multiply(const char *function, cublasHandle_t handle, struct sim_gemm gemm, const void *alpha,
                               const void *beta, cudaDataType scalar_type) {
  struct CUstream_st *stream;
  cublasStatus_t status = find_stream(handle, &stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (!check_shape(&gemm) || alpha == NULL || beta == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (sim_sticky(stream->device) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!check_operands(function, &gemm, stream->device))
    return CUBLAS_STATUS_SUCCESS; // as on a GPU: the call succeeds, what follows fails
  bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  if (!on_device) {
    gemm.alpha = scalar(alpha, scalar_type);
    gemm.beta = scalar(beta, scalar_type);
  }
  struct gemm_work *work = sim_work_new(sizeof *work, run_gemm, NULL);
  work->base.count = count_product;
  work->base.describe = describe_gemm;
  work->base.cost = cost_gemm;
  work->gemm = gemm;
  work->alpha = on_device ? alpha : NULL;
  work->beta = on_device ? beta : NULL;
  work->scalar_type = scalar_type;
  return submit(stream, &work->base);
}

static struct sim_matrix matrix(const void *data, cudaDataType type, int leading, long long stride) {
  return (struct sim_matrix){(void *)(uintptr_t)data, type, leading, stride};
}

static bool use_tf32(cublasHandle_t handle) {
  return handle && (handle->math & 15) == CUBLAS_TF32_TENSOR_OP_MATH;
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const float *alpha, const float *A, int lda,
                                         long long strideA, const float *B, int ldb, long long strideB,
                                         const float *beta, float *C, int ldc, long long strideC, int count) {
  struct sim_gemm gemm = {.transpose_a = transa != CUBLAS_OP_N,
                          .transpose_b = transb != CUBLAS_OP_N,
                          .m = m,
                          .n = n,
                          .k = k,
                          .count = count,
                          .a = matrix(A, CUDA_R_32F, lda, strideA),
                          .b = matrix(B, CUDA_R_32F, ldb, strideB),
                          .c = matrix(C, CUDA_R_32F, ldc, strideC),
                          .tf32 = use_tf32(handle)};
  return multiply("cublasSgemm", handle, gemm, alpha, beta, CUDA_R_32F);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
                              const float *beta, float *C, int ldc) {
  return cublasSgemmStridedBatched(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const double *alpha, const double *A, int lda,
                                         long long strideA, const double *B, int ldb, long long strideB,
                                         const double *beta, double *C, int ldc, long long strideC, int count) {
  struct sim_gemm gemm = {.transpose_a = transa != CUBLAS_OP_N,
                          .transpose_b = transb != CUBLAS_OP_N,
                          .m = m,
                          .n = n,
                          .k = k,
                          .count = count,
                          .a = matrix(A, CUDA_R_64F, lda, strideA),
                          .b = matrix(B, CUDA_R_64F, ldb, strideB),
                          .c = matrix(C, CUDA_R_64F, ldc, strideC)};
  return multiply("cublasDgemm", handle, gemm, alpha, beta, CUDA_R_64F);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const double *alpha, const double *A, int lda, const double *B, int ldb,
                              const double *beta, double *C, int ldc) {
  return cublasDgemmStridedBatched(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

// The pairs of types that cuBLAS multiplies in float: A and B alike, C like them or float.
static bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC)
    return a == CUDA_R_64F && b == CUDA_R_64F && c == CUDA_R_64F;
  bool in_float = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                  compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  bool narrow = a == CUDA_R_16F || a == CUDA_R_16BF;
  return in_float && a == b && (a == CUDA_R_32F ? c == CUDA_R_32F : narrow && (c == a || c == CUDA_R_32F));
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
                                          int lda, long long strideA, const void *B, cudaDataType Btype, int ldb,
                                          long long strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
                                          long long strideC, int count, cublasComputeType_t computeType,
                                          cublasGemmAlgo_t algo) {
  (void)algo;
  if (!supported(Atype, Btype, Ctype, computeType))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  bool pedantic = computeType == CUBLAS_COMPUTE_32F_PEDANTIC;
  struct sim_gemm gemm = {.transpose_a = transa != CUBLAS_OP_N,
                          .transpose_b = transb != CUBLAS_OP_N,
                          .m = m,
                          .n = n,
                          .k = k,
                          .count = count,
                          .a = matrix(A, Atype, lda, strideA),
                          .b = matrix(B, Btype, ldb, strideB),
                          .c = matrix(C, Ctype, ldc, strideC)};
  gemm.tf32 = Atype == CUDA_R_32F && !pedantic && (computeType == CUBLAS_COMPUTE_32F_FAST_TF32 || use_tf32(handle));
  return multiply("cublasGemmEx", handle, gemm, alpha, beta, Ctype == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0, beta, C,
                                    Ctype, ldc, 0, 1, computeType, algo);
}

// ---- vectors ----

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
  for (int i = 0; i < length; i++) {
    float *out = &y[(long)i * w->incy];
    if (w->a)
      *out = alpha * dot(w, i) + (beta == 0 ? 0 : beta * *out);
    else
      *out += alpha * x[(long)i * w->incx];
    SIM_TELL(wrote(out, sizeof *out));
  }
  return cudaSuccess;
}

static size_t vector_bytes(int n, int increment) {
  return n > 0 ? ((size_t)(n - 1) * (size_t)abs(increment) + 1) * sizeof(float) : 0;
}

static cublasStatus_t vector_operation(const char *function, cublasHandle_t handle, struct vector_work operation,
                                       size_t a_bytes, size_t x_bytes, size_t y_bytes) {
  struct CUstream_st *stream;
  cublasStatus_t status = find_stream(handle, &stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (sim_sticky(stream->device) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!check_operand(function, "A", operation.a, a_bytes, stream->device) ||
      !check_operand(function, "x", operation.x, x_bytes, stream->device) ||
      !check_operand(function, "y", operation.y, y_bytes, stream->device))
    return CUBLAS_STATUS_SUCCESS;
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    operation.alpha = *operation.alpha_pointer;
    operation.beta = operation.beta_pointer ? *operation.beta_pointer : 1;
    operation.alpha_pointer = operation.beta_pointer = NULL;
  }
  struct vector_work *work = sim_work_new(sizeof *work, run_vector, NULL);
  operation.base = work->base;
  *work = operation;
  work->base.count = count_product;
  work->base.describe = describe_vector;
  work->base.cost = cost_vector;
  return submit(stream, &work->base);
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
                              const float *A, int lda, const float *x, int incx, const float *beta, float *y,
                              int incy) {
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
  struct sim_matrix a = matrix(A, CUDA_R_32F, lda, 0);
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return vector_operation("cublasSgemv", handle, operation, reach(&a, m, n, 1), vector_bytes(transpose ? m : n, incx),
                          vector_bytes(transpose ? n : m, incy));
}

cublasStatus_t cublasSaxpy_v2(cublasHandle_t handle, int n, const float *alpha, const float *x, int incx, float *y,
                              int incy) {
  if (alpha == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  struct vector_work operation = {.n = n, .incx = incx, .incy = incy, .alpha_pointer = alpha, .x = x, .y = y};
  if (n <= 0)
    return CUBLAS_STATUS_SUCCESS;
  return vector_operation("cublasSaxpy", handle, operation, 0, vector_bytes(n, incx), vector_bytes(n, incy));
}
