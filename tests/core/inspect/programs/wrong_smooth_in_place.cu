// finding: race-grid 28 25
// The update is in place; the barrier separates reads from writes within a block only, the edge threads read cells that the
// neighbor block writes.
// Jacobi-like smoothing of a 1D temperature profile.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define BLOCK 128

static void HandleError(cudaError_t err, const char *file, int line) {
  if (err != cudaSuccess) {
    printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
    exit(EXIT_FAILURE);
  }
}
#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))

__global__ void smooth(float *t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0.0f;
  int interior = i > 0 && i < n - 1;
  if (interior)
    v = 0.25f * t[i - 1] + 0.5f * t[i] + 0.25f * t[i + 1];
  __syncthreads(); /* everybody has read before anybody writes */
  if (interior)
    t[i] = v;
}

int main(int argc, char *argv[]) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  int iters = 4;
  size_t bytes = n * sizeof(float);
  float *h = (float *)malloc(bytes), *a = (float *)malloc(bytes), *b = (float *)malloc(bytes);
  float *d, worst = 0.0f;
  for (int i = 0; i < n; i++)
    h[i] = a[i] = b[i] = (float)(i % 50);
  for (int k = 0; k < iters; k++) {
    for (int i = 1; i < n - 1; i++)
      b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
    float *t = a;
    a = b;
    b = t;
  }
  HANDLE_ERROR(cudaMalloc((void **)&d, bytes));
  HANDLE_ERROR(cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice));
  for (int k = 0; k < iters; k++)
    smooth<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d, n);
  HANDLE_ERROR(cudaGetLastError());
  HANDLE_ERROR(cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost));
  HANDLE_ERROR(cudaFree(d));
  for (int i = 0; i < n; i++)
    worst = fmaxf(worst, fabsf(h[i] - a[i]));
  printf("max difference %f\n", worst);
  free(h);
  free(a);
  free(b);
  return 0;
}
