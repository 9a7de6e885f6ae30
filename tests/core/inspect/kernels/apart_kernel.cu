// The kernel of apart.cu. It reads one element too many.
#include <cuda_runtime.h>

__global__ void doubled(float *x, int n) {
  int i = threadIdx.x;
  if (i <= n)
    x[i] *= 2;
}
