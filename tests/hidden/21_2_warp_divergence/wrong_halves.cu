// mistake: halves instead of even and odd
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i / 32 * 32 < (n + 1) / 2 && i < (n + 1) / 2)
    out[i] = even_work(x[i]);
  else if (i < n)
    out[i] = odd_work(x[i]);
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  two_kinds<<<(n + 255) / 256, 256>>>(out, x, n);
}
