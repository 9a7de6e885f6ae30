// A block sorts its pairs in shared memory by four splits, so that neighboring threads write neighboring addresses.
#include <cuda_runtime.h>

enum { THREADS = 256 };

// The number of flags before the thread's, and of all.
static __device__ int flags_before(int flag, int *all) {
  __shared__ int sums[THREADS / 32];
  int lane = threadIdx.x % 32, before = 0;
  unsigned int votes = __ballot_sync(~0u, flag);
  if (lane == 0)
    sums[threadIdx.x / 32] = __popc(votes);
  __syncthreads();
  *all = 0;
  for (int w = 0; w < THREADS / 32; w++) {
    before += w < (int)threadIdx.x / 32 ? sums[w] : 0;
    *all += sums[w];
  }
  __syncthreads();
  return before + __popc(votes & ((1u << lane) - 1));
}

__global__ void count(int *counts, const unsigned int *keys, int shift, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  for (unsigned int digit = 0; digit < 16; digit++) {
    int all = __syncthreads_count(i < n && (keys[i] >> shift & 15) == digit);
    if (threadIdx.x == 0)
      counts[digit * gridDim.x + blockIdx.x] = all;
  }
}

__global__ void scan(int *counts, int n) {
  __shared__ int sums[THREADS];
  int t = threadIdx.x, each = (n + THREADS - 1) / THREADS, sum = 0;
  for (int i = t * each; i < (t + 1) * each && i < n; i++)
    sum += counts[i];
  sums[t] = sum;
  __syncthreads();
  int before = 0;
  for (int other = 0; other < t; other++)
    before += sums[other];
  for (int i = t * each; i < (t + 1) * each && i < n; i++) {
    int own = counts[i];
    counts[i] = before;
    before += own;
  }
}

__global__ void move(unsigned int *out_keys, int *out_values, const int *offsets, const unsigned int *keys,
                     const int *values, int shift, int n) {
  __shared__ unsigned int sorted_keys[THREADS];
  __shared__ int sorted_values[THREADS], first[16];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, here = n - (int)blockIdx.x * THREADS;
  here = here < THREADS ? here : THREADS;
  sorted_keys[t] = i < n ? keys[i] : ~0u; // the largest digit, and after all others with it
  sorted_values[t] = i < n ? values[i] : 0;
  __syncthreads();
  for (int bit = shift; bit < shift + 4; bit++) {
    unsigned int key = sorted_keys[t];
    int value = sorted_values[t], flag = !(key >> bit & 1), zeros, before = flags_before(flag, &zeros);
    int to = flag ? before : zeros + t - before;
    sorted_keys[to] = key;
    sorted_values[to] = value;
    __syncthreads();
  }
  int digit = sorted_keys[t] >> shift & 15;
  if (t == 0 || digit != (int)(sorted_keys[t - 1] >> shift & 15))
    first[digit] = t;
  __syncthreads();
  if (t >= here)
    return;
  int to = offsets[digit * gridDim.x + blockIdx.x] + t - first[digit];
  out_keys[to] = sorted_keys[t];
  out_values[to] = sorted_values[t];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks == 0)
    return;
  count<<<blocks, THREADS>>>(scratch, keys, shift, n);
  scan<<<1, THREADS>>>(scratch, 16 * blocks);
  move<<<blocks, THREADS>>>(out_keys, out_values, scratch, keys, values, shift, n);
}
