// missing star: shared memory not used
#include <cuda_runtime.h>

enum { PIECE = 256, BLOCKS = 4 };

__global__ void reverse(float *out, const float *x, int pieces) {
  __shared__ float piece[PIECE];
  int t = threadIdx.x;
  for (int p = blockIdx.x; p < pieces; p += gridDim.x) {
    piece[t] = 0;
    __syncthreads();
    out[p * PIECE + PIECE - 1 - t] = x[p * PIECE + t];
    __syncthreads(); // all have read, before the next round writes
  }
}

extern "C" void reverse_on_device(float *out, const float *x, int pieces) {
  int blocks = pieces > BLOCKS ? BLOCKS : pieces;
  reverse<<<blocks, PIECE>>>(out, x, pieces);
}
