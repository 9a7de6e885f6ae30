// SPDX-License-Identifier: MIT
// Part of the simulated cuSPARSE: dense matrices from sparse ones and back, sparse vectors.
#ifndef CUDASIM_SPARSE_CONVERT_H
#define CUDASIM_SPARSE_CONVERT_H

#ifndef CUDASIM_CUSPARSE_H
#error "include cusparse.h"
#endif

// ---- dense and sparse ----

static inline cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t, cusparseConstSpMatDescr_t,
                                                                cusparseDnMatDescr_t, cusparseSparseToDenseAlg_t,
                                                                size_t *bytes) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t A,
                                                     cusparseDnMatDescr_t B, cusparseSparseToDenseAlg_t, void *) {
  using namespace cudasim::sparse;
  if (!is_number(A->type) || A->type != B->type)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  const cusparseSpMatDescr a = *A;
  const cusparseDnMatDescr b = *B;
  return run(handle, "cusparseSparseToDense", 1, [=](int64_t) {
    for (int64_t row = 0; row < b.rows; row++)
      for (int64_t column = 0; column < b.columns; column++)
        store(b.values, b.type, place(b, row, column), 0);
    for (int64_t row = 0; row < (a.by_rows ? a.rows : 1); row++)
      each_element(a, row, [&](int64_t r, int64_t c, double value) { store(b.values, b.type, place(b, r, c), value); });
  });
}

static inline cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t, cusparseConstDnMatDescr_t,
                                                                cusparseSpMatDescr_t, cusparseDenseToSparseAlg_t,
                                                                size_t *bytes) {
  *bytes = sizeof(int64_t); // where the number of elements is counted
  return CUSPARSE_STATUS_SUCCESS;
}
// Counts: the rows' offsets are written, and the matrix knows how many elements it has.
static inline cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t A,
                                                              cusparseSpMatDescr_t B, cusparseDenseToSparseAlg_t,
                                                              void *buffer) {
  using namespace cudasim::sparse;
  if (!is_number(A->type) || A->type != B->type || !B->by_rows)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  const cusparseDnMatDescr a = *A;
  const cusparseSpMatDescr b = *B;
  int64_t *const total = static_cast<int64_t *>(buffer);
  const cusparseStatus_t status = run(handle, "cusparseDenseToSparse_analysis", 1, [=](int64_t) {
    int64_t count = 0;
    for (int64_t row = 0; row < a.rows; row++) {
      set_index(b.rows_of, b.row_type, row, count + b.base);
      for (int64_t column = 0; column < a.columns; column++)
        count += load(a.values, a.type, place(a, row, column)) != 0;
    }
    set_index(b.rows_of, b.row_type, a.rows, count + b.base);
    *total = count;
  });
  if (status != CUSPARSE_STATUS_SUCCESS)
    return status;
  return cudaMemcpyAsync(&B->count, total, sizeof *total, cudaMemcpyDeviceToHost, handle->stream) == cudaSuccess &&
                 cudaStreamSynchronize(handle->stream) == cudaSuccess
             ? CUSPARSE_STATUS_SUCCESS
             : CUSPARSE_STATUS_EXECUTION_FAILED;
}
static inline cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t A,
                                                             cusparseSpMatDescr_t B, cusparseDenseToSparseAlg_t,
                                                             void *) {
  using namespace cudasim::sparse;
  const cusparseDnMatDescr a = *A;
  const cusparseSpMatDescr b = *B;
  return run(handle, "cusparseDenseToSparse", a.rows, [=](int64_t row) {
    int64_t at = index(b.rows_of, b.row_type, row, b.base);
    for (int64_t column = 0; column < a.columns; column++) {
      const double value = load(a.values, a.type, place(a, row, column));
      if (value != 0) {
        set_index(b.columns_of, b.column_type, at, column + b.base);
        store(b.values, b.type, at++, value);
      }
    }
  });
}

// How many elements of a dense matrix, column by column in memory, are not 0: of each row or column, and in all.
template <class T>
inline cusparseStatus_t cudasim_nnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n, const T *A,
                                    int lda, int *of_each, int *total) {
  const bool host = handle->mode == CUSPARSE_POINTER_MODE_HOST, rows = direction == CUSPARSE_DIRECTION_ROW;
  const int count = rows ? m : n, other = rows ? n : m;
  const cusparseStatus_t status = cudasim::sparse::run(handle, "cusparse nnz", count, [=](int64_t i) {
    int found = 0;
    for (int j = 0; j < other; j++)
      found += (rows ? A[i + (int64_t)j * lda] : A[j + i * lda]) != 0;
    of_each[i] = found;
  });
  if (status != CUSPARSE_STATUS_SUCCESS)
    return status;
  if (!host)
    return cudasim::sparse::run(handle, "cusparse nnz", 1, [=](int64_t) {
      int sum = 0;
      for (int i = 0; i < count; i++)
        sum += of_each[i];
      *total = sum;
    });
  int *const copies = new int[static_cast<size_t>(count > 0 ? count : 1)];
  const bool good =
      cudaMemcpyAsync(copies, of_each, (size_t)count * sizeof(int), cudaMemcpyDefault, handle->stream) == cudaSuccess &&
      cudaStreamSynchronize(handle->stream) == cudaSuccess;
  *total = 0;
  for (int i = 0; good && i < count; i++)
    *total += copies[i];
  delete[] copies;
  return good ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}
static inline cusparseStatus_t cusparseSnnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,
                                            const cusparseMatDescr_t, const float *A, int lda, int *of_each,
                                            int *total) {
  return cudasim_nnz(handle, direction, m, n, A, lda, of_each, total);
}
static inline cusparseStatus_t cusparseDnnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,
                                            const cusparseMatDescr_t, const double *A, int lda, int *of_each,
                                            int *total) {
  return cudasim_nnz(handle, direction, m, n, A, lda, of_each, total);
}

// ---- sparse vectors ----

static inline cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void *alpha, cusparseConstSpVecDescr_t X,
                                             const void *beta, cusparseDnVecDescr_t Y) {
  using namespace cudasim::sparse;
  if (!is_number(X->type) || X->type != Y->type)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  const factor by(handle, alpha, Y->type), old(handle, beta, Y->type);
  const cusparseSpVecDescr x = *X;
  const cusparseDnVecDescr y = *Y;
  return run(handle, "cusparseAxpby", 1, [=](int64_t) {
    for (int64_t i = 0; i < y.size; i++)
      store(y.values, y.type, i, blend(0, old.get(), y.values, y.type, i));
    for (int64_t i = 0; i < x.count; i++) {
      const int64_t at = index(x.indices, x.index_type, i, x.base);
      store(y.values, y.type, at, load(y.values, y.type, at) + by.get() * load(x.values, x.type, i));
    }
  });
}
static inline cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t Y,
                                              cusparseSpVecDescr_t X) {
  using namespace cudasim::sparse;
  if (!is_number(X->type) || X->type != Y->type)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  const cusparseSpVecDescr x = *X;
  const cusparseDnVecDescr y = *Y;
  return run(handle, "cusparseGather", x.count, [=](int64_t i) {
    store(x.values, x.type, i, load(y.values, y.type, index(x.indices, x.index_type, i, x.base)));
  });
}
static inline cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t X,
                                               cusparseDnVecDescr_t Y) {
  using namespace cudasim::sparse;
  if (!is_number(X->type) || X->type != Y->type)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  const cusparseSpVecDescr x = *X;
  const cusparseDnVecDescr y = *Y;
  return run(handle, "cusparseScatter", x.count, [=](int64_t i) {
    store(y.values, y.type, index(x.indices, x.index_type, i, x.base), load(x.values, x.type, i));
  });
}

#endif
