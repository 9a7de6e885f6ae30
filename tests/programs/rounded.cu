// Intrinsics that round: the compiler must not contract them into a fused multiply-add, which rounds once instead of twice.
#include <cstdio>
#include <cuda_runtime.h>

// y is x * x rounded: each difference is 0, and 2^-24 or 2^-54 if the product was not rounded.
__global__ void differences(float *out, double *out_double, float x, float y, double dx, double dy) {
  out[0] = __fmul_rn(x, x) - y;
  out[1] = __fsub_rn(x * x, y);
  out[2] = __fadd_rn(-y, x * x);
  out[3] = __fmaf_rn(x, x, -y);
  out_double[0] = __dmul_rn(dx, dx) - dy;
  out_double[1] = __dadd_rn(dx * dx, -dy);
  out_double[2] = __fma_rn(dx, dx, -dy);
}

int main() {
  float *out;
  double *out_double;
  cudaMallocManaged(&out, 4 * sizeof *out);
  cudaMallocManaged(&out_double, 3 * sizeof *out_double);
  const double e = 1.0 / (1 << 27);
  differences<<<1, 1>>>(out, out_double, 1 + 1.0f / 4096, 1 + 1.0f / 2048, 1 + e, 1 + 2 * e);
  int wrong = cudaDeviceSynchronize() != cudaSuccess;
  for (int i = 0; i < 3; i++)
    wrong += out[i] != 0;
  wrong += out[3] != 1.0f / (1 << 24);
  wrong += out_double[0] != 0 || out_double[1] != 0 || out_double[2] != e * e;
  puts(wrong ? "FAIL" : "PASS");
  return wrong != 0;
}
