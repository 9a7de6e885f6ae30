// Work queues in global memory: a round reads one queue and fills the other by warp-aggregated atomics; the host swaps them.
#include <cstdio>
#include <utility>
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

struct Item {
  int id;
  unsigned value;
};

struct Queue {
  Item *items;
  int *count;
  __device__ void push(Item it) {
    unsigned active = __activemask();
    int lane = threadIdx.x & 31, leader = __ffs(active) - 1, base = 0;
    if (lane == leader)
      base = atomicAdd(count, __popc(active));
    base = __shfl_sync(active, base, leader);
    items[base + __popc(active & ((1u << lane) - 1))] = it;
  }
};

__global__ void seed(Queue q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    q.push({i, (unsigned)i + 1});
}

__global__ void advance(Queue from, int n, Queue to, int *steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Item it = from.items[i];
  if (it.value == 1)
    return;
  it.value = (it.value & 1) ? 3 * it.value + 1 : it.value / 2;
  steps[it.id]++; // an id lives in the queue once
  to.push(it);
}

int main() {
  const int n = 600;
  Queue a, b;
  int *steps;
  for (Queue *q : {&a, &b}) {
    CK(cudaMalloc(&q->items, n * sizeof(Item)));
    CK(cudaMalloc(&q->count, sizeof(int)));
  }
  CK(cudaMalloc(&steps, n * sizeof(int)));
  CK(cudaMemset(steps, 0, n * sizeof(int)));
  CK(cudaMemset(a.count, 0, sizeof(int)));
  seed<<<(n + 127) / 128, 128>>>(a, n);
  int live = 0;
  CK(cudaMemcpy(&live, a.count, sizeof live, cudaMemcpyDeviceToHost));
  while (live > 0) {
    CK(cudaMemset(b.count, 0, sizeof(int)));
    advance<<<(live + 127) / 128, 128>>>(a, live, b, steps);
    CK(cudaGetLastError());
    CK(cudaMemcpy(&live, b.count, sizeof live, cudaMemcpyDeviceToHost));
    std::swap(a, b);
  }
  std::vector<int> got(n);
  CK(cudaMemcpy(got.data(), steps, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (unsigned v = i + 1; v != 1; s++)
      v = (v & 1) ? 3 * v + 1 : v / 2;
    bad += s != got[i];
  }
  for (Queue *q : {&a, &b}) {
    CK(cudaFree(q->items));
    CK(cudaFree(q->count));
  }
  CK(cudaFree(steps));
  printf("queue_rounds: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
