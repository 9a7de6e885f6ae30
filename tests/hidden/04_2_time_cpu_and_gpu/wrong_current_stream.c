// mistake: missing synchronization before the clock starts
#include "ferry.h"
#include <stdlib.h>

static int compared(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return a < b ? -1 : a > b;
}

static void finish(FyDevice device) {
  if (device.type == FY_CUDA) {
    FyEvent *end = fy_event_new(false);
    fy_event_record(end, fy_current_stream(device));
    fy_event_synchronize(end);
  }
}

static double usual(FyTensor *a, FyTensor *b, int runs) {
  FyDevice device = fy_device_of(a);
  double *took = calloc((size_t)runs, sizeof *took);
  for (int warm = 0; warm < 3; warm++)
    product(a, b);
  finish(device);
  double now = seconds_now();
  for (int i = 0; i < runs; i++) {
    product(a, b);
    finish(device);
    double then = now;
    now = seconds_now(); // the end of this one is the beginning of the next
    took[i] = now - then;
  }
  qsort(took, (size_t)runs, sizeof *took, compared);
  double middle = runs % 2 ? took[runs / 2] : (took[runs / 2 - 1] + took[runs / 2]) * 0.5;
  free(took);
  return middle;
}

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  FyTensor *there = fy_to(a, gpu), *also = fy_to(b, gpu);
  Comparison c = {.gpu = usual(there, also, runs)};
  c.cpu = usual(a, b, runs);
  c.times_as_fast = c.cpu / c.gpu;
  *result = c;
}
