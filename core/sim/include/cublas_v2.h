// SPDX-License-Identifier: MIT
// Simulated cuBLAS: the matrix products and vector operations of a tensor library, with cuBLAS's names and values.
#ifndef CUDASIM_CUBLAS_V2_H
#define CUDASIM_CUBLAS_V2_H
#define CUBLAS_API_H_ // what helper headers ask for
#define CUBLAS_V2_H_

#include "cuComplex.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime_api.h"

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 1
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t; // of cuSOLVER's functions
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;

typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;

typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;

typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;

typedef struct cublasContext *cublasHandle_t;

CUDASIM_BEGIN_C

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) CUDASIM_SYMBOL(cublasCreate_v2);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) CUDASIM_SYMBOL(cublasDestroy_v2);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version) CUDASIM_SYMBOL(cublasGetVersion_v2);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) CUDASIM_SYMBOL(cublasSetStream_v2);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream) CUDASIM_SYMBOL(cublasGetStream_v2);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) CUDASIM_SYMBOL(cublasSetMathMode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode) CUDASIM_SYMBOL(cublasGetMathMode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
    CUDASIM_SYMBOL(cublasSetAtomicsMode);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
    CUDASIM_SYMBOL(cublasSetWorkspace_v2);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
    CUDASIM_SYMBOL(cublasSetPointerMode_v2);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
    CUDASIM_SYMBOL(cublasGetPointerMode_v2);
const char *cublasGetStatusName(cublasStatus_t status) CUDASIM_SYMBOL(cublasGetStatusName);
const char *cublasGetStatusString(cublasStatus_t status) CUDASIM_SYMBOL(cublasGetStatusString);

// Matrices are column-major: C (m x n) = alpha op(A) (m x k) op(B) (k x n) + beta C. With beta 0, C is not read.
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
                              const float *beta, float *C, int ldc) CUDASIM_SYMBOL(cublasSgemm_v2);
cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const double *alpha, const double *A, int lda, const double *B, int ldb,
                              const double *beta, double *C, int ldc) CUDASIM_SYMBOL(cublasDgemm_v2);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const float *alpha, const float *A, int lda,
                                         long long strideA, const float *B, int ldb, long long strideB,
                                         const float *beta, float *C, int ldc, long long strideC, int count)
    CUDASIM_SYMBOL(cublasSgemmStridedBatched);
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const double *alpha, const double *A, int lda,
                                         long long strideA, const double *B, int ldb, long long strideB,
                                         const double *beta, double *C, int ldc, long long strideC, int count)
    CUDASIM_SYMBOL(cublasDgemmStridedBatched);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t algo) CUDASIM_SYMBOL(cublasGemmEx);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
                                          int lda, long long strideA, const void *B, cudaDataType Btype, int ldb,
                                          long long strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
                                          long long strideC, int count, cublasComputeType_t computeType,
                                          cublasGemmAlgo_t algo) CUDASIM_SYMBOL(cublasGemmStridedBatchedEx);

// y = alpha op(A) x + beta y;  y = alpha x + y.
cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
                              const float *A, int lda, const float *x, int incx, const float *beta, float *y, int incy)
    CUDASIM_SYMBOL(cublasSgemv_v2);
cublasStatus_t cublasSaxpy_v2(cublasHandle_t handle, int n, const float *alpha, const float *x, int incx, float *y,
                              int incy) CUDASIM_SYMBOL(cublasSaxpy_v2);

// y = alpha x + y in double.
cublasStatus_t cublasDaxpy_v2(cublasHandle_t handle, int n, const double *alpha, const double *x, int incx, double *y,
                              int incy) CUDASIM_SYMBOL(cublasDaxpy_v2);
// The sum of x[i] y[i], for float, double, half and bfloat16. In the host pointer mode, these functions wait for their result.
cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void *x, cudaDataType xType, int incx, const void *y,
                           cudaDataType yType, int incy, void *result, cudaDataType resultType,
                           cudaDataType executionType) CUDASIM_SYMBOL(cublasDotEx);
// dot, the root of the sum of squares, the sum of absolute values; x = alpha x, y = x, x and y exchanged; which element has the
// greatest or least absolute value, counted from 1. Then, of arrays of matrices: products, LU by rows' pivots (none where pivots
// is NULL), and C = alpha op(A) + beta op(B).
#define CUDASIM_BLAS(S, T)                                                                                             \
  cublasStatus_t cublas##S##dot_v2(cublasHandle_t handle, int n, const T *x, int incx, const T *y, int incy,           \
                                   T *result) CUDASIM_SYMBOL(cublas##S##dot_v2);                                       \
  cublasStatus_t cublas##S##nrm2_v2(cublasHandle_t handle, int n, const T *x, int incx, T *result)                     \
      CUDASIM_SYMBOL(cublas##S##nrm2_v2);                                                                              \
  cublasStatus_t cublas##S##asum_v2(cublasHandle_t handle, int n, const T *x, int incx, T *result)                     \
      CUDASIM_SYMBOL(cublas##S##asum_v2);                                                                              \
  cublasStatus_t cublas##S##scal_v2(cublasHandle_t handle, int n, const T *alpha, T *x, int incx)                      \
      CUDASIM_SYMBOL(cublas##S##scal_v2);                                                                              \
  cublasStatus_t cublas##S##copy_v2(cublasHandle_t handle, int n, const T *x, int incx, T *y, int incy)                \
      CUDASIM_SYMBOL(cublas##S##copy_v2);                                                                              \
  cublasStatus_t cublas##S##swap_v2(cublasHandle_t handle, int n, T *x, int incx, T *y, int incy)                      \
      CUDASIM_SYMBOL(cublas##S##swap_v2);                                                                              \
  cublasStatus_t cublas##S##getrfBatched(cublasHandle_t handle, int n, T *const *A, int lda, int *pivots, int *info,   \
                                         int count) CUDASIM_SYMBOL(cublas##S##getrfBatched);                           \
  cublasStatus_t cublas##S##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, const T *alpha, const T *A, int lda, const T *beta, const T *B, int ldb, T *C, \
                                 int ldc) CUDASIM_SYMBOL(cublas##S##geam);
#define CUDASIM_GEMM_BATCHED(S, T)                                                                                     \
  cublasStatus_t cublas##S##gemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,     \
                                        int m, int n, int k, const T *alpha, const T *const *A, int lda,               \
                                        const T *const *B, int ldb, const T *beta, T *const *C, int ldc, int count)    \
      CUDASIM_SYMBOL(cublas##S##gemmBatched);
#define CUDASIM_INDEX(s, T)                                                                                            \
  cublasStatus_t cublasI##s##amax_v2(cublasHandle_t handle, int n, const T *x, int incx, int *result)                  \
      CUDASIM_SYMBOL(cublasI##s##amax_v2);                                                                             \
  cublasStatus_t cublasI##s##amin_v2(cublasHandle_t handle, int n, const T *x, int incx, int *result)                  \
      CUDASIM_SYMBOL(cublasI##s##amin_v2);
CUDASIM_BLAS(S, float)
CUDASIM_BLAS(D, double)
CUDASIM_GEMM_BATCHED(S, float)
CUDASIM_GEMM_BATCHED(D, double)
CUDASIM_GEMM_BATCHED(H, __half)
CUDASIM_INDEX(s, float)
CUDASIM_INDEX(d, double)
#undef CUDASIM_BLAS
#undef CUDASIM_GEMM_BATCHED
#undef CUDASIM_INDEX

CUDASIM_END_C

// Vectors and matrices from the host to the device and back.
static inline cublasStatus_t cudasim_blas_copy(int rows, int columns, int bytes, const void *from, int lda, void *to,
                                               int ldb, cudaStream_t stream, int waits) {
  if (rows < 0 || columns < 0 || bytes <= 0 || lda <= 0 || ldb <= 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const size_t size = (size_t)bytes;
  cudaError_t error = cudaMemcpy2DAsync(to, (size_t)ldb * size, from, (size_t)lda * size, (size_t)rows * size,
                                        (size_t)columns, cudaMemcpyDefault, stream);
  if (error == cudaSuccess && waits)
    error = cudaStreamSynchronize(stream);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}
static inline cublasStatus_t cublasSetVector(int n, int bytes, const void *x, int incx, void *y, int incy) {
  return cudasim_blas_copy(1, n, bytes, x, incx, y, incy, 0, 1);
}
static inline cublasStatus_t cublasGetVector(int n, int bytes, const void *x, int incx, void *y, int incy) {
  return cudasim_blas_copy(1, n, bytes, x, incx, y, incy, 0, 1);
}
static inline cublasStatus_t cublasSetVectorAsync(int n, int bytes, const void *x, int incx, void *y, int incy,
                                                  cudaStream_t stream) {
  return cudasim_blas_copy(1, n, bytes, x, incx, y, incy, stream, 0);
}
static inline cublasStatus_t cublasGetVectorAsync(int n, int bytes, const void *x, int incx, void *y, int incy,
                                                  cudaStream_t stream) {
  return cudasim_blas_copy(1, n, bytes, x, incx, y, incy, stream, 0);
}
static inline cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void *A, int lda, void *B,
                                             int ldb) {
  return cudasim_blas_copy(rows, columns, bytes, A, lda, B, ldb, 0, 1);
}
static inline cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void *A, int lda, void *B,
                                             int ldb) {
  return cudasim_blas_copy(rows, columns, bytes, A, lda, B, ldb, 0, 1);
}

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasGetVersion cublasGetVersion_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
#define cublasSgemv cublasSgemv_v2
#define cublasSaxpy cublasSaxpy_v2
#define cublasDaxpy cublasDaxpy_v2
#define cublasIdamin cublasIdamin_v2
#define cublasIdamax cublasIdamax_v2
#define cublasIsamin cublasIsamin_v2
#define cublasIsamax cublasIsamax_v2
#define cublasDswap cublasDswap_v2
#define cublasDcopy cublasDcopy_v2
#define cublasDscal cublasDscal_v2
#define cublasDasum cublasDasum_v2
#define cublasDnrm2 cublasDnrm2_v2
#define cublasDdot cublasDdot_v2
#define cublasSswap cublasSswap_v2
#define cublasScopy cublasScopy_v2
#define cublasSscal cublasSscal_v2
#define cublasSasum cublasSasum_v2
#define cublasSnrm2 cublasSnrm2_v2
#define cublasSdot cublasSdot_v2

// What was written before cublasComputeType_t names what it computes in by a cudaDataType; in C++ NVIDIA's header takes that, too.
#ifdef __cplusplus
static inline bool cudasim_compute_type(cudaDataType type, cublasComputeType_t *compute) {
  switch (type) {
  case CUDA_R_32F:
    *compute = CUBLAS_COMPUTE_32F;
    return true;
  case CUDA_R_64F:
    *compute = CUBLAS_COMPUTE_64F;
    return true;
  case CUDA_R_16F:
    *compute = CUBLAS_COMPUTE_16F;
    return true;
  case CUDA_R_32I:
    *compute = CUBLAS_COMPUTE_32I;
    return true;
  default:
    return false;
  }
}
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
                                          int lda, const void *B, cudaDataType Btype, int ldb, const void *beta,
                                          void *C, cudaDataType Ctype, int ldc, cudaDataType computeType,
                                          cublasGemmAlgo_t algo) {
  cublasComputeType_t compute;
  if (!cudasim_compute_type(computeType, &compute))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc,
                      compute, algo);
}
static inline cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                                        cublasOperation_t transb, int m, int n, int k,
                                                        const void *alpha, const void *A, cudaDataType Atype, int lda,
                                                        long long strideA, const void *B, cudaDataType Btype, int ldb,
                                                        long long strideB, const void *beta, void *C,
                                                        cudaDataType Ctype, int ldc, long long strideC, int count,
                                                        cudaDataType computeType, cublasGemmAlgo_t algo) {
  cublasComputeType_t compute;
  if (!cudasim_compute_type(computeType, &compute))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb,
                                    strideB, beta, C, Ctype, ldc, strideC, count, compute, algo);
}
#endif

// By way of the products above. Sums are in float, of which a half is the rounding; alpha and beta are on the host.
#ifdef __cplusplus
static inline cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const __half *alpha, const __half *A, int lda,
                                         const __half *B, int ldb, const __half *beta, __half *C, int ldc) {
  cublasPointerMode_t mode;
  if (cublasGetPointerMode_v2(handle, &mode) != CUBLAS_STATUS_SUCCESS || mode != CUBLAS_POINTER_MODE_HOST)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const float a = alpha->to_float(), b = beta->to_float();
  return cublasGemmEx(handle, transa, transb, m, n, k, &a, A, CUDA_R_16F, lda, B, CUDA_R_16F, ldb, &b, C, CUDA_R_16F,
                      ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
static inline cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                                       cublasOperation_t transb, int m, int n, int k,
                                                       const __half *alpha, const __half *A, int lda, long long strideA,
                                                       const __half *B, int ldb, long long strideB, const __half *beta,
                                                       __half *C, int ldc, long long strideC, int count) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_16F, lda, strideA, B, CUDA_R_16F,
                                    ldb, strideB, beta, C, CUDA_R_16F, ldc, strideC, count, CUBLAS_COMPUTE_16F,
                                    CUBLAS_GEMM_DEFAULT);
}
#endif
// Vectors without gaps; others answer CUBLAS_STATUS_NOT_SUPPORTED.
static inline cublasStatus_t cublasDgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n,
                                            const double *alpha, const double *A, int lda, const double *x, int incx,
                                            const double *beta, double *y, int incy) {
  const int rows = trans == CUBLAS_OP_N ? m : n, terms = trans == CUBLAS_OP_N ? n : m;
  if (incx != 1 || incy != 1)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return cublasDgemm_v2(handle, trans, CUBLAS_OP_N, rows, 1, terms, alpha, A, lda, x, terms, beta, y, rows);
}
#define cublasDgemv cublasDgemv_v2

#endif
