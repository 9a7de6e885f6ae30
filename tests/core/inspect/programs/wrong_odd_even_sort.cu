// finding: race-block 32 40
// After the test of the flag no barrier keeps a fast thread 0 from clearing it for the next round before the others have
// tested it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MAXN 512

__device__ bool swapIfGreater(int *a, int i) {
  if (a[i] > a[i + 1]) {
    int t = a[i];
    a[i] = a[i + 1];
    a[i + 1] = t;
    return true;
  }
  return false;
}

// one block sorts one segment, a thread per pair
__global__ void oddEvenSort(int *data, const int *segStart) {
  __shared__ int s[MAXN];
  __shared__ int swapped;
  const int first = segStart[blockIdx.x], n = segStart[blockIdx.x + 1] - first;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s[i] = data[first + i];
  __syncthreads();

  while (true) {
    if (threadIdx.x == 0)
      swapped = 0;
    __syncthreads();
    for (int phase = 0; phase < 2; ++phase) {
      int i = 2 * threadIdx.x + phase;
      if (i + 1 < n && swapIfGreater(s, i))
        swapped = 1;
      __syncthreads();
    }
    if (!swapped)
      break;
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    data[first + i] = s[i];
}

int main() {
  const std::vector<int> seg = {0, 60, 187, 190, 300};
  const int n = seg.back(), segs = (int)seg.size() - 1;
  std::vector<int> v(n), r(n);
  srand(3);
  for (int &x : v)
    x = rand() % 100;
  int *d, *ds;
  cudaMalloc(&d, n * sizeof(int));
  cudaMalloc(&ds, seg.size() * sizeof(int));
  cudaMemcpy(d, v.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(ds, seg.data(), seg.size() * sizeof(int), cudaMemcpyHostToDevice);
  oddEvenSort<<<segs, 64>>>(d, ds);
  cudaMemcpy(r.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int k = 0; k < segs; ++k)
    std::sort(v.begin() + seg[k], v.begin() + seg[k + 1]);
  printf("odd-even sort: %s\n", v == r ? "sorted" : "NOT sorted");
  cudaFree(d);
  cudaFree(ds);
  return v == r ? 0 : 1;
}
