// A byte stream of packed 7-byte records: values at odd addresses are fetched with memcpy into
// variables, never through a cast. Whole tiles come in as uchar4 from aligned addresses and are
// read as bytes afterwards; results go out as aligned uint2.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define REC 7 // u8 kind, u16 amount, u32 id
#define NT 64
#define BYTES (NT * REC) // 448, a multiple of four

struct Out {
  unsigned id;
  unsigned score;
};

__device__ unsigned fetch32(const unsigned char *p) {
  unsigned v;
  memcpy(&v, p, 4);
  return v;
}

__device__ unsigned fetch16(const unsigned char *p) {
  unsigned short v;
  memcpy(&v, p, sizeof v);
  return v;
}

__global__ void parse(const unsigned char *stream, Out *out, int records) {
  __shared__ __align__(4) unsigned char tile[BYTES];
  int first = blockIdx.x * NT;
  int bytes = min(BYTES, (records - first) * REC);
  const unsigned char *src = stream + first * REC;
  const uchar4 *src4 = reinterpret_cast<const uchar4 *>(src);
  uchar4 *dst4 = reinterpret_cast<uchar4 *>(tile);
  for (int k = threadIdx.x; k < bytes / 4; k += NT)
    dst4[k] = src4[k];
  int rest = bytes & ~3;
  if (rest + (int)threadIdx.x < bytes)
    tile[rest + threadIdx.x] = src[rest + threadIdx.x];
  __syncthreads();
  int r = first + threadIdx.x;
  if (r < records) {
    const unsigned char *p = tile + threadIdx.x * REC;
    uint2 o;
    o.x = fetch32(p + 3);
    o.y = fetch16(p + 1) * (p[0] + 1u);
    *reinterpret_cast<uint2 *>(&out[r]) = o;
  }
}

int main() {
  const int records = 3 * NT + 21; // 147 bytes in the last block
  static unsigned char s[records * REC];
  static Out got[records];
  for (int r = 0; r < records; r++) {
    unsigned char kind = (unsigned char)(r % 5);
    unsigned short amount = (unsigned short)(r * 321);
    unsigned id = 0x1000001u * (unsigned)r + 77u;
    s[r * REC] = kind;
    memcpy(s + r * REC + 1, &amount, 2);
    memcpy(s + r * REC + 3, &id, 4);
  }
  unsigned char *d;
  Out *o;
  cudaMalloc(&d, sizeof s);
  cudaMalloc(&o, sizeof got);
  cudaMemcpy(d, s, sizeof s, cudaMemcpyHostToDevice);
  parse<<<(records + NT - 1) / NT, NT>>>(d, o, records);
  cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(o);
  int wrong = 0;
  for (int r = 0; r < records; r++) {
    unsigned short amount = (unsigned short)(r * 321);
    wrong += got[r].id != 0x1000001u * (unsigned)r + 77u || got[r].score != amount * (r % 5 + 1u);
  }
  printf("packed_records: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
