// Managed memory, symbols, pitched memory, callbacks, limits, occupancy, rounding modes, integer intrinsics.
#include <cstdio>
#include <cmath>
#include <cuda_profiler_api.h>
#include <math_constants.h>

__device__ int counter[4];
__global__ void count(int *also) {
  atomicAdd(&counter[1], 1);
  atomicAdd_system(also, 2);
}
__global__ void numbers(double *d, unsigned *u) {
  d[0] = normcdfinv(0.975);
  d[1] = erfinv(0.5);
  d[2] = __hiloint2double(__double2hiint(CUDART_PI), __double2loint(CUDART_PI));
  d[3] = __fadd_ru(1.0f, 1e-10f) > 1.0f && __fadd_rd(1.0f, 1e-10f) == 1.0f && __ddiv_ru(1.0, 3.0) > __ddiv_rd(1.0, 3.0);
  u[0] = __byte_perm(0x03020100u, 0x07060504u, 0x7531);
  u[1] = __funnelshift_l(0x80000000u, 1, 1);
  u[2] = (unsigned)__dp4a(0x01020304, 0x01010101, 5);
  u[3] = __umul24(0x1000002u, 3) + (unsigned)(__brevll(1) >> 63) + (unsigned)__float2uint_rz(-3.0f);
}
static void CUDART_CB called(cudaStream_t, cudaError_t status, void *data) {
  *(int *)data = status == cudaSuccess ? 7 : 0;
}

static int failed;
static void expect(const char *what, bool good) {
  if (!good) {
    printf("FAIL %s\n", what);
    failed = 1;
  }
}

int main() {
  int *managed, *address, h[4] = {0}, mark = 0, grid = 0, block = 0, mode = -1;
  cudaMallocManaged(&managed, 16);
  *managed = 1;
  cudaMemAdvise(managed, 16, cudaMemAdviseSetReadMostly, 0);
  cudaMemPrefetchAsync(managed, 16, 0);
  count<<<2, 32>>>(managed);
  cudaDeviceSynchronize();
  expect("managed memory", *managed == 129);
  expect("a copy from managed memory", cudaMemcpy(h, managed, 4, cudaMemcpyDeviceToHost) == cudaSuccess && h[0] == 129);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, managed);
  expect("its attributes", attributes.type == cudaMemoryTypeManaged);
  expect("the address of a symbol", cudaGetSymbolAddress((void **)&address, counter) == cudaSuccess);
  cudaMemcpy(h, address, 16, cudaMemcpyDeviceToHost);
  expect("a copy from there", h[1] == 64);
  count<<<1, 1>>>(address);
  cudaMemcpyFromSymbolAsync(h, counter, 8);
  cudaDeviceSynchronize();
  expect("a kernel with that address", h[0] == 2 && h[1] == 65);

  char *pitched;
  size_t pitch = 0, limit = 0;
  cudaMallocPitch(&pitched, &pitch, 100, 3);
  cudaMemset2D(pitched, pitch, 1, 100, 3);
  char rows[300] = {0};
  cudaMemcpy2D(rows, 100, pitched, pitch, 100, 3, cudaMemcpyDeviceToHost);
  expect("pitched memory", pitch >= 100 && rows[0] == 1 && rows[299] == 1);
  cudaStreamAddCallback(0, called, &mark, 0);
  cudaDeviceSynchronize();
  expect("a callback", mark == 7);
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 24);
  cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
  expect("a limit", limit == 1 << 24);
  expect("occupancy",
         cudaOccupancyMaxPotentialBlockSize(&grid, &block, numbers, 0, 0) == cudaSuccess && block >= 32 && grid > 0);
  expect("the compute mode", cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0) == cudaSuccess && mode == 0);
  expect("flags and profiler",
         cudaSetDeviceFlags(cudaDeviceScheduleSpin) == cudaSuccess && cudaProfilerStart() == cudaSuccess);

  double *d;
  unsigned *u;
  cudaMallocManaged(&d, 32);
  cudaMallocManaged(&u, 16);
  numbers<<<1, 1>>>(d, u);
  cudaDeviceSynchronize();
  expect("normcdfinv", fabs(d[0] - 1.9599639845400545) < 1e-14);
  expect("erfinv", fabs(d[1] - 0.47693627620446987) < 1e-15);
  expect("halves of a double", d[2] == 3.14159265358979323846);
  expect("rounding modes", d[3] == 1);
  expect("__byte_perm", u[0] == 0x07050301u);
  expect("__funnelshift_l", u[1] == 3);
  expect("__dp4a", u[2] == 15);
  expect("24 bits, reversal, saturation", u[3] == 7);
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
