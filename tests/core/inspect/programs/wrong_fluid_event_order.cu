// finding: race-stream 32 26
// The event is recorded before the divergence kernel is launched, so the other stream's wait does not cover that kernel.
// Fluid solver fragment: divergence in one stream, pressure relaxation in another one.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NX 64
#define NY 32
#define IX(x, y) ((y)*NX + (x))

#define check(ans)                                                                                                     \
  {                                                                                                                    \
    if ((ans) != cudaSuccess) {                                                                                        \
      printf("CUDA failure, line %d\n", __LINE__);                                                                     \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  }

__host__ __device__ float divergenceAt(const float *u, const float *v, int x, int y) {
  return 0.5f * (u[IX(x + 1, y)] - u[IX(x - 1, y)] + v[IX(x, y + 1)] - v[IX(x, y - 1)]);
}

__host__ __device__ float relaxAt(const float *p, const float *div, int x, int y) {
  return 0.25f * (p[IX(x + 1, y)] + p[IX(x - 1, y)] + p[IX(x, y + 1)] + p[IX(x, y - 1)] - div[IX(x, y)]);
}

__global__ void divergence(const float *u, const float *v, float *div) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < NX - 1 && y < NY - 1)
    div[IX(x, y)] = divergenceAt(u, v, x, y);
}

__global__ void relax(const float *p, const float *div, float *q) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < NX - 1 && y < NY - 1)
    q[IX(x, y)] = relaxAt(p, div, x, y);
}

int main(void) {
  const size_t bytes = NX * NY * sizeof(float);
  static float u[NX * NY], v[NX * NY], div[NX * NY], p[NX * NY], q[NX * NY], r[NX * NY];
  float *dU, *dV, *dDiv, *dP, *dQ;
  for (int i = 0; i < NX * NY; i++) {
    u[i] = sinf(0.1f * i);
    v[i] = cosf(0.07f * i);
  }
  check(cudaMalloc((void **)&dU, bytes));
  check(cudaMalloc((void **)&dV, bytes));
  check(cudaMalloc((void **)&dDiv, bytes));
  check(cudaMalloc((void **)&dP, bytes));
  check(cudaMalloc((void **)&dQ, bytes));
  check(cudaMemcpy(dU, u, bytes, cudaMemcpyHostToDevice));
  check(cudaMemcpy(dV, v, bytes, cudaMemcpyHostToDevice));
  check(cudaMemset(dDiv, 0, bytes));
  check(cudaMemset(dP, 0, bytes));
  check(cudaMemset(dQ, 0, bytes));
  check(cudaDeviceSynchronize());

  cudaStream_t flow, pressure;
  cudaEvent_t ready;
  check(cudaStreamCreateWithFlags(&flow, cudaStreamNonBlocking));
  check(cudaStreamCreateWithFlags(&pressure, cudaStreamNonBlocking));
  check(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  dim3 b(16, 8), g(NX / 16, NY / 8);
  check(cudaEventRecord(ready, flow));
  divergence<<<g, b, 0, flow>>>(dU, dV, dDiv);
  check(cudaStreamWaitEvent(pressure, ready, 0));
  for (int it = 0; it < 4; it++) {
    relax<<<g, b, 0, pressure>>>(dP, dDiv, dQ);
    float *t = dP;
    dP = dQ;
    dQ = t;
  }
  check(cudaMemcpyAsync(r, dP, bytes, cudaMemcpyDeviceToHost, pressure));
  check(cudaStreamSynchronize(pressure));
  check(cudaStreamSynchronize(flow));

  for (int y = 1; y < NY - 1; y++)
    for (int x = 1; x < NX - 1; x++)
      div[IX(x, y)] = divergenceAt(u, v, x, y);
  for (int it = 0; it < 4; it++) {
    for (int y = 1; y < NY - 1; y++)
      for (int x = 1; x < NX - 1; x++)
        q[IX(x, y)] = relaxAt(p, div, x, y);
    for (int i = 0; i < NX * NY; i++)
      p[i] = q[i];
  }
  float worst = 0.0f;
  for (int i = 0; i < NX * NY; i++)
    worst = fmaxf(worst, fabsf(p[i] - r[i]));
  cudaFree(dU);
  cudaFree(dV);
  cudaFree(dDiv);
  cudaFree(dP);
  cudaFree(dQ);
  cudaEventDestroy(ready);
  cudaStreamDestroy(flow);
  cudaStreamDestroy(pressure);
  printf("pressure: max error %g\n", worst);
  return 0;
}
