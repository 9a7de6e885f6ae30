// SPDX-License-Identifier: MIT
// The matrix product of one element type. Included by gemm.c.
//
// The plan is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008). op(A) is cut into strips of
// GEMM_MR rows and op(B) into panels of two vectors' width. A tile, one strip times one panel, stays in registers over GEMM_KC
// steps. The panel stays in the first-level cache while the strips of a block pass by, and these stay in the second-level cache.
// Strips and panels are packed, so that the inner loop reads both in order, except for those whose steps are close enough in
// memory as they are. The compiler turns the vector type into the machine's own.
//
// Every element is computed in the same way, wherever its tile is: for each GEMM_KC steps a running sum in order, which is then
// added to C. So it has the same bits for any number of threads, any blocks, and packed or not.
//
// Expects, for each inclusion: T, the type of sums; NAME(x), x with the type in it; HALVES, whether the elements are bfloat16, which is
// widened when it is packed. Its sums are kept beside C until they are complete, then rounded once. No include guard.
#if !defined T || !defined NAME || !defined HALVES
#error "gemm_kernel.h expects T, NAME(x), HALVES"
#endif

#if HALVES
#define S uint16_t
#else
#define S T
#endif

#define VL ((int)(GEMM_VECTOR_BYTES / sizeof(T)))
#define NR (2 * VL)

typedef T NAME(Vec) __attribute__((vector_size(GEMM_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
typedef T NAME(Four) __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef T NAME(Eight) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));

typedef struct NAME(Gemm) {
  int64_t m, n, k;
  T alpha, beta;
  const S *a, *b;
  int64_t a_row, a_col; // op(A) (i, p) is a[i * a_row + p * a_col]
  int64_t b_row, b_col; // op(B) (p, j) is b[p * b_row + j * b_col]
  S *c;
  int64_t ldc;
} NAME(Gemm);

// ---- tiles -----------------------------------------------------------------------------------------------------------------

// C (GEMM_MR, nv vectors) = alpha A (GEMM_MR, k) B (k, nv vectors) + beta C.
INLINE void NAME(micro)(int nv, int64_t k, const T *restrict a, int64_t a_row, int64_t a_col, const T *restrict b,
                        int64_t b_row, T alpha, T beta, T *restrict c, int64_t ldc) {
  NAME(Vec) sum[GEMM_MR][2];
  UNROLL
  for (int i = 0; i < GEMM_MR; i++) {
    __builtin_prefetch(c + i * ldc + nv * VL - 1, 1);
    for (int v = 0; v < nv; v++)
      sum[i][v] = (NAME(Vec)){0};
  }
  for (int64_t p = 0; p < k; p++) {
    NAME(Vec) row[2];
    for (int v = 0; v < nv; v++)
      row[v] = *(const NAME(Vec) *)(b + p * b_row + v * VL);
    UNROLL
    for (int i = 0; i < GEMM_MR; i++)
      for (int v = 0; v < nv; v++)
        sum[i][v] += a[i * a_row + p * a_col] * row[v];
  }
  UNROLL
  for (int i = 0; i < GEMM_MR; i++)
    for (int v = 0; v < nv; v++) {
      NAME(Vec) *to = (NAME(Vec) *)(c + i * ldc + v * VL);
      *to = beta == 0 ? alpha * sum[i][v] : alpha * sum[i][v] + beta * *to;
    }
}

// One strip times one panel, and where they lie.
typedef struct NAME(Tile) {
  int64_t k;
  const T *a;
  int64_t a_row, a_col; // one of them is 1
  const T *b;
  int64_t b_row;
  T alpha, beta;
} NAME(Tile);

// For each way A can lie: packed, row-major, column-major. Constant strides make better addresses.
static void NAME(whole_tile)(int nv, const NAME(Tile) * t, T *c, int64_t ldc) {
  if (nv == 2 && t->a_row == 1 && t->a_col == GEMM_MR && t->b_row == NR)
    NAME(micro)(2, t->k, t->a, 1, GEMM_MR, t->b, NR, t->alpha, t->beta, c, ldc);
  else if (nv == 2 && t->a_col == 1)
    NAME(micro)(2, t->k, t->a, t->a_row, 1, t->b, t->b_row, t->alpha, t->beta, c, ldc);
  else if (nv == 2)
    NAME(micro)(2, t->k, t->a, 1, t->a_col, t->b, t->b_row, t->alpha, t->beta, c, ldc);
  else if (t->a_col == 1)
    NAME(micro)(1, t->k, t->a, t->a_row, 1, t->b, t->b_row, t->alpha, t->beta, c, ldc);
  else
    NAME(micro)(1, t->k, t->a, 1, t->a_col, t->b, t->b_row, t->alpha, t->beta, c, ldc);
}

static void NAME(copy)(T *to, int64_t to_row, const T *from, int64_t from_row, int rows, int columns) {
  for (int i = 0; i < rows; i++)
    memcpy(to + i * to_row, from + i * from_row, (size_t)columns * sizeof(T));
}

// C (rows, columns) at an edge, which is less than a whole tile.
static __attribute__((noinline)) void NAME(edge_tile)(int nv, const NAME(Tile) * t, int rows, int columns, T *c,
                                                      int64_t ldc) {
  _Alignas(64) T whole[GEMM_MR * NR] = {0};
  if (t->beta != 0)
    NAME(copy)(whole, NR, c, ldc, rows, columns);
  NAME(whole_tile)(nv, t, whole, NR);
  NAME(copy)(c, ldc, whole, NR, rows, columns);
}

static void NAME(tile)(const NAME(Tile) * t, int64_t rows, int64_t columns, T *c, int64_t ldc) {
  const int nv = columns > VL ? 2 : 1;
  if (rows >= GEMM_MR && columns >= nv * VL)
    NAME(whole_tile)(nv, t, c, ldc);
  else
    NAME(edge_tile)(nv, t, (int)fy_smaller(rows, GEMM_MR), (int)fy_smaller(columns, NR), c, ldc);
}

// ---- packing ---------------------------------------------------------------------------------------------------------------

// to (4, 4 or 8), whose rows are `width` apart, = the transpose of from: rows 0 to 3, and 4 to 7 beside them.
INLINE void NAME(square)(bool wide, const T *from, int64_t row, T *restrict to, int64_t width) {
  NAME(Eight) x[4], y[4];
  UNROLL
  for (int i = 0; i < 4; i++) {
    const NAME(Four) low = *(const NAME(Four) *)(from + i * row);
    const NAME(Four) high = wide ? *(const NAME(Four) *)(from + (i + 4) * row) : low;
    x[i] = PICK(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  UNROLL
  for (int i = 0; i < 4; i += 2) {
    y[i] = PICK(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    y[i + 1] = PICK(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  UNROLL
  for (int i = 0; i < 2; i++) {
    x[i] = PICK(y[i], y[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    x[i + 2] = PICK(y[i], y[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  UNROLL
  for (int i = 0; i < 4; i++)
    if (wide)
      *(NAME(Eight) *)(to + i * width) = x[i];
    else
      *(NAME(Four) *)(to + i * width) = PICK(x[i], x[i], 0, 1, 2, 3);
}

// to (k, width) = the transpose of from (count, k), whose rows are `row` apart: square by square, a cache line of rows at a time.
static void NAME(pack_rows)(const T *from, int64_t row, int count, int width, int64_t k, T *restrict to) {
  const int64_t line = 64 / (int64_t)sizeof(T), whole = count < 4 ? 0 : k / 4 * 4;
  for (int64_t q = 0; q < whole; q += line)
    for (int i = 0; i < count;) {
      const bool wide = i + 8 <= count;
      const int first = wide || i + 4 <= count ? i : count - 4; // the last square may be over the one before it
      const int64_t end = fy_smaller(whole, q + line);
      if (wide)
        for (int64_t p = q; p < end; p += 4)
          NAME(square)(true, from + first * row + p, row, to + p * width + first, width);
      else
        for (int64_t p = q; p < end; p += 4)
          NAME(square)(false, from + first * row + p, row, to + p * width + first, width);
      i += wide ? 8 : 4;
    }
  for (int64_t p = whole; p < k; p++)
    for (int i = 0; i < count; i++)
      to[p * width + i] = from[i * row + p];
}

#if !HALVES
// to (k, width) = from (k, count), whose rows are `row` apart.
static void NAME(pack_columns)(const T *from, int64_t row, int count, int width, int64_t k, T *restrict to) {
  if (count == NR && width == NR)
    for (int64_t p = 0; p < k; p++)
      memcpy(to + p * NR, from + p * row, NR * sizeof(T));
  else if (count == GEMM_MR && width == GEMM_MR)
    for (int64_t p = 0; p < k; p++)
      memcpy(to + p * GEMM_MR, from + p * row, GEMM_MR * sizeof(T));
  else
    for (int64_t p = 0; p < k; p++)
      memcpy(to + p * width, from + p * row, (size_t)count * sizeof(T));
}
#endif

// Columns [first, first + count) of a matrix (k, ...) as (k, width), filled up with zeros: strips of op(A)'s transpose, panels of op(B).
static void NAME(pack)(const S *from, int64_t step, int64_t across, int64_t k, int64_t first, int count, int width,
                       T *to) {
  if (count < width)
    memset(to, 0, (size_t)(k * width) * sizeof(T));
#if HALVES
  T rows[NR * GEMM_KC];
  for (int64_t p = 0; across == 1 && p < k; p++)
    fy_widen_bfloat16(to + p * width, from + first + p * step, count);
  for (int i = 0; across != 1 && i < count; i++)
    fy_widen_bfloat16(rows + i * k, from + (first + i) * across, k);
  if (across != 1)
    NAME(pack_rows)(rows, k, count, width, k, to);
#else
  if (across == 1)
    NAME(pack_columns)(from + first, step, count, width, k, to);
  else
    NAME(pack_rows)(from + first * across, across, count, width, k, to);
#endif
}

static void NAME(pack_strip)(const NAME(Gemm) * g, int64_t i, int64_t p, int64_t k, T *to) {
  const int rows = g->m - i < GEMM_MR ? (int)(g->m - i) : GEMM_MR;
  NAME(pack)(g->a + p * g->a_col, g->a_col, g->a_row, k, i, rows, GEMM_MR, to);
}

static void NAME(pack_panel)(const NAME(Gemm) * g, int64_t j, int64_t p, int64_t k, T *to) {
  const int columns = g->n - j < NR ? (int)(g->n - j) : NR;
  NAME(pack)(g->b + p * g->b_row, g->b_row, g->b_col, k, j, columns, NR, to);
}

// ---- products ----------------------------------------------------------------------------------------------------------------

// Steps [p, p + k) of a product. The strips from `strip` on are packed, for each GEMM_KC steps one after the other; those before are read
// where they lie, as are the panels before `panel`. The others are packed when a block needs them.
typedef struct NAME(Product) {
  NAME(Gemm) g;
  int64_t p, k, strip, strips, panel;
  T *a, *sums;                   // of each thread, a block of C: only for halves
  int64_t rows, columns, across; // of a block of C, and blocks along n
} NAME(Product);

static int64_t NAME(steps)(const NAME(Product) * x, int64_t q) {
  return fy_smaller(x->k - q, GEMM_KC);
}

static T *NAME(strip_at)(const NAME(Product) * x, int64_t strip, int64_t q) {
  return x->a + ((x->strips - x->strip) * q + (strip - x->strip) * NAME(steps)(x, q)) * GEMM_MR;
}

// A turn is GEMM_STRIPS strips of GEMM_KC steps.
static void NAME(pack_turns)(int worker, FyTurns *turns, void *context) {
  const NAME(Product) *x = context;
  const int64_t parts = fy_div_ceil(x->strips - x->strip, GEMM_STRIPS);
  (void)worker;
  for (int64_t turn; fy_next_turn(turns, &turn);) {
    const int64_t q = turn / parts * GEMM_KC, first = x->strip + turn % parts * GEMM_STRIPS;
    for (int64_t i = first; i < fy_smaller(first + GEMM_STRIPS, x->strips); i++)
      NAME(pack_strip)(&x->g, i * GEMM_MR, x->p + q, NAME(steps)(x, q), NAME(strip_at)(x, i, q));
  }
}

// c = all strips of rows [i0, i1) times the panel at some column, at steps from q on.
static void NAME(multiply_panel)(const NAME(Product) * x, int64_t i0, int64_t i1, int64_t columns, int64_t q,
                                 const T *b, int64_t b_row, T *c, int64_t ldc) {
  const NAME(Gemm) *g = &x->g;
  const int64_t p = x->p + q;
  NAME(Tile)
  t = {.k = NAME(steps)(x, q), .b = b, .b_row = b_row, .alpha = g->alpha, .beta = p == 0 ? g->beta : (T)1};
  for (int64_t i = i0; i < i1; i += GEMM_MR) {
    const bool packed = i / GEMM_MR >= x->strip;
    t.a = packed ? NAME(strip_at)(x, i / GEMM_MR, q) : (const void *)(g->a + i * g->a_row + p * g->a_col);
    t.a_row = packed ? 1 : g->a_row;
    t.a_col = packed ? GEMM_MR : g->a_col;
    NAME(tile)(&t, i1 - i, columns, c + (i - i0) * ldc, ldc);
  }
}

// c is where the block begins. Some panels are packed together, so that whole cache lines, and some in a row, are read of op(B).
static void NAME(multiply_block)(const NAME(Product) * x, int64_t i0, int64_t i1, int64_t j0, int64_t j1, T *c,
                                 int64_t ldc) {
  _Alignas(64) T memory[GEMM_PANELS * GEMM_KC * NR];
  const NAME(Gemm) *g = &x->g;
  for (int64_t q = 0; q < x->k; q += GEMM_KC)
    for (int64_t first = j0; first < j1; first += GEMM_PANELS * NR) {
      const int64_t last = fy_smaller(first + GEMM_PANELS * NR, j1), k = NAME(steps)(x, q), p = x->p + q;
      for (int64_t j = first; j < last; j += NR)
        if (j / NR >= x->panel)
          NAME(pack_panel)(g, j, p, k, memory + (j - first) * k);
      for (int64_t j = first; j < last; j += NR)
        if (j / NR >= x->panel)
          NAME(multiply_panel)(x, i0, i1, last - j, q, memory + (j - first) * k, NR, c + j - j0, ldc);
        else
          NAME(multiply_panel)
      (x, i0, i1, last - j, q, (const void *)(g->b + p * g->b_row + j), g->b_row, c + j - j0, ldc);
    }
}

static void NAME(multiply_turns)(int worker, FyTurns *turns, void *context) {
  const NAME(Product) *x = context;
  const NAME(Gemm) *g = &x->g;
  for (int64_t turn; fy_next_turn(turns, &turn);) {
    const int64_t i = turn / x->across * x->rows, j = turn % x->across * x->columns;
    const int64_t rows = fy_smaller(x->rows, g->m - i), columns = fy_smaller(x->columns, g->n - j);
    S *c = g->c + i * g->ldc + j;
#if HALVES
    T *sums = x->sums + worker * x->rows * x->columns;
    for (int64_t r = 0; g->beta != 0 && r < rows; r++)
      fy_widen_bfloat16(sums + r * columns, c + r * g->ldc, columns);
    NAME(multiply_block)(x, i, i + rows, j, j + columns, sums, columns);
    for (int64_t r = 0; r < rows; r++)
      fy_narrow_floats(c + r * g->ldc, sums + r * columns, columns);
#else
    (void)worker;
    NAME(multiply_block)(x, i, i + rows, j, j + columns, c, g->ldc);
#endif
  }
}

// `most` steps at a time, for which there is memory.
static void NAME(multiply)(NAME(Product) * x, int64_t most, T *memory, bool serial) {
  const NAME(Gemm) *g = &x->g;
  const int64_t parts = fy_div_ceil(x->strips - x->strip, GEMM_STRIPS);
  x->across = fy_div_ceil(g->n, x->columns);
  x->a = memory;
  for (x->p = 0; x->p < g->k; x->p += most) {
    x->k = fy_smaller(most, g->k - x->p);
    if (parts > 0)
      run_turns(serial, parts * fy_div_ceil(x->k, GEMM_KC), NAME(pack_turns), x);
    run_turns(serial, fy_div_ceil(g->m, x->rows) * x->across, NAME(multiply_turns), x);
  }
}

static void NAME(multiply_on_stack)(NAME(Product) * x, bool serial) {
  _Alignas(64) T memory[GEMM_STACK_BYTES / sizeof(T)];
  NAME(multiply)(x, x->g.k, memory, serial);
}

// False for want of memory. Halves are packed at once, since sums between steps would have to be kept.
static bool NAME(product)(const NAME(Gemm) * g, bool serial) {
  const int64_t near = HALVES ? 0 : GEMM_NEAR / (int64_t)sizeof(T);
  NAME(Product) x = {.g = *g, .strips = fy_div_ceil(g->m, GEMM_MR)};
  choose_blocks(g->m, g->n, g->k, (int)sizeof(T), serial, &x.rows, &x.columns);
  if (g->a_row <= near && g->a_col <= near)
    x.strip = g->m / GEMM_MR;
  if (g->b_col == 1 && g->b_row <= near)
    x.panel = g->n / NR;
  const int64_t step = (x.strips - x.strip) * GEMM_MR * (int64_t)sizeof(T);
  const int64_t sums = HALVES ? (serial ? 1 : fy_get_num_threads()) * x.rows * x.columns * (int64_t)sizeof(T) : 0;
  if (!HALVES && step * g->k <= GEMM_STACK_BYTES) {
    NAME(multiply_on_stack)(&x, serial);
    return true;
  }
  const int64_t steps = fy_smaller(fy_div_ceil(GEMM_PACKED_BYTES, step * GEMM_KC) * GEMM_KC, g->k);
  const int64_t most = HALVES ? g->k : steps;
  void *block = NULL, *memory = NULL;
  if (!fy_host_try_alloc((size_t)(step * most + sums), &memory, &block))
    return false;
  x.sums = (T *)memory + step / (int64_t)sizeof(T) * most;
  NAME(multiply)(&x, most, memory, serial);
  fy_host_free(block);
  return true;
}

#if !HALVES
// ---- vectors -----------------------------------------------------------------------------------------------------------------

// The sum of x[i] * y[i], in several running sums.
static T NAME(dot)(int64_t n, const T *x, const T *y) {
  enum { RUNS = 4 };
  NAME(Vec) sum[RUNS];
  for (int r = 0; r < RUNS; r++)
    sum[r] = (NAME(Vec)){0};
  int64_t i = 0;
  for (; i + RUNS * VL <= n; i += RUNS * VL)
    for (int r = 0; r < RUNS; r++)
      sum[r] += *(const NAME(Vec) *)(x + i + r * VL) * *(const NAME(Vec) *)(y + i + r * VL);
  sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  T total = 0;
  for (int l = 0; l < VL; l++)
    total += sum[0][l];
  for (; i < n; i++)
    total += x[i] * y[i];
  return total;
}

static void NAME(store_vector)(const NAME(Gemm) * g, int64_t i, T sum) {
  T *c = g->c + i * g->ldc;
  *c = (T)(g->beta == 0 ? g->alpha * sum : g->alpha * sum + g->beta * *c);
}

// A product with a vector (n is 1) whose rows of A and whose b are contiguous.
static void NAME(gemv_by_rows)(const NAME(Gemm) * g) {
  for (int64_t i = 0; i < g->m; i++)
    NAME(store_vector)(g, i, NAME(dot)(g->k, g->a + i * g->a_row, g->b));
}

// The same for a column-major A: scaled columns are summed up, a chunk of rows at a time.
static void NAME(gemv_by_columns)(const NAME(Gemm) * g) {
  enum { CHUNK = 1024 };
  T sum[CHUNK];
  for (int64_t i0 = 0; i0 < g->m; i0 += CHUNK) {
    int64_t n = g->m - i0 < CHUNK ? g->m - i0 : CHUNK;
    memset(sum, 0, (size_t)n * sizeof(T));
    for (int64_t p = 0; p < g->k; p++) {
      const T *a = g->a + p * g->a_col + i0;
      T x = g->b[p * g->b_row];
      for (int64_t i = 0; i < n; i++)
        sum[i] += (T)(x * a[i]);
    }
    for (int64_t i = 0; i < n; i++)
      NAME(store_vector)(g, i0 + i, sum[i]);
  }
}

// n is 1. False when A and b lie in neither way.
static bool NAME(gemv)(const NAME(Gemm) * g) {
  if (g->a_col == 1 && (g->b_row == 1 || g->k == 1))
    NAME(gemv_by_rows)(g);
  else if (g->a_row == 1)
    NAME(gemv_by_columns)(g);
  else
    return false;
  return true;
}

// One column, or one row: C (1, n) = a op(B) is the product of op(B)^T with a^T.
static bool NAME(vector_product)(const NAME(Gemm) * g) {
  if (g->n == 1)
    return NAME(gemv)(g);
  if (g->m != 1)
    return false;
  NAME(Gemm) v = *g;
  v.m = g->n;
  v.n = 1;
  v.a = g->b;
  v.a_row = g->b_col;
  v.a_col = g->b_row;
  v.b = g->a;
  v.b_row = g->a_col;
  v.ldc = 1;
  return NAME(gemv)(&v);
}

static void NAME(scale)(const NAME(Gemm) * g) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++)
      g->c[i * g->ldc + j] = g->beta == 0 ? 0 : (T)(g->beta * g->c[i * g->ldc + j]);
}

#endif

static T NAME(number)(double x) { // a negative one wraps where T is unsigned
  return x < 0 ? (T) - (T)-x : (T)x;
}

static NAME(Gemm) NAME(of)(const FyGemm *args) {
  return (NAME(Gemm)){.m = args->m,
                      .n = args->n,
                      .k = args->k,
                      .alpha = NAME(number)(args->alpha),
                      .beta = NAME(number)(args->beta),
                      .a = args->a,
                      .b = args->b,
                      .a_row = args->trans_a ? 1 : args->lda,
                      .a_col = args->trans_a ? args->lda : 1,
                      .b_row = args->trans_b ? 1 : args->ldb,
                      .b_col = args->trans_b ? args->ldb : 1,
                      .c = args->c,
                      .ldc = args->ldc};
}

// False for want of memory.
static bool NAME(gemm)(const FyGemm *args, bool serial) {
  const NAME(Gemm) g = NAME(of)(args);
#if HALVES
  return NAME(product)(&g, serial);
#else
  if (g.k == 0)
    NAME(scale)(&g);
  return g.k == 0 || NAME(vector_product)(&g) || NAME(product)(&g, serial);
#endif
}

#undef HALVES
#undef S
#undef NR
#undef VL
#undef T
#undef NAME
