// mistake: sort not stable
#include <cuda_runtime.h>

__global__ void place(unsigned int *out_keys, int *out_values, const unsigned int *keys, const int *values, int shift,
                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, index = 0;
  if (i >= n)
    return;
  unsigned int digit = keys[i] >> shift & 15;
  for (int j = 0; j < n; j++) {
    unsigned int other = keys[j] >> shift & 15;
    index += other < digit || (other == digit && j > i);
  }
  out_keys[index] = keys[i];
  out_values[index] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  if (n > 0)
    place<<<(n + 255) / 256, 256>>>(out_keys, out_values, keys, values, shift, n);
}
