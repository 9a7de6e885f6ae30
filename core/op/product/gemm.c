// SPDX-License-Identifier: MIT
// Matrix products on the CPU: by the kernel of gemm_kernel.h, or by oneDNN where that is faster (is_for_dnnl).
//
// oneDNN left to itself may split sums among threads. So it gets blocks of C, cut by the shape alone, and computes each in one
// thread. Either way, an element's sum has the same order for any number of threads.
#include "op/product/gemm.h"
#include "base/integers.h"
#include "base/threads.h"
#include "device/runtime.h"
#include "op/launch.h"
#include "tensor/half.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

// Registers for the tile: 24 of AVX-512's 32, 12 of the 16 of AVX2 and below.
#if defined(__AVX512F__)
enum { GEMM_VECTOR_BYTES = 64, GEMM_MR = 12 };
#elif defined(__AVX__)
enum { GEMM_VECTOR_BYTES = 32, GEMM_MR = 6 };
#else
enum { GEMM_VECTOR_BYTES = 16, GEMM_MR = 6 };
#endif

enum {
  GEMM_KC = 256,               // a panel of so many steps stays in the first-level cache
  GEMM_NEAR = 2048,            // bytes from one step to the next up to which operands are read where they lie
  GEMM_STRIPS = 8,             // that a thread packs at a time
  GEMM_PANELS = 4,             // that a thread packs at a time
  GEMM_PACKED_BYTES = 8 << 20, // of strips at a time
  GEMM_STACK_BYTES = 16 << 10,
  GEMM_GRAIN = 1 << 18, // multiply-adds below which another thread costs more than it saves
};

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define PICK __builtin_shufflevector

typedef struct FyGemm {
  FyDType dtype;
  bool trans_a, trans_b;
  int64_t m, n, k;
  double alpha, beta;
  const void *a, *b;
  void *c;
  int64_t lda, ldb, ldc;
  int64_t block_m, block_n, blocks_n; // of oneDNN's blocks; blocks along n
  atomic_int status;
} FyGemm;

static int64_t second_level_cache(void) {
  enum { USUAL = 512 << 10, LEAST = 128 << 10, MOST = 2 << 20 };
#ifdef _SC_LEVEL2_CACHE_SIZE
  const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  const int64_t bytes = 0;
#endif
  return bytes <= 0 ? USUAL : bytes < LEAST ? LEAST : fy_smaller(bytes, MOST);
}

// The parts of `size` are as even as whole units allow.
static int64_t even_part(int64_t size, int64_t parts, int64_t unit) {
  return fy_div_ceil(fy_div_ceil(size, parts), unit) * unit;
}

// The block of C that a thread computes at a time: so many rows that their strips fill half of the second-level cache. With several
// threads there are some blocks for each, so that they end together. Columns are divided first, since every block packs its panels.
static void choose_blocks(int64_t m, int64_t n, int64_t k, int element, bool serial, int64_t *rows, int64_t *columns) {
  enum { LEAST_WORK = 1 << 18, FOR_EACH = 8, LEAST_ROWS = 96 };
  const int64_t width = 2 * GEMM_VECTOR_BYTES / element, together = GEMM_PANELS * width;
  const int64_t wanted = serial ? 1 : FOR_EACH * fy_get_num_threads();
  int64_t parts_m = fy_div_ceil(m, second_level_cache() / 2 / (GEMM_KC * element)), parts_n = 1;
  for (;;) {
    *rows = even_part(m, parts_m, GEMM_MR);
    *columns = even_part(n, parts_n, width);
    if (wanted == 1 || parts_m * parts_n >= wanted || *rows * *columns * k < 2 * LEAST_WORK)
      return;
    if (*columns >= 2 * together || (*rows <= LEAST_ROWS && *columns > width))
      parts_n *= 2;
    else if (*rows > GEMM_MR)
      parts_m *= 2;
    else
      return;
  }
}

static void run_turns(bool serial, int64_t n, void (*body)(int worker, FyTurns *turns, void *context), void *context) {
  FyTurns turns = {.n = n};
  if (serial)
    body(0, &turns, context);
  else
    fy_parallel_turns(n, body, context);
}

#define T float
#define NAME(x) f32_##x
#define HALVES 0
#include "op/product/gemm_kernel.h"

#define T float
#define NAME(x) bf16_##x
#define HALVES 1
#include "op/product/gemm_kernel.h"

#define T double
#define NAME(x) f64_##x
#define HALVES 0
#include "op/product/gemm_kernel.h"

// Unsigned, so that overflow wraps as PyTorch's does.
#define T uint64_t
#define NAME(x) i64_##x
#define HALVES 0
#include "op/product/gemm_kernel.h"

#define T uint32_t
#define NAME(x) i32_##x
#define HALVES 0
#include "op/product/gemm_kernel.h"

#define T uint8_t
#define NAME(x) u8_##x
#define HALVES 0
#include "op/product/gemm_kernel.h"

static int run_own(const FyGemm *g, bool serial) {
  static bool (*const kernels[FY_DTYPE_COUNT])(const FyGemm *, bool) = {
      [FY_FLOAT32] = f32_gemm, [FY_FLOAT64] = f64_gemm, [FY_INT64] = i64_gemm,
      [FY_INT32] = i32_gemm,   [FY_UINT8] = u8_gemm,    [FY_BFLOAT16] = bf16_gemm,
  };
  if (!kernels[g->dtype])
    return FY_LAUNCH_NO_KERNEL;
  return kernels[g->dtype](g, serial) ? FY_LAUNCH_OK : FY_LAUNCH_NO_MEMORY;
}

// ---- oneDNN --------------------------------------------------------------------------------------------------------------------

// Measured on a Zen 5 with oneDNN 2.6.3. Tiny products take less time than oneDNN's setup. With AVX2, oneDNN's blocks take up to 1.9
// times as long as our kernel in large products; with AVX-512 they take 0.9 to 1.05 times as long.
static bool is_for_dnnl(const FyGemm *g) {
#if defined(__AVX512F__)
  const int64_t below = INT64_MAX;
#else
  const int64_t below = 1 << 25;
#endif
  const int64_t work = g->m * g->n * g->k, from = 1 << 16;
  return g->dtype == FY_FLOAT32 && g->m > 1 && g->n > 1 && work >= from && work < below;
}

static int run_dnnl(const FyGemm *g) {
#ifdef _OPENMP
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
#endif
  dnnl_status_t status = dnnl_sgemm(g->trans_a ? 'T' : 'N', g->trans_b ? 'T' : 'N', g->m, g->n, g->k, (float)g->alpha,
                                    g->a, g->lda, g->b, g->ldb, (float)g->beta, g->c, g->ldc);
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
  return status == dnnl_success ? FY_LAUNCH_OK : FY_LAUNCH_DNN - (int)status;
}

static const float *advance(const void *p, int64_t elements) {
  return (const float *)p + elements;
}

static void run_blocks(int64_t begin, int64_t end, void *context) {
  FyGemm *whole = context;
  for (int64_t task = begin; task < end; task++) {
    int64_t i = task / whole->blocks_n * whole->block_m, j = task % whole->blocks_n * whole->block_n;
    FyGemm g = *whole;
    g.m = fy_smaller(whole->m - i, whole->block_m);
    g.n = fy_smaller(whole->n - j, whole->block_n);
    g.a = advance(g.a, g.trans_a ? i : i * g.lda);
    g.b = advance(g.b, g.trans_b ? j * g.ldb : j);
    g.c = (void *)(uintptr_t)advance(g.c, i * g.ldc + j);
    int status = is_for_dnnl(&g) ? run_dnnl(&g) : run_own(&g, true);
    if (status != FY_LAUNCH_OK)
      atomic_store(&whole->status, status);
  }
}

// Cuts the longer side in halves: two blocks from 2 * GEMM_GRAIN on, more as the product grows, eight at least once it is
// large. Blocks stay within what the caches hold, so their number has no bound. Returns the number.
static int64_t cut_into_blocks(FyGemm *g) {
  enum { LARGEST = 512 * 1024, SMALLEST_SIDE = 32, STEP = 16 };
  int64_t work = g->m * g->n * g->k, parts_m = 1, parts_n = 1;
  int64_t wanted = work < 2 * GEMM_GRAIN ? 1 : work < 64 * GEMM_GRAIN ? 2 : work < 128 * GEMM_GRAIN ? 4 : 8;
  for (;;) {
    int64_t rows = g->m / parts_m, columns = g->n / parts_n;
    if ((parts_m * parts_n >= wanted && rows * columns <= LARGEST) ||
        (rows < columns ? columns : rows) < 2 * SMALLEST_SIDE)
      break;
    *(rows >= columns ? &parts_m : &parts_n) *= 2;
  }
  g->block_m = even_part(g->m, parts_m, STEP);
  g->block_n = even_part(g->n, parts_n, STEP);
  g->blocks_n = fy_div_ceil(g->n, g->block_n);
  return fy_div_ceil(g->m, g->block_m) * g->blocks_n;
}

static int run(FyGemm *g, bool serial) {
  if (g->m == 0 || g->n == 0)
    return FY_LAUNCH_OK;
  if (!is_for_dnnl(g))
    return run_own(g, serial || g->m * g->n * g->k < 2 * GEMM_GRAIN);
  if (serial)
    return run_dnnl(g);
  fy_parallel_for(cut_into_blocks(g), 1, run_blocks, g);
  return atomic_load(&g->status);
}

bool fy_gemm_takes_bfloat16(int64_t m, int64_t n, int64_t k) {
  enum { LEAST = 1 << 22, LEAST_ROWS = 8, LEAST_COLUMNS = 16 }; // strips and panels that are mostly empty take longer
  return m >= LEAST_ROWS && n >= LEAST_COLUMNS && m * n * k >= LEAST;
}

int fy_gemm_serial(FyDType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                   const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc) {
  FyGemm g = {.dtype = dtype,
              .trans_a = trans_a,
              .trans_b = trans_b,
              .m = m,
              .n = n,
              .k = k,
              .alpha = alpha,
              .beta = beta,
              .a = a,
              .b = b,
              .c = c,
              .lda = lda,
              .ldb = ldb,
              .ldc = ldc};
  return run(&g, true);
}

int fy_gemm(FyDType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const void *a,
            int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc) {
  FyGemm g = {.dtype = dtype,
              .trans_a = trans_a,
              .trans_b = trans_b,
              .m = m,
              .n = n,
              .k = k,
              .alpha = alpha,
              .beta = beta,
              .a = a,
              .b = b,
              .c = c,
              .lda = lda,
              .ldb = ldb,
              .ldc = ldc};
  return run(&g, false);
}
