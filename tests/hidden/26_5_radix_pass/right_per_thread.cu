// Each of 2048 threads has a chunk and 16 counts of its own. A warp scans all counts.
#include <cuda_runtime.h>

enum { BLOCKS = 16, THREADS = 128, ALL = BLOCKS * THREADS };

__global__ void count(int *counts, const unsigned int *keys, int shift, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x, each = (n + ALL - 1) / ALL;
  int own[16] = {0};
  for (int i = t * each; i < (t + 1) * each && i < n; i++)
    own[keys[i] >> shift & 15]++;
  for (int digit = 0; digit < 16; digit++)
    counts[digit * ALL + t] = own[digit];
}

__global__ void scan(int *counts) {
  int lane = threadIdx.x, sum = 0, each = 16 * ALL / 32;
  for (int i = lane * each; i < (lane + 1) * each; i++)
    sum += counts[i];
  int before = sum;
  for (int distance = 1; distance < 32; distance *= 2) {
    int other = __shfl_up_sync(~0u, before, distance);
    before += lane >= distance ? other : 0;
  }
  before -= sum;
  for (int i = lane * each; i < (lane + 1) * each; i++) {
    int own = counts[i];
    counts[i] = before;
    before += own;
  }
}

__global__ void move(unsigned int *out_keys, int *out_values, const int *counts, const unsigned int *keys,
                     const int *values, int shift, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x, each = (n + ALL - 1) / ALL;
  int next[16];
  for (int digit = 0; digit < 16; digit++)
    next[digit] = counts[digit * ALL + t];
  for (int i = t * each; i < (t + 1) * each && i < n; i++) {
    int to = next[keys[i] >> shift & 15]++;
    out_keys[to] = keys[i];
    out_values[to] = values[i];
  }
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  count<<<BLOCKS, THREADS>>>(scratch, keys, shift, n);
  scan<<<1, 32>>>(scratch);
  move<<<BLOCKS, THREADS>>>(out_keys, out_values, scratch, keys, values, shift, n);
}
