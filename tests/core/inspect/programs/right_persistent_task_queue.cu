// Persistent blocks take tasks of unequal length (Collatz ranges) from a global queue head.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define cudaSafe(ans)                                                                                                  \
  { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    if (abort)
      exit(code);
  }
}

struct Task {
  int first, count;
};

__device__ int queueHead;

__host__ __device__ int collatz(unsigned x) {
  int steps = 0;
  while (x != 1) {
    x = (x & 1) ? 3 * x + 1 : x / 2;
    steps++;
  }
  return steps;
}

__global__ void worker(const Task *tasks, int numTasks, int *best, int *blocksWork) {
  __shared__ int current;
  __shared__ int taskMax;
  int mine = 0;
  for (;;) {
    if (threadIdx.x == 0) {
      current = atomicAdd(&queueHead, 1);
      taskMax = 0;
    }
    __syncthreads();
    int t = current;
    if (t >= numTasks)
      break;
    for (int i = threadIdx.x; i < tasks[t].count; i += blockDim.x)
      atomicMax(&taskMax, collatz(tasks[t].first + i));
    __syncthreads(); // everyone has read current and added to taskMax
    if (threadIdx.x == 0) {
      best[t] = taskMax;
      mine++;
    }
  }
  if (threadIdx.x == 0)
    blocksWork[blockIdx.x] = mine;
}

int main(int argc, char *argv[]) {
  int numTasks = argc > 1 ? atoi(argv[1]) : 60;
  const int grid = 6, block = 64;
  Task *h = new Task[numTasks];
  int *got = new int[numTasks], work[grid];
  for (int i = 0, first = 1; i < numTasks; i++) {
    h[i].first = first;
    h[i].count = 5 + (i * 29) % 90;
    first += h[i].count;
  }
  Task *dTasks;
  int *dBest, *dWork, zero = 0;
  cudaSafe(cudaMalloc(&dTasks, numTasks * sizeof(Task)));
  cudaSafe(cudaMalloc(&dBest, numTasks * sizeof(int)));
  cudaSafe(cudaMalloc(&dWork, grid * sizeof(int)));
  cudaSafe(cudaMemcpy(dTasks, h, numTasks * sizeof(Task), cudaMemcpyHostToDevice));
  cudaSafe(cudaMemcpyToSymbol(queueHead, &zero, sizeof zero));
  worker<<<grid, block>>>(dTasks, numTasks, dBest, dWork);
  cudaSafe(cudaPeekAtLastError());
  cudaSafe(cudaDeviceSynchronize());
  cudaSafe(cudaMemcpy(got, dBest, numTasks * sizeof(int), cudaMemcpyDeviceToHost));
  cudaSafe(cudaMemcpy(work, dWork, sizeof work, cudaMemcpyDeviceToHost));

  int wrong = 0, sum = 0;
  for (int b = 0; b < grid; b++)
    sum += work[b];
  for (int i = 0; i < numTasks; i++) {
    int m = 0;
    for (int k = 0; k < h[i].count; k++) {
      int c = collatz(h[i].first + k);
      if (c > m)
        m = c;
    }
    wrong += m != got[i];
  }
  cudaFree(dTasks);
  cudaFree(dBest);
  cudaFree(dWork);
  delete[] h;
  delete[] got;
  printf("%d tasks done of %d, %d wrong\n", sum, numTasks, wrong);
  return 0;
}
