// A fair ticket lock held by a whole block: thread 0 waits, all threads update plain memory, a barrier, thread 0 passes on.
#include <cstdio>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

struct TicketLock {
  unsigned next;
  volatile unsigned serving;
};

__device__ TicketLock theLock;
__device__ int table[64];
__device__ int order[40];
__device__ int used;

__device__ unsigned enter(TicketLock &l) {
  __shared__ unsigned my;
  if (threadIdx.x == 0) {
    my = atomicAdd(&l.next, 1u);
    while (l.serving != my)
      __nanosleep(10);
    __threadfence();
  }
  __syncthreads();
  return my;
}

__device__ void leave(TicketLock &l, unsigned my) {
  __syncthreads(); // all threads' updates are before the fence of thread 0
  if (threadIdx.x == 0) {
    __threadfence();
    l.serving = my + 1;
  }
}

__global__ void work(int rounds) {
  int t = threadIdx.x;
  for (int r = 0; r < rounds; r++) {
    unsigned my = enter(theLock);
    int left = table[(t + 1) & 63];
    __syncthreads();
    table[t] = (table[t] + left + (int)blockIdx.x) & 0xffff;
    if (t == 0) {
      order[used] = blockIdx.x;
      used++;
    }
    leave(theLock, my);
  }
}

int main() {
  const int G = 8, rounds = 5;
  int init[64];
  for (int i = 0; i < 64; i++)
    init[i] = i * i;
  CK(cudaMemcpyToSymbol(table, init, sizeof init));
  work<<<G, 64>>>(rounds);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  int got[64], ord[40], u = 0;
  CK(cudaMemcpyFromSymbol(got, table, sizeof got));
  CK(cudaMemcpyFromSymbol(ord, order, sizeof ord));
  CK(cudaMemcpyFromSymbol(&u, used, sizeof u));
  int bad = u != G * rounds, times[G] = {};
  for (int k = 0; k < G * rounds; k++) { // replay in the order found
    if (ord[k] < 0 || ord[k] >= G) {
      bad++;
      continue;
    }
    times[ord[k]]++;
    int prev[64];
    for (int i = 0; i < 64; i++)
      prev[i] = init[i];
    for (int i = 0; i < 64; i++)
      init[i] = (prev[i] + prev[(i + 1) & 63] + ord[k]) & 0xffff;
  }
  for (int g = 0; g < G; g++)
    bad += times[g] != rounds;
  for (int i = 0; i < 64; i++)
    bad += got[i] != init[i];
  printf("ticket_lock: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
