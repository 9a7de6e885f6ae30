// finding: race-grid 39 44
// Thread 0 takes the ticket without a barrier first, so other threads of its block may not have stored their partial bins when
// the last block reads them.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int BINS = 96;

__device__ unsigned tickets;

__device__ bool drawTicket() {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

__global__ void histogram(const unsigned *in, int n, int *partial, int *bins) {
  __shared__ int local[BINS];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * BINS + threadIdx.x; i < n; i += gridDim.x * BINS)
    atomicAdd(&local[in[i] % BINS], 1);
  __syncthreads();
  partial[blockIdx.x * BINS + threadIdx.x] = local[threadIdx.x];
  if (!drawTicket())
    return;
  int s = 0;
  for (int b = 0; b < gridDim.x; b++)
    s += partial[b * BINS + threadIdx.x];
  bins[threadIdx.x] = s;
}

int main() {
  const int n = 7000, G = 10;
  std::vector<unsigned> h(n);
  std::vector<int> want(BINS, 0), got(BINS);
  for (int i = 0; i < n; i++) {
    h[i] = i * 2654435761u >> 7;
    want[h[i] % BINS]++;
  }
  unsigned *in;
  int *partial, *bins;
  CK(cudaMalloc(&in, n * sizeof(unsigned)));
  CK(cudaMalloc(&partial, G * BINS * sizeof(int)));
  CK(cudaMalloc(&bins, BINS * sizeof(int)));
  CK(cudaMemset(partial, 0, G * BINS * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  histogram<<<G, BINS>>>(in, n, partial, bins);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), bins, BINS * sizeof(int), cudaMemcpyDeviceToHost));
  int ok = got == want;
  CK(cudaFree(in));
  CK(cudaFree(partial));
  CK(cudaFree(bins));
  printf("lastblock_rows: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
