// SPDX-License-Identifier: MIT
// Simulated cuBLAS: checks the arguments, reads alpha and beta, and queues the computation in the handle's stream.
#include "sim/blas/cublas_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/runtime/clock.h"
#include "sim/base/cudasim.h"
#include "cudasim_half.h"
#include "sim/blas/gemm.h"
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "model/kernel.h"
#include "sim/runtime/node.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

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

double sim_cublas_scalar(const void *pointer, cudaDataType type) {
  switch (type) {
  case CUDA_R_64F:
    return *(const double *)pointer;
  case CUDA_R_32I:
    return *(const int *)pointer;
  case CUDA_R_16F:
    return cudasim_half_to_float(*(const uint16_t *)pointer);
  default:
    return *(const float *)pointer;
  }
}

// A matrix that a kernel could not use, or not all of: says so, and fails the device as the access would.
bool sim_cublas_check(const char *function, const char *name, const void *data, size_t bytes, int device) {
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

cublasStatus_t sim_cublas_submit(struct CUstream_st *stream, struct sim_work *work) {
  work->caller = sim_api_caller;
  return sim_submit(stream, work, NULL) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t sim_cublas_stream(cublasHandle_t handle, struct CUstream_st **stream) {
  if (handle == NULL)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  bool legacy = handle->stream == NULL || handle->stream == cudaStreamLegacy;
  if (legacy)
    *stream = sim.device[handle->device].legacy;
  else if (sim_stream_get(handle->stream, stream) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  return CUBLAS_STATUS_SUCCESS;
}

void sim_cublas_count(const struct sim_work *work) {
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
size_t sim_cublas_reach(const struct sim_matrix *matrix, int rows, int columns, int count) {
  if (rows == 0 || columns == 0 || count == 0)
    return 0;
  long long last = (long long)(columns - 1) * matrix->leading + rows + matrix->stride * (count - 1);
  return (size_t)last * sim_element_bytes(matrix->type);
}

struct sim_matrix sim_cublas_vector(const void *data, cudaDataType type, int increment) {
  return (struct sim_matrix){(void *)(uintptr_t)data, type, abs(increment), 0};
}

static void notify(const struct sim_matrix *matrix, int rows, int columns, int count, bool writes) {
  const size_t bytes = sim_element_bytes(matrix->type);
  struct sim_region region = {matrix->data, (size_t)rows * bytes, (size_t)matrix->leading * bytes, (size_t)columns};
  if (sim_plugin_at(0) == NULL || matrix->data == NULL || rows <= 0 || columns <= 0)
    return;
  for (int i = 0; i < count; i++) {
    region.address = (const char *)matrix->data + (ptrdiff_t)(i * matrix->stride) * (ptrdiff_t)bytes;
    if (writes)
      SIM_NOTIFY(wrote, (&region));
    else
      SIM_NOTIFY(was_read, (&region));
  }
}

void sim_cublas_reads(const struct sim_matrix *matrix, int rows, int columns, int count) {
  notify(matrix, rows, columns, count, false);
}

void sim_cublas_wrote(const struct sim_matrix *matrix, int rows, int columns, int count) {
  notify(matrix, rows, columns, count, true);
}

// What a product reads: op(A) is m x k, op(B) k x n.
static size_t reach_of_a(const struct sim_gemm *g) {
  return sim_cublas_reach(&g->a, g->transpose_a ? g->k : g->m, g->transpose_a ? g->m : g->k, g->count);
}

static size_t reach_of_b(const struct sim_gemm *g) {
  return sim_cublas_reach(&g->b, g->transpose_b ? g->n : g->k, g->transpose_b ? g->k : g->n, g->count);
}

bool sim_cublas_run_gemm(const struct sim_gemm *g) {
  sim_cublas_reads(&g->a, g->transpose_a ? g->k : g->m, g->transpose_a ? g->m : g->k, g->count);
  sim_cublas_reads(&g->b, g->transpose_b ? g->n : g->k, g->transpose_b ? g->k : g->n, g->count);
  const bool done = sim_gemm_run(g);
  sim_cublas_wrote(&g->c, g->m, g->n, g->count);
  return done;
}

static cudaError_t run_gemm(struct sim_work *base) {
  struct gemm_work *work = (struct gemm_work *)base;
  struct sim_gemm gemm = work->gemm;
  if (work->alpha) {
    gemm.alpha = sim_cublas_scalar(work->alpha, work->scalar_type);
    gemm.beta = sim_cublas_scalar(work->beta, work->scalar_type);
  }
  return sim_cublas_run_gemm(&gemm) ? cudaSuccess : cudaErrorLaunchFailure;
}

static bool check_shape(const struct sim_gemm *g) {
  if (g->m < 0 || g->n < 0 || g->k < 0 || g->count < 0)
    return false;
  int a_rows = g->transpose_a ? g->k : g->m, b_rows = g->transpose_b ? g->n : g->k;
  return g->a.leading >= (a_rows > 1 ? a_rows : 1) && g->b.leading >= (b_rows > 1 ? b_rows : 1) &&
         g->c.leading >= (g->m > 1 ? g->m : 1);
}

static bool check_operands(const char *function, const struct sim_gemm *g, int device) {
  if (g->m == 0 || g->n == 0)
    return true;
  return sim_cublas_check(function, "A", g->a.data, reach_of_a(g), device) &&
         sim_cublas_check(function, "B", g->b.data, reach_of_b(g), device) &&
         sim_cublas_check(function, "C", g->c.data, sim_cublas_reach(&g->c, g->m, g->n, g->count), device);
}

cublasStatus_t sim_cublas_multiply(const char *function, cublasHandle_t handle, struct sim_gemm gemm, const void *alpha,
                                   const void *beta, cudaDataType scalar_type) {
  struct CUstream_st *stream;
  cublasStatus_t status = sim_cublas_stream(handle, &stream);
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
    gemm.alpha = sim_cublas_scalar(alpha, scalar_type);
    gemm.beta = sim_cublas_scalar(beta, scalar_type);
  }
  struct gemm_work *work = sim_work_new(sizeof *work, run_gemm, NULL);
  work->base.count = sim_cublas_count;
  work->base.describe = describe_gemm;
  work->base.cost = cost_gemm;
  work->gemm = gemm;
  work->alpha = on_device ? alpha : NULL;
  work->beta = on_device ? beta : NULL;
  work->scalar_type = scalar_type;
  return sim_cublas_submit(stream, &work->base);
}

static struct sim_matrix matrix(const void *data, cudaDataType type, int leading, long long stride) {
  return (struct sim_matrix){(void *)(uintptr_t)data, type, leading, stride};
}

static bool use_tf32(cublasHandle_t handle) {
  return handle && (handle->math & 15) == CUBLAS_TF32_TENSOR_OP_MATH;
}

static cublasStatus_t sgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const float *alpha, const float *A, int lda, long long strideA, const float *B,
                            int ldb, long long strideB, const float *beta, float *C, int ldc, long long strideC,
                            int count) {
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
  return sim_cublas_multiply("cublasSgemm", handle, gemm, alpha, beta, CUDA_R_32F);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const float *alpha, const float *A, int lda,
                                         long long strideA, const float *B, int ldb, long long strideB,
                                         const float *beta, float *C, int ldc, long long strideC, int count) {
  SIM_CALLED();
  return sgemm(handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, count);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
                              const float *beta, float *C, int ldc) {
  SIM_CALLED();
  return sgemm(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

static cublasStatus_t dgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const double *alpha, const double *A, int lda, long long strideA, const double *B,
                            int ldb, long long strideB, const double *beta, double *C, int ldc, long long strideC,
                            int count) {
  struct sim_gemm gemm = {.transpose_a = transa != CUBLAS_OP_N,
                          .transpose_b = transb != CUBLAS_OP_N,
                          .m = m,
                          .n = n,
                          .k = k,
                          .count = count,
                          .a = matrix(A, CUDA_R_64F, lda, strideA),
                          .b = matrix(B, CUDA_R_64F, ldb, strideB),
                          .c = matrix(C, CUDA_R_64F, ldc, strideC)};
  return sim_cublas_multiply("cublasDgemm", handle, gemm, alpha, beta, CUDA_R_64F);
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const double *alpha, const double *A, int lda,
                                         long long strideA, const double *B, int ldb, long long strideB,
                                         const double *beta, double *C, int ldc, long long strideC, int count) {
  SIM_CALLED();
  return dgemm(handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, count);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const double *alpha, const double *A, int lda, const double *B, int ldb,
                              const double *beta, double *C, int ldc) {
  SIM_CALLED();
  return dgemm(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

// The combinations of types that cuBLAS multiplies: A and B alike; C like them, or float, or int for bytes.
static bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
  if (a != b)
    return false;
  switch (compute) {
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
    return a == CUDA_R_64F && c == CUDA_R_64F;
  case CUBLAS_COMPUTE_32I:
  case CUBLAS_COMPUTE_32I_PEDANTIC:
    return a == CUDA_R_8I && c == CUDA_R_32I;
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    return a == CUDA_R_16F && c == CUDA_R_16F;
  case CUBLAS_COMPUTE_32F_FAST_16F: // in float itself, which is more exact
  case CUBLAS_COMPUTE_32F_FAST_16BF:
  case CUBLAS_COMPUTE_32F_FAST_TF32:
  case CUBLAS_COMPUTE_32F:
  case CUBLAS_COMPUTE_32F_PEDANTIC:
    return a == CUDA_R_32F ? c == CUDA_R_32F : (a == CUDA_R_16F || a == CUDA_R_16BF) && (c == a || c == CUDA_R_32F);
  }
  return false;
}

// What alpha and beta are.
static cudaDataType scalar_type(cublasComputeType_t compute) {
  switch (compute) {
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
    return CUDA_R_64F;
  case CUBLAS_COMPUTE_32I:
  case CUBLAS_COMPUTE_32I_PEDANTIC:
    return CUDA_R_32I;
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    return CUDA_R_16F;
  default:
    return CUDA_R_32F;
  }
}

static cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const void *alpha, const void *A, cudaDataType Atype, int lda, long long strideA,
                              const void *B, cudaDataType Btype, int ldb, long long strideB, const void *beta, void *C,
                              cudaDataType Ctype, int ldc, long long strideC, int count,
                              cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
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
  return sim_cublas_multiply("cublasGemmEx", handle, gemm, alpha, beta, scalar_type(computeType));
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
                                          int lda, long long strideA, const void *B, cudaDataType Btype, int ldb,
                                          long long strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
                                          long long strideC, int count, cublasComputeType_t computeType,
                                          cublasGemmAlgo_t algo) {
  SIM_CALLED();
  return gemm_ex(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype,
                 ldc, strideC, count, computeType, algo);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  SIM_CALLED();
  return gemm_ex(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0, beta, C, Ctype, ldc, 0, 1,
                 computeType, algo);
}
