// mistake: sorted by the whole key
#include <cuda_runtime.h>

// The index is the number of smaller keys, and of equal ones before it.
__global__ void place(unsigned int *out_keys, int *out_values, const unsigned int *keys, const int *values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, index = 0;
  if (i >= n)
    return;
  for (int j = 0; j < n; j++)
    index += keys[j] < keys[i] || (keys[j] == keys[i] && j < i);
  out_keys[index] = keys[i];
  out_values[index] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  if (n > 0)
    place<<<(n + 255) / 256, 256>>>(out_keys, out_values, keys, values, n);
}
