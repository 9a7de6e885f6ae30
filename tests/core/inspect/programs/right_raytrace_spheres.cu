// Small ray caster: spheres in constant memory, recursive reflections, sky from a texture object, image through a surface.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

struct Vec {
  float x, y, z;
};
__host__ __device__ inline Vec operator+(Vec a, Vec b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
__host__ __device__ inline Vec operator-(Vec a, Vec b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
__host__ __device__ inline Vec operator*(float s, Vec a) {
  return {s * a.x, s * a.y, s * a.z};
}
__host__ __device__ inline float dot(Vec a, Vec b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

struct Sphere {
  Vec c;
  float r;
  float albedo;
  float mirror;
};

const int NSPH = 5;
__constant__ Sphere scene[NSPH];

struct Hit {
  float t;
  int id;
};

__device__ Hit closest(Vec o, Vec d) {
  Hit h = {1e30f, -1};
  for (int k = 0; k < NSPH; k++) {
    Vec oc = o - scene[k].c;
    float b = dot(oc, d), disc = b * b - dot(oc, oc) + scene[k].r * scene[k].r;
    if (disc < 0)
      continue;
    float t = -b - sqrtf(disc);
    if (t > 1e-3f && t < h.t)
      h = {t, k};
  }
  return h;
}

__device__ float trace(Vec o, Vec d, cudaTextureObject_t sky, int depth) {
  Hit h = closest(o, d);
  if (h.id < 0)
    return tex1Dfetch<float>(sky, min(15, max(0, (int)(8 + 8 * d.y))));
  Vec p = o + h.t * d;
  Vec n = (1.0f / scene[h.id].r) * (p - scene[h.id].c);
  float diffuse = fmaxf(0.0f, 0.6f * n.y - 0.5f * n.z) * scene[h.id].albedo;
  float m = scene[h.id].mirror;
  if (m > 0 && depth < 3)
    diffuse = (1 - m) * diffuse + m * trace(p, d - (2 * dot(d, n)) * n, sky, depth + 1);
  return diffuse;
}

__global__ void render(cudaSurfaceObject_t img, int w, int h, cudaTextureObject_t sky) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h)
    return;
  Vec d = {(x - w / 2) / (float)w, (h / 2 - y) / (float)w, 1.0f};
  d = rsqrtf(dot(d, d)) * d;
  surf2Dwrite(trace({0, 0, -3}, d, sky, 0), img, x * (int)sizeof(float), y);
}

int main() {
  const int w = 60, h = 40;
  Sphere s[NSPH] = {{{0, 0, 0}, 0.6f, 1, 0.3f},
                    {{1, 0, 0.5f}, 0.5f, 0.8f, 0},
                    {{-1, 0, 0.5f}, 0.5f, 0.7f, 0.9f},
                    {{0, -101, 0}, 100, 0.5f, 0},
                    {{0, 1, 1}, 0.4f, 0.9f, 0.5f}};
  cudaMemcpyToSymbol(scene, s, sizeof s);
  float ramp[16], *dRamp;
  for (int i = 0; i < 16; i++)
    ramp[i] = 0.5f + i / 32.0f;
  cudaMalloc(&dRamp, sizeof ramp);
  cudaMemcpy(dRamp, ramp, sizeof ramp, cudaMemcpyHostToDevice);
  cudaResourceDesc rd = {};
  rd.resType = cudaResourceTypeLinear;
  rd.res.linear.devPtr = dRamp;
  rd.res.linear.desc = cudaCreateChannelDesc<float>();
  rd.res.linear.sizeInBytes = sizeof ramp;
  cudaTextureDesc td = {};
  td.readMode = cudaReadModeElementType;
  cudaTextureObject_t sky = 0;
  cudaCreateTextureObject(&sky, &rd, &td, nullptr);

  cudaArray_t arr;
  cudaChannelFormatDesc fd = cudaCreateChannelDesc<float>();
  cudaMallocArray(&arr, &fd, w, h, cudaArraySurfaceLoadStore);
  cudaResourceDesc sd = {};
  sd.resType = cudaResourceTypeArray;
  sd.res.array.array = arr;
  cudaSurfaceObject_t img = 0;
  cudaCreateSurfaceObject(&img, &sd);

  dim3 b(16, 8), g((w + 15) / 16, (h + 7) / 8);
  render<<<g, b>>>(img, w, h, sky);
  std::vector<float> out(w * h);
  cudaMemcpy2DFromArray(out.data(), w * sizeof(float), arr, 0, 0, w * sizeof(float), h, cudaMemcpyDeviceToHost);
  int lit = 0;
  for (float v : out)
    lit += v >= 0.0f && v <= 1.5f;
  cudaDestroySurfaceObject(img);
  cudaDestroyTextureObject(sky);
  cudaFreeArray(arr);
  cudaFree(dRamp);
  printf("%d of %d pixels in range: %s (%s)\n", lit, w * h, lit == w * h ? "pass" : "fail",
         cudaGetErrorString(cudaGetLastError()));
  return 0;
}
