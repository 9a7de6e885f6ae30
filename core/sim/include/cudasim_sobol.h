// SPDX-License-Identifier: MIT
// Sobol's quasi-random numbers with the direction numbers of Joe and Kuo (2008, their sixth set), for the first 21 dimensions: the
// same numbers as NVIDIA's. Scrambled ones are not there.
#ifndef CUDASIM_SOBOL_H
#define CUDASIM_SOBOL_H

#include <stdint.h>

#include "cudasim_random.h"

typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef enum curandDirectionVectorSet {
  CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
  CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
} curandDirectionVectorSet_t;

namespace cudasim {

enum { SOBOL_DIMENSIONS = 21 };

// Of each dimension but the first: the polynomial's degree, its inner coefficients as bits, the first direction numbers.
struct sobol_dimension {
  unsigned char degree, coefficients, m[7];
};
inline constexpr sobol_dimension sobol_table[SOBOL_DIMENSIONS - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

template <class Word, int Bits> inline void sobol_directions(int dimension, Word *v) {
  if (dimension == 0) {
    for (int i = 0; i < Bits; i++)
      v[i] = (Word)1 << (Bits - 1 - i);
    return;
  }
  const sobol_dimension &d = sobol_table[dimension - 1];
  for (int i = 0; i < Bits; i++) {
    if (i < d.degree) {
      v[i] = (Word)d.m[i] << (Bits - 1 - i);
      continue;
    }
    v[i] = v[i - d.degree] ^ (v[i - d.degree] >> d.degree);
    for (int k = 1; k < d.degree; k++)
      if (d.coefficients >> (d.degree - 1 - k) & 1)
        v[i] ^= v[i - k];
  }
}

template <class Word, int Bits> struct sobol_table_of {
  Word v[SOBOL_DIMENSIONS][Bits];
  sobol_table_of(void) {
    for (int dimension = 0; dimension < SOBOL_DIMENSIONS; dimension++)
      sobol_directions<Word, Bits>(dimension, v[dimension]);
  }
};
template <class Word, int Bits> inline Word (*sobol_vectors(void))[Bits] {
  static sobol_table_of<Word, Bits> table;
  return table.v;
}

// The state is what comes next; a step changes it by the direction of the counter's lowest bit that is 0.
template <class Word, int Bits> struct sobol_state {
  Word x, direction_vectors[Bits];
  unsigned long long i;

  void begin(const Word *directions, unsigned long long offset) {
    for (int bit = 0; bit < Bits; bit++)
      direction_vectors[bit] = directions[bit];
    x = 0;
    i = 0;
    skip(offset);
  }
  void skip(unsigned long long steps) {
    const unsigned long long before = i ^ (i >> 1), after = (i + steps) ^ ((i + steps) >> 1);
    i += steps;
    for (int bit = 0; bit < Bits; bit++)
      if ((before ^ after) >> bit & 1)
        x ^= direction_vectors[bit];
  }
  Word next(void) {
    const Word result = x;
    const int bit = __builtin_ctzll(~i);
    x ^= direction_vectors[bit < Bits ? bit : Bits - 1];
    i++;
    return result;
  }
};

} // namespace cudasim

typedef cudasim::sobol_state<unsigned int, 32> curandStateSobol32;
typedef cudasim::sobol_state<unsigned long long, 64> curandStateSobol64;
typedef curandStateSobol32 curandStateSobol32_t;
typedef curandStateSobol64 curandStateSobol64_t;

inline void curand_init(const unsigned int *directions, unsigned int offset, curandStateSobol32 *state) {
  state->begin(directions, offset);
}
inline void curand_init(const unsigned long long *directions, unsigned long long offset, curandStateSobol64 *state) {
  state->begin(directions, offset);
}
template <class Word, int Bits> inline Word curand(cudasim::sobol_state<Word, Bits> *state) {
  return state->next();
}
template <class Word, int Bits, class N> inline void skipahead(N steps, cudasim::sobol_state<Word, Bits> *state) {
  state->skip(steps);
}
inline float curand_uniform(curandStateSobol32 *state) {
  return cudasim::uniform(state->next());
}
inline float curand_uniform(curandStateSobol64 *state) {
  return cudasim::uniform((unsigned int)(state->next() >> 32));
}
inline double curand_uniform_double(curandStateSobol32 *state) {
  return state->next() * 2.3283064365386963e-10 + 1.1641532182693481e-10;
}
inline double curand_uniform_double(curandStateSobol64 *state) {
  return (state->next() >> 11) * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}

#endif
