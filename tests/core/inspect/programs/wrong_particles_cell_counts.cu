// finding: race-block 42 39
// The cell counters in shared memory are zeroed by the first threads and incremented by others without a barrier between.
// Counts particles per cell: a histogram per block, merged into the global counters.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define CELLS 64
#define THREADS 256

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t e = (call);                                                                                            \
    if (e != cudaSuccess) {                                                                                            \
      printf("CUDA error %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));                                     \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

typedef struct {
  float x, y;
  int id;
} Particle;

__host__ __device__ int cellOf(Particle p) {
  int cx = (int)(p.x * 8.0f), cy = (int)(p.y * 8.0f);
  cx = cx < 0 ? 0 : cx > 7 ? 7 : cx;
  cy = cy < 0 ? 0 : cy > 7 ? 7 : cy;
  return cy * 8 + cx;
}

__global__ void countCells(const Particle *p, int n, int *cells) {
  __shared__ int local[CELLS];
  int tid = threadIdx.x;
  int stride = blockDim.x * gridDim.x;

  if (tid < CELLS)
    local[tid] = 0;

  for (int i = blockIdx.x * blockDim.x + tid; i < n; i += stride)
    atomicAdd(&local[cellOf(p[i])], 1);
  __syncthreads();

  if (tid < CELLS)
    atomicAdd(&cells[tid], local[tid]);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3000;
  Particle *h = (Particle *)malloc(n * sizeof(Particle));
  int want[CELLS] = {0}, got[CELLS];
  srand(3);
  for (int i = 0; i < n; i++) {
    h[i].x = rand() / (float)RAND_MAX;
    h[i].y = rand() / (float)RAND_MAX;
    h[i].id = i;
    want[cellOf(h[i])]++;
  }
  Particle *d;
  int *dCells;
  CHECK(cudaMalloc(&d, n * sizeof(Particle)));
  CHECK(cudaMalloc(&dCells, sizeof got));
  CHECK(cudaMemcpy(d, h, n * sizeof(Particle), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(dCells, 0, sizeof got));
  countCells<<<4, THREADS>>>(d, n, dCells);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(got, dCells, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(d));
  CHECK(cudaFree(dCells));
  free(h);
  printf("cell counts %s\n", memcmp(want, got, sizeof got) == 0 ? "match" : "differ");
  return 0;
}
