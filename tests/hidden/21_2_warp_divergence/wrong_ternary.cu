// mistake: warp divergence
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = i & 1 ? odd_work(x[i]) : even_work(x[i]);
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  two_kinds<<<16, 128>>>(out, x, n);
}
