// A program with two versions of its kernels has its variables once, whatever the file calls them, and runs its constructors once.
// Uninstrumented blocks (--blocks) run the version of a plain run, and say so.
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#ifdef CUDASIM_DUAL_VERSION
enum { IS_PLAIN = 1 };
#else
enum { IS_PLAIN = 0 };
#endif
enum { BLOCK = 128, BLOCKS = 8, N = BLOCK * BLOCKS };
static __device__ int counter;
__device__ int visited[BLOCKS];
static __constant__ int weights[4] = {1, 2, 3, 4};
__device__ int plain[BLOCKS];
__constant__ int more[4];
static int constructed;
struct Once {
  Once(void) {
    constructed++;
  }
} once;
template <class T> __global__ void weighted(const T *x, T *y) {
  __shared__ T part[BLOCK];
  extern __shared__ T all[];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  part[t] = x[i] * weights[t % 4] + more[t % 4];
  all[t] = part[t];
  __syncthreads();
  for (int step = BLOCK / 2; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    __syncthreads();
  }
  y[i] = all[BLOCK - 1 - t] + part[0];
  if (t == 0) {
    atomicAdd(&counter, 1);
    visited[blockIdx.x] = part[0];
    plain[blockIdx.x] = IS_PLAIN;
  }
}
__global__ void racy(int *last) {
  __shared__ int s[BLOCK];
  s[threadIdx.x] = threadIdx.x; //@written
  if (threadIdx.x > 0)
    last[blockIdx.x * BLOCK + threadIdx.x] = s[threadIdx.x - 1]; //@read
}
// The error of a rounded product: 0, but where the two operations become a fused one, which one version only must not do.
__global__ void residual(double *x, double product) {
  if (threadIdx.x == 0)
    x[blockIdx.x] = x[blockIdx.x] * x[blockIdx.x] - product;
}
static int blocks_that_agree(void) {
  double values[BLOCKS], *x, third = 1 / 3.0;
  volatile double product = third * third;
  int same = 0;
  for (double &value : values)
    value = third;
  cudaMalloc(&x, sizeof values);
  cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice);
  residual<<<BLOCKS, BLOCK>>>(x, product);
  cudaMemcpy(values, x, sizeof values, cudaMemcpyDeviceToHost);
  cudaFree(x);
  for (double value : values)
    same += value == values[0];
  return same;
}
template <class T> static void run(const T *x, T *y) {
  weighted<T><<<BLOCKS, BLOCK, BLOCK * sizeof(T)>>>(x, y);
}
template <class T> void run_outside(const T *x, T *y) {
  weighted<T><<<BLOCKS, BLOCK, BLOCK * sizeof(T)>>>(x, y);
}
int main(void) {
  std::vector<int> host(N, 2), back(N);
  int *x, *y, four[4] = {5, 6, 7, 8}, count = 0, zero = 0, seen[BLOCKS], plains[BLOCKS];
  cudaMalloc(&x, N * sizeof(int));
  cudaMalloc(&y, N * sizeof(int));
  cudaMemcpy(x, host.data(), N * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(more, four, sizeof four);
  cudaMemcpyToSymbol(counter, &zero, sizeof zero);
  weighted<int><<<BLOCKS, BLOCK, BLOCK * sizeof(int)>>>(x, y);
  cudaMemcpyFromSymbol(plains, plain, sizeof plains);
  run(x, y);
  run_outside(x, y);
  cudaMemcpyFromSymbol(&count, counter, sizeof count);
  cudaMemcpyFromSymbol(seen, visited, sizeof seen);
  cudaMemcpy(back.data(), y, N * sizeof(int), cudaMemcpyDeviceToHost);
  racy<<<BLOCKS, BLOCK>>>(y);
  long sum = 0;
  int left = 0;
  for (int v : back)
    sum += v;
  for (int p : plains)
    left += p;
  printf("%d constructed, %d blocks counted, %d and %d each, %ld in all; %d ran the plain copy\n", constructed, count,
         seen[0], seen[BLOCKS - 1], sum, left);
  printf("%d blocks agree\n", blocks_that_agree());
  cudaFree(x);
  cudaFree(y);
  return 0;
}
