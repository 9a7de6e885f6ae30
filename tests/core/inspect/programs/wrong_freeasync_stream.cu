// finding: race-stream 38 63
// The buffer is freed in the stream it came from while a kernel in the other stream may not have run yet.
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

__global__ void powers(int *x, int n, int base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int p = 1;
  for (int k = 0; k < i % 9; k++)
    p = p * base % 9973;
  x[i] = p;
}

__device__ int blockTotal(int v) {
  __shared__ int part[4];
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = v;
  __syncthreads();
  return part[0] + part[1] + part[2] + part[3];
}

__global__ void collect(const int *x, int n, int *total) {
  int i = blockIdx.x * 128 + threadIdx.x;
  int t = blockTotal(i < n ? x[i] : 0);
  if (threadIdx.x == 0)
    atomicAdd(total, t);
}

int main() {
  const int n = 1000, rounds = 4;
  cudaStream_t make, use;
  CK(cudaStreamCreateWithFlags(&make, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&use, cudaStreamNonBlocking));
  cudaEvent_t made;
  CK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  int *total, got = 0, want = 0;
  CK(cudaMalloc(&total, sizeof(int)));
  CK(cudaMemset(total, 0, sizeof(int)));
  CK(cudaDeviceSynchronize());
  for (int r = 0; r < rounds; r++) {
    int *x;
    CK(cudaMallocAsync((void **)&x, n * sizeof(int), make));
    powers<<<8, 128, 0, make>>>(x, n, r + 2);
    CK(cudaEventRecord(made, make));
    CK(cudaStreamWaitEvent(use, made, 0));
    collect<<<8, 128, 0, use>>>(x, n, total);
    if (r + 1 < rounds)
      CK(cudaStreamSynchronize(use)); // the last round needs no wait: nothing follows
    CK(cudaFreeAsync(x, make));
  }
  CK(cudaStreamSynchronize(make));
  CK(cudaMemcpyAsync(&got, total, sizeof got, cudaMemcpyDeviceToHost, use));
  CK(cudaStreamSynchronize(use));
  for (int r = 0; r < rounds; r++)
    for (int i = 0; i < n; i++) {
      int p = 1;
      for (int k = 0; k < i % 9; k++)
        p = p * (r + 2) % 9973;
      want += p;
    }
  CK(cudaEventDestroy(made));
  CK(cudaStreamDestroy(make));
  CK(cudaStreamDestroy(use));
  CK(cudaFree(total));
  printf("freeasync_stream: %s\n", got == want ? "ok" : "WRONG");
  return got != want;
}
