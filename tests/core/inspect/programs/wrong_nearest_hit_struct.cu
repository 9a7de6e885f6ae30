// finding: race-block 27 27
// Every thread that finds a hit copies its whole record to the result: the last one wins, and its fields may be of two.
#include <cstdio>
#include <cuda_runtime.h>

struct Hit {
  float distance;
  int object;
  float normal[3];
};

#define N 256

__global__ void trace(const float *depth, Hit *hits) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  Hit h;
  h.distance = depth[t];
  h.object = t;
  for (int i = 0; i < 3; i++)
    h.normal[i] = depth[t] * (i + 1);
  hits[t] = h;
}

__global__ void choose(const Hit *hits, Hit *nearest) {
  const int t = threadIdx.x;
  if (hits[t].distance < 0.5f && t % 64 == 0)
    *nearest = hits[t];
}

int main() {
  float depth[N], *d;
  Hit *hits, *nearest, found;
  for (int i = 0; i < N; i++)
    depth[i] = (float)(i % 7) / 16;
  cudaMalloc(&d, sizeof depth);
  cudaMalloc(&hits, N * sizeof(Hit));
  cudaMalloc(&nearest, sizeof(Hit));
  cudaMemcpy(d, depth, sizeof depth, cudaMemcpyHostToDevice);
  trace<<<1, N>>>(d, hits);
  choose<<<1, N>>>(hits, nearest);
  cudaMemcpy(&found, nearest, sizeof found, cudaMemcpyDeviceToHost);
  printf("object %d\n", found.object);
  cudaFree(d);
  cudaFree(hits);
  cudaFree(nearest);
}
