// finding: uninitialized-shared 46
// The last batch of the queue fills only part of the shared array, the reduction reads all of it.
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

struct Task {
  int first, length;
};

__global__ void enqueue(const int *lengths, int n, Task *queue, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && lengths[i] > 0)
    queue[atomicAdd(count, 1)] = Task{i * 10, lengths[i]};
}

__device__ int cost(Task t) {
  int c = 0;
  for (int k = 0; k < t.length; k++)
    c += (t.first + k) % 7;
  return c;
}

// each block finds the dearest task of its batch
__global__ void dearest(const Task *queue, const int *count, int *best) {
  __shared__ int costs[T];
  int batch = min(T, *count - (int)blockIdx.x * T), t = threadIdx.x;
  if (batch <= 0)
    return; // the whole block
  if (t < batch)
    costs[t] = cost(queue[blockIdx.x * T + t]);
  __syncthreads();
  for (int w = T / 2; w; w /= 2) {
    if (t < w)
      costs[t] = max(costs[t], costs[t + w]);
    __syncthreads();
  }
  if (t == 0)
    atomicMax(best, costs[0]);
}

int main() {
  const int n = 600;
  std::vector<int> h(n);
  int want = 0, used = 0, two[2] = {0, 0};
  for (int i = 0; i < n; i++) {
    h[i] = (i * 11) % 13 - 3;
    int c = 0;
    for (int k = 0; k < h[i]; k++)
      c += (i * 10 + k) % 7;
    if (c > want)
      want = c;
    used += h[i] > 0;
  }
  int *lengths, *state;
  Task *queue;
  CK(cudaMalloc(&lengths, n * sizeof(int)));
  CK(cudaMalloc(&queue, n * sizeof(Task)));
  CK(cudaMalloc(&state, sizeof two));
  CK(cudaMemcpy(lengths, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(state, 0, sizeof two));
  enqueue<<<(n + T - 1) / T, T>>>(lengths, n, queue, state);
  dearest<<<(n + T - 1) / T, T>>>(queue, state, state + 1);
  CK(cudaGetLastError());
  CK(cudaMemcpy(two, state, sizeof two, cudaMemcpyDeviceToHost));
  int ok = two[0] == used && two[1] == want && used % T != 0;
  CK(cudaFree(lengths));
  CK(cudaFree(queue));
  CK(cudaFree(state));
  printf("partial_batch: %s (%d tasks)\n", ok ? "ok" : "WRONG", used);
  return !ok;
}
