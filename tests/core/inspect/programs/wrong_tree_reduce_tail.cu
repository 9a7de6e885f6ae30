// finding: race-warp 23 22
// In the warp tail no __syncwarp stands between the store of the 8-step and the load of the 4-step by another lane.
// Block sums: a tree in shared memory whose last six steps run in one warp on a volatile pointer.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK 256

__device__ void warpTail(volatile int *s, int t) {
  int v = s[t];
  v += s[t + 32];
  __syncwarp();
  s[t] = v;
  __syncwarp();
  v += s[t + 16];
  __syncwarp();
  s[t] = v;
  __syncwarp();
  v += s[t + 8];
  __syncwarp();
  s[t] = v;
  v += s[t + 4];
  __syncwarp();
  s[t] = v;
  __syncwarp();
  v += s[t + 2];
  __syncwarp();
  s[t] = v;
  __syncwarp();
  v += s[t + 1];
  __syncwarp();
  s[t] = v;
}

__global__ void blockSums(const int *in, int *out, int n) {
  __shared__ int s[BLOCK];
  int t = threadIdx.x;
  int i = blockIdx.x * (2 * BLOCK) + t;
  int v = (i < n) ? in[i] : 0;
  if (i + BLOCK < n)
    v += in[i + BLOCK];
  s[t] = v;
  __syncthreads();
  for (int step = BLOCK / 2; step > 32; step >>= 1) {
    if (t < step)
      s[t] += s[t + step];
    __syncthreads();
  }
  if (t < 32)
    warpTail(s, t);
  if (t == 0)
    out[blockIdx.x] = s[0];
}

int main() {
  const int n = 5000;
  const int blocks = (n + 2 * BLOCK - 1) / (2 * BLOCK);
  int *h = (int *)malloc(n * sizeof(int));
  long long want = 0;
  for (int i = 0; i < n; i++) {
    h[i] = (i * 37 + 11) % 101 - 50;
    want += h[i];
  }

  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, blocks * sizeof(int));
  cudaMemcpy(in, h, n * sizeof(int), cudaMemcpyHostToDevice);
  blockSums<<<blocks, BLOCK>>>(in, out, n);
  int part[64];
  cudaMemcpy(part, out, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  long long got = 0;
  for (int b = 0; b < blocks; b++)
    got += part[b];
  cudaFree(in);
  cudaFree(out);
  free(h);
  printf("tree_reduce_tail: %s\n", got == want ? "ok" : "WRONG");
  return got == want ? 0 : 1;
}
