// finding: race-stream 28 35
// The node that applies the forces depends on the drag node only, it may run beside the spring node.
// Damped oscillators: drag and spring forces are computed by parallel graph nodes, then one node advances the particles.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  {                                                                                                                    \
    cudaError_t r = (x);                                                                                               \
    if (r != cudaSuccess) {                                                                                            \
      std::printf("%s: %s\n", #x, cudaGetErrorString(r));                                                              \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  }

__global__ void dragForce(const float *v, float *f, int n, float c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    f[i] = -c * v[i];
}

__global__ void springForce(const float *x, float *f, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    f[i] = -k * x[i];
}

__global__ void advance(float *x, float *v, const float *drag, const float *spring, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  v[i] += dt * (drag[i] + spring[i]);
  x[i] += dt * v[i];
}

static cudaKernelNodeParams params(void *func, int n, void **args) {
  cudaKernelNodeParams p = {};
  p.func = func;
  p.gridDim = dim3((n + 127) / 128);
  p.blockDim = dim3(128);
  p.kernelParams = args;
  return p;
}

int main() {
  int n = 900;
  float c = 0.1f, k = 2.0f, dt = 0.01f;
  std::vector<float> hx(n), hv(n, 0.0f), gx(n);
  for (int i = 0; i < n; i++)
    hx[i] = 0.001f * i;
  float *x, *v, *drag, *spring;
  for (float **p : {&x, &v, &drag, &spring})
    CK(cudaMalloc(p, n * sizeof(float)));
  CK(cudaMemset(spring, 0, n * sizeof(float)));
  CK(cudaMemcpy(x, hx.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(v, hv.data(), n * sizeof(float), cudaMemcpyHostToDevice));

  cudaGraph_t g;
  cudaGraphExec_t exec;
  cudaGraphNode_t nDrag, nSpring, nAdvance;
  void *aDrag[] = {&v, &drag, &n, &c}, *aSpring[] = {&x, &spring, &n, &k}, *aAdv[] = {&x, &v, &drag, &spring, &n, &dt};
  CK(cudaGraphCreate(&g, 0));
  cudaKernelNodeParams p = params((void *)dragForce, n, aDrag);
  CK(cudaGraphAddKernelNode(&nDrag, g, nullptr, 0, &p));
  p = params((void *)springForce, n, aSpring);
  CK(cudaGraphAddKernelNode(&nSpring, g, nullptr, 0, &p));
  cudaGraphNode_t before[] = {nDrag, nSpring};
  p = params((void *)advance, n, aAdv);
  CK(cudaGraphAddKernelNode(&nAdvance, g, before, 1, &p));
  CK(cudaGraphInstantiateWithFlags(&exec, g, 0));
  for (int s = 0; s < 3; s++)
    CK(cudaGraphLaunch(exec, 0));
  CK(cudaStreamSynchronize(0));
  CK(cudaMemcpy(gx.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost));
  float worst = 0;
  for (int s = 0; s < 3; s++)
    for (int i = 0; i < n; i++) {
      hv[i] += dt * (-c * hv[i] - k * hx[i]);
      hx[i] += dt * hv[i];
    }
  for (int i = 0; i < n; i++)
    worst = std::fmax(worst, std::fabs(hx[i] - gx[i]));
  CK(cudaGraphExecDestroy(exec));
  CK(cudaGraphDestroy(g));
  for (float *q : {x, v, drag, spring})
    CK(cudaFree(q));
  std::printf("graph of forces: max error %g\n", worst);
  return 0;
}
