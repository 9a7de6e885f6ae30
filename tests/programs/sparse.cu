// cuSPARSE: products, conversions, sparse vectors.
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

int main() {
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
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
