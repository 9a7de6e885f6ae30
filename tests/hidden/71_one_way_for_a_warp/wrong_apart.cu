// mistake: neighbours far apart
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int first = i * 32;
  for (int k = 0; k < 32 && first + k < n; k += 2)
    out[first + k] = even_work(x[first + k]);
  for (int k = 1; k < 32 && first + k < n; k += 2)
    out[first + k] = odd_work(x[first + k]);
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  two_kinds<<<(n + 32 * 32 - 1) / (32 * 32), 32>>>(out, x, n);
}
