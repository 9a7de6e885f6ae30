// SPDX-License-Identifier: MIT
// cuRAND's generators whose algorithm is public: XORWOW (Marsaglia 2003, with cuRAND's starting values) and Philox 4x32 with ten
// rounds (Salmon and others 2011). The same seed, subsequence and offset give NVIDIA's numbers.
#ifndef CUDASIM_RANDOM_H
#define CUDASIM_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

#include "vector_types.h"

namespace cudasim {

// ---- XORWOW ----

struct xorwow_words {
  uint32_t v[5];
};

// No kernel's accesses: an inspector is told of a state, not of what jumps are computed by.
CUDASIM_UNSEEN inline xorwow_words xorwow_next(const xorwow_words &x) {
  const uint32_t t = x.v[0] ^ (x.v[0] >> 2);
  return {{x.v[1], x.v[2], x.v[3], x.v[4], (x.v[4] ^ (x.v[4] << 4)) ^ (t ^ (t << 1))}};
}

inline void xorwow_step(uint32_t v[5]) {
  xorwow_words x;
  memcpy(x.v, v, sizeof x.v);
  x = xorwow_next(x);
  memcpy(v, x.v, sizeof x.v);
}

// The five words move linearly over the bits: 2^i steps are a matrix, a row for each bit.
struct xorwow_jumps {
  static constexpr int powers = 131; // an offset of 64 bits, and 2^67 times a subsequence of 64 bits
  xorwow_words row[powers][160];

  CUDASIM_UNSEEN static xorwow_words product(const xorwow_words *matrix, const xorwow_words &x) {
    xorwow_words sum = {};
    for (int bit = 0; bit < 160; bit++)
      if (x.v[bit / 32] >> (bit % 32) & 1u)
        for (int i = 0; i < 5; i++)
          sum.v[i] ^= matrix[bit].v[i];
    return sum;
  }
  CUDASIM_UNSEEN xorwow_jumps(void) {
    for (int bit = 0; bit < 160; bit++) {
      xorwow_words one = {};
      one.v[bit / 32] = 1u << (bit % 32);
      row[0][bit] = xorwow_next(one);
    }
    for (int power = 1; power < powers; power++)
      for (int bit = 0; bit < 160; bit++)
        row[power][bit] = product(row[power - 1], row[power - 1][bit]);
  }
};

CUDASIM_UNSEEN inline void xorwow_jump(uint32_t v[5], int first_power, unsigned long long count) {
  static const xorwow_jumps jumps;
  xorwow_words x;
  memcpy(x.v, v, sizeof x.v);
  for (int power = first_power; count; power++, count >>= 1)
    if (count & 1)
      x = xorwow_jumps::product(jumps.row[power], x);
  memcpy(v, x.v, sizeof x.v);
}

// ---- Philox ----

inline uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)0xD2511F53u * c.x, b = (uint64_t)0xCD9E8D57u * c.z;
    c = {(uint32_t)(b >> 32) ^ c.y ^ key.x, (uint32_t)b, (uint32_t)(a >> 32) ^ c.w ^ key.y, (uint32_t)a};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

inline void philox_add(unsigned int &low, unsigned int &high, unsigned long long n, bool &carry) {
  const unsigned long long before = (unsigned long long)high << 32 | low, after = before + n;
  carry = after < before;
  low = (unsigned int)after;
  high = (unsigned int)(after >> 32);
}

// ---- from bits to numbers ----

inline float uniform(uint32_t x) {
  return (float)x * 2.3283064e-10f + 2.3283064e-10f / 2.0f;
}
inline double uniform_double(uint32_t x, uint32_t y) {
  const uint64_t z = (uint64_t)x ^ (uint64_t)y << 21;
  return (double)z * 0x1p-53 + 0x1p-54;
}
inline float2 normal_pair(uint32_t x, uint32_t y) {
  const float u = uniform(x), v = (float)y * (2.3283064e-10f * 6.2831855f) + (2.3283064e-10f * 6.2831855f) / 2.0f;
  const float s = sqrtf(-2.0f * logf(u));
  return {sinf(v) * s, cosf(v) * s};
}
inline double2 normal_pair_double(uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1) {
  const double u = uniform_double(x0, x1), v = 2 * uniform_double(y0, y1), pi = 3.14159265358979323846;
  const double s = sqrt(-2.0 * log(u));
  return {sin(pi * v) * s, cos(pi * v) * s};
}

} // namespace cudasim

// ---- states and the functions of a kernel ----------------------------------------------------------------------------------

struct curandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

inline void skipahead(unsigned long long n, curandStateXORWOW *state) {
  cudasim::xorwow_jump(state->v, 0, n);
  state->d += 362437u * (unsigned int)n;
}
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW *state) {
  cudasim::xorwow_jump(state->v, 67, n); // d comes round
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW *state) {
  const unsigned int a = 1099087573u * ((unsigned int)seed ^ 0xaad26b49u);
  const unsigned int b = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xf7dcefddu);
  *state = {};
  state->d = 6615241u + b + a;
  state->v[0] = 123456789u + a;
  state->v[1] = 362436069u ^ a;
  state->v[2] = 521288629u + b;
  state->v[3] = 88675123u ^ b;
  state->v[4] = 5783321u + a;
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned int curand(curandStateXORWOW *state) {
  cudasim::xorwow_step(state->v);
  state->d += 362437u;
  return state->v[4] + state->d;
}

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10 *state) {
  state->STATE += (unsigned int)(n & 3u);
  n /= 4;
  n += state->STATE > 3;
  state->STATE &= 3u;
  bool carry;
  cudasim::philox_add(state->ctr.x, state->ctr.y, n, carry);
  cudasim::philox_add(state->ctr.z, state->ctr.w, carry, carry);
  state->output = cudasim::philox(state->ctr, state->key);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10 *state) {
  bool carry;
  cudasim::philox_add(state->ctr.z, state->ctr.w, n, carry);
  state->output = cudasim::philox(state->ctr, state->key);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10 *state) {
  *state = {};
  state->key = {(unsigned int)seed, (unsigned int)(seed >> 32)};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned int curand(curandStatePhilox4_32_10 *state) {
  const unsigned int word[4] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned int result = word[state->STATE & 3u];
  if (state->STATE == 3) // the last of this counter's four
    skipahead(1, state);
  else
    state->STATE++;
  return result;
}
inline uint4 curand4(curandStatePhilox4_32_10 *state) {
  uint4 result;
  result.x = curand(state);
  result.y = curand(state);
  result.z = curand(state);
  result.w = curand(state);
  return result;
}

#define CUDASIM_RANDOM(State)                                                                                          \
  inline float curand_uniform(State *state) {                                                                          \
    return cudasim::uniform(curand(state));                                                                            \
  }                                                                                                                    \
  inline float2 curand_normal2(State *state) {                                                                         \
    const unsigned int x = curand(state), y = curand(state);                                                           \
    return cudasim::normal_pair(x, y);                                                                                 \
  }                                                                                                                    \
  inline double2 curand_normal2_double(State *state) {                                                                 \
    const unsigned int x = curand(state), y = curand(state), z = curand(state), w = curand(state);                     \
    return cudasim::normal_pair_double(x, y, z, w);                                                                    \
  }                                                                                                                    \
  inline float curand_normal(State *state) {                                                                           \
    state->boxmuller_flag = !state->boxmuller_flag;                                                                    \
    if (!state->boxmuller_flag)                                                                                        \
      return state->boxmuller_extra;                                                                                   \
    const float2 pair = curand_normal2(state);                                                                         \
    state->boxmuller_extra = pair.y;                                                                                   \
    return pair.x;                                                                                                     \
  }                                                                                                                    \
  inline double curand_normal_double(State *state) {                                                                   \
    state->boxmuller_flag_double = !state->boxmuller_flag_double;                                                      \
    if (!state->boxmuller_flag_double)                                                                                 \
      return state->boxmuller_extra_double;                                                                            \
    const double2 pair = curand_normal2_double(state);                                                                 \
    state->boxmuller_extra_double = pair.y;                                                                            \
    return pair.x;                                                                                                     \
  }                                                                                                                    \
  inline float curand_log_normal(State *state, float mean, float deviation) {                                          \
    return expf(mean + deviation * curand_normal(state));                                                              \
  }                                                                                                                    \
  inline double curand_log_normal_double(State *state, double mean, double deviation) {                                \
    return exp(mean + deviation * curand_normal_double(state));                                                        \
  }
CUDASIM_RANDOM(curandStateXORWOW)
CUDASIM_RANDOM(curandStatePhilox4_32_10)
#undef CUDASIM_RANDOM

// Of two words, and, from Philox, of one, as cuRAND has it.
inline double curand_uniform_double(curandStateXORWOW *state) {
  const unsigned int x = curand(state), y = curand(state);
  return cudasim::uniform_double(x, y);
}
inline double curand_uniform_double(curandStatePhilox4_32_10 *state) {
  return (double)curand(state) * 0x1p-32 + 0x1p-32;
}

inline float4 curand_uniform4(curandStatePhilox4_32_10 *state) {
  const uint4 x = curand4(state);
  return {cudasim::uniform(x.x), cudasim::uniform(x.y), cudasim::uniform(x.z), cudasim::uniform(x.w)};
}
inline float4 curand_normal4(curandStatePhilox4_32_10 *state) {
  const uint4 x = curand4(state);
  const float2 a = cudasim::normal_pair(x.x, x.y), b = cudasim::normal_pair(x.z, x.w);
  return {a.x, a.y, b.x, b.y};
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10 *state) {
  const uint4 x = curand4(state);
  return {cudasim::uniform_double(x.x, x.y), cudasim::uniform_double(x.z, x.w)};
}

#endif
