// By the runtime's own function, which takes the kernel as a void pointer.
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  void *arguments[] = {&y, &x, &a, &n};
  if (n > 0)
    cudaLaunchKernel((const void *)saxpy, dim3((n + 127) / 128), dim3(128), arguments, 0, 0);
}
