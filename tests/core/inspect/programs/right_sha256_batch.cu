// SHA-256 of many short messages (one block each), one thread per message.
#include <stdio.h>
#include <string.h>
#include <stdint.h>
#include <cuda_runtime.h>

typedef uint32_t u32;
typedef struct {
  uint8_t data[56];
  u32 len;
} Message; // at most 55 bytes used

__constant__ u32 K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define ROTR(x, n) __funnelshift_r((x), (x), (n))

__device__ void compress(u32 state[8], const u32 block[16]) {
  u32 w[16];
#pragma unroll
  for (int t = 0; t < 16; t++)
    w[t] = block[t];
  u32 a = state[0], b = state[1], c = state[2], d = state[3];
  u32 e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; t++) {
    if (t >= 16) {
      u32 x = w[(t - 15) & 15], y = w[(t - 2) & 15];
      w[t & 15] += (ROTR(x, 7) ^ ROTR(x, 18) ^ (x >> 3)) + w[(t - 7) & 15] + (ROTR(y, 17) ^ ROTR(y, 19) ^ (y >> 10));
    }
    u32 t1 = h + (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t & 15];
    u32 t2 = (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

__global__ void sha256(const Message *msgs, int n, u32 *digests) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const Message &m = msgs[i];
  union {
    uint8_t b[64];
    u32 w[16];
  } u;
  for (int k = 0; k < 16; k++)
    u.w[k] = 0;
  for (u32 k = 0; k < m.len; k++)
    u.b[k] = m.data[k];
  u.b[m.len] = 0x80;
  for (int k = 0; k < 14; k++)
    u.w[k] = __byte_perm(u.w[k], 0, 0x0123);
  u.w[15] = m.len * 8;
  u32 st[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  compress(st, u.w);
  // two 16-byte stores; digests + 8 * i is 32-byte aligned
  uint4 *out = reinterpret_cast<uint4 *>(digests + 8 * i);
  out[0] = make_uint4(st[0], st[1], st[2], st[3]);
  out[1] = make_uint4(st[4], st[5], st[6], st[7]);
}

int main(void) {
  enum { N = 100 };
  static Message msgs[N];
  static u32 got[N * 8];
  for (int i = 0; i < N; i++)
    msgs[i].len = i == 42 ? (u32)strlen(strcpy((char *)msgs[i].data, "abc"))
                          : (u32)snprintf((char *)msgs[i].data, 56, "message number %d", i);
  Message *dM;
  u32 *dD;
  cudaMalloc((void **)&dM, sizeof msgs);
  cudaMalloc((void **)&dD, sizeof got);
  cudaMemcpy(dM, msgs, sizeof msgs, cudaMemcpyHostToDevice);
  sha256<<<(N + 31) / 32, 32>>>(dM, N, dD);
  cudaMemcpy(got, dD, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(dM);
  cudaFree(dD);
  static const u32 abc[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                             0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
  int ok = memcmp(got + 42 * 8, abc, sizeof abc) == 0;
  printf("sha256(abc) = %08x%08x... %s\n", got[42 * 8], got[42 * 8 + 1], ok ? "correct" : "incorrect");
  return !ok;
}
