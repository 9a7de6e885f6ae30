// Both of a pair as one float2, where there are both.
#include <cuda_runtime.h>

__global__ void pairs(float2 *out, const float2 *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 < n) {
    float2 v = x[i];
    out[i] = make_float2(even_work(v.x), odd_work(v.y));
  } else if (2 * i < n) {
    ((float *)out)[2 * i] = even_work(((const float *)x)[2 * i]);
  }
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  pairs<<<n / 512 + 1, 256>>>((float2 *)out, (const float2 *)x, n);
}
