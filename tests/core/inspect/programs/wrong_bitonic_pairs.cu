// finding: bounds-dynamic 18
// The dynamic shared memory is launched with room for the keys only, the values lie behind its end.
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>

// sorts blockDim.x * 2 pairs by key, one block per segment
__global__ void bitonicPairs(int *keys, int *vals) {
  extern __shared__ int smem[];
  const int n = 2 * blockDim.x;
  int *k = smem;
  int *v = smem + n;
  const int t = threadIdx.x, base = blockIdx.x * n;

  k[t] = keys[base + t];
  k[t + blockDim.x] = keys[base + t + blockDim.x];
  v[t] = vals[base + t];
  v[t + blockDim.x] = vals[base + t + blockDim.x];

  for (int size = 2; size <= n; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1)), j = i + stride;
      bool up = (i & size) == 0;
      if ((k[i] > k[j]) == up) {
        int x = k[i];
        k[i] = k[j];
        k[j] = x;
        x = v[i];
        v[i] = v[j];
        v[j] = x;
      }
    }
  __syncthreads();
  keys[base + t] = k[t];
  keys[base + t + blockDim.x] = k[t + blockDim.x];
  vals[base + t] = v[t];
  vals[base + t + blockDim.x] = v[t + blockDim.x];
}

int main() {
  const int seg = 128, segs = 3, n = seg * segs;
  std::vector<int> k(n), v(n), rk(n), rv(n);
  for (int i = 0; i < n; ++i) {
    k[i] = (i * 7919) % 5003;
    v[i] = i;
  }
  int *dk, *dv;
  cudaMalloc(&dk, n * sizeof(int));
  cudaMalloc(&dv, n * sizeof(int));
  cudaMemcpy(dk, k.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dv, v.data(), n * sizeof(int), cudaMemcpyHostToDevice);

  const size_t shared = seg * sizeof(int);
  bitonicPairs<<<segs, seg / 2, shared>>>(dk, dv);
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) {
    printf("bitonic: %s\n", cudaGetErrorString(e));
    return 2;
  }
  cudaMemcpy(rk.data(), dk, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(rv.data(), dv, n * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    if (rv[i] < 0 || rv[i] >= n || k[rv[i]] != rk[i])
      ++wrong;
    if (i % seg && rk[i - 1] > rk[i])
      ++wrong;
  }
  printf("bitonic pairs: %d wrong\n", wrong);
  cudaFree(dk);
  cudaFree(dv);
  return wrong ? 1 : 0;
}
