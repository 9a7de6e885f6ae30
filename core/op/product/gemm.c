// SPDX-License-Identifier: MIT
// Matrix products on the CPU: oneDNN for all but small float32 ones, the kernel of gemm_kernel.h for the rest.
//
// Large products are cut into blocks of C by their shape alone, and each block is computed by one thread. So an element's
// sum has the same order whatever the number of threads; oneDNN left to itself may split sums among them.
#include "op/product/gemm.h"
#include "base/threads.h"
#include "op/launch.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>
#include <string.h>
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

// A block of A (GEMM_MC, GEMM_KC) stays in the second-level cache, a panel of B in the first.
enum { GEMM_MC = 120, GEMM_NC = 512, GEMM_KC = 256 };

// Multiply-adds below which another thread costs more than it saves, and from which oneDNN's kernels beat ours.
enum { GEMM_GRAIN = 1 << 18, GEMM_DNNL_FROM = 1 << 16 };

typedef struct FyGemm {
  FyDType dtype;
  bool trans_a, trans_b;
  int64_t m, n, k;
  double alpha, beta;
  const void *a, *b;
  void *c;
  int64_t lda, ldb, ldc;
  int64_t block_m, block_n, blocks_n; // of a thread's task; blocks along n
  atomic_int status;
} FyGemm;

#define T float
#define NAME(x) f32_##x
#include "op/product/gemm_kernel.h"

#define T double
#define NAME(x) f64_##x
#include "op/product/gemm_kernel.h"

// Unsigned, so that overflow wraps as PyTorch's does.
#define T uint64_t
#define NAME(x) i64_##x
#include "op/product/gemm_kernel.h"

#define T uint32_t
#define NAME(x) i32_##x
#include "op/product/gemm_kernel.h"

#define T uint8_t
#define NAME(x) u8_##x
#include "op/product/gemm_kernel.h"

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

static int run_serial(const FyGemm *g) {
  if (g->m == 0 || g->n == 0)
    return FY_LAUNCH_OK;
  if (g->dtype == FY_FLOAT32 && g->m * g->n * g->k >= GEMM_DNNL_FROM && g->m > 1 && g->n > 1)
    return run_dnnl(g);
  switch (g->dtype) {
  case FY_FLOAT32:
    f32_gemm(g);
    return FY_LAUNCH_OK;
  case FY_FLOAT64:
    f64_gemm(g);
    return FY_LAUNCH_OK;
  case FY_INT64:
    i64_gemm(g);
    return FY_LAUNCH_OK;
  case FY_INT32:
    i32_gemm(g);
    return FY_LAUNCH_OK;
  case FY_UINT8:
    u8_gemm(g);
    return FY_LAUNCH_OK;
  default:
    return FY_LAUNCH_NO_KERNEL;
  }
}

static const void *advance(const FyGemm *g, const void *p, int64_t elements) {
  return (const char *)p + elements * (int64_t)fy_dtype_size(g->dtype);
}

static void run_blocks(int64_t begin, int64_t end, void *context) {
  FyGemm *whole = context;
  for (int64_t task = begin; task < end; task++) {
    int64_t i = task / whole->blocks_n * whole->block_m, j = task % whole->blocks_n * whole->block_n;
    FyGemm g = *whole;
    g.m = whole->m - i < whole->block_m ? whole->m - i : whole->block_m;
    g.n = whole->n - j < whole->block_n ? whole->n - j : whole->block_n;
    g.a = advance(&g, g.a, g.trans_a ? i : i * g.lda);
    g.b = advance(&g, g.b, g.trans_b ? j * g.ldb : j);
    g.c = (void *)(uintptr_t)advance(&g, g.c, i * g.ldc + j);
    int status = run_serial(&g);
    if (status != FY_LAUNCH_OK)
      atomic_store(&whole->status, status);
  }
}

static int64_t split(int64_t size, int64_t parts) {
  enum { STEP = 16 }; // a vector of floats
  return ((size + parts - 1) / parts + STEP - 1) / STEP * STEP;
}

// Cuts the longer side in halves: two blocks from 2 * GEMM_GRAIN on, more as the product grows, eight at least once it is
// large. Blocks stay within what the caches hold, so their number has no bound. Returns the number.
static int64_t cut_into_blocks(FyGemm *g) {
  enum { LARGEST = 512 * 1024, SMALLEST_SIDE = 32 };
  int64_t work = g->m * g->n * g->k, parts_m = 1, parts_n = 1;
  int64_t wanted = work < 2 * GEMM_GRAIN ? 1 : work < 64 * GEMM_GRAIN ? 2 : work < 128 * GEMM_GRAIN ? 4 : 8;
  for (;;) {
    int64_t rows = g->m / parts_m, columns = g->n / parts_n;
    if ((parts_m * parts_n >= wanted && rows * columns <= LARGEST) ||
        (rows < columns ? columns : rows) < 2 * SMALLEST_SIDE)
      break;
    *(rows >= columns ? &parts_m : &parts_n) *= 2;
  }
  g->block_m = split(g->m, parts_m);
  g->block_n = split(g->n, parts_n);
  g->blocks_n = (g->n + g->block_n - 1) / g->block_n;
  return (g->m + g->block_m - 1) / g->block_m * g->blocks_n;
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
  return run_serial(&g);
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
  if (m == 0 || n == 0)
    return FY_LAUNCH_OK;
  int64_t blocks = cut_into_blocks(&g);
  if (blocks == 1)
    return run_serial(&g);
  fy_parallel_for(blocks, 1, run_blocks, &g);
  return atomic_load(&g.status);
}
