// Sum over all blocks in one launch: each block publishes its partial sum, takes a ticket, the last one adds them up.
#include <cstdio>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__device__ unsigned int retired = 0;

template <int B> __device__ long long blockSum(long long v, long long *scratch) {
  int t = threadIdx.x;
  scratch[t] = v;
  __syncthreads();
  for (int s = B / 2; s > 0; s >>= 1) {
    if (t < s)
      scratch[t] += scratch[t + s];
    __syncthreads();
  }
  return scratch[0];
}

template <int B> __global__ void sumAll(const int *in, int n, volatile long long *partial, long long *out) {
  __shared__ long long scratch[B];
  __shared__ bool isLast;
  long long mine = 0;
  for (int i = blockIdx.x * B + threadIdx.x; i < n; i += B * gridDim.x)
    mine += in[i];
  long long total = blockSum<B>(mine, scratch);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = total;
    __threadfence();
    unsigned int t = atomicInc(&retired, gridDim.x - 1); // wraps to 0: ready for the next launch
    isLast = (t == gridDim.x - 1);
    __threadfence();
  }
  __syncthreads();
  if (!isLast)
    return; // the whole block leaves
  long long v = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += B)
    v += partial[b];
  total = blockSum<B>(v, scratch);
  if (threadIdx.x == 0)
    *out = total;
}

int main() {
  const int n = 20011, B = 128, G = 23;
  int *h = new int[n];
  long long want = 0;
  for (int i = 0; i < n; i++) {
    h[i] = (i * 7919) % 1013 - 300;
    want += h[i];
  }
  int *in;
  long long *partial, *out;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&partial, G * sizeof(long long)));
  CK(cudaMalloc(&out, sizeof(long long)));
  CK(cudaMemcpy(in, h, n * sizeof(int), cudaMemcpyHostToDevice));
  int bad = 0;
  for (int round = 0; round < 3; round++) { // the ticket has wrapped by itself
    long long got = 0;
    sumAll<B><<<G, B>>>(in, n, partial, out);
    CK(cudaGetLastError());
    CK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    bad += got != want;
  }
  CK(cudaFree(in));
  CK(cudaFree(partial));
  CK(cudaFree(out));
  delete[] h;
  printf("lastblock_ticket: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
