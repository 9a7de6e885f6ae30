// finding: race-host 40 15
// The unrelated cudaMemcpy is device-to-device, which does not wait on the host side, so the host reads the managed
// array while the kernel may run.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void smooth(const int *in, int *out, int *launches, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    *launches += 1;
  if (i >= n)
    return;
  int l = i > 0 ? in[i - 1] : in[i];
  int r = i + 1 < n ? in[i + 1] : in[i];
  out[i] = (l + 2 * in[i] + r) / 4;
}

int main() {
  const int n = 5000;
  int *in, *out, *launches, *backup;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&out, n * sizeof(int));
  cudaMalloc(&launches, sizeof(int));
  cudaMalloc(&backup, sizeof(int));
  const int start = 40;
  cudaMemcpy(launches, &start, sizeof(int), cudaMemcpyHostToDevice);
  for (int i = 0; i < n; ++i) {
    in[i] = (i * 31) % 257;
    out[i] = -1;
  }

  smooth<<<(n + 255) / 256, 256>>>(in, out, launches, n);
  int count = 0;
  cudaMemcpy(backup, launches, sizeof(int), cudaMemcpyDeviceToDevice);

  int bad = 0;
  for (int i = 0; i < n; ++i) {
    int l = i > 0 ? in[i - 1] : in[i];
    int r = i + 1 < n ? in[i + 1] : in[i];
    if (out[i] != (l + 2 * in[i] + r) / 4)
      ++bad;
  }
  cudaMemcpy(&count, backup, sizeof(int), cudaMemcpyDeviceToHost);
  printf("smooth: %d wrong, launches %d\n", bad, count);
  cudaFree(in);
  cudaFree(out);
  cudaFree(launches);
  cudaFree(backup);
  return bad != 0 || count != start + 1;
}
