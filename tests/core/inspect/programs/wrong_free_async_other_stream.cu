// finding: race-stream 33 68
// The scratch array is freed in the copy stream although the blur kernel that reads it runs in the compute stream and nothing
// orders the two.
// Two-pass blur of a terrain height map with a stream-ordered scratch buffer.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_TRY(call)                                                                                                 \
  do {                                                                                                                 \
    cudaError_t st = (call);                                                                                           \
    if (st != cudaSuccess) {                                                                                           \
      std::fprintf(stderr, "%s (line %d)\n", cudaGetErrorString(st), __LINE__);                                        \
      std::exit(EXIT_FAILURE);                                                                                         \
    }                                                                                                                  \
  } while (0)

const int W = 80, H = 50;

__host__ __device__ inline int clampi(int v, int lo, int hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

__global__ void blurX(const float *in, float *tmp) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= W)
    return;
  float s = 0;
  for (int d = -2; d <= 2; d++)
    s += in[y * W + clampi(x + d, 0, W - 1)];
  tmp[y * W + x] = s / 5;
}

__global__ void blurY(const float *tmp, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= W)
    return;
  float s = 0;
  for (int d = -2; d <= 2; d++)
    s += tmp[clampi(y + d, 0, H - 1) * W + x];
  out[y * W + x] = s / 5;
}

int main() {
  const size_t bytes = W * H * sizeof(float);
  std::vector<float> h(W * H), t(W * H), r(W * H);
  for (int i = 0; i < W * H; i++)
    h[i] = std::sin(0.05f * i) * (i % 7);
  cudaStream_t compute, copy;
  CUDA_TRY(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
  float *in, *out, *scratch;
  cudaEvent_t uploaded;
  CUDA_TRY(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
  CUDA_TRY(cudaMallocAsync(&in, bytes, copy));
  CUDA_TRY(cudaMallocAsync(&scratch, bytes, copy));
  CUDA_TRY(cudaMemcpyAsync(in, h.data(), bytes, cudaMemcpyHostToDevice, copy));
  CUDA_TRY(cudaEventRecord(uploaded, copy));
  CUDA_TRY(cudaMalloc(&out, bytes));

  CUDA_TRY(cudaStreamWaitEvent(compute, uploaded, 0));
  dim3 grid((W + 31) / 32, H);
  blurX<<<grid, 32, 0, compute>>>(in, scratch);
  CUDA_TRY(cudaFreeAsync(in, compute));
  blurY<<<grid, 32, 0, compute>>>(scratch, out);
  CUDA_TRY(cudaFreeAsync(scratch, copy));
  CUDA_TRY(cudaMemcpyAsync(r.data(), out, bytes, cudaMemcpyDeviceToHost, compute));
  CUDA_TRY(cudaStreamSynchronize(compute));
  CUDA_TRY(cudaStreamSynchronize(copy));

  float worst = 0;
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float s = 0;
      for (int d = -2; d <= 2; d++)
        s += h[y * W + clampi(x + d, 0, W - 1)];
      t[y * W + x] = s / 5;
    }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float s = 0;
      for (int d = -2; d <= 2; d++)
        s += t[clampi(y + d, 0, H - 1) * W + x];
      worst = std::fmax(worst, std::fabs(s / 5 - r[y * W + x]));
    }
  CUDA_TRY(cudaFree(out));
  CUDA_TRY(cudaEventDestroy(uploaded));
  CUDA_TRY(cudaStreamDestroy(compute));
  CUDA_TRY(cudaStreamDestroy(copy));
  std::printf("blur: max error %g\n", worst);
  return 0;
}
