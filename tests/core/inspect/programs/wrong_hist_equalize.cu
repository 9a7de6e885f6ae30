// finding: uninitialized-shared 17
// 192 threads clear one bin each, so the bins 192 to 255 are added to without having been cleared.
#include <cstdio>
#include <cstdint>
#include <vector>

const int BINS = 256;
const int THREADS = 192;

__global__ void histogram(const uint8_t *img, int n, unsigned *hist) {
  __shared__ unsigned bins[BINS];
  if (threadIdx.x < BINS)
    bins[threadIdx.x] = 0;
  __syncthreads();

  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[img[i]], 1u);
  __syncthreads();

  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    atomicAdd(&hist[b], bins[b]);
}

__global__ void cumulative(const unsigned *hist, unsigned *cdf) // one warp, 8 bins per lane
{
  unsigned v[8], sum = 0;
  for (int k = 0; k < 8; ++k) {
    v[k] = hist[threadIdx.x * 8 + k];
    sum += v[k];
  }
  unsigned incl = sum;
  for (int d = 1; d < 32; d *= 2) {
    unsigned u = __shfl_up_sync(0xffffffffu, incl, d);
    if (threadIdx.x >= d)
      incl += u;
  }
  unsigned run = incl - sum;
  for (int k = 0; k < 8; ++k) {
    run += v[k];
    cdf[threadIdx.x * 8 + k] = run;
  }
}

__global__ void equalize(uint8_t *img, int n, const unsigned *cdf) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    img[i] = (uint8_t)(cdf[img[i]] * 255ull / n);
}

int main() {
  const int n = 4000;
  std::vector<uint8_t> img(n), out(n);
  for (int i = 0; i < n; ++i)
    img[i] = 40 + (i * 7) % 190;
  uint8_t *d_img;
  unsigned *d_hist, *d_cdf;
  cudaMalloc(&d_img, n);
  cudaMalloc(&d_hist, BINS * sizeof(unsigned));
  cudaMalloc(&d_cdf, BINS * sizeof(unsigned));
  cudaMemcpy(d_img, img.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(d_hist, 0, BINS * sizeof(unsigned));
  histogram<<<4, THREADS>>>(d_img, n, d_hist);
  cumulative<<<1, 32>>>(d_hist, d_cdf);
  equalize<<<(n + THREADS - 1) / THREADS, THREADS>>>(d_img, n, d_cdf);
  cudaMemcpy(out.data(), d_img, n, cudaMemcpyDeviceToHost);

  unsigned c[BINS] = {0};
  for (int i = 0; i < n; ++i)
    c[img[i]]++;
  for (int b = 1; b < BINS; ++b)
    c[b] += c[b - 1];
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += out[i] != (uint8_t)(c[img[i]] * 255ull / n);
  printf("equalize: %d wrong\n", wrong);
  cudaFree(d_img);
  cudaFree(d_hist);
  cudaFree(d_cdf);
  return wrong != 0;
}
