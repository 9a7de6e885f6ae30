// Row softmax, blocks stride over the rows, block reductions that share one scratch array
#include <cstdio>
#include <cmath>
#include <vector>
#include <cfloat>

struct MaxOp {
  __device__ float operator()(float a, float b) const {
    return fmaxf(a, b);
  }
};
struct SumOp {
  __device__ float operator()(float a, float b) const {
    return a + b;
  }
};

template <class Op> __device__ float warpReduce(float v, Op op) {
  for (int d = 16; d > 0; d >>= 1)
    v = op(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

// the result reaches every thread
template <class Op> __device__ float blockReduce(float v, Op op, float identity, float *scratch) {
  const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
  v = warpReduce(v, op);
  __syncthreads(); // the scratch may still be read from the call before
  if (lane == 0)
    scratch[wid] = v;
  __syncthreads();
  v = lane < (int)(blockDim.x >> 5) ? scratch[lane] : identity;
  return warpReduce(v, op);
}

__global__ void softmax(const float *in, float *out, int rows, int cols) {
  extern __shared__ float row[];
  __shared__ float scratch[32];
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    const float *x = in + (size_t)r * cols;
    float *y = out + (size_t)r * cols;

    float m = -FLT_MAX;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
      row[c] = x[c]; // read again by the same thread only
      m = fmaxf(m, row[c]);
    }
    m = blockReduce(m, MaxOp(), -FLT_MAX, scratch);

    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
      float e = expf(row[c] - m);
      row[c] = e;
      s += e;
    }
    s = blockReduce(s, SumOp(), 0.f, scratch);
    const float inv = 1.0f / s;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
      y[c] = row[c] * inv;
  }
}

int main() {
  const int rows = 12, cols = 205;
  std::vector<float> h(rows * cols), r(rows * cols);
  for (int i = 0; i < rows * cols; ++i)
    h[i] = ((i * 17) % 83) * 0.1f - 4.0f;
  float *d_in, *d_out;
  cudaMalloc(&d_in, h.size() * 4);
  cudaMalloc(&d_out, h.size() * 4);
  cudaMemcpy(d_in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  softmax<<<5, 96, cols * sizeof(float)>>>(d_in, d_out, rows, cols);
  cudaMemcpy(r.data(), d_out, h.size() * 4, cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int i = 0; i < rows; ++i) {
    double mx = -1e30, s = 0;
    for (int c = 0; c < cols; ++c)
      mx = fmax(mx, h[i * cols + c]);
    for (int c = 0; c < cols; ++c)
      s += exp(h[i * cols + c] - mx);
    for (int c = 0; c < cols; ++c)
      worst = fmax(worst, fabs(exp(h[i * cols + c] - mx) / s - r[i * cols + c]));
  }
  printf("softmax: max abs difference %.3g\n", worst);
  cudaFree(d_in);
  cudaFree(d_out);
  return worst < 1e-5 ? 0 : 1;
}
