// finding: divergent 20 46
// In the last round of the grid-stride loop a part of the threads of one block has no element left and misses the barriers.
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

const int T = 64;

__device__ void flush(int *staged, int &used, int *out, int *count) {
  __shared__ int at;
  __syncthreads();
  if (threadIdx.x == 0)
    at = atomicAdd(count, used);
  __syncthreads();
  for (int k = threadIdx.x; k < used; k += T)
    out[at + k] = staged[k];
  __syncthreads();
  if (threadIdx.x == 0)
    used = 0;
  __syncthreads();
}

__global__ void collect(const int *in, int n, int *out, int *count, int *busy) {
  __shared__ int staged[T], used;
  int mine = 0;
  if (threadIdx.x == 0)
    used = 0;
  __syncthreads();
  for (int i = blockIdx.x * T + threadIdx.x; i < n; i += gridDim.x * T) {
    int v = in[i];
    if (v % 3 == 0) {
      staged[atomicAdd(&used, 1)] = v;
      mine++;
    }
    flush(staged, used, out, count);
  }
  int active = __syncthreads_count(mine > 0);
  if (threadIdx.x == 0)
    busy[blockIdx.x] = active;
}

int main() {
  const int n = 5 * T * 3 + 2 * T + 50; // 50 elements for the third block in the last round
  std::vector<int> h(n);
  long long want = 0, sum = 0;
  int kept = 0, count = 0;
  for (int i = 0; i < n; i++) {
    h[i] = (i * 29) % 1000;
    if (h[i] % 3 == 0) {
      want += h[i];
      kept++;
    }
  }
  int *in, *out, *dc, busy[5];
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMalloc(&dc, 6 * sizeof(int)));
  CK(cudaMemset(dc, 0, 6 * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  collect<<<5, T>>>(in, n, out, dc, dc + 1);
  CK(cudaGetLastError());
  CK(cudaMemcpy(&count, dc, sizeof count, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(busy, dc + 1, sizeof busy, cudaMemcpyDeviceToHost));
  std::vector<int> got(count > 0 && count <= n ? count : 0);
  if (!got.empty())
    CK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int v : got)
    sum += v;
  int ok = count == kept && sum == want;
  for (int b : busy)
    ok = ok && b > 0 && b <= T;
  CK(cudaFree(in));
  CK(cudaFree(out));
  CK(cudaFree(dc));
  printf("stride_barrier: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
