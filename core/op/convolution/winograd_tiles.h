// SPDX-License-Identifier: MIT
// The inner loops of winograd.c: tiles to the points and back, and the products at a point. Included there alone.
//
// The points are 0, A, -A, B, -B and infinity. To evaluate at a point and its negative, even and odd powers are added up once
// each. A vector holds WINO_VL channels of one pixel.
#include <stdbool.h>
#include <stdint.h>

#if defined(__AVX512F__)
enum { WINO_BYTES = 64, WINO_TILES = 8, WINO_CHANNELS = 8 };
#elif defined(__AVX__)
enum { WINO_BYTES = 32, WINO_TILES = 4, WINO_CHANNELS = 4 };
#else
enum { WINO_BYTES = 16, WINO_TILES = 4, WINO_CHANNELS = 4 };
#endif
enum { WINO_VL = WINO_BYTES / sizeof(float) };
enum { WINO_OUT = 4, WINO_IN = 6, WINO_POINTS = WINO_IN * WINO_IN, WINO_KERNEL = 9 };

// In memory wherever a float may be; those in the functions' own arrays on whole lines, since half of each tile's work is there.
typedef float Vec __attribute__((vector_size(WINO_BYTES)));
typedef float Loose __attribute__((vector_size(WINO_BYTES), aligned(sizeof(float)), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

// Any points do, and exact arithmetic would not care. Rounding does: with 11/16 and 11/8, whose powers up to the fourth stay near 1, errors
// are a fourth of those with the points 1 and 2 that are usual (winograd.h).
#define A 0.6875f
#define B 1.375f
#define AA (A * A)
#define BB (B * B)
#define NORM_A                                                                                                         \
  (1 / (2 * AA * (AA - BB))) // what the kernel is divided by at the points A and -A, so that the way back is right
#define NORM_B (1 / (2 * BB * (BB - AA)))

// Whether a large number has passed: bit 30 of a lane of `seen` is set from then on, since it is the highest of the exponent's, which
// scaled numbers from 2 on have, and infinities and NaNs.
#define WINO_LIMIT 0x1p32f
typedef int32_t Seen __attribute__((vector_size(WINO_BYTES)));

INLINE Vec load(const float *from) {
  return *(const Loose *)from;
}
INLINE void store(float *to, Vec v) {
  *(Loose *)to = v;
}

INLINE Seen see(Seen seen, Vec v) {
  return seen | (Seen)(v * (2 / WINO_LIMIT));
}
static bool has_seen_large(Seen seen) {
  int32_t all = 0;
  for (int i = 0; i < WINO_VL; i++)
    all |= seen[i];
  return (all & 1 << 30) != 0;
}

// ---- along one axis ------------------------------------------------------------------------------------------------------

// Pixels to points: the transpose of what brings six values of a product of polynomials back to its coefficients.
INLINE void pixels_6(const Vec d[WINO_IN], Vec to[WINO_IN]) {
  const Vec even_a = d[4] - BB * d[2], odd_a = A * d[3] - A * BB * d[1];
  const Vec even_b = d[4] - AA * d[2], odd_b = B * d[3] - AA * B * d[1];
  to[0] = AA * BB * d[0] - (AA + BB) * d[2] + d[4];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = AA * BB * d[1] - (AA + BB) * d[3] + d[5];
}

// A kernel to points.
INLINE void kernel_6(const Vec g[3], Vec to[WINO_IN]) {
  const Vec even_a = NORM_A * g[0] + AA * NORM_A * g[2], odd_a = A * NORM_A * g[1];
  const Vec even_b = NORM_B * g[0] + BB * NORM_B * g[2], odd_b = B * NORM_B * g[1];
  to[0] = 1 / (AA * BB) * g[0];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = g[2];
}

// Points to a kernel's gradient: the transpose of kernel_6.
INLINE void kernel_3(const Vec u[WINO_IN], Vec to[3]) {
  const Vec even_a = NORM_A * (u[1] + u[2]), odd_a = NORM_A * (u[1] - u[2]);
  const Vec even_b = NORM_B * (u[3] + u[4]), odd_b = NORM_B * (u[3] - u[4]);
  to[0] = 1 / (AA * BB) * u[0] + even_a + even_b;
  to[1] = A * odd_a + B * odd_b;
  to[2] = AA * even_a + BB * even_b + u[5];
}

// Points to outputs.
INLINE void outputs_4(const Vec m[WINO_IN], Vec to[WINO_OUT]) {
  const Vec even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
  to[0] = m[0] + even_a + even_b;
  to[1] = A * odd_a + B * odd_b;
  to[2] = AA * even_a + BB * even_b;
  to[3] = AA * A * odd_a + BB * B * odd_b + m[5];
}

// An output's gradient to points: the transpose of outputs_4.
INLINE void outputs_6(const Vec y[WINO_OUT], Vec to[WINO_IN]) {
  const Vec even_a = y[0] + AA * y[2], odd_a = A * y[1] + AA * A * y[3];
  const Vec even_b = y[0] + BB * y[2], odd_b = B * y[1] + BB * B * y[3];
  to[0] = y[0];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = y[3];
}

// ---- along both: one tile, a vector of channels ----------------------------------------------------------------------------

// n by n values that lie `line` (rows) and `pixel` floats apart to points that lie `point` apart.
INLINE void values_to_points(int n, void (*along)(const Vec *, Vec *), const float *from, int64_t line, int64_t pixel,
                             float *to, int64_t point) {
  Vec half[WINO_IN][WINO_IN], d[WINO_IN];
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++)
      d[i] = load(from + i * line + j * pixel);
    along(d, half[j]);
  }
  for (int i = 0; i < WINO_IN; i++) {
    Vec column[WINO_IN], points[WINO_IN];
    for (int j = 0; j < n; j++)
      column[j] = half[j][i];
    along(column, points);
    for (int j = 0; j < WINO_IN; j++)
      store(to + (i * WINO_IN + j) * point, points[j]);
  }
}

static void pixels_to_points(const float *from, int64_t line, int64_t pixel, float *to, int64_t point) {
  values_to_points(WINO_IN, pixels_6, from, line, pixel, to, point);
}

static void outputs_to_points(const float *from, int64_t line, int64_t pixel, float *to, int64_t point) {
  values_to_points(WINO_OUT, outputs_6, from, line, pixel, to, point);
}

static void points_to_outputs(const float *from, int64_t point, Vec bias, Vec out[WINO_OUT][WINO_OUT]) {
  Vec half[WINO_IN][WINO_OUT], m[WINO_IN];
  for (int j = 0; j < WINO_IN; j++) {
    for (int i = 0; i < WINO_IN; i++) {
      m[i] = load(from + (i * WINO_IN + j) * point);
    }
    outputs_4(m, half[j]);
  }
  for (int i = 0; i < WINO_OUT; i++) {
    for (int j = 0; j < WINO_IN; j++)
      m[j] = half[j][i];
    outputs_4(m, out[i]);
    for (int j = 0; j < WINO_OUT; j++)
      out[i][j] += bias;
  }
}

// kernel (9, one vector): rows of three.
static void kernel_to_points(const float *kernel, bool turned, float *to, int64_t point) {
  Vec half[3][WINO_IN], g[3], points[WINO_IN];
  for (int j = 0; j < 3; j++) {
    for (int i = 0; i < 3; i++)
      g[i] = load(kernel + (turned ? 8 - (3 * i + j) : 3 * i + j) * WINO_VL);
    kernel_6(g, half[j]);
  }
  for (int i = 0; i < WINO_IN; i++) {
    for (int j = 0; j < 3; j++)
      g[j] = half[j][i];
    kernel_6(g, points);
    for (int j = 0; j < WINO_IN; j++)
      store(to + (i * WINO_IN + j) * point, points[j]);
  }
}

// to (9, `next` apart).
static void points_to_kernel(const float *from, int64_t point, float *to, int64_t next) {
  Vec half[WINO_IN][3], u[WINO_IN], g[3];
  for (int j = 0; j < WINO_IN; j++) {
    for (int i = 0; i < WINO_IN; i++)
      u[i] = load(from + (i * WINO_IN + j) * point);
    kernel_3(u, half[j]);
  }
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < WINO_IN; j++)
      u[j] = half[j][i];
    kernel_3(u, g);
    for (int j = 0; j < 3; j++)
      store(to + (3 * i + j) * next, g[j]);
  }
}

// ---- products at one point -------------------------------------------------------------------------------------------------

// m (nv, WINO_TILES, VL) = v (cv, WINO_TILES, VL) times u (nv, cv * VL, VL), the second vector of outputs `u_next` behind the first.
INLINE void multiply(int nv, int64_t cv, const float *restrict v, const float *restrict u, int64_t u_next,
                     float *restrict m) {
  Vec sum[WINO_TILES][2];
  UNROLL
  for (int t = 0; t < WINO_TILES; t++)
    for (int x = 0; x < nv; x++)
      sum[t][x] = (Vec){0};
  for (int64_t k = 0; k < cv; k++, v += WINO_TILES * WINO_VL)
    for (int i = 0; i < WINO_VL; i++, u += WINO_VL) {
      Vec w[2];
      for (int x = 0; x < nv; x++)
        w[x] = load(u + x * u_next);
      UNROLL
      for (int t = 0; t < WINO_TILES; t++)
        for (int x = 0; x < nv; x++)
          sum[t][x] += v[t * WINO_VL + i] * w[x];
    }
  UNROLL
  for (int t = 0; t < WINO_TILES; t++)
    for (int x = 0; x < nv; x++)
      store(m + (x * WINO_TILES + t) * WINO_VL, sum[t][x]);
}

// u (nv, WINO_CHANNELS, VL), nv vectors `u_next` apart, += the sum over tiles of v's channels times y. v, y: one group of tiles after the
// other, `v_group` and `y_group` apart.
INLINE void multiply_tiles(int nv, int64_t groups, const float *restrict v, int64_t v_group, const float *restrict y,
                           int64_t y_group, float *restrict u, int64_t u_next, bool fresh) {
  Vec sum[WINO_CHANNELS][2];
  UNROLL
  for (int i = 0; i < WINO_CHANNELS; i++)
    for (int x = 0; x < nv; x++)
      sum[i][x] = fresh ? (Vec){0} : load(u + i * WINO_VL + x * u_next);
  for (int64_t g = 0; g < groups; g++, v += v_group, y += y_group)
    for (int t = 0; t < WINO_TILES; t++) {
      Vec w[2];
      for (int x = 0; x < nv; x++)
        w[x] = load(y + (x * WINO_TILES + t) * WINO_VL);
      UNROLL
      for (int i = 0; i < WINO_CHANNELS; i++)
        for (int x = 0; x < nv; x++)
          sum[i][x] += v[t * WINO_VL + i] * w[x];
    }
  UNROLL
  for (int i = 0; i < WINO_CHANNELS; i++)
    for (int x = 0; x < nv; x++)
      store(u + i * WINO_VL + x * u_next, sum[i][x]);
}
