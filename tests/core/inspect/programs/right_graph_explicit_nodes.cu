// Bounding box and centroid of a point set by an explicitly built graph: copy -> {box, centroid} -> copies -> host node.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define TRY(x)                                                                                                         \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(e_));                                                  \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (false)

constexpr int T = 256;

__global__ void boxKernel(const float2 *p, int n, float4 *box) {
  __shared__ float2 lo[T], hi[T];
  int t = threadIdx.x;
  float2 l = p[0], h = p[0];
  for (int i = t; i < n; i += T) {
    l = make_float2(fminf(l.x, p[i].x), fminf(l.y, p[i].y));
    h = make_float2(fmaxf(h.x, p[i].x), fmaxf(h.y, p[i].y));
  }
  lo[t] = l;
  hi[t] = h;
  __syncthreads();
  for (int s = T >> 1; s >= 1; s >>= 1) {
    if (t < s) {
      lo[t] = make_float2(fminf(lo[t].x, lo[t + s].x), fminf(lo[t].y, lo[t + s].y));
      hi[t] = make_float2(fmaxf(hi[t].x, hi[t + s].x), fmaxf(hi[t].y, hi[t + s].y));
    }
    __syncthreads();
  }
  if (t == 0)
    *box = make_float4(lo[0].x, lo[0].y, hi[0].x, hi[0].y);
}

__global__ void centroidKernel(const float2 *p, int n, double2 *c) {
  double x = 0, y = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    x += p[i].x;
    y += p[i].y;
  }
  for (int m = 16; m > 0; m /= 2) {
    x += __shfl_xor_sync(~0u, x, m);
    y += __shfl_xor_sync(~0u, y, m);
  }
  if (threadIdx.x == 0)
    *c = make_double2(x / n, y / n);
}

struct Result {
  float4 box;
  double2 c;
  int calls;
};
static void CUDART_CB onDone(void *data) {
  static_cast<Result *>(data)->calls++;
}

int main() {
  int n = 2500;
  std::vector<float2> h(n);
  float4 want = make_float4(1e9f, 1e9f, -1e9f, -1e9f);
  double sx = 0;
  for (int i = 0; i < n; i++) {
    h[i] = make_float2(std::sin(i * 0.37f) * i * 0.01f, std::cos(i * 0.11f));
    want.x = std::fmin(want.x, h[i].x);
    want.z = std::fmax(want.z, h[i].x);
    want.y = std::fmin(want.y, h[i].y);
    want.w = std::fmax(want.w, h[i].y);
    sx += h[i].x;
  }
  float2 *p;
  float4 *box;
  double2 *cen;
  TRY(cudaMalloc(&p, n * sizeof(float2)));
  TRY(cudaMalloc(&box, sizeof(float4)));
  TRY(cudaMalloc(&cen, sizeof(double2)));
  Result res = {};

  cudaGraph_t g;
  cudaGraphNode_t up, kBox, kCen, dBox, dCen, host;
  TRY(cudaGraphCreate(&g, 0));
  TRY(cudaGraphAddMemcpyNode1D(&up, g, nullptr, 0, p, h.data(), n * sizeof(float2), cudaMemcpyHostToDevice));
  cudaKernelNodeParams kp = {};
  void *boxArgs[] = {&p, &n, &box};
  kp.func = (void *)boxKernel;
  kp.gridDim = dim3(1);
  kp.blockDim = dim3(T);
  kp.kernelParams = boxArgs;
  TRY(cudaGraphAddKernelNode(&kBox, g, &up, 1, &kp));
  void *cenArgs[] = {&p, &n, &cen};
  kp.func = (void *)centroidKernel;
  kp.blockDim = dim3(32);
  kp.kernelParams = cenArgs;
  TRY(cudaGraphAddKernelNode(&kCen, g, &up, 1, &kp));
  TRY(cudaGraphAddMemcpyNode1D(&dBox, g, &kBox, 1, &res.box, box, sizeof(float4), cudaMemcpyDeviceToHost));
  TRY(cudaGraphAddMemcpyNode1D(&dCen, g, &kCen, 1, &res.c, cen, sizeof(double2), cudaMemcpyDeviceToHost));
  cudaHostNodeParams hp = {onDone, &res};
  cudaGraphNode_t both[] = {dBox, dCen};
  TRY(cudaGraphAddHostNode(&host, g, both, 2, &hp));

  cudaGraphExec_t exec;
  TRY(cudaGraphInstantiateWithFlags(&exec, g, 0));
  cudaStream_t s;
  TRY(cudaStreamCreate(&s));
  TRY(cudaGraphLaunch(exec, s));
  TRY(cudaGraphLaunch(exec, s));
  TRY(cudaStreamSynchronize(s));
  bool ok = res.calls == 2 && res.box.x == want.x && res.box.y == want.y && res.box.z == want.z &&
            res.box.w == want.w && std::fabs(res.c.x - sx / n) < 1e-6;
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(g);
  cudaStreamDestroy(s);
  cudaFree(p);
  cudaFree(box);
  cudaFree(cen);
  std::printf("box x [%g, %g], centroid %g: %s\n", res.box.x, res.box.z, res.c.x, ok ? "OK" : "FAILED");
  return ok ? 0 : 1;
}
