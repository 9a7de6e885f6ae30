// finding: race-grid 61 55
// The state PREFIX is published before the inclusive value it announces.
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

const int T = 32;

struct Tile {
  int state; // 0: nothing, 1: the aggregate is there, 2: the inclusive prefix is there
  int aggregate;
  int inclusive;
};

__device__ inline void publish(Tile *t, int state) {
  __threadfence();
  *(volatile int *)&t->state = state;
}

__device__ inline int stateOf(Tile *t) {
  int s = *(volatile int *)&t->state;
  __threadfence();
  return s;
}

__global__ void scan(int *data, int n, Tile *tiles, int *next) {
  int lane = threadIdx.x, tile = 0, before = 0;
  if (lane == 0)
    tile = atomicAdd(next, 1);
  tile = __shfl_sync(~0u, tile, 0);
  int i = tile * T + lane, v = i < n ? data[i] : 0;
  for (int o = 1; o < T; o <<= 1) {
    int u = __shfl_up_sync(~0u, v, o);
    if (lane >= o)
      v += u;
  }
  if (lane == T - 1) {
    Tile *me = tiles + tile;
    if (tile > 0) {
      me->aggregate = v;
      publish(me, 1);
      for (Tile *p = me - 1;; p--) {
        int s;
        while ((s = stateOf(p)) == 0)
          __nanosleep(20);
        before += s == 2 ? p->inclusive : p->aggregate;
        if (s == 2)
          break;
      }
    }
    publish(me, 2);
    me->inclusive = before + v;
  }
  before = __shfl_sync(~0u, before, T - 1);
  if (i < n)
    data[i] = before + v;
}

int main() {
  const int n = 2500, tiles = (n + T - 1) / T;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 77) % 29;
  int *data, *next;
  Tile *d;
  CK(cudaMalloc(&data, n * sizeof(int)));
  CK(cudaMalloc(&d, tiles * sizeof(Tile)));
  CK(cudaMalloc(&next, sizeof(int)));
  CK(cudaMemset(d, 0, tiles * sizeof(Tile)));
  CK(cudaMemset(next, 0, sizeof(int)));
  CK(cudaMemcpy(data, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  scan<<<tiles, T>>>(data, n, d, next);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0, acc = 0;
  for (int i = 0; i < n; i++) {
    acc += h[i];
    bad += got[i] != acc;
  }
  CK(cudaFree(data));
  CK(cudaFree(d));
  CK(cudaFree(next));
  printf("lookback_state_first: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
