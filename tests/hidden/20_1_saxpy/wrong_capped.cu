// mistake: capped grid without a loop
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  const int threads = 256, wanted = (n + threads - 1) / threads, blocks = wanted < 65535 ? wanted : 65535;
  if (wanted > 0)
    saxpy<<<blocks, threads>>>(y, x, a, n);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "saxpy: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
