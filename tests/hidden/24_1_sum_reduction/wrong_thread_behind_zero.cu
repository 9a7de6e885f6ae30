// mistake: one thread adds up everything
#include <cuda_runtime.h>

__global__ void zero(float *sum) {
  *sum = 0;
}

__global__ void add_up(float *sum, const float *x, int n) {
  for (int i = 0; i < n; i++)
    *sum += x[i];
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  (void)partial;
  zero<<<1, 1>>>(sum);
  add_up<<<1, 1>>>(sum, x, n);
}
