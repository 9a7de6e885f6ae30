// Four neighboring elements for each thread, read as one float4 where they are all there.
#include <cuda_runtime.h>

__global__ void saxpy(float4 *y4, const float4 *x4, float a, int n) {
  int quad = blockIdx.x * blockDim.x + threadIdx.x, first = 4 * quad;
  if (first + 3 < n) {
    float4 x = x4[quad], y = y4[quad];
    y4[quad] = make_float4(a * x.x + y.x, a * x.y + y.y, a * x.z + y.z, a * x.w + y.w);
  } else {
    for (int i = first; i < n; i++)
      ((float *)y4)[i] += a * ((const float *)x4)[i];
  }
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  int quads = (n + 3) / 4;
  if (n > 0)
    saxpy<<<(quads + 127) / 128, 128>>>((float4 *)y, (const float4 *)x, a, n);
}
