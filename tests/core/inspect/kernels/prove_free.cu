// SPDX-License-Identifier: MIT
// For test_prove.sh: kernels without a race, proved for every launch ("every_"), for every grid with blocks of 64 ("block_"), or for one
// block of 64 threads ("launch_"). Those of "constant_" write a constant several times.

struct pair {
  int *a, *b;
  int n;
};
__global__ void every_map(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
__global__ void every_stride(int n, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] += 1;
}
__global__ void every_stride64(size_t n, float *y) {
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    y[i] += 1;
}
__global__ void every_reduce(const float *x, float *out) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (threadIdx.x < d)
      s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = s[0];
}
__global__ void every_scan(const int *x, int *out, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (i < n)
    out[i] = s[t];
}
__global__ void block_double_buffer(const int *x, int *out) {
  extern __shared__ int s[];
  int t = threadIdx.x, from = 0;
  s[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int to = 1 - from;
    s[to * blockDim.x + t] = s[from * blockDim.x + t] + (t >= d ? s[from * blockDim.x + t - d] : 0);
    from = to;
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + t] = s[from * blockDim.x + t];
}
__global__ void every_stencil(const float *in, float *out, int n) {
  __shared__ float s[258];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (blockDim.x > 256)
    return;
  s[t + 1] = i < n ? in[i] : 0;
  if (t == 0)
    s[0] = i > 0 ? in[i - 1] : 0;
  if (t == blockDim.x - 1)
    s[t + 2] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  if (i < n)
    out[i] = s[t] + s[t + 1] + s[t + 2];
}
__global__ void every_struct(pair q) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < q.n)
    q.a[i] = q.b[i];
}
__global__ void every_pointer(float *p, int n) {
  p += blockIdx.x * blockDim.x + threadIdx.x;
  *p = n;
}
__global__ void every_walk(float *p, int n) {
  float *end = p + n;
  for (p += blockIdx.x * blockDim.x + threadIdx.x; p < end; p += gridDim.x * blockDim.x)
    *p = 0;
}
__global__ void every_float4(float4 *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = p[i];
    v.x += 1;
    p[i] = v;
  }
}
__global__ void every_four(float *p) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int k = 0; k < 4; k++)
    p[i + k] = k;
}
__global__ void every_rows(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; k++)
    p[i * n + k] = k;
}
__global__ void every_columns(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < n; k++)
      p[k * n + i] = k;
}
__global__ void every_histogram(const unsigned char *x, int *bins, int n) {
  __shared__ int s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], s[i]);
}
__global__ void every_blockrow(float *m, int width) {
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    m[blockIdx.x * width + i] *= 2;
}
__global__ void every_tid0(float *p) {
  if (threadIdx.x == 0)
    p[blockIdx.x] = 1;
}
__global__ void every_softmax(const float *x, float *y, int width) {
  __shared__ float s[1024];
  float m = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    m = fmaxf(m, x[blockIdx.x * width + i]);
  s[threadIdx.x] = m;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d)
      s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + d]);
    __syncthreads();
  }
  m = s[0];
  __syncthreads();
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    y[blockIdx.x * width + i] = expf(x[blockIdx.x * width + i] - m);
}
__global__ void every_mod_reduce(int *p) {
  __shared__ int s[1024];
  s[threadIdx.x] = p[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    if (threadIdx.x % (2 * d) == 0)
      s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    p[blockIdx.x * blockDim.x] = s[0];
}
__global__ void every_reverse(int *p) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = p[blockIdx.x * 64 + t];
  __syncthreads();
  p[blockIdx.x * 64 + t] = s[63 - t];
}
template <class T, int N> __global__ void every_template(T *p) {
  __shared__ T s[N];
  s[threadIdx.x] = p[blockIdx.x * N + threadIdx.x];
  __syncthreads();
  p[blockIdx.x * N + threadIdx.x] = s[N - 1 - threadIdx.x];
}

__global__ void launch_one_block(int *p) {
  p[threadIdx.x] = threadIdx.x;
}
__global__ void launch_first_half(int *p, int n) {
  if (threadIdx.x < 32 && n > 1)
    p[threadIdx.x + 32] = p[threadIdx.x];
}

__global__ void constant_flag(int *flag, int *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > n)
    *flag = 1;
  y[i] = n;
}
