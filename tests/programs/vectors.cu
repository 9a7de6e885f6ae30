// cuBLAS as programs use it beside products: vectors, arrays of matrices, bytes, copies.
#include <cublas_v2.h>
#include <cmath>
#include <cstdio>

static int failures;
#define CHECK(what)                                                                                                    \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                                                \
      failures++;                                                                                                      \
    }                                                                                                                  \
  } while (0)
#define DONE(call) CHECK((call) == CUBLAS_STATUS_SUCCESS)

static void of_vectors(cublasHandle_t blas) {
  const int n = 1000;
  float hx[1000], hy[1000], *x, *y, result;
  double *d, wide;
  int at;
  for (int i = 0; i < n; i++) {
    hx[i] = (float)(i % 7) - 3;
    hy[i] = (float)i;
  }
  hx[123] = -50;
  cudaMalloc(&x, n * sizeof *x);
  cudaMalloc(&y, n * sizeof *y);
  cudaMallocManaged(&d, 8 * sizeof *d);
  DONE(cublasSetVector(n, sizeof *x, hx, 1, x, 1));
  DONE(cublasSetVector(n, sizeof *y, hy, 1, y, 1));
  double dot = 0, square = 0, absolute = 0;
  for (int i = 0; i < n; i++) {
    dot += (double)hx[i] * hy[i];
    square += (double)hx[i] * hx[i];
    absolute += std::fabs(hx[i]);
  }
  DONE(cublasSdot(blas, n, x, 1, y, 1, &result));
  CHECK(result == (float)dot);
  DONE(cublasSnrm2(blas, n, x, 1, &result));
  CHECK(result == (float)std::sqrt(square));
  DONE(cublasSasum(blas, n, x, 1, &result));
  CHECK(result == (float)absolute);
  DONE(cublasIsamax(blas, n, x, 1, &at));
  CHECK(at == 124);
  DONE(cublasIsamin(blas, n, x, 1, &at));
  CHECK(at == 4);
  const float two = 2;
  DONE(cublasSscal(blas, n / 2, &two, x, 2)); // the even ones
  DONE(cublasScopy(blas, n, x, -1, y, 1));    // from the far end
  DONE(cublasGetVector(n, sizeof *y, y, 1, hy, 1));
  CHECK(hy[999] == 2 * hx[0] && hy[998] == hx[1] && hy[0] == hx[999]);
  for (int i = 0; i < 4; i++)
    d[i] = d[4 + i] = i + 1;
  const double half = 0.5;
  DONE(cublasDaxpy(blas, 4, &half, d, 1, d + 4, 1));
  DONE(cublasDdot(blas, 4, d, 1, d + 4, 1, &wide));
  CHECK(wide == 45);
  DONE(cublasDswap(blas, 4, d, 1, d + 4, 1));
  cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE);
  DONE(cublasDasum(blas, 4, d, 1, d + 4));
  cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST);
  cudaDeviceSynchronize();
  CHECK(d[0] == 1.5 && d[4] == 15 && d[5] == 2);
  CHECK(cublasSdot(blas, n, x, 1, y, 1, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  cudaFree(x);
  cudaFree(y);
  cudaFree(d);
}

static void of_matrices(cublasHandle_t blas) {
  double *m, **array;
  int *pivots, *info;
  cudaMallocManaged(&m, 32 * sizeof *m);
  cudaMallocManaged(&array, 6 * sizeof *array);
  cudaMallocManaged(&pivots, 4 * sizeof *pivots);
  cudaMallocManaged(&info, 2 * sizeof *info);
  for (int i = 0; i < 8; i++)
    m[i] = i + 1; // two of 2 x 2: (1 3; 2 4), (5 7; 6 8)
  for (int i = 0; i < 2; i++) {
    array[i] = array[2 + i] = m + 4 * i;
    array[4 + i] = m + 8 + 4 * i;
  }
  const double one = 1, none = 0;
  DONE(cublasDgemmBatched(blas, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, array, 2, array + 2, 2, &none, array + 4, 2,
                          2));
  cudaDeviceSynchronize();
  CHECK(m[8] == 10 && m[9] == 14 && m[11] == 20 && m[12] == 74 && m[15] == 100);
  DONE(cublasDgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, &one, m, 2, &none, (double *)nullptr, 2, m + 16, 2));
  cudaDeviceSynchronize();
  CHECK(m[16] == 1 && m[17] == 3 && m[18] == 2 && m[19] == 4);
  DONE(cublasDgetrfBatched(blas, 2, array, 2, pivots, info, 2));
  cudaDeviceSynchronize();
  CHECK(info[0] == 0 && info[1] == 0 && pivots[0] == 2 && pivots[1] == 2); // (2 4; 0.5 1)
  CHECK(m[0] == 2 && m[1] == 0.5 && m[2] == 4 && m[3] == 1);

  signed char *bytes;
  int *sums, alpha = 2, beta = 0;
  cudaMallocManaged((void **)&bytes, 16);
  cudaMallocManaged(&sums, 4 * sizeof *sums);
  for (int i = 0; i < 8; i++)
    bytes[i] = (signed char)(100 + i);
  DONE(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 2, &alpha, bytes, CUDA_R_8I, 2, bytes + 4, CUDA_R_8I, 2,
                    &beta, sums, CUDA_R_32I, 2, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
  cudaDeviceSynchronize();
  CHECK(sums[0] == 2 * (100 * 104 + 101 * 105) && sums[1] == 2 * (102 * 104 + 103 * 105) &&
        sums[2] == 2 * (100 * 106 + 101 * 107));
  __half *h, h_one = __float2half(1), h_none = __float2half(0);
  cudaMallocManaged(&h, 12 * sizeof *h);
  for (int i = 0; i < 8; i++)
    h[i] = __float2half((float)i);
  DONE(cublasHgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, &h_one, h, 1, 2, h + 4, 2, 2, &h_none, h + 8,
                                 1, 1, 2));
  cudaDeviceSynchronize();
  CHECK(__half2float(h[8]) == 0 * 4 + 1 * 5 && __half2float(h[9]) == 2 * 6 + 3 * 7);
  CHECK(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha, bytes, CUDA_R_8I, 2, bytes, CUDA_R_8I, 2, &beta,
                     sums, CUDA_R_32F, 2, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED);

  float *f, f_one = 1, f_none = 0; // as it was written before cublasComputeType_t
  cudaMallocManaged(&f, 12 * sizeof *f);
  for (int i = 0; i < 8; i++)
    f[i] = (float)i;
  DONE(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &f_one, f, CUDA_R_32F, 2, f + 4, CUDA_R_32F, 2, &f_none,
                    f + 8, CUDA_R_32F, 2, CUDA_R_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
  cudaDeviceSynchronize();
  CHECK(f[8] == 0 * 4 + 2 * 5 && f[11] == 1 * 6 + 3 * 7);
  DONE(cublasGemmStridedBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, &f_one, f, CUDA_R_32F, 1, 2, f + 4,
                                  CUDA_R_32F, 2, 2, &f_none, f + 8, CUDA_R_32F, 1, 1, 2, CUDA_R_32F,
                                  CUBLAS_GEMM_DEFAULT));
  cudaDeviceSynchronize();
  CHECK(f[8] == 0 * 4 + 1 * 5 && f[9] == 2 * 6 + 3 * 7);
  CHECK(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &f_one, f, CUDA_R_32F, 2, f + 4, CUDA_R_32F, 2, &f_none,
                     f + 8, CUDA_R_32F, 2, CUDA_R_8U, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED);
}

int main() {
  cublasHandle_t blas;
  cublasCreate(&blas);
  of_vectors(blas);
  of_matrices(blas);
  cublasDestroy(blas);
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
