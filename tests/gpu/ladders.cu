// SPDX-License-Identifier: MIT
// Kernels whose memory accesses are known by heart, in ladders from bad to good: strides, banks, transposes, sums, matrix
// products, histograms, arithmetic. The GPU check counts them with ncu beside the inspector's counts, and times them beside the
// model's prediction. Each kernel is launched once, in the order of the table below, and its result is checked on the host.
//
// ladders [--small] [--times] [--only PREFIX]: `--small` is for counting every block, `--times` launches each kernel again and again
// and prints a line "NAME <tab> elements <tab> median us <tab> minimum us" instead of "ok NAME".
#include "ladders.cuh"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 15 };

// ---- the data ----------------------------------------------------------------------------------------------------------------------

static void check(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    fprintf(stderr, "ladders: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
  }
}

// n elements, and an n_product x n_product matrix; inputs repeat the values of a small generator.
static struct {
  int n, edge, product;
  float *host, *host_out, *in, *other, *out;
  int *host_values, *values, *counts;
} d;

static void *device_copy(const void *host, size_t bytes) {
  void *pointer = NULL;
  check(cudaMalloc(&pointer, bytes), "cudaMalloc");
  check(host ? cudaMemcpy(pointer, host, bytes, cudaMemcpyHostToDevice) : cudaMemset(pointer, 0, bytes),
        "filling memory");
  return pointer;
}

static void make_data(bool small) {
  d.n = small ? 1 << 16 : 1 << 24;
  d.edge = small ? 256 : 4096; // edge * edge = n
  d.product = small ? 128 : 1024;
  size_t bytes = (size_t)d.n * sizeof(float);
  d.host = (float *)malloc(bytes);
  d.host_out = (float *)malloc(bytes);
  d.host_values = (int *)malloc(bytes);
  if (!d.host || !d.host_out || !d.host_values) {
    fprintf(stderr, "ladders: out of memory\n");
    exit(1);
  }
  unsigned state = 1;
  for (int i = 0; i < d.n; i++) {
    state = state * 1664525u + 1013904223u;
    d.host_values[i] = (int)(state >> 24);
    d.host[i] = (float)(int)(state >> 24) - 128; // sums of up to 2^16 of them are exact
  }
  d.in = (float *)device_copy(d.host, bytes);
  d.other = (float *)device_copy(d.host, bytes);
  d.out = (float *)device_copy(NULL, bytes);
  d.values = (int *)device_copy(d.host_values, bytes);
  d.counts = (int *)device_copy(NULL, BINS * sizeof(int));
}

static void free_data() {
  void *const memory[] = {d.in, d.other, d.out, d.values, d.counts};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    check(cudaFree(memory[i]), "cudaFree");
  free(d.host);
  free(d.host_out);
  free(d.host_values);
}

// ---- what each kernel has to give: element i of the output ---------------------------------------------------------------------------

static double at(int i) {
  return d.host[i];
}
template <int STRIDE> static double want_stride(int i) {
  return at((int)((unsigned)i * STRIDE & (unsigned)(d.n - 1)));
}
static double want_offset(int i) {
  return at(i + 1 < d.n ? i + 1 : 0);
}
static double want_bank(int i) {
  double sum = 0;
  for (int lane = 0; lane < 32; lane++)
    sum += at(i / BLOCK * BLOCK + lane);
  return sum * TURNS / 32;
}
static double want_transposed(int i) {
  return at(i % d.edge * d.edge + i / d.edge);
}
static double want_sum(int i) {
  double sum = 0;
  for (int k = 0; k < BLOCK; k++)
    sum += at(i * BLOCK + k);
  return sum;
}
static double want_product(int i) {
  double sum = 0;
  for (int k = 0; k < d.product; k++)
    sum += at(i / d.product * d.product + k) * at(k * d.product + i % d.product);
  return sum;
}
static double want_fma(int i) {
  double y = at(i);
  for (int turn = 0; turn < TURNS; turn++)
    y = y * 0.5 + at(i);
  return y;
}
static double want_special(int i) {
  double x = at(i) + 2, y = x;
  for (int turn = 0; turn < TURNS; turn++)
    y = 1 / sqrt(y) + x;
  return y;
}
static double want_integer(int i) {
  int x = d.host_values[i], y = x;
  for (int turn = 0; turn < TURNS; turn++)
    y = (int)((unsigned)y * 5u + (unsigned)x);
  return y;
}
static double want_count(int bin) {
  double count = 0;
  for (int i = 0; i < d.n; i++)
    count += d.host_values[i] == bin;
  return count;
}

// ---- the table -----------------------------------------------------------------------------------------------------------------------

static dim3 square(int edge) {
  return dim3((unsigned)(d.edge / edge), (unsigned)(d.edge / edge));
}
static dim3 tiles(int edge) {
  return dim3((unsigned)(d.product / edge), (unsigned)(d.product / edge));
}
// clang-format off
static void run_stride_1() { stride<1><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_stride_2() { stride<2><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_stride_4() { stride<4><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_stride_8() { stride<8><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_stride_32() { stride<32><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_offset_by_1() { offset_by_1<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_copy_float4() { copy_float4<<<d.n / 4 / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_bank_1() { bank<1><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_bank_2() { bank<2><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_bank_8() { bank<8><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_bank_32() { bank<32><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_bank_33() { bank<33><<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_transpose_copy() { transpose_copy<<<square(EDGE), dim3(EDGE, ROWS)>>>(d.edge, d.in, d.out); }
static void run_transpose_naive() { transpose_naive<<<square(EDGE), dim3(EDGE, ROWS)>>>(d.edge, d.in, d.out); }
static void run_transpose_32() { transpose_tile<32><<<square(EDGE), dim3(EDGE, ROWS)>>>(d.edge, d.in, d.out); }
static void run_transpose_33() { transpose_tile<33><<<square(EDGE), dim3(EDGE, ROWS)>>>(d.edge, d.in, d.out); }
static void run_sum_interleaved() { sum_interleaved<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_sum_conflicts() { sum_conflicts<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_sum_sequential() { sum_sequential<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_sum_shuffles() { sum_shuffles<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_product_naive() { product_naive<<<tiles(16), dim3(16, 16)>>>(d.product, d.in, d.other, d.out); }
static void run_product_tiles() { product_tiles<<<tiles(16), dim3(16, 16)>>>(d.product, d.in, d.other, d.out); }
static void run_product_registers() { product_registers<<<tiles(64), dim3(16, 16)>>>(d.product, d.in, d.other, d.out); }
static void run_histogram_global() { histogram_global<<<d.n / BLOCK, BLOCK>>>(d.n, d.values, d.counts); }
static void run_histogram_shared() { histogram_shared<<<64, BINS>>>(d.n, d.values, d.counts); }
static void run_arithmetic_fma() { arithmetic_fma<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_arithmetic_double() { arithmetic_double<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
static void run_arithmetic_integer() { arithmetic_integer<<<d.n / BLOCK, BLOCK>>>(d.n, d.values, (int *)d.out); }
static void run_arithmetic_special() { arithmetic_special<<<d.n / BLOCK, BLOCK>>>(d.n, d.in, d.out); }
// clang-format on

enum output { ELEMENTS, BLOCK_SUMS, PRODUCT, INTEGERS, COUNTS };

typedef struct ladder {
  const char *name;
  void (*run)();
  double (*want)(int i);
  enum output output;
} ladder;

static const ladder ladders[] = {
    {"stride<1>", run_stride_1, want_stride<1>, ELEMENTS},
    {"stride<2>", run_stride_2, want_stride<2>, ELEMENTS},
    {"stride<4>", run_stride_4, want_stride<4>, ELEMENTS},
    {"stride<8>", run_stride_8, want_stride<8>, ELEMENTS},
    {"stride<32>", run_stride_32, want_stride<32>, ELEMENTS},
    {"offset_by_1", run_offset_by_1, want_offset, ELEMENTS},
    {"copy_float4", run_copy_float4, at, ELEMENTS},
    {"bank<1>", run_bank_1, want_bank, ELEMENTS},
    {"bank<2>", run_bank_2, want_bank, ELEMENTS},
    {"bank<8>", run_bank_8, want_bank, ELEMENTS},
    {"bank<32>", run_bank_32, want_bank, ELEMENTS},
    {"bank<33>", run_bank_33, want_bank, ELEMENTS},
    {"transpose_copy", run_transpose_copy, at, ELEMENTS},
    {"transpose_naive", run_transpose_naive, want_transposed, ELEMENTS},
    {"transpose_tile<32>", run_transpose_32, want_transposed, ELEMENTS},
    {"transpose_tile<33>", run_transpose_33, want_transposed, ELEMENTS},
    {"sum_interleaved", run_sum_interleaved, want_sum, BLOCK_SUMS},
    {"sum_conflicts", run_sum_conflicts, want_sum, BLOCK_SUMS},
    {"sum_sequential", run_sum_sequential, want_sum, BLOCK_SUMS},
    {"sum_shuffles", run_sum_shuffles, want_sum, BLOCK_SUMS},
    {"product_naive", run_product_naive, want_product, PRODUCT},
    {"product_tiles", run_product_tiles, want_product, PRODUCT},
    {"product_registers", run_product_registers, want_product, PRODUCT},
    {"histogram_global", run_histogram_global, want_count, COUNTS},
    {"histogram_shared", run_histogram_shared, want_count, COUNTS},
    {"arithmetic_fma", run_arithmetic_fma, want_fma, ELEMENTS},
    {"arithmetic_double", run_arithmetic_double, want_fma, ELEMENTS},
    {"arithmetic_integer", run_arithmetic_integer, want_integer, INTEGERS},
    {"arithmetic_special", run_arithmetic_special, want_special, ELEMENTS},
};

static void launch(const ladder *l) {
  l->run();
  check(cudaGetLastError(), l->name);
}

// Some elements of the result, spread evenly, against the host's.
static bool is_right(const ladder *l) {
  const int lengths[] = {d.n, d.n / BLOCK, d.product * d.product, d.n, BINS}, elements = lengths[l->output];
  size_t bytes = (size_t)elements * sizeof(float);
  check(cudaMemcpy(d.host_out, l->output == COUNTS ? (void *)d.counts : d.out, bytes, cudaMemcpyDeviceToHost), l->name);
  int step = l->output == COUNTS ? 41 : elements > 997 ? elements / 997 : 1;
  for (int i = 0; i < elements; i += step) {
    double want = l->want(i), got = l->output < INTEGERS ? d.host_out[i] : ((int *)d.host_out)[i];
    if (!(fabs(got - want) <= 1e-4 * fabs(want) + 1e-3) && !(isnan(got) && isnan(want))) {
      printf("not ok %s - element %d is %g, expected %g\n", l->name, i, got, want);
      return false;
    }
  }
  return true;
}

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void print_times(const ladder *l) {
  float times[REPEATS];
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  for (int k = 0; k < REPEATS; k++) {
    check(cudaEventRecord(begin, 0), "cudaEventRecord");
    launch(l);
    check(cudaEventRecord(end, 0), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&times[k], begin, end), "cudaEventElapsedTime");
  }
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  qsort(times, REPEATS, sizeof *times, ascending);
#ifdef FERRY_SIM
  // A simulated device has no times of a GPU.
  printf("%s\t%d\t-\t-\n", l->name, l->output == PRODUCT ? d.product : d.n);
#else
  printf("%s\t%d\t%.3f\t%.3f\n", l->name, l->output == PRODUCT ? d.product : d.n, 1e3 * times[REPEATS / 2],
         1e3 * times[0]);
#endif
  fflush(stdout);
}

int main(int argc, char **argv) {
  bool small = false, times = false, right = true;
  const char *only = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--small") == 0)
      small = true;
    else if (strcmp(argv[i], "--times") == 0)
      times = true;
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else {
      fprintf(stderr, "usage: ladders [--small] [--times] [--only PREFIX]\n");
      return 2;
    }
  }
  make_data(small);
  for (size_t i = 0; i < sizeof ladders / sizeof *ladders; i++) {
    const ladder *l = &ladders[i];
    if (only && strncmp(only, l->name, strlen(only)) != 0)
      continue;
    if (l->output == COUNTS)
      check(cudaMemset(d.counts, 0, BINS * sizeof(int)), "cudaMemset");
    launch(l);
    bool fine = is_right(l);
    right = right && fine;
    if (fine && times)
      print_times(l);
    else if (fine)
      printf("ok %s\n", l->name);
  }
  free_data();
  return !right;
}
