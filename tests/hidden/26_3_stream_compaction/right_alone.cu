// missing star: single block
#include <cuda_runtime.h>

__global__ void keep(float *out, int *count, const float *x, float bound, int n) {
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (x[i] > bound)
      out[kept++] = x[i];
  *count = kept;
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  keep<<<1, 1>>>(out, count, x, bound, n);
}
