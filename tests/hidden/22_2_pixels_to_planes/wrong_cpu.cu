// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  float *host = (float *)malloc(4 * n * sizeof(float)), *plane = (float *)malloc(n * sizeof(float));
  float *planes[3] = {red, green, blue};
  cudaMemcpy(host, pixels, 4 * n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < n; i++)
      plane[i] = host[4 * i + k];
    cudaMemcpy(planes[k], plane, n * sizeof(float), cudaMemcpyHostToDevice);
  }
  free(host);
  free(plane);
}
