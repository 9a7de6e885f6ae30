// missing star: serial kernel
#include <cuda_runtime.h>

__global__ void scan(int *out, const int *x, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    out[i] = sum += x[i];
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  (void)room;
  scan<<<1, 1>>>(out, x, n);
}
