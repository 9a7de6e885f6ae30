// finding: race-grid 49 55
// The last block reads the boxes of the others, which were stored without a fence before the ticket.
// Bounding box of a mesh in one launch: per-block boxes, combined by the block that finishes last.
#include <cstdio>
#include <cfloat>
#include <vector>
#include <cuda_runtime.h>

constexpr int BLOCKS = 12, THREADS = 128;

struct Box {
  float lo[3], hi[3];
};

__device__ unsigned int ticketCounter = 0;

__device__ void grow(Box &b, const Box &o) {
  for (int k = 0; k < 3; k++) {
    b.lo[k] = fminf(b.lo[k], o.lo[k]);
    b.hi[k] = fmaxf(b.hi[k], o.hi[k]);
  }
}

__device__ void reduceBlock(Box *s, int tid) {
  for (int d = THREADS / 2; d > 0; d >>= 1) {
    __syncthreads();
    if (tid < d)
      grow(s[tid], s[tid + d]);
  }
}

__global__ void boundingBox(const float *xyz, int n, Box *partial, Box *result) {
  __shared__ Box s[THREADS];
  __shared__ bool amLast;
  const int tid = threadIdx.x;
  Box mine;
  for (int k = 0; k < 3; k++) {
    mine.lo[k] = FLT_MAX;
    mine.hi[k] = -FLT_MAX;
  }
  for (int i = blockIdx.x * THREADS + tid; i < n; i += gridDim.x * THREADS)
    for (int k = 0; k < 3; k++) {
      mine.lo[k] = fminf(mine.lo[k], xyz[3 * i + k]);
      mine.hi[k] = fmaxf(mine.hi[k], xyz[3 * i + k]);
    }
  s[tid] = mine;
  reduceBlock(s, tid);
  if (tid == 0) {
    partial[blockIdx.x] = s[0];
    unsigned int t = atomicInc(&ticketCounter, gridDim.x);
    amLast = t == gridDim.x - 1;
  }
  __syncthreads();
  if (amLast && tid == 0) {
    Box all = partial[0];
    for (int b = 1; b < gridDim.x; b++)
      grow(all, partial[b]);
    *result = all;
    ticketCounter = 0;
  }
}

int main() {
  const int n = 4000;
  std::vector<float> h(3 * n);
  Box want, got;
  for (int k = 0; k < 3; k++) {
    want.lo[k] = FLT_MAX;
    want.hi[k] = -FLT_MAX;
  }
  for (int i = 0; i < 3 * n; i++) {
    h[i] = (float)((i * 7919) % 10007) - 5000.0f;
    if (h[i] < want.lo[i % 3])
      want.lo[i % 3] = h[i];
    if (h[i] > want.hi[i % 3])
      want.hi[i % 3] = h[i];
  }
  float *dXyz;
  Box *dPartial, *dResult;
  cudaMalloc(&dXyz, h.size() * sizeof(float));
  cudaMalloc(&dPartial, BLOCKS * sizeof(Box));
  cudaMalloc(&dResult, sizeof(Box));
  cudaMemcpy(dXyz, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice);
  boundingBox<<<BLOCKS, THREADS>>>(dXyz, n, dPartial, dResult);
  cudaMemcpy(&got, dResult, sizeof(Box), cudaMemcpyDeviceToHost);
  cudaFree(dXyz);
  cudaFree(dPartial);
  cudaFree(dResult);
  bool ok = true;
  for (int k = 0; k < 3; k++)
    ok = ok && got.lo[k] == want.lo[k] && got.hi[k] == want.hi[k];
  printf("bounding box %s\n", ok ? "right" : "wrong");
  return 0;
}
