// mistake: out-of-bounds write
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i < n) {
    out[2 * i] = even_work(x[2 * i]);
    out[2 * i + 1] = odd_work(x[2 * i + 1]);
  }
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  two_kinds<<<(n + 255) / 256, 256>>>(out, x, n);
}
