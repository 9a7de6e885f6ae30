// finding: race-grid 50
// Thread 0 hands the ticket lock on without a barrier, while other threads of its block are still updating the table.
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

const int T = 128;

struct TicketLock {
  unsigned next, serving;
};

__device__ TicketLock lock;
__device__ int balance[T];

class BlockGuard {
  unsigned my;

public:
  __device__ BlockGuard() {
    if (threadIdx.x == 0) {
      my = atomicAdd(&lock.next, 1u);
      while (atomicAdd(&lock.serving, 0u) != my)
        __nanosleep(25);
      __threadfence();
    }
    __syncthreads();
  }
  __device__ ~BlockGuard() {
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(&lock.serving, my + 1);
    }
  }
};

__global__ void deposit(const int *amounts, int rounds) {
  for (int r = 0; r < rounds; r++) {
    int v = amounts[(r * gridDim.x + blockIdx.x) * T + threadIdx.x];
    BlockGuard g;
    balance[threadIdx.x] += v;
  }
}

int main() {
  const int G = 6, rounds = 4, n = G * rounds * T;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 91) % 67;
  int *d, got[T], want[T] = {}, bad = 0;
  CK(cudaMalloc(&d, n * sizeof(int)));
  CK(cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  deposit<<<G, T>>>(d, rounds);
  CK(cudaGetLastError());
  CK(cudaMemcpyFromSymbol(got, balance, sizeof got));
  for (int i = 0; i < n; i++)
    want[i % T] += h[i];
  for (int t = 0; t < T; t++)
    bad += got[t] != want[t];
  CK(cudaFree(d));
  printf("ticket_release: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
