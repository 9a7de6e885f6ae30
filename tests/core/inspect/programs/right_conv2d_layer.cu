/* Convolution layer, NCHW, stride 1, "same" padding, bias and ReLU through a function pointer */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define CIN 3
#define COUT 4
#define KS 3
#define TB 8

typedef float (*activation_t)(float);

__device__ float relu(float x) {
  return x > 0.0f ? x : 0.0f;
}
__device__ float leaky(float x) {
  return x > 0.0f ? x : 0.125f * x;
}
__device__ activation_t d_relu = relu;
__device__ activation_t d_leaky = leaky;

struct Shape {
  int n, h, w;
};

__global__ void conv2d(const float *in, const float *weight, const float *bias, float *out, Shape s, activation_t act) {
  __shared__ float wgt[CIN * KS * KS];
  __shared__ float patch[CIN][TB + KS - 1][TB + KS - 1];
  int img = blockIdx.z / COUT, oc = blockIdx.z % COUT;
  int tid = threadIdx.y * TB + threadIdx.x;
  int x0 = blockIdx.x * TB - KS / 2, y0 = blockIdx.y * TB - KS / 2;
  const int side = TB + KS - 1;

  if (tid < CIN * KS * KS)
    wgt[tid] = weight[oc * CIN * KS * KS + tid];
  for (int i = tid; i < CIN * side * side; i += TB * TB) {
    int c = i / (side * side), r = (i / side) % side, q = i % side;
    int y = y0 + r, x = x0 + q;
    float v = 0.0f;
    if (y >= 0 && y < s.h && x >= 0 && x < s.w)
      v = in[((img * CIN + c) * s.h + y) * s.w + x];
    patch[c][r][q] = v;
  }
  __syncthreads();

  int x = blockIdx.x * TB + threadIdx.x, y = blockIdx.y * TB + threadIdx.y;
  if (x < s.w && y < s.h) {
    float acc = bias[oc];
    for (int c = 0; c < CIN; c++)
      for (int r = 0; r < KS; r++)
        for (int q = 0; q < KS; q++)
          acc += wgt[(c * KS + r) * KS + q] * patch[c][threadIdx.y + r][threadIdx.x + q];
    out[((img * COUT + oc) * s.h + y) * s.w + x] = act(acc);
  }
}

static float *to_device(const float *h, int n) {
  float *d = NULL;
  if (cudaMalloc((void **)&d, n * sizeof(float)) != cudaSuccess)
    exit(1);
  if (h)
    cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice);
  return d;
}

int main(void) {
  Shape s = {2, 13, 18};
  static float in[2 * CIN * 13 * 18], w[COUT * CIN * KS * KS], b[COUT], out[2 * COUT * 13 * 18];
  const int nin = sizeof(in) / sizeof(float), nw = sizeof(w) / sizeof(float), nout = sizeof(out) / sizeof(float);
  for (int i = 0; i < nin; i++)
    in[i] = (i * 11 % 23) - 11;
  for (int i = 0; i < nw; i++)
    w[i] = (i * 5 % 7) - 3;
  for (int i = 0; i < COUT; i++)
    b[i] = i - 1;
  float *din = to_device(in, nin), *dw = to_device(w, nw), *db = to_device(b, COUT), *dout = to_device(NULL, nout);

  dim3 grid((s.w + TB - 1) / TB, (s.h + TB - 1) / TB, s.n * COUT), block(TB, TB);
  int wrong = 0;
  for (int pass = 0; pass < 2; pass++) {
    activation_t f;
    if (pass == 0)
      cudaMemcpyFromSymbol(&f, d_relu, sizeof(f));
    else
      cudaMemcpyFromSymbol(&f, d_leaky, sizeof(f));
    conv2d<<<grid, block>>>(din, dw, db, dout, s, f);
    cudaMemcpy(out, dout, sizeof(out), cudaMemcpyDeviceToHost);
    for (int i = 0; i < nout; i++) {
      int x = i % s.w, y = i / s.w % s.h, oc = i / (s.w * s.h) % COUT, n = i / (s.w * s.h * COUT);
      float a = b[oc];
      for (int c = 0; c < CIN; c++)
        for (int r = 0; r < KS; r++)
          for (int q = 0; q < KS; q++) {
            int yy = y + r - 1, xx = x + q - 1;
            if (yy < 0 || xx < 0 || yy >= s.h || xx >= s.w)
              continue;
            a += w[((oc * CIN + c) * KS + r) * KS + q] * in[((n * CIN + c) * s.h + yy) * s.w + xx];
          }
      float ref = a > 0 ? a : (pass ? 0.125f * a : 0.0f);
      if (fabsf(ref - out[i]) > 1e-4f)
        wrong++;
    }
  }
  printf("conv2d: %d wrong outputs\n", wrong);
  cudaFree(din);
  cudaFree(dw);
  cudaFree(db);
  cudaFree(dout);
  return wrong != 0;
}
