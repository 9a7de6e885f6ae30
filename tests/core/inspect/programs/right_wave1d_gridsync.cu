// 1D wave equation: all time steps in one cooperative launch, three rotating buffers.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
namespace cg = cooperative_groups;

#define N 2048
#define STEPS 12

__global__ void wave(float *prev, float *cur, float *next, int n, int steps, float c2) {
  cg::grid_group grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) {
      float l = i > 0 ? cur[i - 1] : 0.0f;
      float r = i + 1 < n ? cur[i + 1] : 0.0f;
      next[i] = 2.0f * cur[i] - prev[i] + c2 * (l - 2.0f * cur[i] + r);
    }
    grid.sync();
    float *t = prev;
    prev = cur;
    cur = next;
    next = t;
  }
}

static void host_wave(float *prev, float *cur, float *next, float c2) {
  for (int s = 0; s < STEPS; ++s) {
    for (int i = 0; i < N; i++) {
      float l = i > 0 ? cur[i - 1] : 0.0f;
      float r = i + 1 < N ? cur[i + 1] : 0.0f;
      next[i] = 2.0f * cur[i] - prev[i] + c2 * (l - 2.0f * cur[i] + r);
    }
    float *t = prev;
    prev = cur;
    cur = next;
    next = t;
  }
}

int main(void) {
  static float h[3][N];
  for (int i = 0; i < N; i++)
    h[0][i] = h[1][i] = expf(-0.001f * (i - N / 2) * (i - N / 2));
  float *d[3];
  for (int k = 0; k < 3; k++)
    cudaMalloc(&d[k], N * sizeof(float));
  cudaMemcpy(d[0], h[0], sizeof h[0], cudaMemcpyHostToDevice);
  cudaMemcpy(d[1], h[1], sizeof h[1], cudaMemcpyHostToDevice);
  // d[2] is written by the first step before anything reads it

  int device = 0, coop = 0, sms = 1, perSm = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&coop, cudaDevAttrCooperativeLaunch, device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, wave, 128, 0);
  if (!coop) {
    printf("no cooperative launch, skipped\n");
    return 0;
  }
  int blocks = sms * perSm < 8 ? sms * perSm : 8;
  int n = N, steps = STEPS;
  float c2 = 0.25f;
  void *args[] = {&d[0], &d[1], &d[2], &n, &steps, &c2};
  cudaError_t e = cudaLaunchCooperativeKernel((void *)wave, dim3(blocks), dim3(128), args, 0, 0);
  if (e != cudaSuccess) {
    printf("launch: %s\n", cudaGetErrorString(e));
    return 1;
  }

  host_wave(h[0], h[1], h[2], c2);
  // after STEPS rotations the newest field is in buffer (1 + STEPS) % 3
  int newest = (1 + STEPS) % 3;
  static float out[N];
  cudaMemcpy(out, d[newest], sizeof out, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < N; i++)
    bad += fabsf(out[i] - h[newest][i]) > 1e-4f;
  for (int k = 0; k < 3; k++)
    cudaFree(d[k]);
  printf("wave1d: %d bad points\n", bad);
  return bad != 0;
}
