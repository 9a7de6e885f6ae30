// finding: misaligned 31
// The payload starts 12 bytes after the packet's start (its header), but is read by 16-byte loads.
// Hash the payloads of captured packets, 16 bytes at a time.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

struct PacketHeader {
  uint32_t source, target;
  uint16_t length; // bytes of payload, a multiple of 16
  uint16_t checksum;
};
static_assert(sizeof(PacketHeader) == 12, "header layout");

constexpr int kStride = 16 * 6; // bytes per packet slot

__host__ __device__ inline uint32_t stir(uint32_t h, uint32_t w) {
  w *= 0xcc9e2d51u;
  w = (w << 15) | (w >> 17);
  h ^= w * 0x1b873593u;
  h = (h << 13) | (h >> 19);
  return h * 5 + 0xe6546b64u;
}

__device__ uint32_t hashPayload(const unsigned char *payload, int bytes) {
  const uint4 *v = reinterpret_cast<const uint4 *>(payload);
  uint32_t h = 0;
  for (int k = 0; k < bytes / 16; ++k) {
    uint4 q = v[k];
    h = stir(stir(stir(stir(h, q.x), q.y), q.z), q.w);
  }
  return h;
}

__global__ void hashPackets(const unsigned char *packets, int n, uint32_t *hashes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const unsigned char *p = packets + i * kStride;
  const PacketHeader *hd = reinterpret_cast<const PacketHeader *>(p);
  hashes[i] = hashPayload(p + sizeof(PacketHeader), hd->length);
}

int main() {
  const int n = 150;
  std::vector<unsigned char> buf(n * kStride, 0);
  std::vector<uint32_t> want(n, 0), got(n, 0);
  for (int i = 0; i < n; i++) {
    PacketHeader h = {(uint32_t)i, (uint32_t)(i * 3), (uint16_t)(16 * (1 + i % 5)), 0};
    unsigned char *p = &buf[i * kStride];
    std::memcpy(p, &h, sizeof h);
    for (int k = 0; k < h.length; k++)
      p[sizeof h + k] = (unsigned char)(i + k * 7);
    for (int k = 0; k < h.length; k += 4) {
      uint32_t w;
      std::memcpy(&w, p + sizeof h + k, 4);
      want[i] = stir(want[i], w);
    }
  }
  unsigned char *dBuf = nullptr;
  uint32_t *dHash = nullptr;
  cudaMalloc(&dBuf, buf.size());
  cudaMalloc(&dHash, n * sizeof(uint32_t));
  cudaMemcpy(dBuf, buf.data(), buf.size(), cudaMemcpyHostToDevice);
  hashPackets<<<(n + 63) / 64, 64>>>(dBuf, n, dHash);
  cudaError_t err = cudaDeviceSynchronize();
  if (err == cudaSuccess)
    cudaMemcpy(got.data(), dHash, n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
  cudaFree(dBuf);
  cudaFree(dHash);
  std::printf("packet hashes: %s (%s)\n", got == want ? "right" : "wrong", cudaGetErrorString(err));
  return 0;
}
