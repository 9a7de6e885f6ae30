// CRC-32 of variable-length records, slicing-by-4 with tables copied to shared memory, records aligned to 4 bytes.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

struct alignas(16) Tables {
  uint32_t t[4][256];
};
__device__ Tables d_tables;

static Tables makeTables() {
  Tables tb;
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++)
      c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    tb.t[0][i] = c;
  }
  for (int s = 1; s < 4; s++)
    for (int i = 0; i < 256; i++)
      tb.t[s][i] = tb.t[0][tb.t[s - 1][i] & 255] ^ (tb.t[s - 1][i] >> 8);
  return tb;
}

struct Record {
  uint32_t offset, length;
};

__global__ void crcRecords(const uint8_t *data, const Record *rec, int n, uint32_t *crc) {
  __shared__ alignas(16) uint32_t t[4][256];
  const uint4 *src = reinterpret_cast<const uint4 *>(&d_tables);
  uint4 *dst = reinterpret_cast<uint4 *>(&t[0][0]);
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    dst[i] = src[i];
  __syncthreads();

  for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < n; r += gridDim.x * blockDim.x) {
    const uint32_t *w = reinterpret_cast<const uint32_t *>(data + rec[r].offset);
    uint32_t left = rec[r].length, c = ~0u;
    for (; left >= 4; left -= 4) {
      c ^= *w++;
      c = t[3][c & 255] ^ t[2][c >> 8 & 255] ^ t[1][c >> 16 & 255] ^ t[0][c >> 24];
    }
    const uint8_t *p = reinterpret_cast<const uint8_t *>(w);
    while (left--)
      c = t[0][(c ^ *p++) & 255] ^ (c >> 8);
    crc[r] = ~c;
  }
}

int main() {
  const int n = 333;
  Tables tb = makeTables();
  std::vector<Record> rec(n);
  std::vector<uint8_t> data;
  for (int i = 0; i < n; i++) {
    rec[i] = {(uint32_t)data.size(), (uint32_t)(i == 0 ? 9 : 1 + (i * 7) % 50)};
    for (uint32_t k = 0; k < rec[i].length; k++)
      data.push_back(i == 0 ? "123456789"[k] : (uint8_t)(i * 31 + k * k));
    while (data.size() % 4)
      data.push_back(0);
  }
  uint8_t *dData;
  Record *dRec;
  uint32_t *dCrc;
  cudaMalloc(&dData, data.size());
  cudaMalloc(&dRec, n * sizeof(Record));
  cudaMalloc(&dCrc, n * sizeof(uint32_t));
  cudaMemcpyToSymbol(d_tables, &tb, sizeof tb);
  cudaMemcpy(dData, data.data(), data.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dRec, rec.data(), n * sizeof(Record), cudaMemcpyHostToDevice);
  crcRecords<<<2, 96>>>(dData, dRec, n, dCrc);
  std::vector<uint32_t> got(n);
  cudaMemcpy(got.data(), dCrc, n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
  int wrong = got[0] != 0xCBF43926u;
  for (int i = 0; i < n; i++) {
    uint32_t c = ~0u;
    for (uint32_t k = 0; k < rec[i].length; k++)
      c = tb.t[0][(c ^ data[rec[i].offset + k]) & 255] ^ (c >> 8);
    wrong += got[i] != ~c;
  }
  cudaFree(dData);
  cudaFree(dRec);
  cudaFree(dCrc);
  std::printf("crc32: check value %08x, %d wrong\n", got[0], wrong);
  return 0;
}
