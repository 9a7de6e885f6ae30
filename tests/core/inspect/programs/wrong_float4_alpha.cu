// finding: race-grid 13 13
// All blocks write the background's color with an alpha of their own: the colors agree, the last component does not.
#include <cstdio>
#include <cuda_runtime.h>

#define PIXELS 1024

__global__ void blend(const float4 *in, float4 *out, float4 *background) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 p = in[i];
  out[i] = make_float4(p.x * p.w, p.y * p.w, p.z * p.w, 1.0f);
  if (threadIdx.x == 0)
    *background = make_float4(0.25f, 0.5f, 0.75f, p.w);
}

int main() {
  static float4 image[PIXELS];
  float4 *in, *out, *background, shown;
  for (int i = 0; i < PIXELS; i++)
    image[i] = make_float4(i % 3, i % 5, i % 7, (float)i / PIXELS);
  cudaMalloc(&in, sizeof image);
  cudaMalloc(&out, sizeof image);
  cudaMalloc(&background, sizeof shown);
  cudaMemcpy(in, image, sizeof image, cudaMemcpyHostToDevice);
  blend<<<PIXELS / 128, 128>>>(in, out, background);
  cudaMemcpy(&shown, background, sizeof shown, cudaMemcpyDeviceToHost);
  printf("alpha %g\n", shown.w);
  cudaFree(in);
  cudaFree(out);
  cudaFree(background);
}
