// Exercise 4.2: a CPU against a GPU, timed right                                    (chapter 4, docs/04_benchmarks.md)
//
// How many times as fast is a GPU at a matrix product? Write compare, which measures it on both and does justice to
// both:
//
//   - the first product on each is a warm-up, and on no clock
//   - then come `runs` products on each, and each of them is on a clock of its own
//   - the clock is started when the device has nothing left to do, in any of its streams, and stopped when the product
//     is done
//   - moving the matrices to the GPU is another question: nothing crosses while a clock is running
//   - of the `runs` times the median counts: the middle one in order, or the mean of the two in the middle
//
//   PyTorch:  def median_seconds(a, b, device):
//                 a @ b
//                 times = []
//                 for _ in range(runs):
//                     torch.cuda.synchronize(device)
//                     start = time.perf_counter()
//                     a @ b
//                     torch.cuda.synchronize(device)
//                     times.append(time.perf_counter() - start)
//                 return statistics.median(times)
//
// Given: product(x, y), which calls fy_matmul and is to be used for every product; seconds_now(), the clock, in
// seconds; a and b, float32 on the CPU, of sizes that fit; a GPU, not always the first, on which other work may be
// pending, in any stream, and any stream may be the current one; runs, 1 to 25.
// Filled in: typedef struct Comparison { double cpu, gpu, times_as_fast; }: the two medians, and how often the GPU's
// time goes into the CPU's.
// Judged: what had arrived and what had crossed at each reading of the clock. No clock decides whether you pass.
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Comparison {
  double cpu, gpu, times_as_fast;
} Comparison;

FyTensor *product(FyTensor *x, FyTensor *y);
double seconds_now(void);
#endif

// [answer]
enum { MOST_RUNS = 25 };

static double median(double *times, int count) {
  for (int i = 1; i < count; i++) // sorted by insertion
    for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
      double larger = times[k - 1];
      times[k - 1] = times[k];
      times[k] = larger;
    }
  return (times[(count - 1) / 2] + times[count / 2]) / 2; // the same one twice where count is odd
}

static double median_seconds(FyTensor *a, FyTensor *b, FyDevice device, int runs) {
  double times[MOST_RUNS];
  product(a, b);
  for (int i = 0; i < runs; i++) {
    fy_scope {
      fy_synchronize(device);
      double start = seconds_now();
      product(a, b);
      fy_synchronize(device);
      times[i] = seconds_now() - start;
    }
  }
  return median(times, runs);
}

// [stub]
// [end]
void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  // [answer]
  double on_cpu = median_seconds(a, b, FY_CPU_DEVICE, runs);
  double on_gpu = median_seconds(fy_to(a, gpu), fy_to(b, gpu), gpu, runs);
  *result = (Comparison){on_cpu, on_gpu, on_cpu / on_gpu};
  // [stub]
  //| (void)a;
  //| (void)b;
  //| (void)gpu;
  //| (void)runs;
  //| *result = (Comparison){0}; // the two medians and their ratio go here
  // [end]
}
