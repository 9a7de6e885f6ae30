// SPDX-License-Identifier: MIT
// The inner loops of sum and mean for one floating type: included by reduce_cpu.c with T (float or double) and NAME(x) defined. No
// include guard.
//
// A float has 24 bits: added one after the other, many small terms would leave a large sum as it is. So a few terms at a time are
// added in T, in many lanes side by side, which are vectors; and these partial sums in double.

// *sum += x[0] + x[stride] + ... of n terms.
static void NAME(row)(Sum *sum, const void *data, int64_t n, int64_t stride) {
  const T *x = data;
  double total = 0;
  if (stride == 1)
    total = NAME(sum_of)(x, NULL, n); // reduce_cpu.h
  else
    for (int64_t i = 0; i < n; i++)
      total += (double)x[i * stride];
  sum->f += total;
}

// The same for two outputs, whose terms are those of x and of y, side by side and at most a block.
static void NAME(two_rows)(Sum *sum, const void *x, Sum *other, const void *y, int64_t n) {
  double of_x, of_y;
  NAME(pair_of)((const T *)x, (const T *)y, n, &of_x, &of_y);
  sum->f += of_x;
  other->f += of_y;
}

// part[j] += the sum over `rows` rows of x[row * row_stride + j], for j < n: four rows are added to each other first, so that
// `part` is loaded and stored once for four of them.
static void NAME(add_rows)(T *restrict part, const T *x, int64_t n, int64_t rows, int64_t row_stride) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * row_stride) {
    const T *restrict a = x, *restrict b = x + row_stride, *restrict c = b + row_stride, *restrict d = c + row_stride;
    for (int64_t j = 0; j < n; j++)
      part[j] += (a[j] + b[j]) + (c[j] + d[j]);
  }
  for (; r < rows; r++, x += row_stride)
    for (int64_t j = 0; j < n; j++)
      part[j] += x[j];
}

// sum[j] += the sum over the rows of x[row * row_stride + j * stride], for j < n <= TILE.
static void NAME(columns)(Sum *sum, const void *data, int64_t n, int64_t stride, int64_t rows, int64_t row_stride) {
  const T *x = data;
  T part[TILE];
  if (stride != 1) {
    for (int64_t r = 0; r < rows; r++)
      for (int64_t j = 0; j < n; j++)
        sum[j].f += (double)x[r * row_stride + j * stride];
    return;
  }
  for (int64_t r = 0; r < rows; r += BLOCK_ROWS) {
    memset(part, 0, (size_t)n * sizeof(T));
    NAME(add_rows)(part, x + r * row_stride, n, rows - r < BLOCK_ROWS ? rows - r : BLOCK_ROWS, row_stride);
    for (int64_t j = 0; j < n; j++)
      sum[j].f += (double)part[j];
  }
}

#undef T
#undef NAME
