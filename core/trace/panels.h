// SPDX-License-Identifier: MIT
// Vectors and packed weights of the plan's own float32 kernels on the CPU: dense.c, images.c. For trace/ only.
//
// A weight is packed in panels of the outputs that two vectors hold. Within a panel, all that one input is multiplied with lies
// together, inputs one after the other: a kernel reads its panel from the first byte to the last, and no output is spread over
// two. Sums are kept in registers until they are whole; bias, ReLU and pooling are applied there.
#ifndef FERRY_TRACE_PANELS_H
#define FERRY_TRACE_PANELS_H

#include <stdbool.h>
#include <stdint.h>

// Of a vector, of a panel; and the sums of vectors pairs that the registers hold: rows of a product, or pixels.
#if defined(__AVX512F__)
enum { FY_LANES = 16, FY_MOST_SUMS = 12 };
#elif defined(__AVX__)
enum { FY_LANES = 8, FY_MOST_SUMS = 5 };
#else
enum { FY_LANES = 4, FY_MOST_SUMS = 5 };
#endif
enum { FY_PANEL = 2 * FY_LANES };

typedef float FyLanes __attribute__((vector_size(FY_LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

#define FY_ALWAYS_INLINE static inline __attribute__((always_inline))

FY_ALWAYS_INLINE FyLanes fy_lanes_at(const float *p) {
  return *(const FyLanes *)p;
}

typedef int32_t FyLaneMask __attribute__((vector_size(FY_LANES * sizeof(float))));

FY_ALWAYS_INLINE FyLanes fy_lanes_pick(FyLaneMask mask, FyLanes a, FyLanes b) {
  return (FyLanes)(((FyLaneMask)a & mask) | ((FyLaneMask)b & ~mask));
}

// The larger of each pair, a NaN if one is.
FY_ALWAYS_INLINE FyLanes fy_lanes_max(FyLanes a, FyLanes b) {
  return fy_lanes_pick((FyLaneMask)(b > a) | (FyLaneMask)(b != b), b, a);
}

// relu: a NaN stays one.
FY_ALWAYS_INLINE FyLanes fy_lanes_relu(FyLanes a) {
  return (FyLanes)((FyLaneMask)a & ~(FyLaneMask)(a < (FyLanes){0}));
}

FY_ALWAYS_INLINE void fy_lanes_store(float *p, FyLanes v) {
  *(FyLanes *)p = v;
}

static inline int64_t fy_panels(int64_t outputs) {
  return (outputs + FY_PANEL - 1) / FY_PANEL;
}

#endif
