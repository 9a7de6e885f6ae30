// finding: race-grid 48 57
// The block's maximum is stored after the fence, so the last block may read it before it is there.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__device__ unsigned retired;

template <class Op> __device__ int reduce(int v, int *scratch, Op op) {
  int t = threadIdx.x;
  scratch[t] = v;
  __syncthreads();
  for (int s = blockDim.x / 2; s; s /= 2) {
    if (t < s)
      scratch[t] = op(scratch[t], scratch[t + s]);
    __syncthreads();
  }
  int r = scratch[0];
  __syncthreads();
  return r;
}

__global__ void range(const int *in, int n, int *lows, int *highs, int2 *out) {
  __shared__ int scratch[64];
  __shared__ bool last;
  auto lower = [](int a, int b) { return a < b ? a : b; };
  auto higher = [](int a, int b) { return a > b ? a : b; };
  int lo = in[0], hi = in[0];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    lo = lower(lo, in[i]);
    hi = higher(hi, in[i]);
  }
  lo = reduce(lo, scratch, lower);
  hi = reduce(hi, scratch, higher);
  if (threadIdx.x == 0) {
    lows[blockIdx.x] = lo;
    __threadfence();
    highs[blockIdx.x] = hi;
    last = atomicAdd(&retired, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last)
    return;
  for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
    lo = lower(lo, lows[b]);
    hi = higher(hi, highs[b]);
  }
  lo = reduce(lo, scratch, lower);
  hi = reduce(hi, scratch, higher);
  if (threadIdx.x == 0)
    *out = make_int2(lo, hi);
}

int main() {
  const int n = 4000, G = 12;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 7717) % 5003 - 2000;
  int *in, *parts;
  int2 *out, got;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&parts, 2 * G * sizeof(int)));
  CK(cudaMalloc(&out, sizeof(int2)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  range<<<G, 64>>>(in, n, parts, parts + G, out);
  CK(cudaGetLastError());
  CK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
  int ok = got.x == *std::min_element(h.begin(), h.end()) && got.y == *std::max_element(h.begin(), h.end());
  CK(cudaFree(in));
  CK(cudaFree(parts));
  CK(cudaFree(out));
  printf("lastblock_minmax: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
