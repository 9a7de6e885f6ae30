// Leapfrog integration of particles in a harmonic trap, structure of arrays.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t err_ = (call);                                                                                         \
    if (err_ != cudaSuccess) {                                                                                         \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_));                                    \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

#define THREADS 128

struct Particles {
  float *x, *y, *z;
  float *vx, *vy, *vz;
  int n;
};

static void allocParticles(Particles *p, int n) {
  // one slab for all six arrays
  float *slab;
  CHECK(cudaMalloc((void **)&slab, 6 * n * sizeof(float)));
  p->x = slab;
  p->y = slab + n;
  p->z = slab + 2 * n;
  p->vx = slab + 3 * n;
  p->vy = slab + 4 * n;
  p->vz = slab + 5 * n;
  p->n = n;
}

__global__ void initParticles(Particles p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n)
    return;
  p.x[i] = 0.01f * (i % 101) - 0.5f;
  p.y[i] = 0.01f * (i % 37);
  p.z[i] = 0.0f;
  p.vx[i] = p.vy[i] = 0.0f;
  p.vz[i] = 0.25f;
}

__global__ void step(Particles p, float dt, float k) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += gridDim.x * blockDim.x) {
    float vx = p.vx[i] - 0.5f * dt * k * p.x[i];
    float vy = p.vy[i] - 0.5f * dt * k * p.y[i];
    float vz = p.vz[i] - 0.5f * dt * k * p.z[i];
    p.x[i] += dt * vx;
    p.y[i] += dt * vy;
    p.z[i] += dt * vz;
    p.vx[i] = vx - 0.5f * dt * k * p.x[i];
    p.vy[i] = vy - 0.5f * dt * k * p.y[i];
    p.vz[i] = vz - 0.5f * dt * k * p.z[i];
  }
}

__global__ void energy(Particles p, float k, float *out) {
  __shared__ float part[THREADS];
  int tid = threadIdx.x;
  float e = 0.0f;
  for (int i = blockIdx.x * blockDim.x + tid; i < p.n; i += gridDim.x * blockDim.x) {
    float v2 = p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i];
    float r2 = p.x[i] * p.x[i] + p.y[i] * p.y[i] + p.z[i] * p.z[i];
    e += 0.5f * v2 + 0.5f * k * r2;
  }
  part[tid] = e;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s >>= 1) {
    if (tid < s)
      part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid == 0)
    atomicAdd(out, part[0]);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  int steps = argc > 2 ? atoi(argv[2]) : 20;
  const float k = 2.0f, dt = 0.01f;
  Particles p;
  allocParticles(&p, n);
  float *dE, e0, e1;
  CHECK(cudaMalloc((void **)&dE, 2 * sizeof(float)));
  CHECK(cudaMemset(dE, 0, 2 * sizeof(float)));

  int blocks = (n + THREADS - 1) / THREADS;
  initParticles<<<blocks, THREADS>>>(p);
  energy<<<4, THREADS>>>(p, k, dE);
  for (int s = 0; s < steps; s++)
    step<<<4, THREADS>>>(p, dt, k);
  CHECK(cudaGetLastError());
  energy<<<4, THREADS>>>(p, k, dE + 1);
  CHECK(cudaMemcpy(&e0, dE, sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&e1, dE + 1, sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(p.x));
  CHECK(cudaFree(dE));
  int ok = fabsf(e1 - e0) < 1e-2f * e0;
  printf("energy %f -> %f %s\n", e0, e1, ok ? "PASS" : "FAIL");
  return 0;
}
