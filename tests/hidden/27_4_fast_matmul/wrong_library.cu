// mistake: no kernel was launched
#include <cuda_runtime.h>

#include <cublas_v2.h>

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  cublasHandle_t handle;
  const float one = 1, zero = 0;
  cublasCreate(&handle);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  cublasDestroy(handle);
}
