// finding: leak 31
// Every generation allocates a new board, the old one is dropped without cudaFree when the pointers are exchanged.
// Conway's game of life on a torus.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define SIDE 64

typedef unsigned char cell_t;

__host__ __device__ cell_t rule(const cell_t *b, int x, int y) {
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx != 0 || dy != 0)
        alive += b[((y + dy + SIDE) % SIDE) * SIDE + (x + dx + SIDE) % SIDE];
  return alive == 3 || (alive == 2 && b[y * SIDE + x]);
}

__global__ void evolve(const cell_t *in, cell_t *out) {
  int x = blockDim.x * blockIdx.x + threadIdx.x;
  int y = blockDim.y * blockIdx.y + threadIdx.y;
  if (x < SIDE && y < SIDE)
    out[y * SIDE + x] = rule(in, x, y);
}

static cell_t *newBoard(void) {
  cell_t *p = NULL;
  if (cudaMalloc((void **)&p, SIDE * SIDE * sizeof(cell_t)) != cudaSuccess) {
    fprintf(stderr, "out of device memory\n");
    exit(1);
  }
  return p;
}

static void advance(cell_t **board) {
  cell_t *next = newBoard();
  dim3 block(16, 16), grid(SIDE / 16, SIDE / 16);
  evolve<<<grid, block>>>(*board, next);
  *board = next;
}

int main(int argc, char **argv) {
  int generations = argc > 1 ? atoi(argv[1]) : 5;
  cell_t *host = (cell_t *)malloc(SIDE * SIDE), *ref = (cell_t *)malloc(SIDE * SIDE),
         *tmp = (cell_t *)malloc(SIDE * SIDE);
  srand(1);
  for (int i = 0; i < SIDE * SIDE; i++)
    ref[i] = host[i] = rand() % 3 == 0;
  cell_t *board = newBoard();
  cudaMemcpy(board, host, SIDE * SIDE, cudaMemcpyHostToDevice);
  for (int g = 0; g < generations; g++) {
    advance(&board);
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++)
        tmp[y * SIDE + x] = rule(ref, x, y);
    memcpy(ref, tmp, SIDE * SIDE);
  }
  cudaMemcpy(host, board, SIDE * SIDE, cudaMemcpyDeviceToHost);
  cudaFree(board);
  printf("generation %d %s\n", generations, memcmp(host, ref, SIDE * SIDE) ? "WRONG" : "right");
  free(host);
  free(ref);
  free(tmp);
  return 0;
}
