// finding: race-stream 19 60
// The workspace is freed in the copy stream, which does not wait for the kernels of the compute stream that still use it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(call)                                                                                                       \
  if (cudaError_t e_ = (call)) {                                                                                       \
    printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                         \
    exit(1);                                                                                                           \
  }

__global__ void boxRows(const float *in, float *mid, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w) {
    float s = 0;
    for (int d = -1; d <= 1; ++d)
      s += in[y * w + min(max(x + d, 0), w - 1)];
    mid[y * w + x] = s;
  }
}

__global__ void boxCols(const float *mid, float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w) {
    float s = 0;
    for (int d = -1; d <= 1; ++d)
      s += mid[min(max(y + d, 0), h - 1) * w + x];
    out[y * w + x] = s;
  }
}

int main() {
  const int w = 80, h = 40, n = w * h;
  const size_t bytes = n * sizeof(float);
  std::vector<float> img(n), ref(n);
  for (int i = 0; i < n; ++i)
    img[i] = float((i * 3) % 19);

  cudaStream_t compute, copy;
  cudaEvent_t uploaded;
  CK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
  float *in, *mid, *out, *host;
  CK(cudaMallocHost((void **)&host, bytes));
  for (int i = 0; i < n; ++i)
    host[i] = img[i];

  CK(cudaMallocAsync((void **)&in, bytes, copy));
  CK(cudaMallocAsync((void **)&mid, bytes, copy));
  CK(cudaMallocAsync((void **)&out, bytes, copy));
  CK(cudaMemcpyAsync(in, host, bytes, cudaMemcpyHostToDevice, copy));
  CK(cudaEventRecord(uploaded, copy));
  CK(cudaStreamWaitEvent(compute, uploaded, 0));

  dim3 grid((w + 63) / 64, h);
  boxRows<<<grid, 64, 0, compute>>>(in, mid, w, h);
  boxCols<<<grid, 64, 0, compute>>>(mid, out, w, h);
  CK(cudaFreeAsync(mid, copy));
  CK(cudaMemcpyAsync(host, out, bytes, cudaMemcpyDeviceToHost, compute));
  CK(cudaStreamSynchronize(compute));
  CK(cudaFreeAsync(in, compute));
  CK(cudaFreeAsync(out, compute));
  CK(cudaStreamSynchronize(copy));
  CK(cudaStreamSynchronize(compute));

  int wrong = 0;
  auto c = [](int v, int m) { return v < 0 ? 0 : v > m ? m : v; };
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      float s = 0;
      for (int k = 0; k < 9; ++k)
        s += img[c(y + k / 3 - 1, h - 1) * w + c(x + k % 3 - 1, w - 1)];
      wrong += s != host[y * w + x];
    }
  printf("box filter: %d wrong\n", wrong);
  CK(cudaFreeHost(host));
  CK(cudaEventDestroy(uploaded));
  CK(cudaStreamDestroy(compute));
  CK(cudaStreamDestroy(copy));
  return wrong != 0;
}
