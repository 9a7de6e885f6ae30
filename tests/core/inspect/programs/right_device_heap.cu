// Memory from the device heap: rows allocated in one launch, used in the next by other threads, freed in a third.
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

struct Row {
  int n;
  int *items;
};

__global__ void allocate(Row *rows, int n, int *failed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Row r;
  r.n = i % 7;
  r.items = nullptr;
  if (r.n) {
    r.items = (int *)malloc(r.n * sizeof(int));
    if (!r.items) {
      atomicAdd(failed, 1);
      r.n = 0;
    }
  }
  for (int k = 0; k < r.n; k++)
    r.items[k] = i * 10 + k;
  rows[i] = r;
}

__global__ void gather(const Row *rows, int n, int *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Row r = rows[n - 1 - i];
  int s = 0;
  for (int k = 0; k < r.n; k++)
    s += r.items[k];
  sums[i] = s;
}

__global__ void grow(Row *rows, int n, int *failed) // one block per row: thread 0 allocates, all copy
{
  __shared__ int *fresh;
  for (int i = blockIdx.x; i < n; i += gridDim.x) {
    Row r = rows[i];
    if (threadIdx.x == 0) {
      fresh = (int *)malloc(2 * (r.n + 1) * sizeof(int));
      if (!fresh)
        atomicAdd(failed, 1);
    }
    __syncthreads();
    int *p = fresh;
    if (p)
      for (int k = threadIdx.x; k < 2 * (r.n + 1); k += blockDim.x)
        p[k] = k < r.n ? r.items[k] : 1;
    __syncthreads(); // all copied, all know the pointer
    if (threadIdx.x == 0 && p) {
      free(r.items); // free(nullptr) is fine
      rows[i] = Row{2 * (r.n + 1), p};
    }
  }
}

__global__ void release(Row *rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    free(rows[i].items);
    rows[i].items = nullptr;
  }
}

int main() {
  const int n = 130;
  Row *rows;
  int *sums, *failed, f = 0, bad = 0;
  CK(cudaMalloc(&rows, n * sizeof(Row)));
  CK(cudaMalloc(&sums, n * sizeof(int)));
  CK(cudaMalloc(&failed, sizeof(int)));
  CK(cudaMemset(failed, 0, sizeof(int)));
  std::vector<int> got(n);
  allocate<<<3, 64>>>(rows, n, failed);
  for (int r = 0; r < 2; r++) {
    gather<<<3, 64>>>(rows, n, sums);
    CK(cudaMemcpy(got.data(), sums, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
      int src = n - 1 - i, len = src % 7, w = r ? 2 * (len + 1) - len : 0;
      for (int k = 0; k < len; k++)
        w += src * 10 + k;
      bad += got[i] != w;
    }
    if (r == 0)
      grow<<<9, 32>>>(rows, n, failed);
  }
  release<<<3, 64>>>(rows, n);
  CK(cudaGetLastError());
  CK(cudaMemcpy(&f, failed, sizeof f, cudaMemcpyDeviceToHost));
  CK(cudaFree(rows));
  CK(cudaFree(sums));
  CK(cudaFree(failed));
  printf("device_heap: %s\n", f ? "heap too small" : bad ? "WRONG" : "ok");
  return f != 0 || bad != 0;
}
