// A barrier over all blocks out of atomics and a generation word; the launch is cooperative, so all blocks are resident.
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

struct GridBarrier {
  unsigned arrived;
  volatile unsigned generation;

  __device__ void wait() {
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned g = generation;
      __threadfence();
      if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
        atomicExch(&arrived, 0u);
        __threadfence();
        generation = g + 1;
      } else {
        while (generation == g)
          __nanosleep(50);
      }
      __threadfence();
    }
    __syncthreads();
  }
};

// bitonic sort of the whole array: every step pairs elements of different blocks
__global__ void sortAll(int *data, int n, GridBarrier *bar) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      for (int a = i; a < n; a += all) {
        int b = a ^ j;
        if (b > a) {
          int x = data[a], y = data[b];
          bool up = (a & k) == 0;
          if ((x > y) == up) {
            data[a] = y;
            data[b] = x;
          }
        }
      }
      bar->wait();
    }
  // one more use: the neighbors are read, far and near
  int before = i > 0 && i < n ? data[i - 1] : -1, here = i < n ? data[i] : 0;
  bar->wait();
  if (i < n)
    data[i] = here - before;
}

int main() {
  int n = 512;
  const int G = 8, T = 64;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 1103 + 77) % 4099;
  long long want = 0;
  for (int v : h)
    if (v > want)
      want = v;
  int *data;
  GridBarrier *bar;
  CK(cudaMalloc(&data, n * sizeof(int)));
  CK(cudaMalloc(&bar, sizeof(GridBarrier)));
  CK(cudaMemset(bar, 0, sizeof(GridBarrier)));
  CK(cudaMemcpy(data, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  void *args[] = {&data, &n, &bar};
  CK(cudaLaunchCooperativeKernel((const void *)sortAll, dim3(G), dim3(T), args, 0, nullptr));
  CK(cudaMemcpy(h.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  long long sum = -1; // differences of a sorted array: none negative, they add up to the largest
  for (int i = 0; i < n; i++) {
    bad += h[i] < 0;
    sum += h[i];
  }
  bad += sum != want;
  CK(cudaFree(data));
  CK(cudaFree(bar));
  printf("software_barrier: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
