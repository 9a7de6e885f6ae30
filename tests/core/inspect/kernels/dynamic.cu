// All threads write dynamic shared memory, and read what others have written. Each thread has a stack of its own here, which may end
// next to that memory.
#include <cuda_runtime.h>

enum { BLOCKS = 4096, BLOCK = 256 };

__global__ void exchange(float *out) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  const float v = __shfl_xor_sync(0xffffffffu, (float)t, 1);
  s[t] = v;
  s[t + BLOCK] = v;
  __syncthreads();
  out[blockIdx.x * BLOCK + t] = s[BLOCK - 1 - t] + s[2 * BLOCK - 1 - t];
}

int main(void) {
  float *x;
  cudaMalloc(&x, BLOCKS * BLOCK * sizeof *x);
  exchange<<<BLOCKS, BLOCK, 2 * BLOCK * sizeof *x>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}
