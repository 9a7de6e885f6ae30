/* Bitonic sort: chunks in shared memory, wide steps in global memory */
#include <stdio.h>
#include <stdlib.h>

#define CHUNK 256 /* elements per block, CHUNK / 2 threads */

__device__ __forceinline__ void compare_swap(float *a, float *b, int up) {
  if ((*a > *b) == up) {
    float t = *a;
    *a = *b;
    *b = t;
  }
}

/* sort every chunk, alternately up and down */
__global__ void sort_chunks(float *d) {
  __shared__ float s[CHUNK];
  int t = threadIdx.x, base = blockIdx.x * CHUNK;
  s[t] = d[base + t];
  s[t + CHUNK / 2] = d[base + t + CHUNK / 2];
  for (int size = 2; size <= CHUNK; size <<= 1) {
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1));
      int up = ((base + i) & size) == 0;
      compare_swap(&s[i], &s[i + stride], up);
    }
  }
  __syncthreads();
  d[base + t] = s[t];
  d[base + t + CHUNK / 2] = s[t + CHUNK / 2];
}

/* one step whose stride is at least CHUNK */
__global__ void global_step(float *d, int size, int stride) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int i = 2 * t - (t & (stride - 1));
  compare_swap(&d[i], &d[i + stride], (i & size) == 0);
}

/* the steps with stride below CHUNK */
__global__ void finish_chunks(float *d, int size) {
  __shared__ float s[CHUNK];
  int t = threadIdx.x, base = blockIdx.x * CHUNK;
  s[t] = d[base + t];
  s[t + CHUNK / 2] = d[base + t + CHUNK / 2];
  int up = (base & size) == 0;
  for (int stride = CHUNK / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    int i = 2 * t - (t & (stride - 1));
    compare_swap(&s[i], &s[i + stride], up);
  }
  __syncthreads();
  d[base + t] = s[t];
  d[base + t + CHUNK / 2] = s[t + CHUNK / 2];
}

static int cmp(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  int n = 2048;
  if (argc > 1)
    n = atoi(argv[1]);
  if (n % CHUNK || (n & (n - 1))) {
    printf("n must be a power of two of at least %d\n", CHUNK);
    return 1;
  }
  float *h = (float *)malloc(n * sizeof(float)), *r = (float *)malloc(n * sizeof(float)), *d;
  srand(17);
  for (int i = 0; i < n; i++)
    h[i] = (rand() % 5000) * 0.5f;
  cudaMalloc((void **)&d, n * sizeof(float));
  cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice);

  sort_chunks<<<n / CHUNK, CHUNK / 2>>>(d);
  for (int size = 2 * CHUNK; size <= n; size <<= 1) {
    for (int stride = size / 2; stride >= CHUNK; stride >>= 1)
      global_step<<<n / 2 / 128, 128>>>(d, size, stride);
    finish_chunks<<<n / CHUNK, CHUNK / 2>>>(d, size);
  }
  cudaMemcpy(r, d, n * sizeof(float), cudaMemcpyDeviceToHost);
  qsort(h, n, sizeof(float), cmp);
  int bad = 0;
  for (int i = 0; i < n; i++)
    if (h[i] != r[i])
      bad++;
  printf("bitonic sort of %d: %d out of place\n", n, bad);
  cudaFree(d);
  free(h);
  free(r);
  return bad ? 1 : 0;
}
