// A block per digit: it compacts the pairs with its digit, and starts after all smaller digits.
#include <cuda_runtime.h>

__global__ void sort(unsigned int *ok, int *ov, const unsigned int *k, const int *v, int shift, int n) {
  __shared__ int sums[8];
  int start = 0;
  for (int i = threadIdx.x; i - (int)threadIdx.x < n; i += 256)
    start += __syncthreads_count(i < n && (k[i] >> shift & 15) < blockIdx.x);
  for (int first = 0; first < n; first += 256) {
    int i = first + threadIdx.x, lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    bool f = i < n && (k[i] >> shift & 15) == blockIdx.x;
    unsigned votes = __ballot_sync(~0u, f);
    if (lane == 0)
      sums[w] = __popc(votes);
    __syncthreads();
    int to = start + __popc(votes & ~(~0u << lane));
    for (int j = 0; j < 8; j++) {
      to += j < w ? sums[j] : 0;
      start += sums[j];
    }
    if (f) {
      ok[to] = k[i];
      ov[to] = v[i];
    }
    __syncthreads();
  }
}
extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  sort<<<16, 256>>>(out_keys, out_values, keys, values, shift, n);
}
