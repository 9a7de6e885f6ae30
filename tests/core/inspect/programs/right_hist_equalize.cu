// Histogram equalization: shared histogram, scan of the 256 bins, look-up table
#include <cstdio>
#include <cstdint>
#include <vector>

#define BINS 256
#define THREADS 128

__global__ void histogram(const uint8_t *img, int n, unsigned *hist) {
  __shared__ unsigned local[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    local[b] = 0;
  __syncthreads();

  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    atomicAdd(&local[img[i]], 1u);
  __syncthreads();

  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    if (local[b])
      atomicAdd(&hist[b], local[b]);
}

// one block of 256 threads, Hillis-Steele with two buffers
__global__ void makeLut(const unsigned *hist, int n, uint8_t *lut) {
  __shared__ unsigned buf[2][BINS];
  __shared__ unsigned cdfMin;
  const int t = threadIdx.x;
  int cur = 0;
  const unsigned own = hist[t];
  buf[0][t] = own;
  __syncthreads();
  for (int off = 1; off < BINS; off *= 2) {
    unsigned v = buf[cur][t];
    if (t >= off)
      v += buf[cur][t - off];
    cur ^= 1;
    buf[cur][t] = v;
    __syncthreads();
  }
  const unsigned cdf = buf[cur][t];
  // exactly one bin is the first that is not empty
  if (own != 0 && cdf == own)
    cdfMin = cdf;
  __syncthreads();
  unsigned denom = n - cdfMin;
  lut[t] = (cdf > cdfMin && denom) ? (uint8_t)((cdf - cdfMin) * 255u / denom) : 0;
}

__global__ void applyLut(uint8_t *img, int n, const uint8_t *__restrict__ lut) {
  __shared__ uint8_t s[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    s[b] = lut[b];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    img[i] = s[img[i]];
}

int main() {
  const int n = 3001;
  std::vector<uint8_t> img(n), res(n);
  for (int i = 0; i < n; i++)
    img[i] = 60 + (i * i % 97) % 50;

  uint8_t *d_img, *d_lut;
  unsigned *d_hist;
  cudaMalloc(&d_img, n);
  cudaMalloc(&d_lut, BINS);
  cudaMalloc(&d_hist, BINS * sizeof(unsigned));
  cudaMemset(d_hist, 0, BINS * sizeof(unsigned));
  cudaMemcpy(d_img, img.data(), n, cudaMemcpyHostToDevice);

  histogram<<<4, THREADS>>>(d_img, n, d_hist);
  makeLut<<<1, BINS>>>(d_hist, n, d_lut);
  applyLut<<<(n + THREADS - 1) / THREADS, THREADS>>>(d_img, n, d_lut);
  cudaMemcpy(res.data(), d_img, n, cudaMemcpyDeviceToHost);

  unsigned h[BINS] = {0}, c[BINS], run = 0, cmin = 0;
  for (int i = 0; i < n; i++)
    h[img[i]]++;
  for (int b = 0; b < BINS; b++) {
    run += h[b];
    c[b] = run;
    if (!cmin && run)
      cmin = run;
  }
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += res[i] != (uint8_t)((c[img[i]] - cmin) * 255u / (n - cmin));
  printf("equalize: %s (%d)\n", bad ? "FAILED" : "ok", bad);
  cudaFree(d_img);
  cudaFree(d_lut);
  cudaFree(d_hist);
  return bad ? 1 : 0;
}
