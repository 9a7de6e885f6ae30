// A thread for each pair of neighbors: no branch but the guards.
#include <cuda_runtime.h>

__global__ void pairs(float *out, const float *x, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    out[i] = even_work(x[i]);
  if (i + 1 < n)
    out[i + 1] = odd_work(x[i + 1]);
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  pairs<<<((n + 1) / 2 + 127) / 128, 128>>>(out, x, n);
}
