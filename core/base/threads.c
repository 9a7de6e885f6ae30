// Parallel loops over OpenMP's pool, which oneDNN shares.
#include "base/threads.h"
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static int requested;

static int cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  return CPU_COUNT(&set);
}

int fy_get_num_threads(void) {
#ifdef _OPENMP
  // A thread that limited itself (a simulated device's worker) keeps its limit.
  static int available;
  if (!available)
    available = cores();
  int allowed = omp_get_max_threads();
  int wanted = requested ? requested : available;
  return allowed < wanted && !requested ? allowed : wanted;
#else
  (void)cores;
  return 1;
#endif
}

void fy_set_num_threads(int n) {
  requested = n > 0 ? n : 0;
#ifdef _OPENMP
  omp_set_num_threads(n > 0 ? n : cores());
#endif
}

void fy_parallel_for(int64_t n, int64_t grain, void (*body)(int64_t, int64_t, void *), void *context) {
  if (n <= 0)
    return;
  int64_t parts = grain > 0 ? n / grain : n;
#ifdef _OPENMP
  int threads = fy_get_num_threads();
  if (parts > threads)
    parts = threads;
  if (parts > 1 && !omp_in_parallel()) {
#pragma omp parallel num_threads((int)parts)
    {
      int64_t count = omp_get_num_threads();
      int64_t index = omp_get_thread_num();
      int64_t begin = n * index / count;
      int64_t end = n * (index + 1) / count;
      if (begin < end)
        body(begin, end, context);
    }
    return;
  }
#else
  (void)parts;
#endif
  body(0, n, context);
}
