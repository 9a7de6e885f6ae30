// A kernel that included.cu launches; its accesses have lines of this file.
__global__ void fill(float *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    x[i] = 1.0f; //@beyond
}

__device__ inline float twice(const float *x, int i) {
  return 2 * x[i];
}
