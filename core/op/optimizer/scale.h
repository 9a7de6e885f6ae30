// SPDX-License-Identifier: MIT
// What a gradient scaler runs on the gradients' own device. Plain C, shared with the CUDA source.
#ifndef FERRY_OP_SCALE_H
#define FERRY_OP_SCALE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// amp_update_scale: inputs scale, growth_tracker, found_inf.
typedef struct FyUpdateScale {
  double growth_factor, backoff_factor;
  int64_t growth_interval;
} FyUpdateScale;

#ifdef __CUDACC__
#define FY_SCALE_FUNCTION static __host__ __device__ __forceinline__
#else
#define FY_SCALE_FUNCTION static inline
#endif

// A step that overflowed halves the scale, or whatever backoff_factor says; growth_interval steps in a row that did not
// double it, but never to infinity.
FY_SCALE_FUNCTION void fy_update_scale(float *scale, int32_t *tracker, float found_inf, FyUpdateScale o) {
  if (found_inf != 0) {
    *scale = (float)(*scale * o.backoff_factor);
    *tracker = 0;
    return;
  }
  if (++*tracker != o.growth_interval)
    return;
  const float grown = (float)(*scale * o.growth_factor);
  if (grown - grown == 0) // finite
    *scale = grown;
  *tracker = 0;
}

#endif
