// mistake: even and odd swapped
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = 2 * i;
  if (at < n)
    out[at] = odd_work(x[at]);
  if (at + 1 < n)
    out[at + 1] = even_work(x[at + 1]);
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  two_kinds<<<(n + 255) / 256, 256>>>(out, x, n);
}
