// mistake: uncoalesced access
#include <cuda_runtime.h>

__global__ void planes(float *out, const float *in, int n, int channels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; i < n && k < channels; k++)
    out[k * n + i] = in[i * channels + k];
}

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  if (n > 0)
    planes<<<(n + 255) / 256, 256>>>(out, in, n, channels);
}
