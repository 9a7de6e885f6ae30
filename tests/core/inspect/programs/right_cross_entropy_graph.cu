// Softmax regression with bf16 inputs: forward, loss, gradient and update captured into a CUDA graph
#include <cuda_bf16.h>
#include <cmath>
#include <cstdio>
#include <vector>

const int B = 40, F = 16, C = 6; // samples, features, classes

struct __align__(8) Sample { // char + 4 byte int: padding in between
  char split;
  int label;
};

__global__ void logits(const __nv_bfloat16 *x, const float *w, float *z) {
  int c = threadIdx.x, b = blockIdx.x * blockDim.y + threadIdx.y;
  if (b >= B || c >= C)
    return;
  float s = 0.f;
  for (int f = 0; f < F; ++f)
    s += __bfloat162float(x[b * F + f]) * w[f * C + c];
  z[b * C + c] = s;
}

// a thread per sample; z becomes dz
__global__ void lossAndGrad(float *z, const Sample *smp, float *loss) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  float l = 0.f;
  if (b < B) {
    float *row = z + b * C;
    float m = row[0], s = 0.f;
    for (int c = 1; c < C; ++c)
      m = fmaxf(m, row[c]);
    for (int c = 0; c < C; ++c)
      s += expf(row[c] - m);
    l = logf(s) + m - row[smp[b].label];
    for (int c = 0; c < C; ++c)
      row[c] = (expf(row[c] - m) / s - (c == smp[b].label)) / B;
  }
  for (int d = 16; d; d /= 2)
    l += __shfl_down_sync(~0u, l, d);
  if (threadIdx.x % 32 == 0)
    atomicAdd(loss, l / B);
}

__global__ void update(const __nv_bfloat16 *x, const float *dz, float *w, float lr) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= F * C)
    return;
  int f = i / C, c = i % C;
  float g = 0.f;
  for (int b = 0; b < B; ++b)
    g += __bfloat162float(x[b * F + f]) * dz[b * C + c];
  w[i] -= lr * g;
}

int main() {
  std::vector<__nv_bfloat16> x(B * F);
  std::vector<Sample> smp(B);
  for (int b = 0; b < B; ++b) {
    smp[b].split = 't';
    smp[b].label = b % C;
    for (int f = 0; f < F; ++f)
      x[b * F + f] = __float2bfloat16((f % C == b % C ? 1.0f : 0.0f) + ((b * f) % 5) * 0.125f);
  }
  __nv_bfloat16 *dx;
  float *dw, *dz, *dloss;
  Sample *ds;
  cudaMalloc(&dx, x.size() * sizeof(__nv_bfloat16));
  cudaMalloc(&dw, F * C * sizeof(float));
  cudaMalloc(&dz, B * C * sizeof(float));
  cudaMalloc(&dloss, sizeof(float));
  cudaMalloc(&ds, B * sizeof(Sample));
  cudaMemcpy(dx, x.data(), x.size() * sizeof(__nv_bfloat16), cudaMemcpyHostToDevice);
  cudaMemcpy(ds, smp.data(), B * sizeof(Sample), cudaMemcpyHostToDevice);
  cudaMemset(dw, 0, F * C * sizeof(float));
  cudaDeviceSynchronize();

  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaMemsetAsync(dloss, 0, sizeof(float), s);
  logits<<<(B + 15) / 16, dim3(8, 16), 0, s>>>(dx, dw, dz);
  lossAndGrad<<<1, 64, 0, s>>>(dz, ds, dloss);
  update<<<2, 64, 0, s>>>(dx, dz, dw, 0.25f);
  cudaStreamEndCapture(s, &graph);
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) {
    printf("cannot instantiate the graph\n");
    return 2;
  }
  float first = 0, loss = 0;
  bool falling = true;
  for (int step = 0; step < 12; ++step) {
    float before = loss;
    cudaGraphLaunch(exec, s);
    cudaMemcpyAsync(&loss, dloss, sizeof loss, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    if (step == 0)
      first = loss;
    else if (!(loss < before))
      falling = false;
  }
  bool ok = std::fabs(first - std::log((float)C)) < 1e-4f && falling;
  printf("cross entropy %.4f -> %.4f: %s\n", first, loss, ok ? "ok" : "wrong");
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
  cudaFree(dx);
  cudaFree(dw);
  cudaFree(dz);
  cudaFree(dloss);
  cudaFree(ds);
  return ok ? 0 : 1;
}
