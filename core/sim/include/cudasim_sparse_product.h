// SPDX-License-Identifier: MIT
// Part of the simulated cuSPARSE: products of two sparse matrices, dense products where a sparse matrix has elements, rows and columns
// exchanged, columns put in order.
#ifndef CUDASIM_SPARSE_PRODUCT_H
#define CUDASIM_SPARSE_PRODUCT_H

#ifndef CUDASIM_CUSPARSE_H
#error "include cusparse.h"
#endif

#include <algorithm>
#include <map>
#include <vector>

typedef enum {
  CUSPARSE_SPGEMM_DEFAULT = 0,
  CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC = 1,
  CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC = 2,
  CUSPARSE_SPGEMM_ALG1 = 3,
  CUSPARSE_SPGEMM_ALG2 = 4,
  CUSPARSE_SPGEMM_ALG3 = 5
} cusparseSpGEMMAlg_t;
typedef enum { CUSPARSE_SDDMM_ALG_DEFAULT = 0 } cusparseSDDMMAlg_t;
typedef enum { CUSPARSE_ACTION_SYMBOLIC = 0, CUSPARSE_ACTION_NUMERIC = 1 } cusparseAction_t;
typedef enum {
  CUSPARSE_CSR2CSC_ALG_DEFAULT = 1,
  CUSPARSE_CSR2CSC_ALG1 = 1,
  CUSPARSE_CSR2CSC_ALG2 = 2
} cusparseCsr2CscAlg_t;

// What compute has found, for copy.
struct cusparseSpGEMMDescr {
  std::vector<int64_t> offsets, columns;
  std::vector<double> values;
};
typedef cusparseSpGEMMDescr *cusparseSpGEMMDescr_t;

// ---- C = alpha A B, of matrices by rows ----

static inline cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *descr) {
  *descr = new cusparseSpGEMMDescr();
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                             const void *, cusparseConstSpMatDescr_t,
                                                             cusparseConstSpMatDescr_t, const void *,
                                                             cusparseSpMatDescr_t, cudaDataType, cusparseSpGEMMAlg_t,
                                                             cusparseSpGEMMDescr_t, size_t *bytes, void *) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
// beta is 0: C has no elements yet.
static inline cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                      cusparseOperation_t op_b, const void *alpha,
                                                      cusparseConstSpMatDescr_t A, cusparseConstSpMatDescr_t B,
                                                      const void *beta, cusparseSpMatDescr_t C, cudaDataType compute,
                                                      cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descr, size_t *bytes,
                                                      void *buffer) {
  using namespace cudasim::sparse;
  if (op_a != CUSPARSE_OPERATION_NON_TRANSPOSE || op_b != CUSPARSE_OPERATION_NON_TRANSPOSE || !A->by_rows ||
      !B->by_rows || !C->by_rows || !is_number(A->type) || !is_number(B->type) || !is_number(C->type) ||
      !is_number(compute) || handle->mode != CUSPARSE_POINTER_MODE_HOST || load(beta, compute, 0) != 0)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (A->columns != B->rows || C->rows != A->rows || C->columns != B->columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *bytes = 1;
  if (buffer == nullptr)
    return CUSPARSE_STATUS_SUCCESS;
  const cusparseSpMatDescr a = *A, b = *B;
  const double by = load(alpha, compute, 0);
  *descr = cusparseSpGEMMDescr();
  const cusparseStatus_t status = run(handle, "cusparseSpGEMM", 1, [=](int64_t) {
    descr->offsets.push_back(0);
    for (int64_t row = 0; row < a.rows; row++) {
      std::map<int64_t, double> sums; // by column
      each_element(a, row, [&](int64_t, int64_t k, double x) {
        each_element(b, k, [&](int64_t, int64_t column, double y) { sums[column] += x * y; });
      });
      for (const auto &sum : sums) {
        descr->columns.push_back(sum.first);
        descr->values.push_back(by * sum.second);
      }
      descr->offsets.push_back(static_cast<int64_t>(descr->columns.size()));
    }
  });
  if (status != CUSPARSE_STATUS_SUCCESS)
    return status;
  if (cudaStreamSynchronize(handle->stream) != cudaSuccess)
    return CUSPARSE_STATUS_EXECUTION_FAILED;
  C->count = static_cast<int64_t>(descr->columns.size());
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                                                   const void *, cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t,
                                                   const void *, cusparseSpMatDescr_t C, cudaDataType,
                                                   cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descr) {
  using namespace cudasim::sparse;
  const cusparseSpMatDescr c = *C;
  const cusparseStatus_t status = run(handle, "cusparseSpGEMM_copy", 1, [=](int64_t) {
    const cusparseSpGEMMDescr &found = *descr;
    for (size_t i = 0; i < found.offsets.size(); i++)
      set_index(c.rows_of, c.row_type, static_cast<int64_t>(i), found.offsets[i] + c.base);
    for (size_t i = 0; i < found.columns.size(); i++) {
      set_index(c.columns_of, c.column_type, static_cast<int64_t>(i), found.columns[i] + c.base);
      store(c.values, c.type, static_cast<int64_t>(i), found.values[i]);
    }
  });
  return status != CUSPARSE_STATUS_SUCCESS                      ? status
         : cudaStreamSynchronize(handle->stream) == cudaSuccess ? CUSPARSE_STATUS_SUCCESS // the program may free descr
                                                                : CUSPARSE_STATUS_EXECUTION_FAILED;
}

// ---- C = alpha (op(A) op(B)) where C has elements + beta C ----

static inline cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                        const void *, cusparseConstDnMatDescr_t,
                                                        cusparseConstDnMatDescr_t, const void *, cusparseSpMatDescr_t,
                                                        cudaDataType, cusparseSDDMMAlg_t, size_t *bytes) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                        const void *, cusparseConstDnMatDescr_t,
                                                        cusparseConstDnMatDescr_t, const void *, cusparseSpMatDescr_t,
                                                        cudaDataType, cusparseSDDMMAlg_t, void *) {
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a,
                                             cusparseOperation_t op_b, const void *alpha, cusparseConstDnMatDescr_t A,
                                             cusparseConstDnMatDescr_t B, const void *beta, cusparseSpMatDescr_t C,
                                             cudaDataType compute, cusparseSDDMMAlg_t, void *) {
  using namespace cudasim::sparse;
  const bool a_transposed = op_a != CUSPARSE_OPERATION_NON_TRANSPOSE;
  const bool b_transposed = op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
  if (!C->by_rows || !is_number(A->type) || !is_number(B->type) || !is_number(C->type) || !is_number(compute))
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  const int64_t inner = a_transposed ? A->rows : A->columns;
  if (inner != (b_transposed ? B->columns : B->rows) || C->rows != (a_transposed ? A->columns : A->rows) ||
      C->columns != (b_transposed ? B->rows : B->columns) || (A->batch > 1 && A->batch != C->batch) ||
      (B->batch > 1 && B->batch != C->batch))
    return CUSPARSE_STATUS_INVALID_VALUE;
  const factor by(handle, alpha, compute), old(handle, beta, compute);
  const cusparseDnMatDescr a = *A, b = *B;
  const cusparseSpMatDescr c = *C;
  return run(handle, "cusparseSDDMM", c.rows * c.batch, [=](int64_t i) {
    const int64_t row = i % c.rows, batch = i / c.rows;
    const int64_t first_a = batch * a.batch_stride, first_b = batch * b.batch_stride;
    const int64_t offsets = batch * c.offsets_stride, elements = batch * c.elements_stride;
    for (int64_t at = index(c.rows_of, c.row_type, offsets + row, c.base);
         at < index(c.rows_of, c.row_type, offsets + row + 1, c.base); at++) {
      const int64_t column = index(c.columns_of, c.column_type, elements + at, c.base);
      double sum = 0;
      for (int64_t k = 0; k < inner; k++)
        sum += load(a.values, a.type, first_a + (a_transposed ? place(a, k, row) : place(a, row, k))) *
               load(b.values, b.type, first_b + (b_transposed ? place(b, column, k) : place(b, k, column)));
      store(c.values, c.type, elements + at, blend(by.get() * sum, old.get(), c.values, c.type, elements + at));
    }
  });
}

// ---- rows and columns ----

static inline cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t, int, int, int, const void *, const int *,
                                                             const int *, void *, int *, int *, cudaDataType,
                                                             cusparseAction_t, cusparseIndexBase_t,
                                                             cusparseCsr2CscAlg_t, size_t *bytes) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz, const void *values,
                                                  const int *offsets, const int *columns, void *new_values,
                                                  int *new_offsets, int *rows, cudaDataType type,
                                                  cusparseAction_t action, cusparseIndexBase_t base,
                                                  cusparseCsr2CscAlg_t, void *) {
  using namespace cudasim::sparse;
  if (!is_number(type))
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseCsr2cscEx2", 1, [=](int64_t) {
    for (int column = 0; column <= n; column++)
      new_offsets[column] = 0;
    for (int i = 0; i < nnz; i++)
      new_offsets[columns[i] - base + 1]++;
    for (int column = 0; column < n; column++)
      new_offsets[column + 1] += new_offsets[column];
    std::vector<int> next(new_offsets, new_offsets + n);
    for (int column = 0; column <= n; column++)
      new_offsets[column] += base;
    for (int row = 0; row < m; row++)
      for (int i = offsets[row] - base; i < offsets[row + 1] - base; i++) {
        const int at = next[static_cast<size_t>(columns[i] - base)]++;
        rows[at] = row + base;
        if (action == CUSPARSE_ACTION_NUMERIC)
          store(new_values, type, at, load(values, type, i));
      }
  });
}

static inline cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int *p) {
  return cudasim::sparse::run(handle, "cusparseCreateIdentityPermutation", n,
                              [=](int64_t i) { p[i] = static_cast<int>(i); });
}
static inline cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t, int, int, int, const int *, const int *,
                                                              size_t *bytes) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
// Each row's columns in order; p, which may be NULL, goes with them.
static inline cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int, int,
                                                const cusparseMatDescr_t descr, const int *offsets, int *columns,
                                                int *p, void *) {
  const int base = descr->base;
  return cudasim::sparse::run(handle, "cusparseXcsrsort", m, [=](int64_t row) {
    const int begin = offsets[row] - base, end = offsets[row + 1] - base;
    std::vector<std::pair<int, int>> elements;
    for (int i = begin; i < end; i++)
      elements.emplace_back(columns[i], p ? p[i] : 0);
    std::stable_sort(elements.begin(), elements.end(),
                     [](const std::pair<int, int> &x, const std::pair<int, int> &y) { return x.first < y.first; });
    for (int i = begin; i < end; i++) {
      columns[i] = elements[static_cast<size_t>(i - begin)].first;
      if (p)
        p[i] = elements[static_cast<size_t>(i - begin)].second;
    }
  });
}

#endif
