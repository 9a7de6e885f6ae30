// Products by cuBLAS and cuBLASLt as programs call them: half, a matrix and a vector in double, a product with bias and GELU.
#include <cmath>
#include <cstdio>
#include <cublasLt.h>
#include <cublasXt.h>
#include <cublas_v2.h>

static int failed;
static void expect(const char *what, double got, double want, double bound) {
  if (!(fabs(got - want) <= bound)) {
    printf("FAIL %s: %.9g, want %.9g\n", what, got, want);
    failed = 1;
  }
}

int main() {
  const int m = 3, n = 2, k = 4;
  cublasHandle_t blas;
  cublasCreate(&blas);
  double *a, *x, *y;
  cudaMallocManaged(&a, m * k * sizeof *a);
  cudaMallocManaged(&x, k * sizeof *x);
  cudaMallocManaged(&y, k * sizeof *y);
  for (int i = 0; i < m * k; i++)
    a[i] = i; // column-major: a(row, column) = row + 3 column
  for (int i = 0; i < k; i++)
    x[i] = y[i] = i + 1;
  const double one = 1, zero = 0;
  expect("gemv's status", cublasDgemv(blas, CUBLAS_OP_N, m, k, &one, a, m, x, 1, &zero, y, 1), CUBLAS_STATUS_SUCCESS,
         0);
  cudaDeviceSynchronize();
  expect("A x", y[2], 2 * 10 + 3 * (0 + 2 + 6 + 12), 0);
  cublasDgemv(blas, CUBLAS_OP_T, m, k, &one, a, m, x, 1, &zero, y, 1);
  cudaDeviceSynchronize();
  expect("A^T x", y[3], 9 * 1 + 10 * 2 + 11 * 3, 0);
  expect("gaps are refused", cublasDgemv(blas, CUBLAS_OP_N, m, k, &one, a, m, x, 2, &zero, y, 1),
         CUBLAS_STATUS_NOT_SUPPORTED, 0);

  __half *h, h_one = 1.0f, h_zero = 0.0f;
  cudaMallocManaged(&h, 12 * sizeof *h);
  for (int i = 0; i < 8; i++)
    h[i] = __float2half((float)(i + 1));
  cublasHgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &h_one, h, 2, h + 4, 2, &h_zero, h + 8, 2);
  cudaDeviceSynchronize();
  expect("half product", __half2float(h[8]), 1 * 5 + 3 * 6, 0);

  float *w, *in, *out, *bias, f_one = 1, f_zero = 0;
  cudaMallocManaged(&w, m * k * sizeof *w);
  cudaMallocManaged(&in, k * n * sizeof *in);
  cudaMallocManaged(&out, m * n * sizeof *out);
  cudaMallocManaged(&bias, m * sizeof *bias);
  for (int i = 0; i < m * k; i++)
    w[i] = 0.1f * (float)(i % 5);
  for (int i = 0; i < k * n; i++)
    in[i] = 0.2f * (float)(i % 3) - 0.1f;
  for (int i = 0; i < m; i++)
    bias[i] = (float)i - 1;
  cublasLtHandle_t lt;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t lw, li;
  cublasLtMatrixLayoutOpaque_t lo; // a program may have it on its stack
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
  cublasLtCreate(&lt);
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  cublasLtMatrixLayoutCreate(&lw, CUDA_R_32F, k, m, k);
  cublasLtMatrixLayoutCreate(&li, CUDA_R_32F, k, n, k);
  cublasLtMatrixLayoutInit(&lo, CUDA_R_32F, m, n, m);
  expect("Lt's status",
         cublasLtMatmul(lt, desc, &f_one, w, lw, in, li, &f_zero, out, &lo, out, &lo, nullptr, nullptr, 0, 0),
         CUBLAS_STATUS_SUCCESS, 0);
  cudaDeviceSynchronize();
  for (int row = 0; row < m; row++)
    for (int column = 0; column < n; column++) {
      double v = bias[row];
      for (int i = 0; i < k; i++)
        v += (double)w[row * k + i] * in[column * k + i];
      const double gelu = 0.5 * v * (1 + tanh(0.79788456080286536 * (v + 0.044715 * v * v * v)));
      expect("product, bias, GELU", out[column * m + row], gelu, 1e-6);
    }
  // Of the host's own memory, behind whose last column nothing is read.
  const float hosts_a[] = {1, 2, 9, 3, 4}, hosts_b[] = {5, 6, 7, 8}, x_one = 1, x_two = 2;
  float hosts_c[] = {1, 1, 77, 1, 1};
  int second = 1;
  cublasXtHandle_t xt;
  cublasXtCreate(&xt);
  expect("Xt's device", cublasXtDeviceSelect(xt, 1, &second), CUBLAS_STATUS_SUCCESS, 0);
  expect("Xt's status",
         cublasXtSgemm(xt, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &x_one, hosts_a, 3, hosts_b, 2, &x_two, hosts_c, 3),
         CUBLAS_STATUS_SUCCESS, 0);
  const float wanted[] = {1 * 5 + 3 * 7 + 2, 2 * 5 + 4 * 7 + 2, 77, 1 * 6 + 3 * 8 + 2, 2 * 6 + 4 * 8 + 2};
  for (int i = 0; i < 5; i++)
    expect("Xt's product", hosts_c[i], wanted[i], 0);
  expect("Xt's end", cublasXtDestroy(xt), CUBLAS_STATUS_SUCCESS, 0);
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
