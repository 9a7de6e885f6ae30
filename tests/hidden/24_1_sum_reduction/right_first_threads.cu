// missing star: serial kernel
#include <cuda_runtime.h>

// The first thread of each block adds up its chunk; the others write nothing.
__global__ void add_chunks(float *partial, const float *x, int n) {
  int each = (n + (int)gridDim.x - 1) / (int)gridDim.x, first = blockIdx.x * each;
  if (threadIdx.x != 0)
    return;
  float own = 0;
  for (int i = first; i < first + each && i < n; i++)
    own += x[i];
  partial[blockIdx.x] = own;
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  add_chunks<<<64, 32>>>(partial, x, n);
  add_chunks<<<1, 32>>>(sum, partial, 64);
}
