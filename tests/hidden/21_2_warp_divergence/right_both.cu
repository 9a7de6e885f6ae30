// missing star: redundant work
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float even = even_work(x[i]), odd = odd_work(x[i]);
    out[i] = i % 2 == 0 ? even : odd;
  }
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  two_kinds<<<(n + 255) / 256, 256>>>(out, x, n);
}
