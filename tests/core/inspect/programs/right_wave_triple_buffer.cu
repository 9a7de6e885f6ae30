// The wave equation on a ring inside one block: three rotating buffers, one barrier per time
// step. The oldest buffer is read and later overwritten by the same thread at the same place.
#include <cstdio>
#include <cuda_runtime.h>

#define CELLS 96
#define STEPS 50

__global__ void wave(const int *u0, const int *u1, int *out) {
  __shared__ int u[3][CELLS];
  int t = threadIdx.x;
  int left = (t + CELLS - 1) % CELLS, right = (t + 1) % CELLS;
  u[0][t] = u0[t];
  u[1][t] = u1[t];
  __syncthreads();
  int prev = 0, now = 1, next = 2;
  for (int k = 0; k < STEPS; k++) {
    int v = u[now][left] + u[now][right] - u[prev][t];
    u[next][t] = v % 1000003;
    __syncthreads();
    int p = prev;
    prev = now;
    now = next;
    next = p;
  }
  out[t] = u[now][t];
}

int main() {
  int a[CELLS], b[CELLS], got[CELLS];
  for (int i = 0; i < CELLS; i++) {
    a[i] = (i * 17) % 23 - 11;
    b[i] = (i * 5) % 13 - 6;
  }
  int *da, *db, *dout;
  cudaMalloc(&da, sizeof a);
  cudaMalloc(&db, sizeof b);
  cudaMalloc(&dout, sizeof got);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  wave<<<1, CELLS>>>(da, db, dout);
  cudaMemcpy(got, dout, sizeof got, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int k = 0; k < STEPS; k++) {
    int c[CELLS];
    for (int i = 0; i < CELLS; i++)
      c[i] = (b[(i + CELLS - 1) % CELLS] + b[(i + 1) % CELLS] - a[i]) % 1000003;
    for (int i = 0; i < CELLS; i++) {
      a[i] = b[i];
      b[i] = c[i];
    }
  }
  for (int i = 0; i < CELLS; i++)
    bad += (b[i] != got[i]);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dout);
  printf("wave_triple_buffer: %d cells differ\n", bad);
  return bad != 0;
}
