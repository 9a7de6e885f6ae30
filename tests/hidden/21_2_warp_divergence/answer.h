// What an answer to exercise 21.2 defines, and the two kinds of work. On simulated devices, each call of even_work and odd_work is counted.
#include <cuda_runtime.h>
#define FERRY_COUNTED_CUH // the functions below replace those of exercises/counted.cuh

extern "C" void two_kinds_on_device(float *out, const float *x, int n);

#ifdef FERRY_SIM
extern "C" void note_work(int odd);
#else
static __device__ __forceinline__ void note_work(int) {
}
#endif

enum { TURNS = 8 };

static __device__ inline float even_work(float x) {
  float sum = x;
  note_work(0);
  for (int k = 0; k < TURNS; k++)
    sum = sum * 0.5f + x;
  return sum;
}

static __device__ inline float odd_work(float x) {
  float sum = -x;
  note_work(1);
  for (int k = 0; k < TURNS; k++)
    sum = sum * 0.25f - x;
  return sum;
}
