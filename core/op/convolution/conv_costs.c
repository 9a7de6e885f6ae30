// SPDX-License-Identifier: MIT
// The costs are those of two equations, each for one shape and the fastest of some runs:
//
//   Winograd's time = products at the points * unit * (1 + ways / in + ways / out + a fixed part),   for many and for few channels
//   direct time     = products of the direct algorithm * unit * direct
//
// They are measured by the time that the thread itself runs, so that other programs disturb little, and rounded, so that two
// measurements mostly agree.
#include "op/convolution/conv_costs.h"
#include "base/fnv.h"
#include "base/sanitized.h"
#include "base/threads.h"
#include "device/runtime.h"
#include "op/benchmark.h"
#include "op/convolution/conv_cpu.h"
#include "op/convolution/winograd.h"
#include "op/kernel/dnn.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const FyConvCosts fixed = {.direct = 0.7, .ways = 9};

// ---- measuring -----------------------------------------------------------------------------------------------------------------

enum { MOST_BLOCKS = 16, ROUNDS = 8 };

typedef struct Blocks {
  void *block[MOST_BLOCKS];
  int count;
} Blocks;

static void *allocate(Blocks *blocks, size_t bytes) {
  void *pointer = NULL;
  if (blocks->count < MOST_BLOCKS && fy_host_try_alloc(bytes, &pointer, &blocks->block[blocks->count]))
    blocks->count++;
  return pointer;
}

static void free_blocks(Blocks *blocks) {
  while (blocks->count > 0)
    fy_host_free(blocks->block[--blocks->count]);
}

static void *workspace(FyLaunch *launch, size_t bytes) {
  return allocate(launch->owner, bytes);
}

static double thread_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// `n` images of 16 by 16 pixels, `channels` to as many, by a padded kernel of 3 by 3.
static FyConvShape shape_of(int64_t n, int64_t channels) {
  return (FyConvShape){.n = n,
                       .c = channels,
                       .h = 16,
                       .w = 16,
                       .o = channels,
                       .kh = 3,
                       .kw = 3,
                       .oh = 16,
                       .ow = 16,
                       .stride = 1,
                       .padding = 1,
                       .dilation = 1,
                       .groups = 1};
}

// Seconds of one forward pass; negative where it fails. The first run makes plans and touches memory.
static double time_forward(bool winograd, const FyConvShape *s) {
  Blocks arrays = {.count = 0};
  const size_t pixels = (size_t)(s->n * s->c * s->h * s->w), kernel = (size_t)(s->c * s->o * s->kh * s->kw);
  float *x = allocate(&arrays, pixels * sizeof *x), *out = allocate(&arrays, pixels * sizeof *out);
  float *weight = allocate(&arrays, kernel * sizeof *weight);
  double best = x && out && weight ? INFINITY : -1;
  for (size_t i = 0; best > 0 && i < pixels; i++)
    x[i] = (float)(i % 7) - 3;
  for (size_t i = 0; best > 0 && i < kernel; i++)
    weight[i] = (float)(i % 5) - 2;
  for (int round = -1; best > 0 && round < ROUNDS; round++) {
    Blocks scratch = {.count = 0};
    FyLaunch launch = {.workspace = workspace, .owner = &scratch};
    const double start = thread_seconds();
    const int status = winograd ? fy_winograd_forward(&launch, s, x, weight, NULL, out, NULL)
                                : fy_dnn_forward(&launch, FY_CONV_DNN, s, FY_FLOAT32, x, weight, NULL, out, NULL);
    const double seconds = thread_seconds() - start;
    free_blocks(&scratch);
    best = status != FY_LAUNCH_OK ? -1 : round >= 0 && seconds < best ? seconds : best;
  }
  free_blocks(&arrays);
  return best;
}

static double rounded(double x, double parts, double least, double most) {
  x = round(x * parts) / parts;
  return x < least ? least : x > most ? most : x;
}

static bool measure(FyConvCosts *costs) {
  enum { FEW = 16, MANY = 64, IMAGES = 8, TILES = 16 * IMAGES, OUTPUTS = 256 * IMAGES };
  const double kernels = 40.0 / TILES;
  const FyConvShape few = shape_of(IMAGES, FEW), many = shape_of(IMAGES, MANY);
  const double a = time_forward(true, &few) / (36.0 * TILES * FEW * FEW);
  const double b = time_forward(true, &many) / (36.0 * TILES * MANY * MANY);
  const double d = time_forward(false, &many) / (9.0 * OUTPUTS * MANY * MANY);
  if (!(a > 0 && b > 0 && d > 0))
    return false;
  // a = unit (1 + kernels + 2 ways / FEW), b = unit (1 + kernels + 2 ways / MANY)
  const double unit_ways = (a - b) / (2.0 / FEW - 2.0 / MANY), unit = (b - 2 * unit_ways / MANY) / (1 + kernels);
  if (!(unit > 0))
    return false;
  costs->direct = rounded(d / unit, 20, 0.4, 1.5);
  costs->ways = rounded(unit_ways / unit, 1, 3, 30);
  return true;
}

typedef struct Measurement {
  FyConvCosts *costs;
  bool done;
} Measurement;

static void measure_in_first_part(int64_t begin, int64_t end, void *context) {
  Measurement *m = context;
  (void)end;
  if (begin == 0)
    m->done = measure(m->costs);
}

// A loop within a loop stays on its thread: so one thread does all of the work.
bool fy_conv_costs_measure(FyConvCosts *costs) {
  Measurement m = {.costs = costs};
  fy_parallel_for(2, 1, measure_in_first_part, &m);
  return m.done;
}

// ---- the stored measurement ----------------------------------------------------------------------------------------------------

// A number for what the costs depend on: the processor, and the vectors of Ferry's code and oneDNN's.
static uint64_t machine(void) {
  char line[256] = "";
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f && fgets(line, sizeof line, f) && strncmp(line, "model name", strlen("model name")) != 0)
    line[0] = 0;
  if (f)
    fclose(f);
  snprintf(line + strlen(line), sizeof line - strlen(line), " %d %d %d", fy_winograd_vector_bytes(),
           (int)dnnl_get_effective_cpu_isa(), (int)DNNL_VERSION_MAJOR);
  return fy_fnv(FY_FNV_BEGIN, line, strlen(line));
}

// False where there is no folder for it.
static bool path_of(char *path, size_t size, bool make_folders) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  char folder[3072];
  const int length = cache && *cache ? snprintf(folder, sizeof folder, "%s", cache)
                     : home && *home ? snprintf(folder, sizeof folder, "%s/.cache", home)
                                     : 0;
  if (length <= 0 || length >= (int)sizeof folder)
    return false;
  if (make_folders)
    mkdir(folder, 0700);
  snprintf(path, size, "%s/ferry", folder);
  if (make_folders)
    mkdir(path, 0755);
  snprintf(path, size, "%s/ferry/convolution-%016llx", folder, (unsigned long long)machine());
  return true;
}

static bool read_stored(FyConvCosts *costs) {
  char path[4096];
  FILE *f = path_of(path, sizeof path, false) ? fopen(path, "r") : NULL;
  const bool read = f && fscanf(f, "direct %lf ways %lf", &costs->direct, &costs->ways) == 2 && costs->direct > 0 &&
                    costs->direct < 10 && costs->ways > 0 && costs->ways < 100;
  if (f)
    fclose(f);
  return read;
}

// Whole or not at all; where it cannot be stored, the next process measures again.
static void store(const FyConvCosts *costs) {
  char path[4096], new[4160];
  if (!path_of(path, sizeof path, true))
    return;
  snprintf(new, sizeof new, "%s.%ld", path, (long)getpid());
  FILE *f = fopen(new, "w");
  if (!f)
    return;
  bool written = fprintf(f, "direct %g ways %g\n", costs->direct, costs->ways) > 0;
  written = fclose(f) == 0 && written;
  if (!written || rename(new, path) != 0)
    remove(new);
}

static FyConvCosts known;

static void find(void) {
  known = fixed;
#ifndef FY_SANITIZED
  const char *wanted = getenv("FERRY_CONV_COSTS");
  if ((wanted && strcmp(wanted, "off") == 0) || read_stored(&known))
    return;
  known = fixed;
  if (fy_conv_costs_measure(&known))
    store(&known);
#endif
}

FyConvCosts fy_conv_costs(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (fy_backends_deterministic())
    return fixed;
  pthread_once(&once, find);
  return known;
}
