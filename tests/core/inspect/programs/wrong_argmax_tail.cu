// finding: uninitialized-shared 25
// In the last block the threads beyond n store nothing, the reduction reads their elements all the same.
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 256

typedef struct {
  float value;
  int index;
} Pair;

__global__ void argmaxBlocks(const float *x, int n, Pair *out) {
  __shared__ Pair s[BLOCK];
  int tid = threadIdx.x;
  int i = blockIdx.x * blockDim.x + tid;

  if (i < n) {
    s[tid].value = x[i];
    s[tid].index = i;
  }
  __syncthreads();

  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (tid < half && s[tid + half].value > s[tid].value)
      s[tid] = s[tid + half];
    __syncthreads();
  }
  if (tid == 0)
    out[blockIdx.x] = s[0];
}

int main(int argc, char *argv[]) {
  int n = argc > 1 ? atoi(argv[1]) : 1200;
  int blocks = (n + BLOCK - 1) / BLOCK;
  float *x = (float *)malloc(n * sizeof(float));
  Pair *part = (Pair *)malloc(blocks * sizeof(Pair));
  for (int i = 0; i < n; i++)
    x[i] = (float)((i * 577) % 1201) + 1.0f;

  float *d_x;
  Pair *d_part;
  cudaMalloc((void **)&d_x, n * sizeof(float));
  cudaMalloc((void **)&d_part, blocks * sizeof(Pair));
  cudaMemcpy(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice);
  argmaxBlocks<<<blocks, BLOCK>>>(d_x, n, d_part);
  cudaMemcpy(part, d_part, blocks * sizeof(Pair), cudaMemcpyDeviceToHost);

  Pair best = part[0];
  for (int b = 1; b < blocks; b++)
    if (part[b].value > best.value)
      best = part[b];
  int ref = 0;
  for (int i = 1; i < n; i++)
    if (x[i] > x[ref])
      ref = i;
  printf("argmax: %d (expected %d)\n", best.index, ref);
  cudaFree(d_x);
  cudaFree(d_part);
  free(x);
  free(part);
  return best.index == ref ? 0 : 1;
}
