// SPDX-License-Identifier: MIT
// Kernels whose counts are known from what nvcc compiles them to, for test_counts.sh. Each is launched with THREADS threads.
#include <cuda_runtime.h>

enum { THREADS = 256, SIDE = 16, TILE = 31, STEPS = 15 };

// So many registers that few blocks fit: what is loaded is kept across a barrier.
__global__ void hoards(float *o, const float *a) {
  float kept[96];
#pragma unroll
  for (int i = 0; i < 96; i++)
    kept[i] = a[i * THREADS + threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 96; i++)
    sum = sum * kept[i] + kept[95 - i];
  o[threadIdx.x] = sum;
}

__global__ void broadcast_float(float *o, const float *a, int zero) {
  o[threadIdx.x] = a[threadIdx.x * zero];
}
__global__ void broadcast_double(double *o, const double *a, int zero) {
  o[threadIdx.x] = a[threadIdx.x * zero];
}
// A warp reads 8 rows of 4.
__global__ void rows_of_4(double *o, const double *a, int pitch) {
  o[threadIdx.x] = a[threadIdx.x / 4 * pitch + threadIdx.x % 4];
}

// nvcc makes one 16-byte load of the first two and of x and z, one of 8 bytes of x and y, two of yzw; and four of the last two.
__global__ void all_members(float *o, const float4 *a) {
  float x = a[threadIdx.x].x, y = a[threadIdx.x].y;
  o[threadIdx.x] = x + y * a[threadIdx.x].z - a[threadIdx.x].w;
}
__global__ void all_members_cast(float *o, const float *a) {
  const float4 *p = (const float4 *)a + threadIdx.x;
  o[threadIdx.x] = p->x + p->y * (*p).z - reinterpret_cast<const float4 *>(a)[threadIdx.x].w;
}
__global__ void members_xy(float *o, const float4 *a) {
  o[threadIdx.x] = a[threadIdx.x].x + a[threadIdx.x].y;
}
__global__ void members_xz(float *o, const float4 *a) {
  o[threadIdx.x] = a[threadIdx.x].x + a[threadIdx.x].z;
}
__global__ void members_yzw(float *o, const float4 *a) {
  o[threadIdx.x] = a[threadIdx.x].y + a[threadIdx.x].z + a[threadIdx.x].w;
}
__global__ void four_elements(float *o, const float *a) {
  const float *e = a + 4 * threadIdx.x;
  o[threadIdx.x] = e[0] + e[1] * e[2] - e[3];
}
struct Unaligned {
  float x, y, z, w;
};
__global__ void own_struct(float *o, const Unaligned *u) {
  o[threadIdx.x] = u[threadIdx.x].x + u[threadIdx.x].y * u[threadIdx.x].z - u[threadIdx.x].w;
}

// The same sum from shared memory, by two indices and by one: nvcc's PTX has 45 integer instructions of either.
__global__ void sum_2d(float *o) {
  __shared__ float s[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  for (int i = ty; i < TILE; i += SIDE)
    for (int j = tx; j < TILE; j += SIDE)
      s[i][j] = i + j;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < STEPS; i++)
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      sum += s[ty + i][tx + j];
  o[ty * SIDE + tx] = sum;
}
// nvcc's sm_75 code has four: an IMAD of the index and an IMAD.WIDE of each address.
__global__ void add(float *o, const float *a, const float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = a[i] + b[i];
}
// nvcc unrolls the loop and makes no branch of the if: what remains is the end of the kernel.
__global__ void count_above(int *o, const float *a, float least) {
  int n = 0;
  float x = a[threadIdx.x];
  for (int j = 0; j < 16; j++)
    if (x * j > least)
      n++;
  o[threadIdx.x] = n;
}
// A branch for each iteration, and the end.
__global__ void loop_of_unknown_length(float *o, int n) {
  float x = o[threadIdx.x];
  for (int i = 0; i < n; i++)
    x = x * x + 1;
  o[threadIdx.x] = x;
}

int main() {
  float *o, *a;
  cudaMalloc(&o, 1 << 20);
  cudaMalloc(&a, 1 << 20);
  cudaMemset(a, 0, 1 << 20);
  hoards<<<1, THREADS>>>(o, a);
  broadcast_float<<<1, 32>>>(o, a, 0);
  broadcast_double<<<1, 32>>>((double *)o, (const double *)a, 0);
  rows_of_4<<<1, 32>>>((double *)o, (const double *)a, 4098);
  all_members<<<1, 32>>>(o, (const float4 *)a);
  all_members_cast<<<1, 32>>>(o, a);
  members_xy<<<1, 32>>>(o, (const float4 *)a);
  members_xz<<<1, 32>>>(o, (const float4 *)a);
  members_yzw<<<1, 32>>>(o, (const float4 *)a);
  four_elements<<<1, 32>>>(o, a);
  own_struct<<<1, 32>>>(o, (const Unaligned *)a);
  sum_2d<<<1, dim3(SIDE, SIDE)>>>(o);
  add<<<1, THREADS>>>(o, a, a + 4096);
  count_above<<<1, THREADS>>>((int *)o, a, 1);
  loop_of_unknown_length<<<1, THREADS>>>(a, 10);
  cudaDeviceSynchronize();
  cudaFree(o);
  cudaFree(a);
  return 0;
}
