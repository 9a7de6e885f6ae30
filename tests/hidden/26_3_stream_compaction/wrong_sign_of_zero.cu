// mistake: wrong comparison
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

static __device__ int key(float v) {
  const int bits = __float_as_int(v);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}

static __device__ bool above(float v, float bound) {
  return v == v && bound == bound && key(v) > key(bound);
}

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  const int kept = __syncthreads_count(i < n && above(x[i], bound));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = kept;
}

__global__ void starts(int *counts, int *count, int pieces) {
  const int lane = threadIdx.x;
  int carry = 0;
  for (int begin = 0; begin < pieces; begin += WARP) {
    const int own = begin + lane < pieces ? counts[begin + lane] : 0;
    int v = own;
    for (int d = 1; d < WARP; d *= 2) {
      const int before = __shfl_up_sync(0xffffffffu, v, d);
      v += lane >= d ? before : 0;
    }
    if (begin + lane < pieces)
      counts[begin + lane] = carry + v - own;
    carry += __shfl_sync(0xffffffffu, v, WARP - 1);
  }
  if (lane == 0)
    *count = carry;
}

__global__ void write_kept(float *out, const int *starts, const float *x, float bound, int n) {
  __shared__ int warps[THREADS / WARP];
  const int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const bool keep = i < n && above(x[i], bound);
  const unsigned int kept = __ballot_sync(0xffffffffu, keep);
  if (lane == 0)
    warps[warp] = __popc(kept);
  __syncthreads();
  if (!keep)
    return;
  int place = starts[blockIdx.x] + __popc(kept & ((1u << lane) - 1));
  for (int w = 0; w < warp; w++)
    place += warps[w];
  out[place] = x[i];
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  const int pieces = (n + THREADS - 1) / THREADS;
  if (pieces > 0)
    count_kept<<<pieces, THREADS>>>(room, x, bound, n);
  starts<<<1, WARP>>>(room, count, pieces);
  if (pieces > 0)
    write_kept<<<pieces, THREADS>>>(out, room, x, bound, n);
}
