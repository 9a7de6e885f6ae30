// cuSPARSE: products, conversions, sparse vectors, triangular systems, incomplete factorizations. cuSOLVER's dense systems.
#include <cusolverDn.h>
#include <cusparse.h>
#include <cstdio>
#include <initializer_list>

static int failures;
#define CHECK(what)                                                                                                    \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                                                \
      failures++;                                                                                                      \
    }                                                                                                                  \
  } while (0)
#define DONE(call) CHECK((call) == CUSPARSE_STATUS_SUCCESS)

template <class T> static T *copy_of(const T *values, int count) {
  T *p;
  cudaMallocManaged(&p, count * sizeof *p);
  for (int i = 0; i < count; i++)
    p[i] = values[i];
  return p;
}

// (4 1 0; 1 4 1; 0 1 4), whose incomplete factorizations are whole ones, for nothing is left out.
static void solve(cusparseHandle_t sparse) {
  const int h_offsets[] = {0, 2, 5, 7}, h_columns[] = {0, 1, 0, 1, 2, 1, 2};
  const double h_values[] = {4, 1, 1, 4, 1, 1, 4}, h_b[] = {6, 12, 14, 12, 24, 28}, one = 1, two = 2;
  int *offsets = copy_of(h_offsets, 4), *columns = copy_of(h_columns, 7), zero, bytes;
  double *b = copy_of(h_b, 6), *x = copy_of(h_b, 6);
  cusparseMatDescr_t general;
  csrilu02Info_t info;
  csric02Info_t info_of_cholesky;
  DONE(cusparseCreateMatDescr(&general));
  DONE(cusparseCreateCsrilu02Info(&info));
  DONE(cusparseCreateCsric02Info(&info_of_cholesky));
  for (int cholesky = 0; cholesky < 2; cholesky++) {
    double *values = copy_of(h_values, 7);
    if (cholesky) {
      DONE(cusparseDcsric02_bufferSize(sparse, 3, 7, general, values, offsets, columns, info_of_cholesky, &bytes));
      DONE(cusparseDcsric02(sparse, 3, 7, general, values, offsets, columns, info_of_cholesky,
                            CUSPARSE_SOLVE_POLICY_NO_LEVEL, nullptr));
      DONE(cusparseXcsric02_zeroPivot(sparse, info_of_cholesky, &zero));
    } else {
      DONE(cusparseDcsrilu02(sparse, 3, 7, general, values, offsets, columns, info, CUSPARSE_SOLVE_POLICY_USE_LEVEL,
                             nullptr));
      DONE(cusparseXcsrilu02_zeroPivot(sparse, info, &zero));
      CHECK(values[2] == 0.25 && values[3] == 3.75);
    }
    CHECK(zero == -1);
    cusparseSpMatDescr_t lower, upper;
    cusparseFillMode_t fill = CUSPARSE_FILL_MODE_UPPER;
    cusparseDiagType_t unit = CUSPARSE_DIAG_TYPE_UNIT;
    for (cusparseSpMatDescr_t *m : {&lower, &upper})
      DONE(cusparseCreateCsr(m, 3, 3, 7, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    const cusparseOperation_t back = cholesky ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (!cholesky) { // then L^T is the lower triangle transposed
      DONE(cusparseSpMatSetAttribute(lower, CUSPARSE_SPMAT_DIAG_TYPE, &unit, sizeof unit));
      DONE(cusparseSpMatSetAttribute(upper, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    }
    cusparseDnVecDescr_t of_b, of_x;
    cusparseSpSVDescr_t there;
    size_t size;
    DONE(cusparseCreateDnVec(&of_b, 3, b, CUDA_R_64F));
    DONE(cusparseCreateDnVec(&of_x, 3, x, CUDA_R_64F));
    DONE(cusparseSpSV_createDescr(&there));
    CHECK(cusparseSpSV_solve(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, lower, of_b, of_x, CUDA_R_64F,
                             CUSPARSE_SPSV_ALG_DEFAULT, there) == CUSPARSE_STATUS_INVALID_VALUE); // not analyzed
    DONE(cusparseSpSV_bufferSize(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, lower, of_b, of_x, CUDA_R_64F,
                                 CUSPARSE_SPSV_ALG_DEFAULT, there, &size));
    DONE(cusparseSpSV_analysis(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, lower, of_b, of_x, CUDA_R_64F,
                               CUSPARSE_SPSV_ALG_DEFAULT, there, nullptr));
    DONE(cusparseSpSV_solve(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, lower, of_b, of_x, CUDA_R_64F,
                            CUSPARSE_SPSV_ALG_DEFAULT, there));
    DONE(cusparseSpSV_solve(sparse, back, &one, upper, of_x, of_x, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, there));
    cudaDeviceSynchronize();
    for (int i = 0; i < 3; i++)
      CHECK(fabs(x[i] - 2 * (i + 1)) < 1e-12);
    cusparseDnMatDescr_t of_bs, of_xs; // two right sides: the second is twice the first
    cusparseSpSMDescr_t many;
    DONE(cusparseCreateDnMat(&of_bs, 3, 2, 3, b, CUDA_R_64F, CUSPARSE_ORDER_COL));
    DONE(cusparseCreateDnMat(&of_xs, 3, 2, 2, x, CUDA_R_64F, CUSPARSE_ORDER_ROW));
    DONE(cusparseSpSM_createDescr(&many));
    DONE(cusparseSpSM_analysis(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, lower,
                               of_bs, of_xs, CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, many, nullptr));
    DONE(cusparseSpSM_solve(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, lower,
                            of_bs, of_xs, CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, many));
    DONE(cusparseSpSM_solve(sparse, back, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, upper, of_xs, of_xs, CUDA_R_64F,
                            CUSPARSE_SPSM_ALG_DEFAULT, many));
    cudaDeviceSynchronize();
    for (int i = 0; i < 3; i++)
      CHECK(fabs(x[2 * i] - (i + 1)) < 1e-12 && fabs(x[2 * i + 1] - 2 * (i + 1)) < 1e-12);
  }
  double *singular = copy_of(h_values, 7);
  singular[0] = 0;
  DONE(cusparseDcsrilu02(sparse, 3, 7, general, singular, offsets, columns, info, CUSPARSE_SOLVE_POLICY_NO_LEVEL,
                         nullptr));
  CHECK(cusparseXcsrilu02_zeroPivot(sparse, info, &zero) == CUSPARSE_STATUS_ZERO_PIVOT && zero == 0);
}

// (1 2; 0 3) and what it gives times itself, (1 8; 0 9); transposed; with its columns in disorder.
static void multiply(cusparseHandle_t sparse) {
  const int h_offsets[] = {0, 2, 3, 0, 2, 3}, h_columns[] = {1, 0, 1, 1, 0, 1}, none[] = {9, 9, 9, 9};
  const float h_values[] = {2, 1, 3, 0, 0, 1}, h_a[] = {1, 2, 3, 4}, one = 1, zero = 0;
  int *offsets = copy_of(h_offsets, 6), *columns = copy_of(h_columns, 6), *p = copy_of(none, 3);
  int *new_offsets = copy_of(none, 3), *new_columns = copy_of(none, 4);
  float *values = copy_of(h_values, 6), *products = copy_of(h_a, 4), *dense = copy_of(h_a, 4);
  cusparseSpMatDescr_t a, c;
  cusparseSpGEMMDescr_t work;
  size_t size;
  int64_t rows, cols, count;
  DONE(cusparseCreateCsr(&a, 2, 2, 3, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  DONE(cusparseCreateCsr(&c, 2, 2, 0, new_offsets, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  DONE(cusparseSpGEMM_createDescr(&work));
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE, other = CUSPARSE_OPERATION_TRANSPOSE;
  DONE(cusparseSpGEMM_workEstimation(sparse, plain, plain, &one, a, a, &zero, c, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT,
                                     work, &size, nullptr));
  DONE(cusparseSpGEMM_compute(sparse, plain, plain, &one, a, a, &zero, c, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, work,
                              &size, p));
  DONE(cusparseSpMatGetSize(c, &rows, &cols, &count));
  CHECK(count == 3);
  DONE(cusparseCsrSetPointers(c, new_offsets, new_columns, products));
  DONE(cusparseSpGEMM_copy(sparse, plain, plain, &one, a, a, &zero, c, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, work));
  cudaDeviceSynchronize();
  CHECK(new_offsets[1] == 2 && new_offsets[2] == 3 && new_columns[0] == 0 && new_columns[1] == 1);
  CHECK(products[0] == 1 && products[1] == 8 && products[2] == 9);
  DONE(cusparseCsr2cscEx2(sparse, 2, 2, 3, values, offsets, columns, products, new_offsets, new_columns, CUDA_R_32F,
                          CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, nullptr));
  cudaDeviceSynchronize();
  CHECK(new_offsets[1] == 1 && new_offsets[2] == 3 && new_columns[0] == 0 && new_columns[2] == 1 && products[0] == 1 &&
        products[1] == 2 && products[2] == 3);
  // A product of (1 2; 3 4) and its transpose, (5 11; 11 25), where a matrix has elements; twice, for two batches.
  cusparseDnMatDescr_t d;
  DONE(cusparseCreateDnMat(&d, 2, 2, 2, dense, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  DONE(cusparseCsrSetStridedBatch(a, 2, 3, 3));
  DONE(cusparseSDDMM(sparse, plain, other, &one, d, d, &one, a, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, nullptr));
  cudaDeviceSynchronize();
  CHECK(values[0] == 13 && values[1] == 6 && values[2] == 28 && values[3] == 11 && values[4] == 5 && values[5] == 26);
  cusparseMatDescr_t general;
  DONE(cusparseCreateMatDescr(&general));
  DONE(cusparseCreateIdentityPermutation(sparse, 3, p));
  DONE(cusparseXcsrsort(sparse, 2, 2, 3, general, offsets, columns, p, nullptr));
  cudaDeviceSynchronize();
  CHECK(columns[0] == 0 && columns[1] == 1 && p[0] == 1 && p[1] == 0 && p[2] == 2);
}

// (4 2 0; 2 5 1; 0 1 3) x = b for x = (1 2 3) by Cholesky, LU (of the rows in another order, and transposed) and QR.
static void dense(void) {
  const double h_a[] = {4, 2, 0, 2, 5, 1, 0, 1, 3}, h_b[] = {8, 15, 11}, h_turned[] = {0, 4, 2, 1, 2, 5, 3, 0, 1};
  const double h_turned_b[] = {11, 8, 15};
  double *work;
  int *pivot, *info, size;
  cudaMallocManaged(&pivot, 3 * sizeof *pivot);
  cudaMallocManaged(&info, sizeof *info);
  cudaMallocManaged(&work, 3 * sizeof *work);
  cusolverDnHandle_t solver;
  CHECK(cusolverDnCreate(&solver) == CUSOLVER_STATUS_SUCCESS);
  for (int way = 0; way < 5; way++) {
    const bool turned = way == 2;
    double *a = copy_of(turned ? h_turned : h_a, 9), *b = copy_of(turned ? h_turned_b : h_b, 3);
    cusolverStatus_t status;
    if (way < 2) {
      const cublasFillMode_t fill = way ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
      a[way ? 1 : 3] = 77; // the other triangle is not looked at
      status = cusolverDnDpotrf_bufferSize(solver, fill, 3, a, 3, &size);
      status = status ? status : cusolverDnDpotrf(solver, fill, 3, a, 3, work, size, info);
      cudaDeviceSynchronize();
      CHECK(*info == 0 && a[0] == 2 && a[way ? 3 : 1] == 1);
      status = status ? status : cusolverDnDpotrs(solver, fill, 3, 1, a, 3, b, 3, info);
    } else if (way < 4) {
      status = cusolverDnDgetrf(solver, 3, 3, a, 3, work, pivot, info);
      status = status ? status
                      : cusolverDnDgetrs(solver, way == 3 ? CUBLAS_OP_T : CUBLAS_OP_N, 3, 1, a, 3, pivot, b, 3, info);
      cudaDeviceSynchronize();
      CHECK(*info == 0 && pivot[0] == (turned ? 2 : 1));
    } else {
      status = cusolverDnDgeqrf(solver, 3, 3, a, 3, work, nullptr, 0, info);
      status =
          status ? status
                 : cusolverDnDormqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, 3, 1, 3, a, 3, work, b, 3, nullptr, 0, info);
      cudaDeviceSynchronize();
      b[2] /= a[8];
      b[1] = (b[1] - a[7] * b[2]) / a[4];
      b[0] = (b[0] - a[3] * b[1] - a[6] * b[2]) / a[0];
    }
    cudaDeviceSynchronize();
    CHECK(status == CUSOLVER_STATUS_SUCCESS && fabs(b[0] - 1) < 1e-12 && fabs(b[1] - 2) < 1e-12 &&
          fabs(b[2] - 3) < 1e-12);
  }
  const double h_bad[] = {1, 2, 2, 1};
  double *bad = copy_of(h_bad, 4);
  cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_LOWER, 2, bad, 2, work, 1, info);
  cudaDeviceSynchronize();
  CHECK(*info == 2);
  const float h_singular[] = {1, 1, 1, 1};
  float *singular = copy_of(h_singular, 4);
  cusolverDnSgetrf(solver, 2, 2, singular, 2, nullptr, pivot, info);
  cudaDeviceSynchronize();
  CHECK(*info == 2);
  cusolverDnDestroy(solver);
}

int main() {
  dense();
  // (1 0 2; 0 0 3), by rows and as a list.
  const int h_offsets[] = {0, 2, 3}, h_rows[] = {0, 0, 1}, h_columns[] = {0, 2, 2};
  const float h_values[] = {1, 2, 3}, h_x[] = {1, 10, 100}, h_y[] = {5, 7, 0}, one = 1, two = 2, zero = 0;
  int *offsets = copy_of(h_offsets, 3), *rows = copy_of(h_rows, 3), *columns = copy_of(h_columns, 3);
  float *values = copy_of(h_values, 3), *x = copy_of(h_x, 3), *y = copy_of(h_y, 3);
  const float h_dense[] = {1, 0, 2, 0, 0, 3, -1, -1};
  float *dense = copy_of(h_dense, 8);
  cusparseHandle_t sparse;
  DONE(cusparseCreate(&sparse));
  cusparseSpMatDescr_t csr, coo;
  cusparseDnVecDescr_t of_x, of_y;
  DONE(cusparseCreateCsr(&csr, 2, 3, 3, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  DONE(cusparseCreateCoo(&coo, 2, 3, 3, rows, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                         CUDA_R_32F));
  DONE(cusparseCreateDnVec(&of_x, 3, x, CUDA_R_32F));
  DONE(cusparseCreateDnVec(&of_y, 2, y, CUDA_R_32F));
  for (cusparseSpMatDescr_t a : {csr, coo}) {
    y[0] = 5;
    y[1] = 7;
    DONE(cusparseSpMV(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, a, of_x, &one, of_y, CUDA_R_32F,
                      CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
    cudaDeviceSynchronize();
    CHECK(y[0] == 5 + 2 * 201 && y[1] == 7 + 2 * 300);
    DONE(cusparseSpMV(sparse, CUSPARSE_OPERATION_TRANSPOSE, &one, a, of_y, &zero, of_x, CUDA_R_32F,
                      CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
    cudaDeviceSynchronize();
    CHECK(x[0] == 407 && x[1] == 0 && x[2] == 2 * 407 + 3 * 607);
    for (int i = 0; i < 3; i++)
      x[i] = h_x[i];
  }
  CHECK(cusparseSpMV(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, csr, of_y, &zero, of_x, CUDA_R_32F,
                     CUSPARSE_SPMV_ALG_DEFAULT, nullptr) == CUSPARSE_STATUS_INVALID_VALUE);

  float *product = copy_of(h_dense, 4);
  cusparseDnMatDescr_t b, c, d;
  DONE(cusparseCreateDnMat(&b, 3, 2, 2, dense, CUDA_R_32F, CUSPARSE_ORDER_ROW)); // (1 0; 2 0; 0 3)
  DONE(cusparseCreateDnMat(&c, 2, 2, 2, product, CUDA_R_32F, CUSPARSE_ORDER_COL));
  DONE(cusparseSpMM(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, csr, b, &zero, c,
                    CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, nullptr));
  cudaDeviceSynchronize();
  CHECK(product[0] == 1 && product[1] == 0 && product[2] == 6 && product[3] == 9);

  DONE(cusparseCreateDnMat(&d, 2, 3, 4, dense, CUDA_R_32F, CUSPARSE_ORDER_ROW)); // (1 0 2 .; 0 3 -1 .)
  cusparseSpMatDescr_t made;
  int *made_offsets = copy_of(h_offsets, 3);
  size_t bytes = 0;
  void *buffer;
  DONE(cusparseCreateCsr(&made, 2, 3, 0, made_offsets, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F));
  dense[4] = 0;
  dense[5] = 3;
  DONE(cusparseDenseToSparse_bufferSize(sparse, d, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &bytes));
  cudaMalloc(&buffer, bytes);
  DONE(cusparseDenseToSparse_analysis(sparse, d, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer));
  int64_t r, s, nnz;
  DONE(cusparseSpMatGetSize(made, &r, &s, &nnz));
  CHECK(nnz == 4 && made_offsets[0] == 1 && made_offsets[1] == 3 && made_offsets[2] == 5);
  int *made_columns;
  float *made_values;
  cudaMallocManaged(&made_columns, 4 * sizeof(int));
  cudaMallocManaged(&made_values, 4 * sizeof(float));
  DONE(cusparseCsrSetPointers(made, made_offsets, made_columns, made_values));
  DONE(cusparseDenseToSparse_convert(sparse, d, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer));
  cudaDeviceSynchronize();
  CHECK(made_columns[0] == 1 && made_columns[1] == 3 && made_columns[2] == 2 && made_values[3] == -1);
  for (int i = 0; i < 8; i++)
    dense[i] = 9;
  DONE(cusparseSparseToDense(sparse, made, d, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
  cudaDeviceSynchronize();
  CHECK(dense[0] == 1 && dense[1] == 0 && dense[2] == 2 && dense[3] == 9 && dense[5] == 3 && dense[6] == -1);

  cusparseMatDescr_t general;
  DONE(cusparseCreateMatDescr(&general));
  int total = 0;
  DONE(cusparseSnnz(sparse, CUSPARSE_DIRECTION_ROW, 2, 2, general, product, 2, rows, &total));
  CHECK(rows[0] == 2 && rows[1] == 1 && total == 3);
  cusparseSpVecDescr_t some;
  DONE(cusparseCreateSpVec(&some, 3, 2, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  DONE(cusparseAxpby(sparse, &two, some, &one, of_x)); // 1 at 0, 2 at 2
  DONE(cusparseGather(sparse, of_x, some));
  cudaDeviceSynchronize();
  CHECK(x[0] == 3 && x[1] == 10 && x[2] == 104 && values[0] == 3 && values[1] == 104);
  solve(sparse);
  multiply(sparse);
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
