// finding: race-block 62
// The field last is stored after the lock has been given back, so that several threads may store it at once.
// Locks in shared memory done right: one for which the first lane of each warp contends, and a
// row of locks for which all threads contend, with the work inside the loop so that lanes of one warp
// cannot block each other.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 128
#define CELLS 5

struct Cell {
  int lock;
  int sum;
  int count;
  int last;
};

__device__ void take(int *lock) {
  while (atomicCAS(lock, 0, 1) != 0)
    __nanosleep(20);
  __threadfence_block();
}

__device__ void give(int *lock) {
  __threadfence_block();
  atomicExch(lock, 0);
}

__global__ void locked(const int *in, int *warpLog, int *logLen, int *sums, int *counts) {
  __shared__ int gate, used;
  __shared__ int log[NT / 32];
  __shared__ Cell cell[CELLS];
  int t = threadIdx.x;
  if (t == 0) {
    gate = 0;
    used = 0;
  }
  if (t < CELLS) {
    Cell z = {0, 0, 0, -1};
    cell[t] = z;
  }
  __syncthreads();

  if ((t & 31) == 0) {
    take(&gate);
    log[used] = t >> 5;
    used = used + 1;
    give(&gate);
  }

  int v = in[t];
  Cell *c = &cell[v % CELLS];
  bool done = false;
  while (!done) {
    if (atomicCAS(&c->lock, 0, 1) == 0) {
      __threadfence_block();
      c->sum += v;
      c->count++;
      __threadfence_block();
      atomicExch(&c->lock, 0);
      c->last = t;
      done = true;
    }
  }
  __syncthreads();
  if (t < used)
    warpLog[t] = log[t];
  if (t == 0)
    *logLen = used;
  if (t < CELLS) {
    sums[t] = cell[t].sum;
    counts[t] = cell[t].last >= 0 ? cell[t].count : 0;
  }
}

int main() {
  int h[NT], lg[NT / 32], len, s[CELLS], c[CELLS], ws[CELLS] = {0}, wc[CELLS] = {0};
  for (int i = 0; i < NT; i++) {
    h[i] = (i * 13) % 44;
    ws[h[i] % CELLS] += h[i];
    wc[h[i] % CELLS]++;
  }
  int *d, *dl, *dn, *ds, *dc;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&dl, sizeof lg);
  cudaMalloc(&dn, sizeof len);
  cudaMalloc(&ds, sizeof s);
  cudaMalloc(&dc, sizeof c);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  locked<<<1, NT>>>(d, dl, dn, ds, dc);
  cudaMemcpy(lg, dl, sizeof lg, cudaMemcpyDeviceToHost);
  cudaMemcpy(&len, dn, sizeof len, cudaMemcpyDeviceToHost);
  cudaMemcpy(s, ds, sizeof s, cudaMemcpyDeviceToHost);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(dl);
  cudaFree(dn);
  cudaFree(ds);
  cudaFree(dc);
  int wrong = len != NT / 32, seen = 0;
  for (int k = 0; k < NT / 32; k++)
    seen |= 1 << lg[k];
  wrong += seen != (1 << NT / 32) - 1;
  for (int k = 0; k < CELLS; k++)
    wrong += s[k] != ws[k] || c[k] != wc[k];
  printf("shared_lock_last: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 1 : 0;
}
