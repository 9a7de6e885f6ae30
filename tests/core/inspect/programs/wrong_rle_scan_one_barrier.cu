// finding: race-block 16 15
// The in-place scan has one barrier per round, a thread adds to its element while another still reads it.
// First half of a run-length encoder: the index of the run of every pixel; one block per row, Hillis-Steele scan.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define WIDTH 256
#define ROWS 10

__device__ void inclusiveScan(int *a, int tid) {
  for (int offset = 1; offset < WIDTH; offset <<= 1) {
    int add = 0;
    if (tid >= offset)
      add = a[tid - offset];
    a[tid] += add;
    __syncthreads();
  }
}

__global__ void rankRuns(const unsigned char *img, int *runIndex, int *runCount) {
  __shared__ int rank[WIDTH];
  const unsigned char *row = img + blockIdx.x * WIDTH;
  int x = threadIdx.x;
  int head = x == 0 || row[x] != row[x - 1];
  rank[x] = head;
  __syncthreads();
  inclusiveScan(rank, x);
  runIndex[blockIdx.x * WIDTH + x] = rank[x] - 1;
  if (x == WIDTH - 1)
    runCount[blockIdx.x] = rank[x];
}

int main(void) {
  static unsigned char img[ROWS * WIDTH];
  static int index[ROWS * WIDTH];
  int count[ROWS], bad = 0;
  for (int i = 0; i < ROWS * WIDTH; i++)
    img[i] = (unsigned char)((i / 3 % 17) * (i / 29 % 2));

  unsigned char *dImg;
  int *dIndex, *dCount;
  cudaMalloc((void **)&dImg, sizeof img);
  cudaMalloc((void **)&dIndex, sizeof index);
  cudaMalloc((void **)&dCount, sizeof count);
  cudaMemcpy(dImg, img, sizeof img, cudaMemcpyHostToDevice);
  rankRuns<<<ROWS, WIDTH>>>(dImg, dIndex, dCount);
  cudaError_t err = cudaGetLastError();
  if (err != cudaSuccess) {
    fprintf(stderr, "%s\n", cudaGetErrorString(err));
    return EXIT_FAILURE;
  }
  cudaMemcpy(index, dIndex, sizeof index, cudaMemcpyDeviceToHost);
  cudaMemcpy(count, dCount, sizeof count, cudaMemcpyDeviceToHost);
  for (int y = 0; y < ROWS; y++) {
    int run = -1;
    for (int x = 0; x < WIDTH; x++) {
      int i = y * WIDTH + x;
      if (x == 0 || img[i] != img[i - 1])
        run++;
      bad += index[i] != run;
    }
    bad += count[y] != run + 1;
  }
  cudaFree(dImg);
  cudaFree(dIndex);
  cudaFree(dCount);
  printf("run indices: %d wrong\n", bad);
  return 0;
}
