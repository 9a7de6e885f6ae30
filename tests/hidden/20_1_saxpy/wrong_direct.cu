// mistake: device pointer dereferenced on the host
#include <cuda_runtime.h>

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  for (int i = 0; i < n; i++)
    y[i] += a * x[i];
}
