// Threads exchange their number into slots that nothing has written before; nobody uses what was there.
#include <cstdio>
#include <cuda_runtime.h>

#define SLOTS 16

__global__ void claim(int *slots) {
  __shared__ unsigned any;
  atomicExch(&slots[threadIdx.x % SLOTS], (int)threadIdx.x % SLOTS + 1);
  atomicExch(&any, 1u);
  __syncthreads();
  if (any != 1u)
    slots[0] = -1;
}

int main() {
  int h[SLOTS], *slots, sum = 0;
  cudaMalloc(&slots, sizeof h);
  claim<<<1, 64>>>(slots);
  cudaMemcpy(h, slots, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < SLOTS; i++)
    sum += h[i];
  printf("%d\n", sum);
  cudaFree(slots);
}
