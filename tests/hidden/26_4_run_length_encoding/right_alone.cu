// missing star: single block
#include <cuda_runtime.h>

__global__ void runs(int *values, int *lengths, int *count, const int *x, int n) {
  int run = -1;
  for (int i = 0; i < n; i++) {
    if (i == 0 || x[i] != x[i - 1]) {
      values[++run] = x[i];
      lengths[run] = 0;
    }
    lengths[run]++;
  }
  *count = run + 1;
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  runs<<<1, 1>>>(values, lengths, count, x, n);
}
