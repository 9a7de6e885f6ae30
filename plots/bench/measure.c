// SPDX-License-Identifier: MIT
// The measuring loop: warm-up, samples that are long enough for the clock, as many as fit into the time there is.
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_SAMPLES = 1000 };

double bench_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void skip_run(Run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(run->skip, sizeof run->skip, format, arguments);
  va_end(arguments);
}

// ---- statistics ---------------------------------------------------------------------------------------------------------

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double quantile(const double *sorted, int count, double part) {
  double at = part * (count - 1);
  int below = (int)at;
  int above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

void quartiles(double *samples, int count, Result *result) {
  qsort(samples, (size_t)count, sizeof *samples, by_size);
  result->repeat = count;
  result->min = samples[0];
  result->q1 = quantile(samples, count, 0.25);
  result->median = quantile(samples, count, 0.5);
  result->q3 = quantile(samples, count, 0.75);
}

Result *result_add(Results *results) {
  if (results->count == results->capacity) {
    results->capacity = results->capacity ? 2 * results->capacity : 64;
    results->item = realloc(results->item, (size_t)results->capacity * sizeof *results->item);
    fy_check(results->item, FY_OUT_OF_MEMORY_ERROR, "no memory for %d results", results->capacity);
  }
  return &results->item[results->count++];
}

// ---- samples ------------------------------------------------------------------------------------------------------------

// Seconds of one run on the device's clock, from `runs` in a row. The device is idle at both ends, so the clock sees this work and all
// of it; in between, a GPU's queue may fill up, as it does in a program.
static double one_sample(Run *run, int64_t runs) {
  fy_synchronize(run->device);
  double start = fy_device_seconds(run->device);
  for (int64_t i = 0; i < runs; i++) {
    fy_scope {
      run->bench->body(run);
    }
  }
  fy_synchronize(run->device);
  return (fy_device_seconds(run->device) - start) / (double)runs;
}

// A sample should be long beside reading the clock, and on CUDA beside waiting for the device.
static double least_sample_seconds(const Run *run) {
  return run->device.type == FY_CUDA ? 200e-6 : 20e-6;
}

int take_samples(Run *run, double seconds, int least, int most, double *samples) {
  double guess = one_sample(run, 1); // the warm-up: threads start, caches fill, kernels are loaded
  if (guess < 0.5 * seconds) {
    guess = one_sample(run, 1);
  }
  double wanted = least_sample_seconds(run);
  int64_t runs = guess < wanted ? (int64_t)ceil(wanted / fmax(guess, 1e-9)) : 1;
  if (run->device.type == FY_CUDA && fy_cuda_model()) { // the same each time
    most = most < 3 ? most : 3;
    least = least < most ? least : most;
  }
  double begin = bench_seconds();
  int count = 0;
  while (count < most && (count < least || bench_seconds() - begin < seconds)) {
    samples[count++] = one_sample(run, runs);
  }
  return count;
}

static Result *new_row(const Run *run, Results *results) {
  Result *row = result_add(results);
  *row = (Result){.bench = run->bench,
                  .device = run->device,
                  .dtype = run->dtype,
                  .size = run->size,
                  .unit = "s",
                  .flops = run->flops,
                  .bytes = run->bytes,
                  .items = run->items};
  snprintf(row->label, sizeof row->label, "%s", run->label);
  return row;
}

static Results *traced;

void trace_row(Run *run, int64_t index, double bytes, const char *label) {
  Result *row = new_row(run, traced);
  row->size = index;
  row->repeat = 1;
  row->median = row->min = row->q1 = row->q3 = bytes;
  row->unit = "B";
  snprintf(row->label, sizeof row->label, "%s", label);
}

static void measure_body(Run *run, const Plan *plan, Results *results) {
  double samples[MOST_SAMPLES];
  int most = plan->repeat && plan->repeat < MOST_SAMPLES ? plan->repeat : MOST_SAMPLES;
  int count = take_samples(run, plan->seconds, plan->repeat ? most : 3, most, samples);
  quartiles(samples, count, new_row(run, results));
}

void measure(Run *run, const Plan *plan, Results *results) {
  fy_scope {
    run->bench->setup(run);
    if (!*run->skip && run->bench->trace) {
      traced = results;
      run->bench->trace(run);
    } else if (!*run->skip) {
      measure_body(run, plan, results);
    }
    if (run->bench->finish) {
      run->bench->finish(run);
    }
  }
}
