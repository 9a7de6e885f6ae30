// What lessons 24 and 25 share: an array, the expected sum of it, and a table of kernels that compute sums. No lesson is in here.
#ifndef CHAPTERS_SUMS_CUH
#define CHAPTERS_SUMS_CUH

#include "kernels.h"

static float *x, *sums, *sum; // on the device: the array, one sum per block, the total
static float *x_host;         // a copy of x
static double expected;       // the sum of x

// Allocates the arrays: n elements, and a sum for each of up to `blocks` blocks. The elements are small integers, which floats add
// without rounding, in any order.
static void arrays_begin(int n, int blocks) {
  const size_t bytes = n * sizeof(float);
  CHECK(cudaMalloc(&x, bytes));
  CHECK(cudaMalloc(&sums, blocks * sizeof(float)));
  CHECK(cudaMalloc(&sum, sizeof(float)));
  x_host = (float *)malloc(bytes);
  expected = 0;
  for (int i = 0; i < n; i++)
    expected += x_host[i] = (float)(i * 7 % 11 % 4);
  CHECK(cudaMemcpy(x, x_host, bytes, cudaMemcpyHostToDevice));
}

static void arrays_end(void) {
  CHECK(cudaFree(x));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(sum));
  free(x_host);
}

static void clear(void) {
  CHECK(cudaMemset(sum, 0, sizeof(float)));
}

static float fetched(const float *number) {
  float value;
  CHECK(cudaMemcpy(&value, number, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

static const char *truth(bool value) {
  return value ? "True" : "False";
}

// The total of the blocks' sums.
static double added_up(int blocks) {
  double all = 0;
  float *of_blocks = (float *)malloc(blocks * sizeof(float));
  CHECK(cudaMemcpy(of_blocks, sums, blocks * sizeof(float), cudaMemcpyDeviceToHost));
  for (int b = 0; b < blocks; b++)
    all += of_blocks[b];
  free(of_blocks);
  return all;
}

static const Table table = {5, {11, 7, 8, 20, 10}};

static void titles(void) {
  table_row(&table, "kernel", "blocks", "correct", "time", "rate");
}

// A line about a kernel that took `ms`. It left one sum per block in `sums` or (`finished`) the total in `sum`.
static void row(const char *kernel, int blocks, bool finished, int n, float ms) {
  const double all = finished ? fetched(sum) : added_up(blocks);
  table_row(&table, kernel, text("%d", blocks), truth(all == expected), time_text(ms),
            rate_text((double)n * sizeof(float), ms));
}

#endif
