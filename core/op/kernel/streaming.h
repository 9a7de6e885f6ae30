// SPDX-License-Identifier: MIT
// Stores that go past the caches: for results larger than any cache, whose lines would otherwise be read from memory before
// they are written, only to be thrown out again.
#ifndef FERRY_OP_STREAMING_H
#define FERRY_OP_STREAMING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

enum {
  FY_LINE = 64,               // bytes of a cache line
  FY_STREAM_BYTES = 32 << 20, // results from here on are not looked for in a cache
};

// Writes `lines` cache lines; `to` and `from` begin at a line's start.
static inline void fy_stream_lines(void *to, const void *from, size_t lines) {
#if defined(__AVX512F__)
  __m512i *line = (__m512i *)to;
  for (size_t i = 0; i < lines; i++)
    _mm512_stream_si512(line + i, _mm512_load_si512((const __m512i *)from + i));
#elif defined(__AVX__)
  __m256i *half = (__m256i *)to;
  for (size_t i = 0; i < 2 * lines; i++)
    _mm256_stream_si256(half + i, _mm256_load_si256((const __m256i *)from + i));
#else
  memcpy(to, from, lines * FY_LINE);
#endif
}

// After streaming, before another thread may read.
static inline void fy_stream_fence(void) {
#ifdef __AVX__
  _mm_sfence();
#endif
}

#endif
