// finding: race-stream 31 37
// Each part fetches the halo from its neighbor's buffer in its own stream, without waiting for the neighbor's kernel that
// writes it.
// 1D diffusion split over two parts, each on its own device (both on device 0 if there is only one) with its own stream.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define PART 512
#define STEPS 5

#define CHECK(x)                                                                                                       \
  do {                                                                                                                 \
    cudaError_t e = (x);                                                                                               \
    if (e != cudaSuccess) {                                                                                            \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e));                                        \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

struct Domain {
  int device;
  float *u, *v; /* PART + 2 cells, halo cells 0 and PART + 1 */
  cudaStream_t stream;
};

__global__ void diffuse(const float *u, float *v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
  if (i <= PART)
    v[i] = u[i] + 0.25f * (u[i - 1] - 2.0f * u[i] + u[i + 1]);
}

static void exchange(Domain d[2]) {
  /* left halo of part 1 <- last cell of part 0; right halo of part 0 <- first cell of part 1 */
  CHECK(cudaMemcpyPeerAsync(d[1].v, d[1].device, d[0].v + PART, d[0].device, sizeof(float), d[1].stream));
  CHECK(cudaMemcpyPeerAsync(d[0].v + PART + 1, d[0].device, d[1].v + 1, d[1].device, sizeof(float), d[0].stream));
}

int main(void) {
  static float a[2 * PART + 2], b[2 * PART + 2], out[2 * PART];
  Domain d[2];
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  for (int i = 0; i < 2 * PART + 2; i++)
    a[i] = b[i] = i > PART - 40 && i < PART + 60 ? 10.0f : 0.0f;
  for (int p = 0; p < 2; p++) {
    d[p].device = p % devices;
    CHECK(cudaSetDevice(d[p].device));
    CHECK(cudaStreamCreateWithFlags(&d[p].stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&d[p].u, (PART + 2) * sizeof(float)));
    CHECK(cudaMalloc((void **)&d[p].v, (PART + 2) * sizeof(float)));
    CHECK(cudaMemcpy(d[p].u, a + p * PART, (PART + 2) * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d[p].v, a + p * PART, (PART + 2) * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
  }
  for (int s = 0; s < STEPS; s++) {
    for (int p = 0; p < 2; p++) {
      CHECK(cudaSetDevice(d[p].device));
      diffuse<<<PART / 128, 128, 0, d[p].stream>>>(d[p].u, d[p].v);
    }
    exchange(d);
    for (int p = 0; p < 2; p++) {
      CHECK(cudaStreamSynchronize(d[p].stream));
      float *t = d[p].u;
      d[p].u = d[p].v;
      d[p].v = t;
    }
    for (int i = 1; i <= 2 * PART; i++)
      b[i] = a[i] + 0.25f * (a[i - 1] - 2.0f * a[i] + a[i + 1]);
    for (int i = 1; i <= 2 * PART; i++)
      a[i] = b[i];
  }
  float worst = 0.0f;
  for (int p = 0; p < 2; p++) {
    CHECK(cudaSetDevice(d[p].device));
    CHECK(cudaMemcpy(out + p * PART, d[p].u + 1, PART * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d[p].u));
    CHECK(cudaFree(d[p].v));
    CHECK(cudaStreamDestroy(d[p].stream));
  }
  for (int i = 0; i < 2 * PART; i++)
    worst = fmaxf(worst, fabsf(out[i] - a[i + 1]));
  printf("two parts, %d device(s): max error %g\n", devices, worst);
  return 0;
}
