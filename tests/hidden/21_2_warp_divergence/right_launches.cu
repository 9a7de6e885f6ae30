// A launch for each kind.
#include <cuda_runtime.h>

__global__ void evens(float *out, const float *x, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    out[i] = even_work(x[i]);
}

__global__ void odds(float *out, const float *x, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1;
  if (i < n)
    out[i] = odd_work(x[i]);
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  int blocks = ((n + 1) / 2 + 255) / 256;
  evens<<<blocks, 256>>>(out, x, n);
  odds<<<blocks, 256>>>(out, x, n);
}
