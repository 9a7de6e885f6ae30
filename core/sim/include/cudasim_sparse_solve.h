// SPDX-License-Identifier: MIT
// Part of the simulated cuSPARSE: triangular systems with one or many right sides, incomplete factorizations.
#ifndef CUDASIM_SPARSE_SOLVE_H
#define CUDASIM_SPARSE_SOLVE_H

#ifndef CUDASIM_CUSPARSE_H
#error "include cusparse.h"
#endif

typedef enum { CUSPARSE_SPSV_ALG_DEFAULT = 0 } cusparseSpSVAlg_t;
typedef enum { CUSPARSE_SPSM_ALG_DEFAULT = 0 } cusparseSpSMAlg_t;
typedef enum { CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0, CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1 } cusparseSolvePolicy_t;
typedef enum { CUSPARSE_SPSV_UPDATE_GENERAL = 0, CUSPARSE_SPSV_UPDATE_DIAGONAL = 1 } cusparseSpSVUpdate_t;

// Nothing is kept of an analysis: solving looks at the matrix as it is then.
struct cusparseSpSVDescr {
  bool analyzed;
};
struct cusparseSpSMDescr {
  bool analyzed;
};
typedef cusparseSpSVDescr *cusparseSpSVDescr_t;
typedef cusparseSpSMDescr *cusparseSpSMDescr_t;

// Where the first zero on the diagonal was met, or -1; managed memory.
struct csrilu02Info {
  int *zero;
};
struct csric02Info {
  int *zero;
};
typedef csrilu02Info *csrilu02Info_t;
typedef csric02Info *csric02Info_t;

namespace cudasim {
namespace sparse {

// Where each row's elements begin; a list's (COO) elements stand row after row. The caller deletes them.
inline int64_t *row_begins(const cusparseSpMatDescr &a) {
  int64_t *const begin = new int64_t[static_cast<size_t>(a.rows + 1)]();
  for (int64_t i = 0; !a.by_rows && i < a.count; i++)
    begin[index(a.rows_of, a.row_type, i, a.base) + 1]++;
  for (int64_t row = 0; row <= a.rows; row++)
    begin[row] = a.by_rows ? index(a.rows_of, a.row_type, row, a.base) : begin[row] + (row ? begin[row - 1] : 0);
  return begin;
}

// op(A) y = alpha x, of A's triangle alone, for one column: x and y by functions of the index.
template <class X, class Y>
inline void solve_triangle(const cusparseSpMatDescr &a, const int64_t *begin, bool transposed, double alpha, X x, Y y) {
  const bool forward = (a.fill == CUSPARSE_FILL_MODE_LOWER) != transposed;
  const bool unit = a.diagonal == CUSPARSE_DIAG_TYPE_UNIT;
  double *const rest = new double[static_cast<size_t>(a.rows)];
  for (int64_t i = 0; i < a.rows; i++)
    rest[i] = alpha * x(i);
  for (int64_t step = 0; step < a.rows; step++) {
    const int64_t row = forward ? step : a.rows - 1 - step;
    double diagonal = unit ? 1 : 0;
    for (int64_t i = begin[row]; i < begin[row + 1]; i++) {
      const int64_t column = index(a.columns_of, a.column_type, i, a.base);
      const double value = load(a.values, a.type, i);
      if (column == row && !unit)
        diagonal += value;
      else if (!transposed && (a.fill == CUSPARSE_FILL_MODE_LOWER ? column < row : column > row))
        rest[row] -= value * rest[column];
    }
    rest[row] /= diagonal;
    for (int64_t i = begin[row]; transposed && i < begin[row + 1]; i++) { // the row is a column of op(A)
      const int64_t column = index(a.columns_of, a.column_type, i, a.base);
      if (a.fill == CUSPARSE_FILL_MODE_LOWER ? column < row : column > row)
        rest[column] -= load(a.values, a.type, i) * rest[row];
    }
  }
  for (int64_t i = 0; i < a.rows; i++)
    y(i, rest[i]);
  delete[] rest;
}

} // namespace sparse
} // namespace cudasim

// ---- one right side ----

static inline cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t *descr) {
  *descr = new cusparseSpSVDescr{false};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void *,
                                                       cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t,
                                                       cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
                                                       cusparseSpSVDescr_t, size_t *bytes) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t, cusparseOperation_t, const void *,
                                                     cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t,
                                                     cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
                                                     cusparseSpSVDescr_t descr, void *) {
  descr->analyzed = true;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                                                  cusparseConstSpMatDescr_t A, cusparseConstDnVecDescr_t x,
                                                  cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                                                  cusparseSpSVDescr_t descr) {
  using namespace cudasim::sparse;
  if (!is_number(A->type) || !is_number(x->type) || !is_number(y->type) || !is_number(compute))
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (!descr->analyzed || A->rows != A->columns || x->size != A->rows || y->size != A->rows)
    return CUSPARSE_STATUS_INVALID_VALUE;
  const factor by(handle, alpha, compute);
  const cusparseSpMatDescr a = *A;
  const cusparseDnVecDescr from = *x, to = *y;
  return run(handle, "cusparseSpSV", 1, [=](int64_t) {
    const int64_t *const begin = row_begins(a);
    solve_triangle(
        a, begin, op != CUSPARSE_OPERATION_NON_TRANSPOSE, by.get(),
        [&](int64_t i) { return load(from.values, from.type, i); },
        [&](int64_t i, double value) { store(to.values, to.type, i, value); });
    delete[] begin;
  });
}

// ---- many right sides: op(A) C = alpha op(B) ----

static inline cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t *descr) {
  *descr = new cusparseSpSMDescr{false};
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                       const void *, cusparseConstSpMatDescr_t,
                                                       cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType,
                                                       cusparseSpSMAlg_t, cusparseSpSMDescr_t, size_t *bytes) {
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                     const void *, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                                                     cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t,
                                                     cusparseSpSMDescr_t descr, void *) {
  descr->analyzed = true;
  return CUSPARSE_STATUS_SUCCESS;
}
static inline cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a,
                                                  cusparseOperation_t op_b, const void *alpha,
                                                  cusparseConstSpMatDescr_t A, cusparseConstDnMatDescr_t B,
                                                  cusparseDnMatDescr_t C, cudaDataType compute, cusparseSpSMAlg_t,
                                                  cusparseSpSMDescr_t descr) {
  using namespace cudasim::sparse;
  const bool b_transposed = op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
  if (!is_number(A->type) || !is_number(B->type) || !is_number(C->type) || !is_number(compute))
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (!descr->analyzed || A->rows != A->columns || C->rows != A->rows ||
      (b_transposed ? B->columns : B->rows) != C->rows || (b_transposed ? B->rows : B->columns) != C->columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  const factor by(handle, alpha, compute);
  const cusparseSpMatDescr a = *A;
  const cusparseDnMatDescr b = *B, c = *C;
  return run(handle, "cusparseSpSM", 1, [=](int64_t) {
    const int64_t *const begin = row_begins(a);
    for (int64_t column = 0; column < c.columns; column++)
      solve_triangle(
          a, begin, op_a != CUSPARSE_OPERATION_NON_TRANSPOSE, by.get(),
          [&](int64_t i) { return load(b.values, b.type, b_transposed ? place(b, column, i) : place(b, i, column)); },
          [&](int64_t i, double value) { store(c.values, c.type, place(c, i, column), value); });
    delete[] begin;
  });
}

// ---- incomplete factorizations, in place, with A's own pattern ----

namespace cudasim {
namespace sparse {

// Where row `row` has column `column`, or -1.
template <class Begin>
inline int64_t find_in_row(const Begin *begin, const int *columns, int base, int64_t row, int64_t column) {
  for (int64_t i = begin[row] - base; i < begin[row + 1] - base; i++)
    if (columns[i] - base == column)
      return i;
  return -1;
}

// A = L U: L's diagonal is 1 and is not stored. Returns the first row whose pivot is 0 or missing, or -1.
template <class T> inline int factorize_lu(int rows, T *values, const int *begin, const int *columns, int base) {
  int zero = -1;
  for (int row = 0; row < rows; row++) {
    for (int i = begin[row] - base; i < begin[row + 1] - base; i++) {
      const int k = columns[i] - base;
      const int64_t pivot = k < row ? find_in_row(begin, columns, base, k, k) : -1;
      if (pivot < 0)
        continue;
      values[i] /= values[pivot];
      for (int j = begin[k] - base; j < begin[k + 1] - base; j++) {
        const int64_t at = columns[j] - base > k ? find_in_row(begin, columns, base, row, columns[j] - base) : -1;
        if (at >= 0)
          values[at] -= values[i] * values[j];
      }
    }
    const int64_t diagonal = find_in_row(begin, columns, base, row, row);
    if (zero < 0 && (diagonal < 0 || values[diagonal] == 0))
      zero = row;
  }
  return zero;
}

// A = L L^T: L lies in the lower triangle, the upper one keeps what it had.
template <class T> inline int factorize_cholesky(int rows, T *values, const int *begin, const int *columns, int base) {
  int zero = -1;
  for (int row = 0; row < rows; row++) {
    double squares = 0;
    for (int i = begin[row] - base; i < begin[row + 1] - base; i++) {
      const int k = columns[i] - base;
      const int64_t pivot = k < row ? find_in_row(begin, columns, base, k, k) : -1;
      if (pivot < 0)
        continue;
      double sum = values[i];
      for (int j = begin[k] - base; j < begin[k + 1] - base; j++) {
        const int64_t at = columns[j] - base < k ? find_in_row(begin, columns, base, row, columns[j] - base) : -1;
        if (at >= 0)
          sum -= static_cast<double>(values[at]) * values[j];
      }
      values[i] = static_cast<T>(sum / values[pivot]);
      squares += static_cast<double>(values[i]) * values[i];
    }
    const int64_t diagonal = find_in_row(begin, columns, base, row, row);
    if (zero < 0 && (diagonal < 0 || !(values[diagonal] > squares)))
      zero = row;
    if (diagonal >= 0)
      values[diagonal] = static_cast<T>(sqrt(values[diagonal] - squares));
  }
  return zero;
}

inline cusparseStatus_t create_info(int **zero) {
  if (cudaMallocManaged(reinterpret_cast<void **>(zero), sizeof **zero) != cudaSuccess)
    return CUSPARSE_STATUS_ALLOC_FAILED;
  **zero = -1;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t zero_pivot(cusparseHandle_t handle, const int *zero, int *position) {
  if (cudaStreamSynchronize(handle->stream) != cudaSuccess)
    return CUSPARSE_STATUS_EXECUTION_FAILED;
  if (cudaMemcpy(position, zero, sizeof *zero, cudaMemcpyDefault) != cudaSuccess)
    return CUSPARSE_STATUS_EXECUTION_FAILED;
  return *zero < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}

} // namespace sparse
} // namespace cudasim

#define CUDASIM_FACTORIZATION(kind, method, T, letter)                                                                 \
  static inline cusparseStatus_t cusparse##letter##kind##_bufferSize(                                                  \
      cusparseHandle_t, int, int, const cusparseMatDescr_t, T *, const int *, const int *, kind##Info_t, int *bytes) { \
    *bytes = 1;                                                                                                        \
    return CUSPARSE_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  static inline cusparseStatus_t cusparse##letter##kind##_analysis(                                                    \
      cusparseHandle_t, int, int, const cusparseMatDescr_t, const T *, const int *, const int *, kind##Info_t,         \
      cusparseSolvePolicy_t, void *) {                                                                                 \
    return CUSPARSE_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  static inline cusparseStatus_t cusparse##letter##kind(                                                               \
      cusparseHandle_t handle, int rows, int, const cusparseMatDescr_t descr, T *values, const int *offsets,           \
      const int *columns, kind##Info_t info, cusparseSolvePolicy_t, void *) {                                          \
    int *const zero = info->zero;                                                                                      \
    const int base = descr->base;                                                                                      \
    return cudasim::sparse::run(handle, "cusparse" #letter #kind, 1, [=](int64_t) {                                    \
      const int first = cudasim::sparse::method(rows, values, offsets, columns, base);                                 \
      *zero = first < 0 ? first : first + base;                                                                        \
    });                                                                                                                \
  }
#define CUDASIM_FACTORIZATIONS(kind, Kind, method)                                                                     \
  static inline cusparseStatus_t cusparseCreate##Kind##Info(kind##Info_t *info) {                                      \
    *info = new kind##Info{nullptr};                                                                                   \
    return cudasim::sparse::create_info(&(*info)->zero);                                                               \
  }                                                                                                                    \
  static inline cusparseStatus_t cusparseDestroy##Kind##Info(kind##Info_t info) {                                      \
    (void)cudaFree(info->zero);                                                                                        \
    delete info;                                                                                                       \
    return CUSPARSE_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  static inline cusparseStatus_t cusparseX##kind##_zeroPivot(cusparseHandle_t handle, kind##Info_t info,               \
                                                             int *position) {                                          \
    return cudasim::sparse::zero_pivot(handle, info->zero, position);                                                  \
  }                                                                                                                    \
  CUDASIM_FACTORIZATION(kind, method, float, S)                                                                        \
  CUDASIM_FACTORIZATION(kind, method, double, D)
CUDASIM_FACTORIZATIONS(csrilu02, Csrilu02, factorize_lu)
CUDASIM_FACTORIZATIONS(csric02, Csric02, factorize_cholesky)
#undef CUDASIM_FACTORIZATIONS
#undef CUDASIM_FACTORIZATION

#endif
