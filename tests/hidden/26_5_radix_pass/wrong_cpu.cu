// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  size_t bytes = (size_t)n * 4;
  unsigned int *k = (unsigned int *)malloc(2 * bytes + 1), *to_k = k + n;
  int *v = (int *)malloc(2 * bytes + 1), *to_v = v + n, to = 0;
  cudaMemcpy(k, keys, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(v, values, bytes, cudaMemcpyDeviceToHost);
  for (unsigned int digit = 0; digit < 16; digit++)
    for (int i = 0; i < n; i++)
      if ((k[i] >> shift & 15) == digit) {
        to_k[to] = k[i];
        to_v[to++] = v[i];
      }
  cudaMemcpy(out_keys, to_k, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(out_values, to_v, bytes, cudaMemcpyHostToDevice);
  free(k);
  free(v);
}
