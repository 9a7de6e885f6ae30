// mistake: order not preserved
#include <cuda_runtime.h>

// A head walks to the end of its run.
__global__ void runs(int *values, int *lengths, int *count, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, end = i + 1;
  if (i >= n || (i > 0 && x[i] == x[i - 1]))
    return;
  while (end < n && x[end] == x[i])
    end++;
  int run = atomicAdd(count, 1);
  values[run] = x[i];
  lengths[run] = end - i;
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  cudaMemsetAsync(count, 0, sizeof(int), 0);
  if (n > 0)
    runs<<<(n + 255) / 256, 256>>>(values, lengths, count, x, n);
}
