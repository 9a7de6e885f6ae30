// missing star: uncoalesced access
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  int first = 32 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = first; i < first + 32; i += 2) {
    if (i < n)
      out[i] = even_work(x[i]);
    if (i + 1 < n)
      out[i + 1] = odd_work(x[i + 1]);
  }
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  int threads = (n + 31) / 32;
  two_kinds<<<(threads + 127) / 128, 128>>>(out, x, n);
}
