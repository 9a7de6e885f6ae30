// SPDX-License-Identifier: MIT
// Row-major matrix products through cuBLAS, for the kernels of this folder.
#ifndef FERRY_OP_CUBLAS_GEMM_CUH
#define FERRY_OP_CUBLAS_GEMM_CUH

#include "op/kernel/cuda_common.cuh"
#include <cublas_v2.h>

// Counts a cuBLAS call, whose kernels are not started by this program's own code (device/cuda_backend.cu). The simulator
// counts by itself.
#ifdef FERRY_SIM
static inline void fy_cuda_started(void *stream) {
  (void)stream;
}
#else
extern "C" void fy_cuda_started(void *stream);
#endif

// A batch of products C (m, n) = op(A) (m, k) op(B) (k, n) + beta C, all row-major; strides in elements from one matrix of
// the batch to the next.
typedef struct FyCudaGemm {
  int dtype;
  bool trans_a, trans_b;
  int64_t m, n, k;
  const void *a, *b;
  void *c;
  int64_t lda, ldb, ldc;
  int64_t stride_a, stride_b, stride_c;
  int64_t batches;
  double beta;  // 0 or 1
  bool c_float; // C is float32 although A and B are of a half type
} FyCudaGemm;

// cuBLAS counts in int.
static bool fy_cublas_takes(const FyCudaGemm *g) {
  const int64_t sizes[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc, g->batches};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    if (sizes[i] > INT32_MAX)
      return false;
  return true;
}

// cuBLAS is column-major, where a row-major C is its transpose: op(B)^T op(A)^T.
static cublasStatus_t fy_cublas_call(cublasHandle_t blas, const FyCudaGemm *g) {
  const cublasOperation_t first = g->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                          second = g->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int m = (int)g->m, n = (int)g->n, k = (int)g->k, lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
  const float one = 1, beta = (float)g->beta;
  const double one_double = 1;
  const int batches = (int)g->batches;
  if (g->dtype == FY_FLOAT64) {
    const double *a = (const double *)g->a, *b = (const double *)g->b;
    double *c = (double *)g->c;
    return batches == 1 ? cublasDgemm(blas, first, second, n, m, k, &one_double, b, ldb, a, lda, &g->beta, c, ldc)
                        : cublasDgemmStridedBatched(blas, first, second, n, m, k, &one_double, b, ldb, g->stride_b, a,
                                                    lda, g->stride_a, &g->beta, c, ldc, g->stride_c, batches);
  }
  if (g->dtype == FY_FLOAT32) {
    const float *a = (const float *)g->a, *b = (const float *)g->b;
    float *c = (float *)g->c;
    return batches == 1 ? cublasSgemm(blas, first, second, n, m, k, &one, b, ldb, a, lda, &beta, c, ldc)
                        : cublasSgemmStridedBatched(blas, first, second, n, m, k, &one, b, ldb, g->stride_b, a, lda,
                                                    g->stride_a, &beta, c, ldc, g->stride_c, batches);
  }
  const cudaDataType type = g->dtype == FY_FLOAT16 ? CUDA_R_16F : CUDA_R_16BF, c_type = g->c_float ? CUDA_R_32F : type;
  if (batches == 1)
    return cublasGemmEx(blas, first, second, n, m, k, &one, g->b, type, ldb, g->a, type, lda, &beta, g->c, c_type, ldc,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return cublasGemmStridedBatchedEx(blas, first, second, n, m, k, &one, g->b, type, ldb, g->stride_b, g->a, type, lda,
                                    g->stride_a, &beta, g->c, c_type, ldc, g->stride_c, batches, CUBLAS_COMPUTE_32F,
                                    CUBLAS_GEMM_DEFAULT);
}

// Returns 0 or a code for the dispatcher; sizes beyond cuBLAS's int are an invalid value to it. float32, float64, float16 and
// bfloat16, the half types with float32 sums.
static int fy_cuda_gemm(FyLaunch *l, const FyCudaGemm *g) {
  const size_t size = g->c_float ? sizeof(float) : fy_dtype_size(g->dtype);
  if (g->m == 0 || g->n == 0 || g->batches == 0)
    return FY_LAUNCH_OK;
  if (g->k == 0) { // an empty sum; C's matrices are without gaps wherever k can be 0
    const size_t bytes = (size_t)(g->m * g->n * g->batches) * size;
    return g->beta == 0 ? (int)cudaMemsetAsync(g->c, 0, bytes, fy_stream(l)) : FY_LAUNCH_OK;
  }
  switch (g->dtype) {
  case FY_FLOAT16:
  case FY_BFLOAT16:
  case FY_FLOAT32:
  case FY_FLOAT64: {
    if (!fy_cublas_takes(g))
      return FY_LAUNCH_BLAS - (int)CUBLAS_STATUS_INVALID_VALUE;
    void *blas;
    const int error = l->blas(l->device, l->stream, &blas);
    if (error)
      return error;
    const cublasStatus_t status = fy_cublas_call((cublasHandle_t)blas, g);
    if (status != CUBLAS_STATUS_SUCCESS)
      return FY_LAUNCH_BLAS - (int)status;
    fy_cuda_started(l->stream);
    return FY_LAUNCH_OK;
  }
  default:
    return FY_LAUNCH_NO_KERNEL;
  }
}

#endif
