// Numbers of eight bits: each one there and back; rounding; what is too large.
#include <cmath>
#include <cstdio>
#include <cuda_fp8.h>

__global__ void there_and_back(int *wrong) {
  const unsigned int bits = threadIdx.x;
  __nv_fp8_e4m3 a;
  __nv_fp8_e5m2 b;
  a.__x = b.__x = (__nv_fp8_storage_t)bits;
  const float x = float(a), y = float(b);
  if (!isnan(x) && __nv_fp8_e4m3(x).__x != bits)
    atomicAdd(wrong, 1);
  if (!isnan(y) && !isinf(y) && __nv_fp8_e5m2(y).__x != bits)
    atomicAdd(wrong, 1);
}

int main() {
  int *wrong, failures = 0;
  cudaMallocManaged(&wrong, sizeof *wrong);
  *wrong = 0;
  there_and_back<<<1, 256>>>(wrong);
  cudaDeviceSynchronize();
  const struct {
    float x;
    unsigned int finite3, finite2, open3, open2;
  } cases[] = {{1.0625f, 0x38, 0x3c, 0x38, 0x3c},   {1.1875f, 0x3a, 0x3d, 0x3a, 0x3d}, {-464, 0xfe, 0xdf, 0xfe, 0xdf},
               {480, 0x7e, 0x60, 0x7f, 0x60},       {1e6f, 0x7e, 0x7b, 0x7f, 0x7c},    {0x1p-10f, 0, 0x14, 0, 0x14},
               {0x1.8p-10f, 0x01, 0x16, 0x01, 0x16}};
  for (const auto &c : cases) {
    const bool good = __nv_cvt_float_to_fp8(c.x, __NV_SATFINITE, __NV_E4M3) == c.finite3 &&
                      __nv_cvt_float_to_fp8(c.x, __NV_SATFINITE, __NV_E5M2) == c.finite2 &&
                      __nv_cvt_float_to_fp8(c.x, __NV_NOSAT, __NV_E4M3) == c.open3 &&
                      __nv_cvt_float_to_fp8(c.x, __NV_NOSAT, __NV_E5M2) == c.open2;
    if (!good)
      printf("%g: %x %x %x %x\n", c.x, __nv_cvt_float_to_fp8(c.x, __NV_SATFINITE, __NV_E4M3),
             __nv_cvt_float_to_fp8(c.x, __NV_SATFINITE, __NV_E5M2), __nv_cvt_float_to_fp8(c.x, __NV_NOSAT, __NV_E4M3),
             __nv_cvt_float_to_fp8(c.x, __NV_NOSAT, __NV_E5M2));
    failures += !good;
  }
  puts(failures || *wrong ? "FAIL" : "PASS");
  return failures || *wrong;
}
