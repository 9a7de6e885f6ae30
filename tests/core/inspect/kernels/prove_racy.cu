// SPDX-License-Identifier: MIT
// For test_prove.sh: kernels that have a race in some launch with two blocks of 64 threads or more, and that a careless analysis proves free
// of races.

__global__ void racy_overlap(int *p) {
  int i = threadIdx.x;
  int *q = p + 1;
  p[i] = q[i];
}
__global__ void racy_stride0(int *p, int n) {
  p[(blockIdx.x * blockDim.x + threadIdx.x) * n] = threadIdx.x;
}
__global__ void racy_stride_n(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; k++)
    p[i * n + k] = p[i * n + k + 1];
}
__global__ void racy_wrap(int *p) {
  p[threadIdx.x * 0x80000000u] = threadIdx.x;
}
__global__ void racy_hash(int *p) {
  p[(threadIdx.x * 2654435761u) >> 24] = threadIdx.x;
}
__global__ void racy_boundary(int *p) {
  int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
  p[i] = i;
}
__global__ void racy_boundary_read(int *p) {
  __shared__ int s[1024];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = p[i];
  __syncthreads();
  p[i] = threadIdx.x + 1 < blockDim.x ? s[threadIdx.x + 1] : p[i + 1];
}
__global__ void racy_backedge(int *p, int n) {
  __shared__ int s[1024];
  for (int k = 0; k < n; k++) {
    s[threadIdx.x] = p[k];
    __syncthreads();
    p[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
  }
}
__global__ void racy_backedge2(int *out, int n) {
  __shared__ int s[2048];
  for (int k = 0; k < n; k++) {
    __syncthreads();
    s[threadIdx.x] = k;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
    s[threadIdx.x + 1024] = s[(threadIdx.x + 1) % blockDim.x];
    if (k + 1 == n)
      s[(threadIdx.x + 1) % blockDim.x] = 0;
  }
}
__global__ void racy_return(int *p, int n) {
  __shared__ int s[1024];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x >= n)
    return;
  __syncthreads();
  p[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void racy_second(int *p) {
  int *q = p;
  q[threadIdx.x] = p[threadIdx.x + 1];
}
__device__ void store(int *a, int *b, int i) {
  a[i] = b[i + 1];
}
__global__ void racy_both(int *p) {
  store(p, p, threadIdx.x);
}
__global__ void racy_stride(int *p, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x)
    p[i] = i;
}
__global__ void racy_stride2(int *p, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x)
    p[i] = i;
}
__global__ void racy_if_barrier(int *p) {
  __shared__ int s[1024];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 32)
    __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void racy_uniform_if(int *p, int n) {
  __shared__ int s[1024];
  s[threadIdx.x] = threadIdx.x;
  if (n > 3)
    __syncthreads();
  p[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void racy_data(const int *i, int *p) {
  p[i[threadIdx.x]] = threadIdx.x;
}
__global__ void racy_pointers(int **p) {
  p[threadIdx.x][0] = threadIdx.x;
}
__global__ void racy_cast(int *p) {
  ((char *)p)[threadIdx.x * 4 + 3] = 1;
  p[threadIdx.x] = p[threadIdx.x / 2];
}
__global__ void racy_float4(float *p) {
  ((float4 *)p)[threadIdx.x] = make_float4(0, 0, 0, 0);
  p[threadIdx.x] = threadIdx.x;
}
__global__ void racy_wide(float *p) {
  *(float4 *)(p + 3 * threadIdx.x) = make_float4(0, 0, 0, 0);
}
__global__ void racy_atomic(int *p) {
  atomicAdd(p, 1);
  if (threadIdx.x == 0)
    p[0] = 0;
}
__global__ void racy_atomic_read(int *p, int *q) {
  atomicAdd(p, 1);
  q[blockIdx.x * blockDim.x + threadIdx.x] = *p;
}
__global__ void racy_unused(int *p) {
  int i = threadIdx.x;
  int t = p[i + 1];
  p[i] = i;
}
__global__ void racy_dynamic(int *p) {
  extern __shared__ int a[];
  extern __shared__ float b[];
  a[threadIdx.x] = 1;
  p[blockIdx.x * blockDim.x + threadIdx.x] = b[threadIdx.x + 1];
}
__global__ void racy_warp(int *p) {
  __shared__ int s[32];
  s[threadIdx.x % 32] = threadIdx.x;
  __syncwarp();
  p[blockIdx.x * blockDim.x + threadIdx.x] = s[(threadIdx.x + 1) % 32];
}
__global__ void racy_blocks(int *p) {
  __shared__ int s[1024];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x] + 1;
}
__global__ void racy_down(int *p, int n) {
  for (int i = n - 1 - threadIdx.x; i >= 0; i -= blockDim.x)
    p[i] = p[i - 1];
}
__global__ void racy_flag(int *p) {
  int i = threadIdx.x, flag = 0;
  if (i % 2)
    flag = 1;
  p[i] = threadIdx.x;
  if (flag)
    p[i + 1] = threadIdx.x;
}
__global__ void racy_doubling(int *p) {
  __shared__ int s[1024];
  s[threadIdx.x] = p[threadIdx.x];
  for (int d = 1; d < blockDim.x; d *= 2) {
    __syncthreads();
    if (threadIdx.x >= d)
      s[threadIdx.x] += s[threadIdx.x - d];
  }
  p[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
}
__global__ void racy_goto(int *p, int n) {
  int k = 0;
again:
  __shared__ int s[1024];
  s[threadIdx.x] = k;
  if (k & 1)
    __syncthreads();
  p[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x ^ 1];
  if (++k < n)
    goto again;
}
__global__ void racy_divide(int *p) {
  p[(blockIdx.x * blockDim.x + threadIdx.x) / 2] = threadIdx.x;
}
__global__ void racy_negative(int *p) {
  int i = threadIdx.x - 1;
  p[i / 2 + 1] = threadIdx.x;
}
__global__ void racy_modulo(int *p, int n) {
  p[(blockIdx.x * blockDim.x + threadIdx.x) % n] = threadIdx.x;
}
__global__ void racy_mask(int *p) {
  p[threadIdx.x & ~1u] = threadIdx.x;
}
struct pair {
  int *a, *b;
};
__global__ void racy_struct(pair q) {
  q.b = q.a;
  q.a[threadIdx.x] = q.b[threadIdx.x + 1];
}
__global__ void racy_select(int *p, int *q, int n) {
  int *r = n > 5 ? p : q;
  r[threadIdx.x] = p[threadIdx.x + 1];
}
__global__ void racy_while(int *p, int n) {
  int i = threadIdx.x;
  while (i < n) {
    p[i] = threadIdx.x;
    i = 2 * i + 1;
  }
}
__global__ void racy_loop_carried(int *p, int n) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  for (int k = 0; k < n; k++) {
    s[t] = k;
    t = (t + 1) % blockDim.x;
  }
  p[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
}
__device__ int counter;
__global__ void racy_global(int *p) {
  counter = counter + 1;
  p[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}
__global__ void racy_barrier_trip(int *p) {
  __shared__ int s[1024];
  for (int k = 0; k < threadIdx.x; k++) {
    s[threadIdx.x] = k;
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x ^ 1];
  }
}
__global__ void racy_memcpy(int *p) {
  __builtin_memcpy(p + threadIdx.x, p + 512 + threadIdx.x, 8);
}
__global__ void racy_switch(int *p, int n) {
  switch (n) {
  case 0:
    p[threadIdx.x] = threadIdx.x;
    break;
  case 1:
    p[threadIdx.x / 2] = threadIdx.x;
    break;
  default:
    p[threadIdx.x] = threadIdx.x;
  }
}
__global__ void racy_volatile(volatile int *p) {
  p[0] = threadIdx.x;
}
__global__ void racy_long(int *p, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  p[(int)(i * n)] = threadIdx.x;
}
__global__ void racy_subtract(int *p) {
  unsigned i = threadIdx.x - 5u;
  p[i % 16] = threadIdx.x;
}
__global__ void racy_min(int *p, int n) {
  int i = min((int)(blockIdx.x * blockDim.x + threadIdx.x), n);
  p[i] = threadIdx.x;
}

__global__ void racy_constant(int *p) {
  p[0] = 1;
  p[threadIdx.x] = 2;
}
__global__ void racy_constant_bytes(char *p) {
  *(short *)(p + threadIdx.x) = 1;
}
