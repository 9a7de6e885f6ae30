// SPDX-License-Identifier: MIT
// How random elements come from Philox blocks, for C and CUDA alike.
//
// A call has a seed and an offset. Of 4-byte words: element i is word i % 4 of block offset + i / 4. Of 8-byte words
// (float64, integers): the i % 2-th pair of words of block offset + i / 2.
#ifndef FERRY_OP_RANDOM_H
#define FERRY_OP_RANDOM_H

#include "base/philox.h"
#include "op/elementwise/pointwise_math.h"

typedef struct FyRandom {
  uint64_t seed, offset;
  double a, b;    // uniform: low, high; normal: mean, standard deviation; dropout: a is the probability of zero
  double limit;   // uniform: the largest value of the target's dtype below high, where rounding would reach high
  int bits;       // uniform: random bits that the target's dtype can hold below 1
  int64_t low;    // randint
  uint64_t range; // randint: 1 .. 2^63
} FyRandom;

// Blocks that n elements use.
static inline uint64_t fy_random_blocks(int64_t n, bool wide) {
  return (uint64_t)(wide ? (n + 1) / 2 : (n + 3) / 4);
}

FY_MATH uint64_t fy_random_word64(FyPhilox block, int pair) {
  return (uint64_t)block.word[2 * pair + 1] << 32 | block.word[2 * pair];
}

// ---- uniform: multiples of 2^-bits in [0, 1), scaled ---------------------------------------------------------------------

FY_MATH float fy_uniform_of(uint32_t word, int shift, float unit, float low, float width, float limit) {
  const float x = fmaf((float)(int32_t)(word >> shift) * unit, width, low);
  return x < limit ? x : limit;
}
FY_MATH float fy_uniform_f32(uint32_t word, const FyRandom *p) {
  return fy_uniform_of(word, 32 - p->bits, 1.0f / (float)(1 << p->bits), (float)p->a, (float)(p->b - p->a),
                       (float)p->limit);
}
FY_MATH double fy_uniform_f64(uint64_t word, const FyRandom *p) {
  return fmin(fma((double)(int64_t)(word >> 11) * 0x1p-53, p->b - p->a, p->a), p->limit);
}

// ---- normal: Box and Muller's pair from two words ------------------------------------------------------------------------

FY_MATH void fy_normal_pair_f32(uint32_t word0, uint32_t word1, float mean, float std, float *x, float *y) {
  const float u = fmaf((float)word0, 0x1p-32f, 0x1p-33f); // in (0, 1]
  const float radius = std * sqrtf(-2.0f * fy_log_f32(u));
  float sine, cosine;
  fy_sincos_turn(word1, &sine, &cosine);
  *x = fmaf(radius, cosine, mean);
  *y = fmaf(radius, sine, mean);
}

// Elements 2k and 2k + 1 of float64 are one pair: the words of one block.
FY_MATH void fy_normal_pair_f64(FyPhilox block, double mean, double std, double *x, double *y) {
  const double u = ((double)(int64_t)(fy_random_word64(block, 0) >> 11) + 1.0) * 0x1p-53; // in (0, 1]
  const double angle = (double)(int64_t)(fy_random_word64(block, 1) >> 11) * 0x1p-53 * 6.28318530717958647692;
  const double radius = std * sqrt(-2.0 * log(u));
  *x = fma(radius, cos(angle), mean);
  *y = fma(radius, sin(angle), mean);
}

// ---- randint: the high half of word * range ------------------------------------------------------------------------------
// Some values are more likely than others by at most range / 2^64.

FY_MATH int64_t fy_randint_of(uint64_t word, const FyRandom *p) {
#ifdef __CUDA_ARCH__
  const uint64_t high = __umul64hi(word, p->range);
#else
  __extension__ typedef unsigned __int128 wide;
  const uint64_t high = (uint64_t)((wide)word * p->range >> 64);
#endif
  return (int64_t)((uint64_t)p->low + high);
}

// ---- dropout: kept with probability 1 - p --------------------------------------------------------------------------------

// An element is kept when its word is below this; 2^32 keeps all.
FY_MATH uint64_t fy_dropout_threshold(double p) {
  return (uint64_t)((1.0 - p) * 4294967296.0 + 0.5);
}

#endif
