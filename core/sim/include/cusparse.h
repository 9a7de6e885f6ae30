// SPDX-License-Identifier: MIT
// Simulated cuSPARSE, as far as programs use it most: sparse matrices by rows (CSR) or as a list (COO) times vectors and matrices, from
// and to dense ones, sparse vectors; triangular systems and incomplete factorizations (cudasim_sparse_solve.h); products of sparse
// matrices, transposition, order (cudasim_sparse_product.h). Of indices of 32 and 64 bits, values of float and double, sums in double. What is not here is
// missing by its name; what a function cannot do answers CUSPARSE_STATUS_NOT_SUPPORTED. C++ only.
#ifndef CUDASIM_CUSPARSE_H
#define CUDASIM_CUSPARSE_H
#define CUSPARSE_H_

#ifndef __cplusplus
#error "cuSPARSE is simulated in C++; compile this file with -x cu"
#endif

#include <math.h>
#include <stdint.h>

#include "cuComplex.h"
#include "cuda_runtime.h"
#include "cudasim_launch.h" // a host compiler's source has not included it yet
#include "library_types.h"

#define CUSPARSE_VERSION 12600
#define CUSPARSEAPI // what helper headers ask for

typedef enum {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_MAPPING_ERROR = 5,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSPARSE_STATUS_ZERO_PIVOT = 9,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;
typedef enum {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
} cusparseOperation_t;
typedef enum { CUSPARSE_POINTER_MODE_HOST = 0, CUSPARSE_POINTER_MODE_DEVICE = 1 } cusparsePointerMode_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 } cusparseIndexBase_t;
typedef enum { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum { CUSPARSE_DIRECTION_ROW = 0, CUSPARSE_DIRECTION_COLUMN = 1 } cusparseDirection_t;
typedef enum {
  CUSPARSE_MATRIX_TYPE_GENERAL = 0,
  CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
  CUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
  CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3
} cusparseMatrixType_t;
typedef enum {
  CUSPARSE_SPMV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_COO_ALG1 = 1,
  CUSPARSE_SPMV_CSR_ALG1 = 2,
  CUSPARSE_SPMV_CSR_ALG2 = 3,
  CUSPARSE_SPMV_COO_ALG2 = 4
} cusparseSpMVAlg_t;
typedef enum {
  CUSPARSE_SPMM_ALG_DEFAULT = 0,
  CUSPARSE_SPMM_COO_ALG1 = 1,
  CUSPARSE_SPMM_CSR_ALG1 = 4,
  CUSPARSE_SPMM_CSR_ALG2 = 6,
  CUSPARSE_SPMM_CSR_ALG3 = 12
} cusparseSpMMAlg_t;
typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 } cusparseSparseToDenseAlg_t;
typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 } cusparseDenseToSparseAlg_t;

typedef enum { CUSPARSE_FILL_MODE_LOWER = 0, CUSPARSE_FILL_MODE_UPPER = 1 } cusparseFillMode_t;
typedef enum { CUSPARSE_DIAG_TYPE_NON_UNIT = 0, CUSPARSE_DIAG_TYPE_UNIT = 1 } cusparseDiagType_t;
typedef enum { CUSPARSE_SPMAT_FILL_MODE = 0, CUSPARSE_SPMAT_DIAG_TYPE = 1 } cusparseSpMatAttribute_t;

typedef struct cusparseContext {
  cudaStream_t stream;
  cusparsePointerMode_t mode;
} * cusparseHandle_t;
typedef struct cusparseMatDescr {
  cusparseMatrixType_t type;
  cusparseIndexBase_t base;
} * cusparseMatDescr_t;
struct cusparseDnVecDescr {
  int64_t size;
  void *values;
  cudaDataType type;
};
struct cusparseSpVecDescr {
  int64_t size, count;
  void *indices, *values;
  cusparseIndexType_t index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
};
struct cusparseDnMatDescr {
  int64_t rows, columns, leading;
  void *values;
  cudaDataType type;
  cusparseOrder_t order;
  int batch = 1; // matrices, batch_stride elements from one to the next
  int64_t batch_stride = 0;
};
struct cusparseSpMatDescr {
  bool by_rows; // CSR: `rows_of` are where rows begin; COO: each element's row
  int64_t rows, columns, count;
  void *rows_of, *columns_of, *values;
  cusparseIndexType_t row_type, column_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  int batch = 1;
  int64_t offsets_stride = 0, elements_stride = 0;
};
typedef cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef cusparseSpVecDescr *cusparseSpVecDescr_t;
typedef cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef const cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef const cusparseSpVecDescr *cusparseConstSpVecDescr_t;
typedef const cusparseDnMatDescr *cusparseConstDnMatDescr_t;
typedef const cusparseSpMatDescr *cusparseConstSpMatDescr_t;

// ---- handles and descriptions ----

static inline const char *cusparseGetErrorName(cusparseStatus_t status) {
  static const char *const names[] = {"CUSPARSE_STATUS_SUCCESS",
                                      "CUSPARSE_STATUS_NOT_INITIALIZED",
                                      "CUSPARSE_STATUS_ALLOC_FAILED",
                                      "CUSPARSE_STATUS_INVALID_VALUE",
                                      "CUSPARSE_STATUS_ARCH_MISMATCH",
                                      "CUSPARSE_STATUS_MAPPING_ERROR",
                                      "CUSPARSE_STATUS_EXECUTION_FAILED",
                                      "CUSPARSE_STATUS_INTERNAL_ERROR",
                                      "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
                                      "CUSPARSE_STATUS_ZERO_PIVOT",
                                      "CUSPARSE_STATUS_NOT_SUPPORTED",
                                      "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
  return status >= 0 && status <= 11 ? names[status] : "unknown status";
}
static inline const char *cusparseGetErrorString(cusparseStatus_t status) {
  return cusparseGetErrorName(status);
}
static inline cusparseStatus_t cusparseCreate(cusparseHandle_t *handle) {
  *handle = new cusparseContext{nullptr, CUSPARSE_POINTER_MODE_HOST};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  delete handle;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr)
    return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  if (handle == nullptr)
    return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle->mode = mode;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descr) {
  *descr = new cusparseMatDescr{CUSPARSE_MATRIX_TYPE_GENERAL, CUSPARSE_INDEX_BASE_ZERO};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t descr, cusparseMatrixType_t type) {
  descr->type = type;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t descr, cusparseIndexBase_t base) {
  descr->base = base;
  return CUSPARSE_STATUS_SUCCESS;
}

static inline cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *v, int64_t size, void *values,
                                                   cudaDataType type) {
  *v = new cusparseDnVecDescr{size, values, type};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t v) {
  delete v;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t v, void *values) {
  v->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t *v, int64_t size, int64_t nnz, void *indices,
                                                   void *values, cusparseIndexType_t index_type,
                                                   cusparseIndexBase_t base, cudaDataType type) {
  *v = new cusparseSpVecDescr{size, nnz, indices, values, index_type, base, type};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t v) {
  delete v;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *m, int64_t rows, int64_t columns, int64_t ld,
                                                   void *values, cudaDataType type, cusparseOrder_t order) {
  *m = new cusparseDnMatDescr{rows, columns, ld, values, type, order};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t m) {
  delete m;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *m, int64_t rows, int64_t columns, int64_t nnz,
                                                 void *offsets, void *columns_of, void *values,
                                                 cusparseIndexType_t offset_type, cusparseIndexType_t column_type,
                                                 cusparseIndexBase_t base, cudaDataType type) {
  *m = new cusparseSpMatDescr{true,   rows,        columns,     nnz,  offsets, columns_of,
                              values, offset_type, column_type, base, type};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t *m, int64_t rows, int64_t columns, int64_t nnz,
                                                 void *rows_of, void *columns_of, void *values,
                                                 cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                                 cudaDataType type) {
  *m = new cusparseSpMatDescr{false,  rows,       columns,    nnz,  rows_of, columns_of,
                              values, index_type, index_type, base, type};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t m) {
  delete m;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t m, int64_t *rows, int64_t *columns,
                                                    int64_t *nnz) {
  *rows = m->rows;
  *columns = m->columns;
  *nnz = m->count;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t m, void *values) {
  m->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t m, cusparseSpMatAttribute_t attribute,
                                                         const void *value, size_t bytes) {
  if (bytes != sizeof(int))
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (attribute == CUSPARSE_SPMAT_FILL_MODE)
    m->fill = *static_cast<const cusparseFillMode_t *>(value);
  else
    m->diagonal = *static_cast<const cusparseDiagType_t *>(value);
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t m, int count, int64_t stride) {
  m->batch = count;
  m->batch_stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}
// Of the offsets, and of columns and values.
static inline cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t m, int count, int64_t offsets_stride,
                                                          int64_t elements_stride) {
  m->batch = count;
  m->offsets_stride = offsets_stride;
  m->elements_stride = elements_stride;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t m, void *offsets, void *columns_of,
                                                      void *values) {
  m->rows_of = offsets;
  m->columns_of = columns_of;
  m->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}

// ---- what kernels do ----

namespace cudasim {
namespace sparse {

inline bool is_number(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_64F;
}
inline double load(const void *values, cudaDataType type, int64_t at) {
  return type == CUDA_R_64F ? static_cast<const double *>(values)[at] : static_cast<const float *>(values)[at];
}
inline void store(void *values, cudaDataType type, int64_t at, double value) {
  if (type == CUDA_R_64F)
    static_cast<double *>(values)[at] = value;
  else
    static_cast<float *>(values)[at] = static_cast<float>(value);
}
inline int64_t index(const void *indices, cusparseIndexType_t type, int64_t at, int base) {
  return (type == CUSPARSE_INDEX_64I ? static_cast<const int64_t *>(indices)[at]
                                     : static_cast<const int32_t *>(indices)[at]) -
         base;
}
inline void set_index(void *indices, cusparseIndexType_t type, int64_t at, int64_t value) {
  if (type == CUSPARSE_INDEX_64I)
    static_cast<int64_t *>(indices)[at] = value;
  else
    static_cast<int32_t *>(indices)[at] = static_cast<int32_t>(value);
}
inline int64_t place(const cusparseDnMatDescr &m, int64_t row, int64_t column) {
  return m.order == CUSPARSE_ORDER_ROW ? row * m.leading + column : column * m.leading + row;
}
struct factor { // alpha or beta: read when the call comes, or by the kernel
  double value;
  const void *pointer;
  cudaDataType type;
  factor(cusparseHandle_t handle, const void *p, cudaDataType t) : value(0), pointer(nullptr), type(t) {
    if (handle->mode == CUSPARSE_POINTER_MODE_HOST)
      value = load(p, t, 0);
    else
      pointer = p;
  }
  double get(void) const {
    return pointer ? load(pointer, type, 0) : value;
  }
};

template <class Work> inline cusparseStatus_t run(cusparseHandle_t handle, const char *name, int64_t count, Work work) {
  static_assert(std::is_trivially_copyable<Work>::value, "a launch copies its arguments' bytes");
  if (count <= 0)
    return CUSPARSE_STATUS_SUCCESS;
  void (*const none)(void) = nullptr;
  auto each = [=](void) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count)
      work(i);
  };
  const unsigned int threads = count < 256 ? static_cast<unsigned int>(count) : 256;
  const dim3 blocks(static_cast<unsigned int>((count + threads - 1) / threads));
  return launch(none, each, name, blocks, dim3(threads), 0, handle->stream).submit() == cudaSuccess
             ? CUSPARSE_STATUS_SUCCESS
             : CUSPARSE_STATUS_EXECUTION_FAILED;
}

// The sum over row i of op(A), or over all rows where they are no rows of A's: element(row, column, value).
template <class Element> inline void each_element(const cusparseSpMatDescr &a, int64_t row, Element element) {
  int64_t begin = 0, end = a.count;
  if (a.by_rows) {
    begin = index(a.rows_of, a.row_type, row, a.base);
    end = index(a.rows_of, a.row_type, row + 1, a.base);
  }
  for (int64_t i = begin; i < end; i++)
    element(a.by_rows ? row : index(a.rows_of, a.row_type, i, a.base), index(a.columns_of, a.column_type, i, a.base),
            load(a.values, a.type, i));
}

// y = alpha op(A) x + beta y for one column: x and y by functions of the index.
template <class X, class Y>
inline void multiply(const cusparseSpMatDescr &a, bool transposed, double alpha, double beta, X x, Y y) {
  const int64_t n = transposed ? a.columns : a.rows, rows = a.by_rows ? a.rows : 1;
  double *const sum = new double[static_cast<size_t>(n)]();
  for (int64_t row = 0; row < rows; row++)
    each_element(a, row,
                 [&](int64_t r, int64_t c, double value) { sum[transposed ? c : r] += value * x(transposed ? r : c); });
  for (int64_t i = 0; i < n; i++)
    y(i, alpha * sum[i], beta);
  delete[] sum;
}

inline double blend(double product, double beta, const void *values, cudaDataType type, int64_t at) {
  return beta == 0 ? product : product + beta * load(values, type, at);
}

} // namespace sparse
} // namespace cudasim

// ---- y = alpha op(A) x + beta y, C = alpha op(A) op(B) + beta C ----

static inline cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void *,
                                                       cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t,
                                                       const void *, cusparseDnVecDescr_t, cudaDataType,
                                                       cusparseSpMVAlg_t, size_t *bytes) {
  *bytes = 1; // so that what is allocated is not nothing
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                                            cusparseConstSpMatDescr_t A, cusparseConstDnVecDescr_t x, const void *beta,
                                            cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void *) {
  using namespace cudasim::sparse;
  const bool transposed = op != CUSPARSE_OPERATION_NON_TRANSPOSE;
  if (!is_number(A->type) || !is_number(x->type) || !is_number(y->type) || !is_number(compute) || A->batch > 1)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (x->size != (transposed ? A->rows : A->columns) || y->size != (transposed ? A->columns : A->rows))
    return CUSPARSE_STATUS_INVALID_VALUE;
  const factor by(handle, alpha, compute), old(handle, beta, compute);
  const cusparseSpMatDescr a = *A;
  const cusparseDnVecDescr from = *x, to = *y;
  if (a.by_rows && !transposed)
    return run(handle, "cusparseSpMV", a.rows, [=](int64_t row) {
      double sum = 0;
      each_element(a, row,
                   [&](int64_t, int64_t column, double value) { sum += value * load(from.values, from.type, column); });
      store(to.values, to.type, row, blend(by.get() * sum, old.get(), to.values, to.type, row));
    });
  return run(handle, "cusparseSpMV", 1, [=](int64_t) {
    multiply(
        a, transposed, by.get(), old.get(), [&](int64_t i) { return load(from.values, from.type, i); },
        [&](int64_t i, double product, double b) {
          store(to.values, to.type, i, blend(product, b, to.values, to.type, i));
        });
  });
}

static inline cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                       const void *, cusparseConstSpMatDescr_t,
                                                       cusparseConstDnMatDescr_t, const void *, cusparseDnMatDescr_t,
                                                       cudaDataType, cusparseSpMMAlg_t, size_t *bytes) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                            const void *alpha, cusparseConstSpMatDescr_t A, cusparseConstDnMatDescr_t B,
                                            const void *beta, cusparseDnMatDescr_t C, cudaDataType compute,
                                            cusparseSpMMAlg_t, void *) {
  using namespace cudasim::sparse;
  const bool a_transposed = op_a != CUSPARSE_OPERATION_NON_TRANSPOSE;
  const bool b_transposed = op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
  if (!is_number(A->type) || !is_number(B->type) || !is_number(C->type) || !is_number(compute) || A->batch > 1 ||
      B->batch > 1 || C->batch > 1)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (C->rows != (a_transposed ? A->columns : A->rows) || C->columns != (b_transposed ? B->rows : B->columns) ||
      (a_transposed ? A->rows : A->columns) != (b_transposed ? B->columns : B->rows))
    return CUSPARSE_STATUS_INVALID_VALUE;
  const factor by(handle, alpha, compute), old(handle, beta, compute);
  const cusparseSpMatDescr a = *A;
  const cusparseDnMatDescr b = *B, c = *C;
  return run(handle, "cusparseSpMM", c.columns, [=](int64_t column) {
    multiply(
        a, a_transposed, by.get(), old.get(),
        [&](int64_t i) { return load(b.values, b.type, b_transposed ? place(b, column, i) : place(b, i, column)); },
        [&](int64_t i, double product, double scale) {
          const int64_t at = place(c, i, column);
          store(c.values, c.type, at, blend(product, scale, c.values, c.type, at));
        });
  });
}

#include "cudasim_sparse_convert.h"
#include "cudasim_sparse_product.h"
#include "cudasim_sparse_solve.h"

#endif
