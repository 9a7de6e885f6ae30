// finding: bounds-array 34
// The edge from the last vertex takes vertex i + 1 == NV instead of wrapping round to vertex 0.
// Distance of points to the outline of a polygon in constant memory.
#include <stdio.h>
#include <math.h>
#include <cuda_runtime.h>

#define NV 12
#define NPTS 500

struct Outline {
  int n;
  float tolerance;
};

__constant__ Outline outline;
__constant__ float2 vertex[NV];

__host__ __device__ float segmentDistance(float2 p, float2 a, float2 b) {
  float ux = b.x - a.x, uy = b.y - a.y, vx = p.x - a.x, vy = p.y - a.y;
  float len2 = ux * ux + uy * uy;
  float t = len2 > 0.0f ? (ux * vx + uy * vy) / len2 : 0.0f;
  t = fminf(1.0f, fmaxf(0.0f, t));
  float dx = vx - t * ux, dy = vy - t * uy;
  return sqrtf(dx * dx + dy * dy);
}

__global__ void nearest(const float2 *pts, int n, float *dist) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n)
    return;
  float best = 1e30f;
  for (int i = 0; i < outline.n; i++) {
    float2 b = vertex[i + 1];
    best = fminf(best, segmentDistance(pts[k], vertex[i], b));
    if (best < outline.tolerance)
      break;
  }
  dist[k] = best;
}

int main() {
  float2 v[NV], p[NPTS], *dPts;
  float d[NPTS], *dDist;
  Outline o = {NV, 0.0f};
  for (int i = 0; i < NV; i++) {
    float r = i & 1 ? 2.0f : 3.0f;
    v[i].x = r * cosf(0.5235988f * i);
    v[i].y = r * sinf(0.5235988f * i);
  }
  for (int k = 0; k < NPTS; k++) {
    p[k].x = 0.01f * (k * 37 % 701) - 3.5f;
    p[k].y = 0.01f * (k * 53 % 699) - 3.5f;
  }
  cudaMalloc(&dPts, sizeof p);
  cudaMalloc(&dDist, sizeof d);
  cudaMemcpyToSymbol(outline, &o, sizeof o);
  cudaMemcpyToSymbol(vertex, v, sizeof v);
  cudaMemcpy(dPts, p, sizeof p, cudaMemcpyHostToDevice);
  nearest<<<(NPTS + 127) / 128, 128>>>(dPts, NPTS, dDist);
  cudaMemcpy(d, dDist, sizeof d, cudaMemcpyDeviceToHost);
  cudaFree(dPts);
  cudaFree(dDist);
  int wrong = 0;
  for (int k = 0; k < NPTS; k++) {
    float best = 1e30f;
    for (int i = 0; i < NV; i++)
      best = fminf(best, segmentDistance(p[k], v[i], v[(i + 1) % NV]));
    wrong += fabsf(best - d[k]) > 1e-4f;
  }
  printf("%d of %d distances wrong\n", wrong, NPTS);
  return 0;
}
