// Barriers in loops and branches whose conditions look different per thread and are the same for
// all of them: a gcd each thread computes in its own way, a vote, a value handed round by shared
// memory, and a switch on the block's number.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 96

__device__ int gcdOf(int a, int b, bool swap) {
  if (swap) {
    int c = a;
    a = b;
    b = c;
  }
  while (b) {
    int r = a % b;
    a = b;
    b = r;
  }
  return a;
}

__global__ void work(const int *in, int *out) {
  __shared__ int s[NT];
  __shared__ int more;
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * NT + t];
  __syncthreads();

  // 1: trips = gcd(24 + 12 * block, 96), from either order of the arguments
  int trips = gcdOf(24 + 12 * blockIdx.x, NT, (t & 1) != 0);
  for (int k = t; k < t + trips; k++) {
    int v = s[(t + 1) % NT] + 1;
    __syncthreads();
    s[t] = v;
    __syncthreads();
  }
  // 2: until everybody is below 40; a thread that is ready still votes
  while (__syncthreads_or(s[t] >= 40)) {
    if (s[t] >= 40)
      s[t] -= 1 + (t & 7);
  }
  // 3: the loop condition goes through shared memory, read between two barriers
  int left = 3 + (int)blockIdx.x;
  for (;;) {
    if (t == NT - 1)
      more = left > 0;
    __syncthreads();
    bool go = more != 0;
    __syncthreads();
    if (!go)
      break;
    s[t] ^= left;
    left--;
  }
  // 4: a branch of the whole block
  switch (blockIdx.x % 3) {
  case 0: {
    int v = s[NT - 1 - t];
    __syncthreads();
    s[t] += v;
  } break;
  case 1:
    if (gridDim.x > 1) {
      int v = s[t / 2];
      __syncthreads();
      s[t] -= v;
    }
    break;
  default:
    break;
  }
  out[blockIdx.x * NT + t] = s[t];
}

int main() {
  const int blocks = 4, n = blocks * NT;
  int h[n], g[n], wrong = 0;
  for (int i = 0; i < n; i++)
    h[i] = (i * 43) % 71;
  int *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof g);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  work<<<blocks, NT>>>(a, b);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  for (int k = 0; k < blocks; k++) {
    int s[NT], p[NT], x = 24 + 12 * k, y = NT;
    while (y) {
      int r = x % y;
      x = y;
      y = r;
    }
    for (int t = 0; t < NT; t++)
      s[t] = h[k * NT + (t + x) % NT] + x;
    for (int t = 0; t < NT; t++) {
      while (s[t] >= 40)
        s[t] -= 1 + (t & 7);
      for (int l = 3 + k; l > 0; l--)
        s[t] ^= l;
      p[t] = s[t];
    }
    for (int t = 0; t < NT; t++) {
      if (k % 3 == 0)
        s[t] += p[NT - 1 - t];
      if (k % 3 == 1)
        s[t] -= p[t / 2];
      wrong += s[t] != g[k * NT + t];
    }
  }
  printf("convoluted_trips: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
