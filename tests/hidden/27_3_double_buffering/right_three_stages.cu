// missing star: two barriers per step
// Three pairs of tiles, steps of 8, two elements of c per thread.
#include <cuda_runtime.h>

struct stage {
  float a[16][8], b[8][16];
};

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ stage stages[3];
  const int t = threadIdx.x, top = blockIdx.y * 16, left = blockIdx.x * 16, steps = k / 8;
  float sums[2] = {0, 0};
  for (int step = -2; step < steps; step++) {
    if (step + 2 < steps) {
      stage *s = &stages[(step + 2) % 3];
      s->a[t / 8][t % 8] = load(&a[(top + t / 8) * k + (step + 2) * 8 + t % 8]);
      s->b[t / 16][t % 16] = load(&b[((step + 2) * 8 + t / 16) * n + left + t % 16]);
    }
    if (step >= 0) {
      const stage *s = &stages[step % 3];
      for (int p = 0; p < 8; p++)
        for (int i = 0; i < 2; i++)
          sums[i] += fetch(&s->a[t / 16 + 8 * i][p]) * fetch(&s->b[p][t % 16]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; i++)
    c[(top + t / 16 + 8 * i) * n + left + t % 16] = sums[i];
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / 16, m / 16), 128>>>(c, a, b, n, k);
}
