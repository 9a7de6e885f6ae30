// SPDX-License-Identifier: MIT
// Simulated cuBLASXt: products of matrices that lie on the host or on a device, computed by the first device that was selected. The
// rest is missing by its name. C++ only.
#ifndef CUDASIM_CUBLASXT_H
#define CUDASIM_CUBLASXT_H

#ifndef __cplusplus
#error "cublasXt.h is simulated in C++"
#endif

#include <stdint.h>

#include "cublas_v2.h"
#include "cuda_runtime.h"

typedef struct cublasXtContext {
  cublasHandle_t blas;
  int device, block;
} * cublasXtHandle_t;

static inline cublasStatus_t cublasXtCreate(cublasXtHandle_t *handle) {
  *handle = new cublasXtContext{nullptr, 0, 2048};
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle) {
  const cublasStatus_t status = handle->blas ? cublasDestroy(handle->blas) : CUBLAS_STATUS_SUCCESS;
  delete handle;
  return status;
}
static inline cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int *devices) {
  int there = 0;
  if (handle->blas != nullptr || count < 1 || cudaGetDeviceCount(&there) != cudaSuccess)
    return CUBLAS_STATUS_INVALID_VALUE;
  for (int i = 0; i < count; i++)
    if (devices[i] < 0 || devices[i] >= there)
      return CUBLAS_STATUS_INVALID_VALUE;
  handle->device = devices[0];
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int block) {
  if (block <= 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  handle->block = block;
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int *block) {
  *block = handle->block;
  return CUBLAS_STATUS_SUCCESS;
}

namespace cudasim {

inline cublasStatus_t xt_multiply(cublasHandle_t blas, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                                  const float *alpha, const float *A, int lda, const float *B, int ldb,
                                  const float *beta, float *C, int ldc) {
  return cublasSgemm(blas, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}
inline cublasStatus_t xt_multiply(cublasHandle_t blas, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                                  const double *alpha, const double *A, int lda, const double *B, int ldb,
                                  const double *beta, double *C, int ldc) {
  return cublasDgemm(blas, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

// C = alpha op(A) op(B) + beta C; done when it returns.
template <class T>
inline cublasStatus_t xt_gemm(cublasXtHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, size_t m,
                              size_t n, size_t k, const T *alpha, const T *A, size_t lda, const T *B, size_t ldb,
                              const T *beta, T *C, size_t ldc) {
  if (m == 0 || n == 0 || k == 0 || m > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool plain_a = op_a == CUBLAS_OP_N, plain_b = op_b == CUBLAS_OP_N;
  const T *const from[3] = {A, B, C};
  const size_t bytes[3] = {(lda * ((plain_a ? k : m) - 1) + (plain_a ? m : k)) * sizeof(T),
                           (ldb * ((plain_b ? n : k) - 1) + (plain_b ? k : n)) * sizeof(T),
                           (ldc * (n - 1) + m) * sizeof(T)}; // up to the last element
  T *there[3] = {nullptr, nullptr, nullptr};
  int before = 0;
  cudaError_t error = cudaGetDevice(&before);
  if (error == cudaSuccess)
    error = cudaSetDevice(handle->device);
  cublasStatus_t status = error ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
  if (status == CUBLAS_STATUS_SUCCESS && handle->blas == nullptr)
    status = cublasCreate(&handle->blas);
  for (int i = 0; i < 3 && status == CUBLAS_STATUS_SUCCESS; i++)
    if (cudaMalloc(&there[i], bytes[i]) != cudaSuccess ||
        cudaMemcpy(there[i], from[i], bytes[i], cudaMemcpyDefault) != cudaSuccess)
      status = CUBLAS_STATUS_ALLOC_FAILED;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = xt_multiply(handle->blas, op_a, op_b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha,
                         there[0], static_cast<int>(lda), there[1], static_cast<int>(ldb), beta, there[2],
                         static_cast<int>(ldc));
  if (status == CUBLAS_STATUS_SUCCESS && cudaMemcpy(C, there[2], bytes[2], cudaMemcpyDefault) != cudaSuccess)
    status = CUBLAS_STATUS_EXECUTION_FAILED;
  for (T *p : there)
    (void)cudaFree(p);
  (void)cudaSetDevice(before);
  return status;
}

} // namespace cudasim

static inline cublasStatus_t cublasXtSgemm(cublasXtHandle_t handle, cublasOperation_t a, cublasOperation_t b, size_t m,
                                           size_t n, size_t k, const float *alpha, const float *A, size_t lda,
                                           const float *B, size_t ldb, const float *beta, float *C, size_t ldc) {
  return cudasim::xt_gemm(handle, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}
static inline cublasStatus_t cublasXtDgemm(cublasXtHandle_t handle, cublasOperation_t a, cublasOperation_t b, size_t m,
                                           size_t n, size_t k, const double *alpha, const double *A, size_t lda,
                                           const double *B, size_t ldb, const double *beta, double *C, size_t ldc) {
  return cudasim::xt_gemm(handle, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

#endif
