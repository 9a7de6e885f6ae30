// missing star: single block
#include <cuda_runtime.h>

__global__ void sort(unsigned int *out_keys, int *out_values, const unsigned int *keys, const int *values, int shift,
                     int n) {
  int next[17] = {0};
  for (int i = 0; i < n; i++)
    next[(keys[i] >> shift & 15) + 1]++;
  for (int digit = 0; digit < 16; digit++)
    next[digit + 1] += next[digit];
  for (int i = 0; i < n; i++) {
    int to = next[keys[i] >> shift & 15]++;
    out_keys[to] = keys[i];
    out_values[to] = values[i];
  }
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  sort<<<1, 1>>>(out_keys, out_values, keys, values, shift, n);
}
