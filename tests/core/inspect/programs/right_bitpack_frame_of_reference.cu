// Frame-of-reference compression: each warp packs 32 integers into as many words as their range needs bits.
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>

struct Frame {
  int base;
  uint16_t width;
  int offset;
};

constexpr unsigned FULL = 0xffffffffu;

__device__ int warpMin(int v) {
#pragma unroll
  for (int d = 16; d >= 1; d >>= 1)
    v = min(v, __shfl_xor_sync(FULL, v, d));
  return v;
}

__global__ void pack(const int *in, int n, Frame *frames, unsigned *words, int *cursor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int frame = i >> 5, lane = i & 31;
  if (frame * 32 >= n)
    return; // warps without any element
  const unsigned have = __ballot_sync(FULL, i < n);
  const int v = i < n ? in[i] : 0;
  // lanes past the end repeat the last element that there is
  const int filled = __shfl_sync(FULL, v, min(lane, 31 - __clz(have)));
  const int base = warpMin(filled);
  const unsigned delta = filled - base;
  unsigned width = 32 - __clz(__reduce_or_sync(FULL, delta));
  int off = 0;
  if (lane == 0)
    off = atomicAdd(cursor, (int)width);
  off = __shfl_sync(FULL, off, 0);
  for (unsigned b = 0; b < width; ++b) {
    unsigned plane = __ballot_sync(FULL, delta >> b & 1);
    if (lane == b)
      words[off + b] = plane;
  }
  if (lane == 0) {
    frames[frame].base = base;
    frames[frame].width = (uint16_t)width;
    frames[frame].offset = off;
  }
}

__global__ void unpack(const Frame *frames, const unsigned *words, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const Frame f = frames[i >> 5];
  unsigned d = 0;
  for (int b = 0; b < f.width; ++b)
    d |= (words[f.offset + b] >> (i & 31) & 1u) << b;
  out[i] = f.base + (int)d;
}

int main() {
  const int n = 5003, frames = (n + 31) / 32;
  std::vector<int> h(n), back(n);
  for (int i = 0; i < n; i++)
    h[i] = i * 3 - 7000 + (i * i) % (1 + i % 300);
  int *in, *out, *cursor, used = 0;
  Frame *f;
  unsigned *w;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMalloc(&cursor, sizeof(int));
  cudaMalloc(&f, frames * sizeof(Frame));
  cudaMalloc(&w, frames * 32 * sizeof(unsigned)); // worst case
  cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(cursor, 0, sizeof(int));
  pack<<<(n + 255) / 256, 256>>>(in, n, f, w, cursor);
  unpack<<<(n + 255) / 256, 256>>>(f, w, out, n);
  cudaMemcpy(back.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&used, cursor, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  cudaFree(cursor);
  cudaFree(f);
  cudaFree(w);
  std::printf("%d words instead of %d, round trip %s\n", used, n, back == h ? "exact" : "FAILED");
  return back == h ? 0 : 1;
}
