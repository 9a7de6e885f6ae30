// SPDX-License-Identifier: MIT
// Random ops on the CPU. Philox blocks are made BATCH at a time, word by word in arrays, so that everything vectorizes.
#include "op/random/random_cpu.h"

#include "base/threads.h"
#include "op/copy/convert.h"
#include "op/elementwise/pointwise_loops.h"
#include "op/random/random.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { BATCH = 64 };

typedef struct Words {
  uint32_t word[4][BATCH];
} Words;

#if defined(__AVX512F__) || defined(__AVX2__)
// The compiler multiplies 64 by 64 bits where 32 by 32 would do; these spell it out. Each 64-bit lane has a block's word in
// its lower half; what is in the upper one is never looked at.
#ifdef __AVX512F__
typedef __m512i Lanes;
#define LANES_MULTIPLY _mm512_mul_epu32
#define LANES_UPPER(x) _mm512_srli_epi64(x, 32)
#define LANES_XOR _mm512_xor_si512
#define LANES_SET(x) _mm512_set1_epi64((int64_t)(x))
#define LANES_COUNT(x) _mm512_add_epi64(LANES_SET(x), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0))
#define LANES_STORE(out, x) _mm256_storeu_si256((__m256i *)(void *)(out), _mm512_cvtepi64_epi32(x))
#else
typedef __m256i Lanes;
#define LANES_MULTIPLY _mm256_mul_epu32
#define LANES_UPPER(x) _mm256_srli_epi64(x, 32)
#define LANES_XOR _mm256_xor_si256
#define LANES_SET(x) _mm256_set1_epi64x((int64_t)(x))
#define LANES_COUNT(x) _mm256_add_epi64(LANES_SET(x), _mm256_set_epi64x(3, 2, 1, 0))
#define LANES_LOWER(x) _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0)))
#define LANES_STORE(out, x) _mm_storeu_si128((__m128i *)(void *)(out), LANES_LOWER(x))
#endif
enum { LANES = sizeof(Lanes) / 8 };

// As fy_philox, for LANES counters at a time.
static void draw(Words *words, const FyRandom *params, uint64_t block) {
  for (int first = 0; first < BATCH; first += LANES) {
    Lanes a = LANES_COUNT(params->offset + block + (uint64_t)first), b = LANES_UPPER(a), c = LANES_SET(0), d = c;
    uint32_t key0 = (uint32_t)params->seed, key1 = (uint32_t)(params->seed >> 32);
    for (int round = 0; round < 10; round++) {
      const Lanes p = LANES_MULTIPLY(a, LANES_SET(FY_PHILOX_M0)), q = LANES_MULTIPLY(c, LANES_SET(FY_PHILOX_M1));
      a = LANES_XOR(LANES_XOR(LANES_UPPER(q), b), LANES_SET(key0));
      b = q;
      c = LANES_XOR(LANES_XOR(LANES_UPPER(p), d), LANES_SET(key1));
      d = p;
      key0 += FY_PHILOX_W0;
      key1 += FY_PHILOX_W1;
    }
    LANES_STORE(words->word[0] + first, a);
    LANES_STORE(words->word[1] + first, b);
    LANES_STORE(words->word[2] + first, c);
    LANES_STORE(words->word[3] + first, d);
  }
}
#else
static void draw(Words *words, const FyRandom *p, uint64_t block) {
  FY_SIMD for (int i = 0; i < BATCH; i++) {
    const FyPhilox x = fy_philox(p->seed, p->offset + block + (uint64_t)i);
    words->word[0][i] = x.word[0];
    words->word[1][i] = x.word[1];
    words->word[2][i] = x.word[2];
    words->word[3][i] = x.word[3];
  }
}
#endif

// ---- batches: all elements of BATCH blocks, row-major --------------------------------------------------------------------

typedef void Batch(void *out, const Words *words, const FyRandom *p);

static void uniform_f32(void *out, const Words *words, const FyRandom *p) {
  float *x = out;
  const int shift = 32 - p->bits;
  const float unit = 1.0f / (float)(1 << p->bits), low = (float)p->a, width = (float)(p->b - p->a);
  const float limit = (float)p->limit;
  FY_SIMD for (int i = 0; i < BATCH; i++) {
    x[4 * i] = fy_uniform_of(words->word[0][i], shift, unit, low, width, limit);
    x[4 * i + 1] = fy_uniform_of(words->word[1][i], shift, unit, low, width, limit);
    x[4 * i + 2] = fy_uniform_of(words->word[2][i], shift, unit, low, width, limit);
    x[4 * i + 3] = fy_uniform_of(words->word[3][i], shift, unit, low, width, limit);
  }
}

static FyPhilox block_at(const Words *words, int i) {
  return (FyPhilox){{words->word[0][i], words->word[1][i], words->word[2][i], words->word[3][i]}};
}

static void uniform_f64(void *out, const Words *words, const FyRandom *p) {
  double *x = out;
  for (int i = 0; i < BATCH; i++) {
    x[2 * i] = fy_uniform_f64(fy_random_word64(block_at(words, i), 0), p);
    x[2 * i + 1] = fy_uniform_f64(fy_random_word64(block_at(words, i), 1), p);
  }
}

static void normal_f32(void *out, const Words *words, const FyRandom *p) {
  float *x = out;
  const float mean = (float)p->a, std = (float)p->b;
  FY_SIMD for (int i = 0; i < BATCH; i++) {
    float a, b, c, d;
    fy_normal_pair_f32(words->word[0][i], words->word[1][i], mean, std, &a, &b);
    fy_normal_pair_f32(words->word[2][i], words->word[3][i], mean, std, &c, &d);
    x[4 * i] = a;
    x[4 * i + 1] = b;
    x[4 * i + 2] = c;
    x[4 * i + 3] = d;
  }
}

static void normal_f64(void *out, const Words *words, const FyRandom *p) {
  double *x = out;
  for (int i = 0; i < BATCH; i++)
    fy_normal_pair_f64(block_at(words, i), p->a, p->b, x + 2 * i, x + 2 * i + 1);
}

static void randint_i64(void *out, const Words *words, const FyRandom *p) {
  int64_t *x = out;
  for (int i = 0; i < BATCH; i++) {
    x[2 * i] = fy_randint_of(fy_random_word64(block_at(words, i), 0), p);
    x[2 * i + 1] = fy_randint_of(fy_random_word64(block_at(words, i), 1), p);
  }
}

// ---- filling an array batch by batch ---------------------------------------------------------------------------------------

typedef struct Fill {
  Batch *batch;
  const FyRandom *params;
  const FyArray *out;
  int made_dtype; // what `batch` makes; converted when it is not the output's
  int per_block;  // elements
} Fill;

// Puts the n elements made, which begin at element `first`, in their place.
static void deliver(const Fill *fill, const void *made, int64_t first, int64_t n) {
  const FyArray *out = fill->out;
  const FyArray from = {.data = (void *)(uintptr_t)made,
                        .numel = n,
                        .ndim = 1,
                        .dtype = (uint8_t)fill->made_dtype,
                        .contiguous = true,
                        .shape = {n},
                        .stride = {1}};
  FyArray to = from;
  to.dtype = out->dtype;
  to.data = (char *)out->data + first * (int)fy_dtype_size(out->dtype);
  fy_convert(&to, &from);
}

static void fill_batches(int64_t begin, int64_t end, void *context) {
  const Fill *fill = context;
  const int64_t per_batch = BATCH * fill->per_block;
  const bool same = fill->made_dtype == fill->out->dtype;
  const int size = (int)fy_dtype_size(fill->made_dtype);
  _Alignas(64) char buffer[4 * BATCH * sizeof(float)];
  Words words;
  for (int64_t b = begin; b < end; b++) {
    const int64_t first = b * per_batch, left = fill->out->numel - first;
    const bool whole = same && left >= per_batch;
    draw(&words, fill->params, (uint64_t)(b * BATCH));
    fill->batch(whole ? (char *)fill->out->data + first * size : buffer, &words, fill->params);
    if (!whole)
      deliver(fill, buffer, first, left < per_batch ? left : per_batch);
  }
}

static int run(FyLaunch *l, Batch *batch, int made_dtype) {
  const int per_block = made_dtype == FY_FLOAT32 ? 4 : 2;
  Fill fill = {.batch = batch, .params = l->params, .out = l->out[0], .made_dtype = made_dtype, .per_block = per_block};
  const int64_t per_batch = BATCH * per_block;
  fy_parallel_for((l->out[0]->numel + per_batch - 1) / per_batch, FY_GRAIN_FUNCTION / per_batch, fill_batches, &fill);
  return FY_LAUNCH_OK;
}

int fy_cpu_uniform(FyLaunch *l) {
  const bool wide = l->out[0]->dtype == FY_FLOAT64;
  return run(l, wide ? uniform_f64 : uniform_f32, wide ? FY_FLOAT64 : FY_FLOAT32);
}

int fy_cpu_normal(FyLaunch *l) {
  const bool wide = l->out[0]->dtype == FY_FLOAT64;
  return run(l, wide ? normal_f64 : normal_f32, wide ? FY_FLOAT64 : FY_FLOAT32);
}

int fy_cpu_randint(FyLaunch *l) {
  return run(l, randint_i64, FY_INT64);
}

// ---- dropout ---------------------------------------------------------------------------------------------------------------

typedef struct Dropout {
  const FyLaunch *launch;
  uint64_t threshold;
  double scale;
} Dropout;

// The random words of element 4i .. 4i + 3 stand side by side here.
static void interleave(uint32_t *out, const Words *words) {
  FY_SIMD for (int i = 0; i < BATCH; i++) {
    out[4 * i] = words->word[0][i];
    out[4 * i + 1] = words->word[1][i];
    out[4 * i + 2] = words->word[2][i];
    out[4 * i + 3] = words->word[3][i];
  }
}

#define DROPOUT_BATCH(NAME, T)                                                                                         \
  static void NAME(T *out, const T *in, const uint32_t *word, int64_t n, uint32_t below, T scale) {                    \
    FY_SIMD for (int64_t i = 0; i < n; i++) out[i] = in[i] * (word[i] < below ? scale : 0);                            \
  }
DROPOUT_BATCH(dropout_f32, float)
DROPOUT_BATCH(dropout_f64, double)

static void dropout_batches(int64_t begin, int64_t end, void *context) {
  const Dropout *d = context;
  const FyArray *out = d->launch->out[0], *in = d->launch->in[0];
  const uint32_t below = d->threshold > UINT32_MAX ? UINT32_MAX : (uint32_t)d->threshold;
  uint32_t word[4 * BATCH];
  Words words;
  for (int64_t b = begin; b < end; b++) {
    const int64_t first = b * 4 * BATCH, left = out->numel - first, n = left < 4 * BATCH ? left : 4 * BATCH;
    draw(&words, d->launch->params, (uint64_t)(b * BATCH));
    interleave(word, &words);
    if (out->dtype == FY_FLOAT64)
      dropout_f64((double *)out->data + first, (const double *)in->data + first, word, n, below, d->scale);
    else
      dropout_f32((float *)out->data + first, (const float *)in->data + first, word, n, below, (float)d->scale);
  }
}

int fy_cpu_dropout(FyLaunch *l) {
  const double p = ((const FyRandom *)l->params)->a;
  Dropout d = {.launch = l, .threshold = fy_dropout_threshold(p), .scale = p < 1 ? 1 / (1 - p) : 0};
  fy_parallel_for((l->out[0]->numel + 4 * BATCH - 1) / (4 * BATCH), FY_GRAIN_FUNCTION / (4 * BATCH), dropout_batches,
                  &d);
  return FY_LAUNCH_OK;
}
