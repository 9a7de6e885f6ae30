// SPDX-License-Identifier: MIT
// Kernels that ./ferry step has to show, each with what a learner gets wrong in it. test_step.sh records one after another.
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { THREADS = 64 };

// The last thread passes the guard, one element too far.
__global__ void guard(float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    out[i] = 2 * i;
}

// No __syncthreads() between the two lines.
__global__ void no_barrier(float *out, const float *in) {
  __shared__ float piece[THREADS];
  const int t = threadIdx.x;
  piece[t] = in[t];
  out[t] = piece[THREADS - 1 - t];
}

__device__ int steps_of(int n) {
  int steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    steps++;
  }
  return steps;
}

// Nested branches, and loops with different numbers of turns.
__global__ void nested(int *out) {
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < t % 4; i++) {
    if (i == 2)
      continue;
    if (t % 8 < 4)
      sum += i;
    else
      sum -= i;
  }
  if (t == 13)
    return;
  out[t] = sum + steps_of(t % 5 + 1);
}

template <int WIDTH> __global__ void columns(float *out, const float *in) {
  __shared__ float tile[32][WIDTH];
  const int t = threadIdx.x;
  for (int row = 0; row < 32; row++)
    tile[row][t] = in[32 * row + t];
  __syncwarp();
  float sum = 0;
  for (int column = 0; column < 2; column++)
    sum += tile[t][column];
  out[t] = sum;
}

__global__ void strided(float *out, const float *in) {
  out[threadIdx.x] = in[8 * threadIdx.x];
}

// A shared array and a variable of which some elements have no value.
__global__ void unset(float *out, int n) {
  __shared__ float best[THREADS];
  float most;
  const int t = threadIdx.x;
  if (t < n)
    best[t] = t;
  __syncthreads();
  if (best[t] > 1)
    most = best[t];
  out[t] = most;
}

// Lane 31 does not come.
__global__ void shuffle(int *out) {
  const int t = threadIdx.x;
  if (t % 32 == 31)
    return;
  out[t] = __shfl_down_sync(0x7fffffffu, t * t, 1);
}

__global__ void half_way(int *out) {
  __shared__ int count;
  if (threadIdx.x < 32) {
    count = 1;
    __syncthreads();
  } else {
    out[threadIdx.x] = 1;
    __syncthreads();
  }
}

// One atomic addition for the active lanes of a warp.
__global__ void aggregated(int *total, const int *in) {
  if (in[threadIdx.x] % 3 == 0) {
    const unsigned active = __activemask();
    const int leader = __ffs(active) - 1;
    if (threadIdx.x % 32 == leader)
      atomicAdd(total, __popc(active));
  }
}

struct point {
  float x, y;
  int tags[2];
};

#define SCALE(p, by)                                                                                                   \
  do {                                                                                                                 \
    (p).x *= (by);                                                                                                     \
    (p).y *= (by);                                                                                                     \
  } while (0)

template <typename T> __device__ T squared(const T &value) {
  return value * value;
}

template <typename T> __global__ void mixed(point *out, T factor) {
  const int t = threadIdx.x;
  point p = {1.0f * t, 2.0f * t, {t, -t}};
  float parts[3] = {0.5f, 1.5f, 2.5f};
  float4 wide = make_float4(1, 2, 3, 4);
  bool even = t % 2 == 0;
  SCALE(p, factor);
  parts[t % 3] += squared(wide.y);
  switch (t % 4) {
  case 0:
    p.tags[0] = 7;
    break;
  case 1:
  case 2:
    p.tags[1] = parts[1];
    break;
  default:
    even = false;
  }
  if (even)
    p.x += parts[0];
  out[t] = p;
}

// Each thread takes the lock in turn.
__global__ void lock(int *mutex, int *sum) {
  bool done = false;
  while (!done)
    if (atomicCAS(mutex, 0, 1) == 0) {
      *(volatile int *)sum += 1;
      __threadfence();
      atomicExch(mutex, 0);
      done = true;
    }
}

extern __shared__ int dynamic[];
__device__ int calls;
__constant__ int offset[2] = {3, 4};

__global__ void memories(int *out) {
  dynamic[threadIdx.x] = offset[threadIdx.x % 2];
  __syncthreads();
  atomicAdd(&calls, dynamic[threadIdx.x ^ 1]);
  out[threadIdx.x] = dynamic[threadIdx.x];
}

static void print(const void *device, size_t bytes) {
  unsigned char *copy = (unsigned char *)malloc(bytes);
  cudaMemcpy(copy, device, bytes, cudaMemcpyDeviceToHost);
  unsigned long sum = 0;
  for (size_t i = 0; i < bytes; i++)
    sum = 31 * sum + copy[i];
  printf("%lx\n", sum);
  free(copy);
}

static const char *const names[] = {"guard",   "no_barrier", "nested",     "columns", "padded", "strided", "unset",
                                    "shuffle", "half_way",   "aggregated", "mixed",   "lock",   "memories"};

int main(int argc, char **argv) {
  float *out, *in;
  int *numbers, *total;
  point *points;
  const char *name = argc > 1 ? argv[1] : "";
  int which = -1;
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
    if (strcmp(name, names[i]) == 0)
      which = i;
  cudaMalloc(&out, 1000 * sizeof *out);
  cudaMalloc(&in, 2048 * sizeof *in);
  cudaMalloc(&numbers, THREADS * sizeof *numbers);
  cudaMalloc(&total, 2 * sizeof *total);
  cudaMalloc(&points, THREADS * sizeof *points);
  float *values = (float *)malloc(2048 * sizeof *values);
  for (int i = 0; i < 2048; i++)
    values[i] = i;
  int some[THREADS];
  for (int i = 0; i < THREADS; i++)
    some[i] = i * 5 % 7;
  cudaMemcpy(in, values, 2048 * sizeof *in, cudaMemcpyHostToDevice);
  cudaMemcpy(numbers, some, sizeof some, cudaMemcpyHostToDevice);
  cudaMemset(total, 0, 2 * sizeof *total);
  cudaMemset(out, 0, 1000 * sizeof *out);
  cudaMemset(points, 0, THREADS * sizeof *points);
  switch (which) {
  case 0:
    guard<<<4, 256>>>(out, 1000);
    break;
  case 1:
    no_barrier<<<1, THREADS>>>(out, in);
    break;
  case 2:
    nested<<<1, THREADS>>>(numbers);
    break;
  case 3:
    columns<32><<<1, 32>>>(out, in);
    break;
  case 4:
    columns<33><<<1, 32>>>(out, in);
    break;
  case 5:
    strided<<<1, 32>>>(out, in);
    break;
  case 6:
    unset<<<1, THREADS>>>(out, 48);
    break;
  case 7:
    shuffle<<<1, THREADS>>>(numbers);
    break;
  case 8:
    half_way<<<1, THREADS>>>(numbers);
    break;
  case 9:
    aggregated<<<1, THREADS>>>(total, numbers);
    break;
  case 10:
    mixed<float><<<1, THREADS>>>(points, 3.0f);
    break;
  case 11:
    lock<<<1, THREADS>>>(total, total + 1);
    break;
  case 12:
    memories<<<1, THREADS, THREADS * sizeof(int)>>>(numbers);
    break;
  }
  const cudaError_t error = cudaDeviceSynchronize();
  printf("%s: %s\n", name, cudaGetErrorString(error));
  if (error == cudaSuccess) {
    print(out, 1000 * sizeof *out);
    print(numbers, sizeof some);
    print(total, 2 * sizeof *total);
    print(points, THREADS * sizeof *points);
  }
  return error != cudaSuccess;
}
