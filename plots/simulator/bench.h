// SPDX-License-Identifier: MIT
// What the three programs behind ./ferry bench --simulator share: the sizes, the inputs, the answers, and how time is taken.
#ifndef SIMULATOR_BENCH_H
#define SIMULATOR_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef SIMULATOR_SMALL // where each access is looked at
enum { COUNT = 1 << 20, SIDE = 1024, MATRIX = 256 };
#else
enum { COUNT = 4 << 20, SIDE = 2048, MATRIX = 512 };
#endif
enum { HISTOGRAM_BLOCKS = 64, RUNS = 5, LAUNCHES = 2000 };

/* The time of day, or with SIMULATOR_CLOCK=cpu what all threads have spent on a processor, on a machine that is shared. */
static inline double now_ms(void) {
  struct timespec t;
  const char *clock = getenv("SIMULATOR_CLOCK");
  clock_gettime(clock && strcmp(clock, "cpu") == 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Small whole numbers, so that sums are exact in whatever order they are made. */
static inline void fill_floats(float *x, long n) {
  for (long i = 0; i < n; i++)
    x[i] = (float)((i * 7 + i / 64) % 5);
}
static inline void fill_values(unsigned int *x, long n) {
  for (long i = 0; i < n; i++)
    x[i] = (unsigned int)((unsigned long)i * 2654435761u >> 16) % 256u;
}

/* `best`: milliseconds, the smallest of this process's runs. */
static inline void report(const char *program, const char *kernel, double best, int right) {
  printf("%s\t%s\t%.5f\t%s\n", program, kernel, best, right ? "right" : "WRONG");
}

static inline int sum_is_right(const float *sums, long blocks, const float *x, long n) {
  double got = 0, want = 0;
  for (long i = 0; i < blocks; i++)
    got += (double)sums[i];
  for (long i = 0; i < n; i++)
    want += (double)x[i];
  return got == want;
}

static inline int saxpy_is_right(const float *y, const float *x, long n, int runs) {
  for (long i = 0; i < n; i += 97)
    if (y[i] != (float)runs * 2.0f * x[i])
      return 0;
  return y[n - 1] == (float)runs * 2.0f * x[n - 1];
}

static inline int stencil_is_right(const float *out, const float *in, int n) {
  for (int r = 1; r < n - 1; r += 13)
    for (int c = 1; c < n - 1; c++) {
      const float *p = in + (long)r * n + c;
      if (fabsf(out[(long)r * n + c] - 0.2f * (p[0] + p[-1] + p[1] + p[-n] + p[n])) > 1e-5f)
        return 0;
    }
  return 1;
}

static inline int product_is_right(const float *c, const float *a, const float *b, int n) {
  for (int r = 0; r < n; r += 37)
    for (int col = 0; col < n; col++) {
      float want = 0;
      for (int k = 0; k < n; k++)
        want += a[r * n + k] * b[k * n + col];
      if (c[r * n + col] != want)
        return 0;
    }
  return 1;
}

static inline int transpose_is_right(const float *out, const float *in, int n) {
  for (long r = 0; r < n; r++)
    for (long c = 0; c < n; c++)
      if (out[c * n + r] != in[r * n + c])
        return 0;
  return 1;
}

static inline int counts_are_right(const unsigned int *counts, const unsigned int *values, long n, int runs) {
  unsigned int want[256] = {0};
  for (long i = 0; i < n; i++)
    want[values[i]] += (unsigned int)runs;
  return memcmp(want, counts, sizeof want) == 0;
}

#endif
