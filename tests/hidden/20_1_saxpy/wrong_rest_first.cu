// mistake: misaligned vector access
// The elements that fill no float4 come first, so that the vectors behind them begin at any multiple of 4 bytes. An x86 processor
// reads them all the same; a GPU ends the kernel.
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int quad = blockIdx.x * blockDim.x + threadIdx.x, rest = n % 4;
  if (quad < rest)
    y[quad] += a * x[quad];
  if (quad < n / 4) {
    float4 *y4 = (float4 *)(y + rest) + quad;
    float4 from = ((const float4 *)(x + rest))[quad], to = *y4;
    *y4 = make_float4(a * from.x + to.x, a * from.y + to.y, a * from.z + to.z, a * from.w + to.w);
  }
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  int threads = n / 4 > n % 4 ? n / 4 : n % 4;
  if (n > 0)
    saxpy<<<(threads + 255) / 256, 256>>>(y, x, a, n);
}
