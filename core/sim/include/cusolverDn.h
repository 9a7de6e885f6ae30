// SPDX-License-Identifier: MIT
// Simulated cuSOLVER, dense: LU, Cholesky and QR factorizations of float and double matrices by columns, and systems solved with them.
// One thread of a kernel computes, in double; the rest of cuSOLVER is missing by its name. C++ only.
#ifndef CUDASIM_CUSOLVERDN_H
#define CUDASIM_CUSOLVERDN_H
#define CUSOLVERDN_H_
#define CUSOLVER_COMMON_H_ // what helper headers ask for

#ifndef __cplusplus
#error "cuSOLVER is simulated in C++; compile this file with -x cu"
#endif

#include <math.h>

#include "cublas_v2.h"
#include "cuda_runtime.h"
#include "cudasim_launch.h" // a host compiler's source has not included it yet

typedef enum {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_NOT_INITIALIZED = 1,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_ARCH_MISMATCH = 4,
  CUSOLVER_STATUS_MAPPING_ERROR = 5,
  CUSOLVER_STATUS_EXECUTION_FAILED = 6,
  CUSOLVER_STATUS_INTERNAL_ERROR = 7,
  CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSOLVER_STATUS_NOT_SUPPORTED = 9,
  CUSOLVER_STATUS_ZERO_PIVOT = 10,
  CUSOLVER_STATUS_INVALID_LICENSE = 11,
  CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED = 12,
  CUSOLVER_STATUS_IRS_PARAMS_INVALID = 13,
  CUSOLVER_STATUS_IRS_INTERNAL_ERROR = 14,
  CUSOLVER_STATUS_IRS_NOT_SUPPORTED = 15,
  CUSOLVER_STATUS_IRS_OUT_OF_RANGE = 16,
  CUSOLVER_STATUS_IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES = 17,
  CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED = 18
} cusolverStatus_t;

typedef struct cusolverDnContext {
  cudaStream_t stream;
} * cusolverDnHandle_t;

static inline cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle) {
  *handle = new cusolverDnContext{nullptr};
  return CUSOLVER_STATUS_SUCCESS;
}
static inline cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}
static inline cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr)
    return CUSOLVER_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
static inline cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream) {
  *stream = handle->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

namespace cudasim {
namespace dense {

template <class T> struct matrix { // by columns, or (transposed) by rows
  T *data;
  int leading;
  bool transposed;
  T &operator()(int row, int column) const {
    return transposed ? data[static_cast<size_t>(row) * static_cast<size_t>(leading) + static_cast<size_t>(column)]
                      : data[static_cast<size_t>(column) * static_cast<size_t>(leading) + static_cast<size_t>(row)];
  }
};

template <class Work> inline cusolverStatus_t run(cusolverDnHandle_t handle, const char *name, Work work) {
  static_assert(std::is_trivially_copyable<Work>::value, "a launch copies its arguments' bytes");
  if (handle == nullptr)
    return CUSOLVER_STATUS_NOT_INITIALIZED;
  void (*const none)(void) = nullptr;
  return launch(none, work, name, dim3(1), dim3(1), 0, handle->stream).submit() == cudaSuccess
             ? CUSOLVER_STATUS_SUCCESS
             : CUSOLVER_STATUS_EXECUTION_FAILED;
}

// A = L L^T in the lower triangle; the size of the first part that is not positive definite, or 0.
template <class T> inline int cholesky(matrix<T> a, int n) {
  for (int column = 0; column < n; column++) {
    double rest = a(column, column);
    for (int k = 0; k < column; k++)
      rest -= static_cast<double>(a(column, k)) * a(column, k);
    if (!(rest > 0))
      return column + 1;
    const double diagonal = sqrt(rest);
    a(column, column) = static_cast<T>(diagonal);
    for (int row = column + 1; row < n; row++) {
      double sum = a(row, column);
      for (int k = 0; k < column; k++)
        sum -= static_cast<double>(a(row, k)) * a(column, k);
      a(row, column) = static_cast<T>(sum / diagonal);
    }
  }
  return 0;
}

// P A = L U; pivot[i], from 1 on: the row that was exchanged with row i. The first pivot that is 0, from 1 on, or 0.
template <class T> inline int lu(matrix<T> a, int rows, int columns, int *pivot) {
  int zero = 0;
  for (int k = 0; k < (rows < columns ? rows : columns); k++) {
    int best = k;
    for (int row = k + 1; pivot && row < rows; row++)
      if (fabs(static_cast<double>(a(row, k))) > fabs(static_cast<double>(a(best, k))))
        best = row;
    if (pivot)
      pivot[k] = best + 1;
    for (int column = 0; best != k && column < columns; column++) {
      const T kept = a(k, column);
      a(k, column) = a(best, column);
      a(best, column) = kept;
    }
    if (a(k, k) == 0) {
      zero = zero ? zero : k + 1;
      continue;
    }
    for (int row = k + 1; row < rows; row++) {
      a(row, k) /= a(k, k);
      for (int column = k + 1; column < columns; column++)
        a(row, column) -= a(row, k) * a(k, column);
    }
  }
  return zero;
}

// T x = b in place, for one column of b; T: a triangle of a.
template <class T> inline void solve_triangle(matrix<T> a, int n, bool lower, bool unit, T *b) {
  for (int step = 0; step < n; step++) {
    const int row = lower ? step : n - 1 - step;
    double sum = b[row];
    for (int k = lower ? 0 : row + 1; k < (lower ? row : n); k++)
      sum -= static_cast<double>(a(row, k)) * b[k];
    b[row] = static_cast<T>(unit ? sum : sum / a(row, row));
  }
}

template <class T> inline void exchange(int n, const int *pivot, bool forward, T *b) {
  for (int step = 0; pivot && step < n; step++) {
    const int i = forward ? step : n - 1 - step;
    const T kept = b[i];
    b[i] = b[pivot[i] - 1];
    b[pivot[i] - 1] = kept;
  }
}

// Column k's reflection I - tau v v^T, v beginning with 1 at row k and standing below it in a, of `columns` columns of c from `first`
// on.
template <class T> inline void reflect(matrix<T> a, int rows, int k, double tau, matrix<T> c, int first, int columns) {
  for (int column = first; column < columns; column++) {
    double sum = c(k, column);
    for (int row = k + 1; row < rows; row++)
      sum += static_cast<double>(a(row, k)) * c(row, column);
    sum *= tau;
    c(k, column) -= static_cast<T>(sum);
    for (int row = k + 1; row < rows; row++)
      c(row, column) -= static_cast<T>(sum * a(row, k));
  }
}

template <class T> inline void qr(matrix<T> a, int rows, int columns, T *tau) {
  for (int k = 0; k < (rows < columns ? rows : columns); k++) {
    double below = 0;
    for (int row = k + 1; row < rows; row++)
      below += static_cast<double>(a(row, k)) * a(row, k);
    const double head = a(k, k);
    if (below == 0) {
      tau[k] = 0;
      continue;
    }
    const double norm = head > 0 ? -sqrt(head * head + below) : sqrt(head * head + below);
    tau[k] = static_cast<T>((norm - head) / norm);
    for (int row = k + 1; row < rows; row++)
      a(row, k) = static_cast<T>(a(row, k) / (head - norm));
    a(k, k) = static_cast<T>(norm);
    reflect(a, rows, k, tau[k], a, k + 1, columns);
  }
}

} // namespace dense
} // namespace cudasim

#define CUDASIM_SOLVER(letter, T)                                                                                      \
  static inline cusolverStatus_t cusolverDn##letter##potrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, T *,  \
                                                                      int, int *size) {                                \
    *size = 1;                                                                                                         \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##potrf(cusolverDnHandle_t handle, cublasFillMode_t fill, int n,    \
                                                           T *A, int lda, T *, int, int *info) {                       \
    return cudasim::dense::run(handle, "cusolverDn" #letter "potrf", [=](void) {                                       \
      *info = cudasim::dense::cholesky(cudasim::dense::matrix<T>{A, lda, fill == CUBLAS_FILL_MODE_UPPER}, n);          \
    });                                                                                                                \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##potrs(cusolverDnHandle_t handle, cublasFillMode_t fill, int n,    \
                                                           int columns, const T *A, int lda, T *B, int ldb,            \
                                                           int *info) {                                                \
    return cudasim::dense::run(handle, "cusolverDn" #letter "potrs", [=](void) {                                       \
      const bool upper = fill == CUBLAS_FILL_MODE_UPPER;                                                               \
      const cudasim::dense::matrix<T> l = {const_cast<T *>(A), lda, upper}, back = {const_cast<T *>(A), lda, !upper};  \
      for (int column = 0; column < columns; column++) {                                                               \
        cudasim::dense::solve_triangle(l, n, true, false, B + static_cast<size_t>(column) * static_cast<size_t>(ldb)); \
        cudasim::dense::solve_triangle(back, n, false, false,                                                          \
                                       B + static_cast<size_t>(column) * static_cast<size_t>(ldb));                    \
      }                                                                                                                \
      *info = 0;                                                                                                       \
    });                                                                                                                \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##getrf_bufferSize(cusolverDnHandle_t, int, int, T *, int,          \
                                                                      int *size) {                                     \
    *size = 1;                                                                                                         \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##getrf(cusolverDnHandle_t handle, int rows, int columns, T *A,     \
                                                           int lda, T *, int *pivot, int *info) {                      \
    return cudasim::dense::run(handle, "cusolverDn" #letter "getrf", [=](void) {                                       \
      *info = cudasim::dense::lu(cudasim::dense::matrix<T>{A, lda, false}, rows, columns, pivot);                      \
    });                                                                                                                \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##getrs(cusolverDnHandle_t handle, cublasOperation_t op, int n,     \
                                                           int columns, const T *A, int lda, const int *pivot, T *B,   \
                                                           int ldb, int *info) {                                       \
    return cudasim::dense::run(handle, "cusolverDn" #letter "getrs", [=](void) {                                       \
      const bool transposed = op != CUBLAS_OP_N;                                                                       \
      const cudasim::dense::matrix<T> a = {const_cast<T *>(A), lda, transposed};                                       \
      for (int column = 0; column < columns; column++) {                                                               \
        T *const b = B + static_cast<size_t>(column) * static_cast<size_t>(ldb);                                       \
        if (!transposed)                                                                                               \
          cudasim::dense::exchange(n, pivot, true, b);                                                                 \
        cudasim::dense::solve_triangle(a, n, true, !transposed, b);                                                    \
        cudasim::dense::solve_triangle(a, n, false, transposed, b);                                                    \
        if (transposed)                                                                                                \
          cudasim::dense::exchange(n, pivot, false, b);                                                                \
      }                                                                                                                \
      *info = 0;                                                                                                       \
    });                                                                                                                \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##geqrf_bufferSize(cusolverDnHandle_t, int, int, T *, int,          \
                                                                      int *size) {                                     \
    *size = 1;                                                                                                         \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##geqrf(cusolverDnHandle_t handle, int rows, int columns, T *A,     \
                                                           int lda, T *tau, T *, int, int *info) {                     \
    return cudasim::dense::run(handle, "cusolverDn" #letter "geqrf", [=](void) {                                       \
      cudasim::dense::qr(cudasim::dense::matrix<T>{A, lda, false}, rows, columns, tau);                                \
      *info = 0;                                                                                                       \
    });                                                                                                                \
  }                                                                                                                    \
  static inline cusolverStatus_t cusolverDn##letter##ormqr_bufferSize(cusolverDnHandle_t, cublasSideMode_t,            \
                                                                      cublasOperation_t, int, int, int, const T *,     \
                                                                      int, const T *, const T *, int, int *size) {     \
    *size = 1;                                                                                                         \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  /* C = op(Q) C, from the left alone */                                                                               \
  static inline cusolverStatus_t cusolverDn##letter##ormqr(                                                            \
      cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t op, int rows, int columns, int count,        \
      const T *A, int lda, const T *tau, T *C, int ldc, T *, int, int *info) {                                         \
    if (side != CUBLAS_SIDE_LEFT)                                                                                      \
      return CUSOLVER_STATUS_NOT_SUPPORTED;                                                                            \
    return cudasim::dense::run(handle, "cusolverDn" #letter "ormqr", [=](void) {                                       \
      const cudasim::dense::matrix<T> a = {const_cast<T *>(A), lda, false}, c = {C, ldc, false};                       \
      for (int step = 0; step < count; step++) {                                                                       \
        const int k = op == CUBLAS_OP_N ? count - 1 - step : step;                                                     \
        cudasim::dense::reflect(a, rows, k, tau[k], c, 0, columns);                                                    \
      }                                                                                                                \
      *info = 0;                                                                                                       \
    });                                                                                                                \
  }
CUDASIM_SOLVER(S, float)
CUDASIM_SOLVER(D, double)
#undef CUDASIM_SOLVER

#endif
