// SPDX-License-Identifier: MIT
// The reference solutions of five kernel exercises, called with inputs whose results are known: for processors on which the grader
// itself does not run. Results are printed as TAP.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n);
extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns);
extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n);
extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k);
extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins);

enum { N = 5000, ROWS = 70, COLUMNS = 45, M = 33, INNER = 50, BINS = 100, MOST_PARTIAL = 1024 };

static int results, failures;

static void result(const char *name, int wrong) {
  printf("%sok %d - %s", wrong ? "not " : "", ++results, name);
  printf(wrong ? " - %d elements are wrong\n" : "\n", wrong);
  failures += wrong != 0;
}

static void *on_device(const void *from, size_t bytes) {
  void *d;
  if (cudaMalloc(&d, bytes) != cudaSuccess || cudaMemcpy(d, from, bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
    printf("not ok - %zu bytes of device memory: %s\n", bytes, cudaGetErrorString(cudaGetLastError()));
    exit(1);
  }
  return d;
}

static void to_host(void *to, void *device, size_t bytes) {
  cudaMemcpy(to, device, bytes, cudaMemcpyDeviceToHost);
  cudaFree(device);
}

static float x[N], y[N]; // small whole numbers, so that sums and products are exact
static int whole[N];
static unsigned int counts[BINS];

static void fill(void) {
  for (int i = 0; i < N; i++) {
    whole[i] = i * 37 % 113 - 5;
    x[i] = (float)(i * 31 % 11);
    y[i] = (float)(i * 17 % 7);
  }
}

static void check_saxpy(void) {
  int wrong = 0;
  fill();
  float *dx = (float *)on_device(x, sizeof x), *dy = (float *)on_device(y, sizeof y);
  saxpy_on_device(dy, dx, 3.0f, N);
  to_host(y, dy, sizeof y);
  cudaFree(dx);
  for (int i = 0; i < N; i++)
    wrong += y[i] != 3.0f * x[i] + (float)(i * 17 % 7);
  result("20_1_saxpy", wrong);
}

static void check_transpose(void) {
  int wrong = 0;
  fill();
  float *in = (float *)on_device(x, sizeof x), *out = (float *)on_device(y, sizeof y);
  transpose_on_device(out, in, ROWS, COLUMNS);
  to_host(y, out, sizeof y);
  cudaFree(in);
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++)
      wrong += y[c * ROWS + r] != x[r * COLUMNS + c];
  result("23_1_shared_transpose", wrong);
}

static void check_sum(void) {
  float sum = -1, expected = 0;
  fill();
  float *dx = (float *)on_device(x, sizeof x), *partial = (float *)on_device(y, sizeof y),
        *ds = (float *)on_device(&sum, sizeof sum);
  static_assert(N >= MOST_PARTIAL, "there is room for the blocks' sums");
  sum_on_device(ds, dx, partial, N);
  to_host(&sum, ds, sizeof sum);
  cudaFree(dx);
  cudaFree(partial);
  for (int i = 0; i < N; i++)
    expected += x[i];
  result("24_1_sum_reduction", sum != expected);
}

static void check_matmul(void) {
  int wrong = 0;
  static float product[M * COLUMNS];
  fill();
  float *a = (float *)on_device(x, sizeof x), *b = (float *)on_device(y, sizeof y),
        *c = (float *)on_device(product, sizeof product);
  matmul_on_device(c, a, b, M, COLUMNS, INNER);
  to_host(product, c, sizeof product);
  cudaFree(a);
  cudaFree(b);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < COLUMNS; j++) {
      float sum = 0;
      for (int k = 0; k < INNER; k++)
        sum += x[i * INNER + k] * y[k * COLUMNS + j];
      wrong += product[i * COLUMNS + j] != sum;
    }
  result("27_1_tiled_matmul", wrong);
}

static void check_histogram(void) {
  int wrong = 0;
  fill();
  int *values = (int *)on_device(whole, sizeof whole);
  unsigned int *bins = (unsigned int *)on_device(counts, sizeof counts);
  histogram_on_device(bins, values, N, BINS);
  to_host(counts, bins, sizeof counts);
  cudaFree(values);
  for (int bin = 0; bin < BINS; bin++) {
    unsigned int expected = 0;
    for (int i = 0; i < N; i++)
      expected += whole[i] == bin;
    wrong += counts[bin] != expected;
  }
  result("26_1_histogram", wrong);
}

int main(void) {
  check_saxpy();
  check_transpose();
  check_sum();
  check_matmul();
  check_histogram();
  printf("1..%d\n", results);
  return failures > 0;
}
