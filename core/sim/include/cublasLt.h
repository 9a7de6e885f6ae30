// SPDX-License-Identifier: MIT
// Simulated cuBLASLt: products of two matrices with an epilogue (bias, GELU), through cuBLAS and a kernel. Other epilogues,
// orders and batches answer CUBLAS_STATUS_NOT_SUPPORTED. C++ only.
#ifndef CUDASIM_CUBLASLT_H
#define CUDASIM_CUBLASLT_H

#include "cublas_v2.h"
#include "cuda_runtime.h"

#ifdef __cplusplus
#include <stdint.h>
#include <string.h>

typedef enum {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_TRANSC = 5,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8
} cublasLtMatmulDescAttributes_t;
typedef enum {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36
} cublasLtEpilogue_t;
typedef enum { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 } cublasLtMatmulPreferenceAttributes_t;

typedef struct cublasLtContext {
  cublasHandle_t blas;
} * cublasLtHandle_t;
typedef struct cublasLtMatrixLayout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
} * cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulDesc {
  cublasComputeType_t compute;
  int32_t transpose_a, transpose_b, epilogue;
  const void *bias;
} * cublasLtMatmulDesc_t;
typedef struct cublasLtMatmulPreference {
  size_t workspace;
} * cublasLtMatmulPreference_t;
// The same, for programs that have them on the stack and call ...Init in place of ...Create.
typedef struct cublasLtMatrixLayout cublasLtMatrixLayoutOpaque_t;
typedef struct cublasLtMatmulDesc cublasLtMatmulDescOpaque_t;
typedef struct cublasLtMatmulPreference cublasLtMatmulPreferenceOpaque_t;
typedef struct {
  uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = new cublasLtContext();
  return cublasCreate(&(*handle)->blas);
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  const cublasStatus_t status = cublasDestroy(handle->blas);
  delete handle;
  return status;
}
inline cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows,
                                               uint64_t columns, int64_t leading) {
  *layout = {type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                                 uint64_t columns, int64_t leading) {
  return cublasLtMatrixLayoutInit(*layout = new cublasLtMatrixLayout(), type, rows, columns, leading);
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute, cudaDataType) {
  *desc = {compute, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                               cudaDataType scale) {
  return cublasLtMatmulDescInit(*desc = new cublasLtMatmulDesc(), compute, scale);
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                     cublasLtMatmulDescAttributes_t attribute, const void *value,
                                                     size_t bytes) {
  int32_t *const number = attribute == CUBLASLT_MATMUL_DESC_TRANSA     ? &desc->transpose_a
                          : attribute == CUBLASLT_MATMUL_DESC_TRANSB   ? &desc->transpose_b
                          : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE ? &desc->epilogue
                                                                       : nullptr;
  if (number && bytes == sizeof *number)
    memcpy(number, value, bytes);
  else if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER && bytes == sizeof desc->bias)
    memcpy(&desc->bias, value, bytes);
  else
    return number || attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? CUBLAS_STATUS_INVALID_VALUE
                                                                    : CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  *preference = {};
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = new cublasLtMatmulPreference();
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                           cublasLtMatmulPreferenceAttributes_t, const void *value,
                                                           size_t bytes) {
  if (bytes != sizeof preference->workspace)
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&preference->workspace, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

namespace cudasim {

inline bool lt_simulates(const cublasLtMatmulDesc *desc, const cublasLtMatrixLayout *d) {
  const int32_t e = desc->epilogue;
#ifdef CUDASIM_HOST // no kernels in a host compiler's source
  return e == CUBLASLT_EPILOGUE_DEFAULT;
#endif
  const bool known = e == CUBLASLT_EPILOGUE_RELU || e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS ||
                     e == CUBLASLT_EPILOGUE_GELU || e == CUBLASLT_EPILOGUE_GELU_BIAS;
  return e == CUBLASLT_EPILOGUE_DEFAULT ||
         (known && (d->type == CUDA_R_32F || d->type == CUDA_R_16BF || d->type == CUDA_R_16F));
}

#ifndef CUDASIM_HOST
// One row of D a thread and column a block: bias, then ReLU or GELU by its tanh form.
template <class T> inline void lt_epilogue(T *d, const T *bias, int rows, long long leading, int epilogue) {
  for (int row = (int)(unsigned int)threadIdx.x; row < rows; row += (int)blockDim.x) {
    T *const at = d + row + (long long)blockIdx.x * leading;
    float x = (float)*at + (epilogue & CUBLASLT_EPILOGUE_BIAS ? (float)bias[row] : 0.0f);
    if (epilogue & CUBLASLT_EPILOGUE_RELU)
      x = x > 0 ? x : 0;
    if (epilogue & CUBLASLT_EPILOGUE_GELU)
      x = 0.5f * x * (1 + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
    *at = T(x);
  }
}
template <class T>
inline void lt_launch(const cublasLtMatmulDesc *desc, void *d, const cublasLtMatrixLayout *layout,
                      cudaStream_t stream) {
  launch_pointer(&lt_epilogue<T>, "cublasLt epilogue", dim3((unsigned int)layout->columns), 256, 0,
                 stream)(static_cast<T *>(d), static_cast<const T *>(desc->bias), (int)layout->rows,
                         (long long)layout->leading, (int)desc->epilogue);
}
#endif

} // namespace cudasim

inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                                     cublasLtMatmulPreference_t, int wanted,
                                                     cublasLtMatmulHeuristicResult_t *results, int *found) {
  *found = wanted > 0 && cudasim::lt_simulates(desc, d);
  if (*found)
    results[0] = {};
  return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                                     const void *A, cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b,
                                     const void *beta, const void *C, cublasLtMatrixLayout_t, void *D,
                                     cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *, void *, size_t,
                                     cudaStream_t stream) {
  if (C != D || !cudasim::lt_simulates(desc, d))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const int k = (int)(desc->transpose_a == CUBLAS_OP_N ? a->columns : a->rows);
  cublasSetStream(handle->blas, stream);
  const cublasStatus_t status =
      cublasGemmEx(handle->blas, (cublasOperation_t)desc->transpose_a, (cublasOperation_t)desc->transpose_b,
                   (int)d->rows, (int)d->columns, k, alpha, A, a->type, (int)a->leading, B, b->type, (int)b->leading,
                   beta, D, d->type, (int)d->leading, desc->compute, CUBLAS_GEMM_DEFAULT);
#ifndef CUDASIM_HOST
  if (status == CUBLAS_STATUS_SUCCESS && desc->epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    if (d->type == CUDA_R_32F)
      cudasim::lt_launch<float>(desc, D, d, stream);
    else if (d->type == CUDA_R_16BF)
      cudasim::lt_launch<__nv_bfloat16>(desc, D, d, stream);
    else
      cudasim::lt_launch<__half>(desc, D, d, stream);
  }
#endif
  return status;
}

#endif
#endif
