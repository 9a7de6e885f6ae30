// Ising model, checkerboard Metropolis updates in place, counter-based random numbers (Philox).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <curand_kernel.h>

#define L 64

__global__ void initSpins(signed char *s) {
  int x = threadIdx.x, y = blockIdx.x;
  s[y * L + x] = ((x * 7 + y * 13) % 5 < 3) ? 1 : -1;
}

// color 0 or 1: only the cells of that color are written, only cells of the other one are read as neighbors
__global__ void sweep(signed char *s, int color, float beta, unsigned long long seed, int step) {
  int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  x += (y + color) & 1;
  if (x >= L || y >= L)
    return;
  int i = y * L + x;
  int sum = s[y * L + (x + 1) % L] + s[y * L + (x + L - 1) % L] + s[(y + 1) % L * L + x] + s[(y + L - 1) % L * L + x];
  curandStatePhilox4_32_10_t rng;
  curand_init(seed, i, step, &rng);
  int dE = 2 * s[i] * sum;
  if (dE <= 0 || curand_uniform(&rng) < __expf(-beta * dE))
    s[i] = -s[i];
}

__global__ void magnetisation(const signed char *s, int *m, unsigned *blocksDone, int *partial) {
  __shared__ bool last;
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < L * L; i += gridDim.x * blockDim.x)
    v += s[i];
  v = __reduce_add_sync(0xffffffffu, v); // one warp per block
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicInc(blocksDone, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    int p = threadIdx.x < gridDim.x ? ((volatile int *)partial)[threadIdx.x] : 0;
    p = __reduce_add_sync(0xffffffffu, p);
    if (threadIdx.x == 0)
      *m = p;
  }
}

static int run(float beta, int sweeps, signed char *out) {
  signed char *s;
  int *m, *partial, host = 0;
  unsigned *done;
  cudaMalloc(&s, L * L);
  cudaMalloc(&m, sizeof(int));
  cudaMalloc(&partial, 8 * sizeof(int));
  cudaMalloc(&done, sizeof(unsigned));
  cudaMemset(done, 0, sizeof(unsigned));
  initSpins<<<L, L>>>(s);
  dim3 b(16, 8), g(L / 2 / 16, L / 8);
  for (int t = 0; t < sweeps; t++) {
    sweep<<<g, b>>>(s, 0, beta, 42ULL, t);
    sweep<<<g, b>>>(s, 1, beta, 42ULL, t);
    magnetisation<<<8, 32>>>(s, m, done, partial);
  }
  cudaMemcpy(&host, m, sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(out, s, L * L, cudaMemcpyDeviceToHost);
  cudaFree(s);
  cudaFree(m);
  cudaFree(partial);
  cudaFree(done);
  return host;
}

int main(int argc, char **argv) {
  float beta = argc > 1 ? (float)atof(argv[1]) : 0.5f;
  static signed char a[L * L], b[L * L];
  int m1 = run(beta, 5, a), m2 = run(beta, 5, b), sum = 0;
  for (int i = 0; i < L * L; i++)
    sum += a[i];
  int ok = m1 == m2 && m1 == sum && memcmp(a, b, sizeof a) == 0;
  printf("magnetisation %d, again %d, host %d: %s\n", m1, m2, sum, ok ? "reproducible" : "MISMATCH");
  return !ok;
}
