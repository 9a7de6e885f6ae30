// finding: bounds-array 13
// Mean and scale exist for three channels, the image has four.
#include <cstdio>
#include <cstdint>
#include <cmath>
#include <vector>

__constant__ float c_mean[3];
__constant__ float c_scale[3];

// interleaved bytes to planar floats, as networks want them
__device__ float normalizePixel(uint8_t v, int channel) {
  return (v / 255.0f - c_mean[channel]) * c_scale[channel];
}

__global__ void toPlanar(const uint8_t *in, float *out, int w, int h, int channels) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h)
    return;
  for (int c = 0; c < channels; ++c)
    out[(c * h + y) * w + x] = normalizePixel(in[(y * w + x) * channels + c], c);
}

int main() {
  const int w = 50, h = 30, channels = 4; // RGBA from the decoder; the network takes planes 0 to 2
  const float mean[3] = {0.485f, 0.456f, 0.406f}, scale[3] = {1 / 0.229f, 1 / 0.224f, 1 / 0.225f};
  std::vector<uint8_t> img(w * h * channels);
  std::vector<float> out(w * h * channels);
  for (size_t i = 0; i < img.size(); ++i)
    img[i] = (uint8_t)(i % 4 == 3 ? 255 : (i * 11) % 256);

  cudaMemcpyToSymbol(c_mean, mean, sizeof mean);
  cudaMemcpyToSymbol(c_scale, scale, sizeof scale);
  uint8_t *dIn;
  float *dOut;
  cudaMalloc(&dIn, img.size());
  cudaMalloc(&dOut, out.size() * sizeof(float));
  cudaMemcpy(dIn, img.data(), img.size(), cudaMemcpyHostToDevice);
  toPlanar<<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(dIn, dOut, w, h, channels);
  cudaMemcpy(out.data(), dOut, out.size() * sizeof(float), cudaMemcpyDeviceToHost);

  int wrong = 0;
  for (int c = 0; c < 3; ++c)
    for (int i = 0; i < w * h; ++i)
      if (std::fabs((img[i * channels + c] / 255.0f - mean[c]) * scale[c] - out[c * w * h + i]) > 1e-4f)
        ++wrong;
  printf("normalize: %d wrong values in the color planes\n", wrong);
  cudaFree(dIn);
  cudaFree(dOut);
  return wrong ? 1 : 0;
}
