// mistake: no kernel was launched
#include <cuda_runtime.h>

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  (void)x, (void)who, (void)a, (void)b, (void)n, (void)blocks, (void)threads;
}
