// mistake: no kernel was launched
#include <cuda_runtime.h>

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  (void)c;
  (void)a;
  (void)b;
  (void)m;
  (void)n;
  (void)k;
}
