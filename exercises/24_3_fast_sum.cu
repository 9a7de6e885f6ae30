// Exercise 24.3: a faster sum (make it faster)                                        (chapter 24, docs/24_reductions.md)
//
// sum_on_device adds up an array, and is right. Make it faster:
//
//   out[0] = x[0] + x[1] + ... + x[n-1]
//
//   PyTorch:  out = x.sum()
//
// There is no single right answer, but there is a score: the time that your kernels would take on a V100 for 2^21
// floats, *modelled from what the inspector counts, not measured*. `./ferry run` shows it, and what limits it; `./ferry
// best` shows your best so far. The exercise passes at 1.5 times as fast as what you see here, and there are four
// stars.
//
// Given, in device memory, float32: x (n, at least 1 and at most 2^22; all finite, and so is the sum), which begins at
// a multiple of 16 bytes; out (1), 0 before; room for 1024 partial sums, if you want it, with anything in it. More than
// one launch is allowed; each costs its time. It has to be right for each of these n, and fast for others, too: an n is
// drawn up to 100 000 below the scored one, and the first star has to be reached there as well. The inspector is to
// find nothing. Not for these exercises: inline assembly, copies and fills, and variables of a thread's own beyond its
// registers, as an array is unless all indices are known to the compiler.
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void add_up(float *out, const float *x, int n) {
  __shared__ float part[THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2) {
    if (t % (2 * step) == 0)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(out, part[0]);
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  (void)room;
  add_up<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
