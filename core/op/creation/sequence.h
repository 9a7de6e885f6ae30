// SPDX-License-Identifier: MIT
// Parameters of arange and linspace, and the value of element i.
#ifndef FERRY_OP_SEQUENCE_H
#define FERRY_OP_SEQUENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// arange: start + i * step, in integers for integer dtypes. linspace: from both ends towards the middle, so that both ends
// are exact. Computed in double, rounded once.
typedef struct FySequence {
  double start, step, end;
  int64_t integer_start, integer_step;
  int64_t count;
} FySequence;

#ifdef __CUDACC__
#define FY_SEQUENCE static __host__ __device__ __forceinline__
#else
#define FY_SEQUENCE static inline __attribute__((unused))
#endif

FY_SEQUENCE double fy_arange_at(const FySequence *s, int64_t i) {
  return fma((double)i, s->step, s->start);
}
FY_SEQUENCE int64_t fy_arange_integer_at(const FySequence *s, int64_t i) {
  return (int64_t)((uint64_t)s->integer_start + (uint64_t)i * (uint64_t)s->integer_step);
}
FY_SEQUENCE double fy_linspace_at(const FySequence *s, int64_t i) {
  return i < s->count / 2 ? fma((double)i, s->step, s->start) : fma((double)(i - (s->count - 1)), s->step, s->end);
}

#endif
