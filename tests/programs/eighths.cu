// Numbers of eight bits: each one there and back; rounding; what is too large. Functions of those of sixteen, and of pairs of them.
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

template <class T, class T2> __device__ int sixteenths(T2 (*pair)(T, T)) {
  const T one = T(1.0f), two = T(2.0f), none = T(NAN);
  const T2 a = pair(one, two), b = pair(two, none);
  T2 sum = a;
  sum += a;
  int good = float(hexp2(two)) == 4 && float(hlog2(T(8.0f))) == 3 && float(__hadd_sat(one, two)) == 1;
  good += float(h2exp2(a).y) == 4 && float(h2sqrt(sum).y) == 2 && float(__habs2(-a).x) == 1;
  good += __heq2_mask(a, a) == 0xffffffffu && __hlt2_mask(a, b) == 0xffffu && __hltu2_mask(a, b) == 0xffffffffu;
  good += !__hne(one, none) && __hneu(one, none) && a == a && !(b != b) && !__hbne2(a, b) && float(__hle2(a, b).x) == 1;
  good += __hisnan(__hmax_nan(one, none)) && float(__hfma_relu(one, two, T(-3.0f))) == 0 && float(T(3L)) == 3;
  good += float(__hmul2_sat(a, a).x) == 1 && float(__lowhigh2highlow(a).x) == 2;
  return good;
}
__global__ void shorter(int *good) {
  good[0] = sixteenths<__half, __half2>(make_half2);
  good[1] = sixteenths<__nv_bfloat16, __nv_bfloat162>(make_bfloat162);
  const __half2 low = make_half2(__half(1.0f), __half(2.0f)), high = make_half2(__half(3.0f), __half(4.0f));
  const float4 four = float4(__nv_fp8x4_e4m3(low, high));
  const float2 two = float2(__nv_fp8x2_e5m2(high));
  good[2] = four.x == 1 && four.y == 2 && four.w == 4 && two.x == 3 && float(__highs2half2(low, high).y) == 4;
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
  int *good;
  cudaMallocManaged(&good, 3 * sizeof *good);
  shorter<<<1, 1>>>(good);
  cudaDeviceSynchronize();
  if (good[0] != 6 || good[1] != 6 || good[2] != 1) {
    printf("of sixteen bits: %d %d %d\n", good[0], good[1], good[2]);
    failures++;
  }
  puts(failures || *wrong ? "FAIL" : "PASS");
  return failures || *wrong;
}
