// SPDX-License-Identifier: MIT
// The matrix product of one element type. Included by gemm.c.
//
// The plan is the usual one: a strip of GEMM_MR rows of A meets a panel of one or two vectors' width of B, and the
// products stay in registers over GEMM_KC steps. The compiler turns the vector type into the machine's own.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined NAME
#error "gemm_kernel.h expects T, NAME(x)"
#endif

#define VL ((int)(GEMM_VECTOR_BYTES / sizeof(T)))

typedef T NAME(Vec) __attribute__((vector_size(GEMM_VECTOR_BYTES), aligned(sizeof(T)), may_alias));

typedef struct NAME(Gemm) {
  int64_t m, n, k;
  T alpha, beta;
  const T *a, *b;
  int64_t a_row, a_col; // op(A) (i, p) is a[i * a_row + p * a_col]
  int64_t b_row, b_col; // op(B) (p, j) is b[p * b_row + j * b_col]
  T *c;
  int64_t ldc;
} NAME(Gemm);

// tile (GEMM_MR, nv vectors) = A strip (GEMM_MR, k) times B panel (k, nv vectors).
static inline __attribute__((always_inline)) void NAME(micro)(int nv, int64_t k, const T *a, int64_t a_row,
                                                              int64_t a_col, const T *b, int64_t b_row, T *tile) {
  NAME(Vec) sum[GEMM_MR][2];
  for (int i = 0; i < GEMM_MR; i++)
    for (int v = 0; v < nv; v++)
      sum[i][v] = (NAME(Vec)){0};
  for (int64_t p = 0; p < k; p++) {
    NAME(Vec) row[2];
    for (int v = 0; v < nv; v++)
      row[v] = *(const NAME(Vec) *)(b + p * b_row + v * VL);
    for (int i = 0; i < GEMM_MR; i++)
      for (int v = 0; v < nv; v++)
        sum[i][v] += a[i * a_row + p * a_col] * row[v];
  }
  for (int i = 0; i < GEMM_MR; i++)
    for (int v = 0; v < nv; v++)
      *(NAME(Vec) *)(tile + (i * nv + v) * VL) = sum[i][v];
}

// The kernel for each way A can lie: a packed strip, row-major, column-major. Constant strides make better addresses.
static void NAME(strip)(int nv, int64_t k, const T *a, int64_t a_row, int64_t a_col, const T *b, int64_t b_row,
                        T *tile) {
  if (nv == 2 && a_row == 1)
    NAME(micro)(2, k, a, 1, a_col, b, b_row, tile);
  else if (nv == 2)
    NAME(micro)(2, k, a, a_row, 1, b, b_row, tile);
  else if (a_row == 1)
    NAME(micro)(1, k, a, 1, a_col, b, b_row, tile);
  else
    NAME(micro)(1, k, a, a_row, 1, b, b_row, tile);
}

// C (rows, columns) = alpha tile + beta C, the tile's rows being `width` apart.
static void NAME(store)(const T *restrict tile, int width, int rows, int columns, T alpha, T beta, T *restrict c,
                        int64_t ldc) {
  for (int i = 0; i < rows; i++, tile += width, c += ldc) {
    if (beta == 0)
      for (int j = 0; j < columns; j++)
        c[j] = (T)(alpha * tile[j]);
    else
      for (int j = 0; j < columns; j++)
        c[j] = (T)(alpha * tile[j] + beta * c[j]);
  }
}

// Rows i0.. of op(A) as strips (k, GEMM_MR), the last one filled up with zeros.
static void NAME(pack_a)(const NAME(Gemm) * g, int64_t i0, int rows, int64_t p0, int64_t k, T *restrict to) {
  for (int s = 0; s < rows; s += GEMM_MR, to += k * GEMM_MR) {
    const T *from = g->a + (i0 + s) * g->a_row + p0 * g->a_col;
    int filled = rows - s < GEMM_MR ? rows - s : GEMM_MR;
    if (filled < GEMM_MR)
      memset(to, 0, (size_t)k * GEMM_MR * sizeof(T));
    if (g->a_row == 1)
      for (int64_t p = 0; p < k; p++)
        memcpy(to + p * GEMM_MR, from + p * g->a_col, (size_t)filled * sizeof(T));
    else
      for (int i = 0; i < filled; i++)
        for (int64_t p = 0; p < k; p++)
          to[p * GEMM_MR + i] = from[i * g->a_row + p];
  }
}

// Columns j0.. of op(B) as a panel (k, width), filled up with zeros.
static void NAME(pack_b)(const NAME(Gemm) * g, int64_t j0, int columns, int width, int64_t p0, int64_t k,
                         T *restrict to) {
  const T *from = g->b + p0 * g->b_row + j0 * g->b_col;
  if (columns < width)
    memset(to, 0, (size_t)(k * width) * sizeof(T));
  if (g->b_col == 1)
    for (int64_t p = 0; p < k; p++)
      memcpy(to + p * width, from + p * g->b_row, (size_t)columns * sizeof(T));
  else
    for (int64_t p = 0; p < k; p++)
      for (int j = 0; j < columns; j++)
        to[p * width + j] = from[p + j * g->b_col];
}

// All strips of rows i0..i0 + rows against one panel. `packed` is A's strips, or NULL to read A where it lies.
static void NAME(panel)(const NAME(Gemm) * g, int64_t i0, int rows, int64_t j0, int columns, int nv, int64_t p0,
                        int64_t k, const T *packed, const T *b, int64_t b_row) {
  _Alignas(64) T tile[GEMM_MR * 2 * VL];
  _Alignas(64) T edge[GEMM_MR * GEMM_KC];
  T beta = p0 == 0 ? g->beta : (T)1;
  for (int s = 0; s < rows; s += GEMM_MR) {
    int filled = rows - s < GEMM_MR ? rows - s : GEMM_MR;
    const T *strip = packed ? packed + s * k : edge;
    if (!packed && filled < GEMM_MR)
      NAME(pack_a)(g, i0 + s, filled, p0, k, edge);
    if (packed || filled < GEMM_MR)
      NAME(strip)(nv, k, strip, 1, GEMM_MR, b, b_row, tile);
    else
      NAME(strip)(nv, k, g->a + (i0 + s) * g->a_row + p0 * g->a_col, g->a_row, g->a_col, b, b_row, tile);
    NAME(store)(tile, nv * VL, filled, columns, g->alpha, beta, g->c + (i0 + s) * g->ldc + j0, g->ldc);
  }
}

// The block of C at (i0, j0). A is packed where enough panels read it, B where it is not laid out as a panel already.
static void NAME(block)(const NAME(Gemm) * g, int64_t i0, int rows, int64_t j0, int64_t columns) {
  _Alignas(64) T packed_a[GEMM_MC * GEMM_KC];
  _Alignas(64) T packed_b[GEMM_KC * 2 * VL];
  bool pack = columns > 8 * VL;
  for (int64_t p = 0; p < g->k; p += GEMM_KC) {
    int64_t k = g->k - p < GEMM_KC ? g->k - p : GEMM_KC;
    if (pack)
      NAME(pack_a)(g, i0, rows, p, k, packed_a);
    for (int64_t j = 0; j < columns;) {
      int nv = columns - j > VL ? 2 : 1;
      int width = columns - j < nv * VL ? (int)(columns - j) : nv * VL;
      bool direct = g->b_col == 1 && width == nv * VL && rows <= 2 * GEMM_MR;
      if (!direct)
        NAME(pack_b)(g, j0 + j, width, nv * VL, p, k, packed_b);
      NAME(panel)
      (g, i0, rows, j0 + j, width, nv, p, k, pack ? packed_a : NULL, direct ? g->b + p * g->b_row + j0 + j : packed_b,
       direct ? g->b_row : nv * VL);
      j += width;
    }
  }
}

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

static void NAME(gemm)(const FyGemm *args) {
  NAME(Gemm)
  g = {.m = args->m,
       .n = args->n,
       .k = args->k,
       .alpha = (T)args->alpha,
       .beta = (T)args->beta,
       .a = args->a,
       .b = args->b,
       .c = args->c,
       .ldc = args->ldc};
  g.a_row = args->trans_a ? 1 : args->lda;
  g.a_col = args->trans_a ? args->lda : 1;
  g.b_row = args->trans_b ? 1 : args->ldb;
  g.b_col = args->trans_b ? args->ldb : 1;
  if (g.k == 0)
    NAME(scale)(&g);
  else if (!NAME(vector_product)(&g))
    for (int64_t i = 0; i < g.m; i += GEMM_MC)
      for (int64_t j = 0; j < g.n; j += GEMM_NC)
        NAME(block)(&g, i, (int)(g.m - i < GEMM_MC ? g.m - i : GEMM_MC), j, g.n - j < GEMM_NC ? g.n - j : GEMM_NC);
}

#undef VL
#undef T
#undef NAME
