// SPDX-License-Identifier: MIT
// Philox4x32-10: a counter-based random generator (Salmon et al., 2011). Plain C, shared with the CUDA sources.
//
// A block of four random words is a pure function of a 64-bit seed and a 64-bit counter, so element i of a tensor can be
// drawn by any thread of any device, in any order, and is the same.
#ifndef FERRY_BASE_PHILOX_H
#define FERRY_BASE_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define FY_PHILOX static __host__ __device__ __forceinline__
#else
#define FY_PHILOX static inline __attribute__((always_inline, unused))
#endif

// The multipliers of a round, and what is added to the key after it.
#define FY_PHILOX_M0 0xD2511F53u
#define FY_PHILOX_M1 0xCD9E8D57u
#define FY_PHILOX_W0 0x9E3779B9u
#define FY_PHILOX_W1 0xBB67AE85u

typedef struct FyPhilox {
  uint32_t word[4];
} FyPhilox;

FY_PHILOX FyPhilox fy_philox(uint64_t seed, uint64_t counter) {
  uint32_t a = (uint32_t)counter, b = (uint32_t)(counter >> 32), c = 0, d = 0;
  uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t p = (uint64_t)FY_PHILOX_M0 * a, q = (uint64_t)FY_PHILOX_M1 * c;
    a = (uint32_t)(q >> 32) ^ b ^ key0;
    b = (uint32_t)q;
    c = (uint32_t)(p >> 32) ^ d ^ key1;
    d = (uint32_t)p;
    key0 += FY_PHILOX_W0;
    key1 += FY_PHILOX_W1;
  }
  return (FyPhilox){{a, b, c, d}};
}

#endif
