// mistake: no kernel was launched
#include <cuda_runtime.h>

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  for (int i = 0; i < n; i++)
    y[i] = a * x[i];
  *error = 0;
}
