// SPDX-License-Identifier: MIT
// Runs and times the kernels through CUDA's runtime API, or HIP's by the macros that hip.cpp defines.
#ifndef SIMULATOR_CUH
#define SIMULATOR_CUH

#include "bench.h"
#include "kernels.cuh"

static void check(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
  }
}

static void finish(void) {
  check(cudaDeviceSynchronize(), "a kernel");
}

static void *device(size_t bytes, const void *from) {
  void *pointer = NULL;
  check(cudaMalloc(&pointer, bytes), "memory");
  check(from ? cudaMemcpy(pointer, from, bytes, cudaMemcpyHostToDevice) : cudaMemset(pointer, 0, bytes), "a copy");
  return pointer;
}

/* The smallest of RUNS times of one launch until it is done. */
#define TIMED(best, ...)                                                                                               \
  do {                                                                                                                 \
    best = 1e30;                                                                                                       \
    for (int run = 0; run < RUNS; run++) {                                                                             \
      const double begin = now_ms();                                                                                   \
      __VA_ARGS__;                                                                                                     \
      finish();                                                                                                        \
      const double took = now_ms() - begin;                                                                            \
      best = took < best ? took : best;                                                                                \
    }                                                                                                                  \
  } while (0)

static float *floats;
static unsigned int *values;
static float *result;

static void fetch(const void *from, size_t bytes) {
  check(cudaMemcpy(result, from, bytes, cudaMemcpyDeviceToHost), "a copy");
}

static void time_plain(const char *program, const float *x, float *y) {
  double best;
  const dim3 square(SIDE / 32, SIDE / 8), threads(32, 8);
  TIMED(best, LAUNCH(saxpy, COUNT / BLOCK, BLOCK, COUNT, 2.0f, x, y));
  fetch(y, COUNT * sizeof *y);
  report(program, "saxpy", best, saxpy_is_right(result, floats, COUNT, RUNS));
  TIMED(best, LAUNCH(stencil, square, threads, SIDE, x, y));
  fetch(y, COUNT * sizeof *y);
  report(program, "stencil", best, stencil_is_right(result, floats, SIDE));
}

static void time_barriers(const char *program, const float *x, float *y) {
  double best;
  TIMED(best, LAUNCH(matmul, dim3(MATRIX / TILE, MATRIX / TILE), dim3(TILE, TILE), MATRIX, x, x + MATRIX * MATRIX, y));
  fetch(y, MATRIX * MATRIX * sizeof *y);
  report(program, "matmul", best, product_is_right(result, floats, floats + MATRIX * MATRIX, MATRIX));
  TIMED(best, LAUNCH(transpose, dim3(SIDE / EDGE, SIDE / EDGE), dim3(EDGE, ROWS), SIDE, x, y));
  fetch(y, COUNT * sizeof *y);
  report(program, "transpose", best, transpose_is_right(result, floats, SIDE));
  TIMED(best, LAUNCH(reduce_barriers, COUNT / BLOCK, BLOCK, COUNT, x, y));
  fetch(y, COUNT / BLOCK * sizeof *y);
  report(program, "reduce_barriers", best, sum_is_right(result, COUNT / BLOCK, floats, COUNT));
  TIMED(best, LAUNCH(reduce_shuffles, COUNT / BLOCK, BLOCK, COUNT, x, y));
  fetch(y, COUNT / BLOCK * sizeof *y);
  report(program, "reduce_shuffles", best, sum_is_right(result, COUNT / BLOCK, floats, COUNT));
}

static void time_histogram(const char *program) {
  double best;
  const unsigned int *v = (const unsigned int *)device(COUNT * sizeof *v, values);
  unsigned int *counts = (unsigned int *)device(BINS * sizeof *counts, NULL);
  TIMED(best, LAUNCH(histogram, HISTOGRAM_BLOCKS, BLOCK, COUNT, v, counts));
  fetch(counts, BINS * sizeof *counts);
  report(program, "histogram", best, counts_are_right((unsigned int *)result, values, COUNT, RUNS));
}

/* Queued one after another, and one at a time with the host waiting: microseconds each, reported as such. */
static void time_launches(const char *program) {
  double queued, alone;
  TIMED(queued, for (int i = 0; i < LAUNCHES; i++) LAUNCH(nothing, 1, 32, i));
  TIMED(
      alone, for (int i = 0; i < LAUNCHES; i++) {
        LAUNCH(nothing, 1, 32, i);
        finish();
      });
  report(program, "launch_us", 1e3 * queued / LAUNCHES, 1);
  report(program, "launch_and_wait_us", 1e3 * alone / LAUNCHES, 1);
}

static int run_all(const char *program) {
  floats = (float *)malloc(COUNT * sizeof *floats);
  values = (unsigned int *)malloc(COUNT * sizeof *values);
  result = (float *)malloc(COUNT * sizeof *result);
  fill_floats(floats, COUNT);
  fill_values(values, COUNT);
  const float *x = (const float *)device(COUNT * sizeof *x, floats);
  float *y = (float *)device(COUNT * sizeof *y, NULL);
  time_plain(program, x, y);
  time_barriers(program, x, y);
  time_histogram(program);
  time_launches(program);
  return 0;
}

#endif
