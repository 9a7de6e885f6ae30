// Lesson 24, docs/24_reductions.md: a sum in seven steps, then in one launch, and with the same bits on every run.
//
// prints: ^divergent +[0-9]+ +True
// prints: ^many +[0-9]+ +True
// prints: ^by_atomics +[0-9]+ +True
// prints: ^one_pass +[0-9]+ +True
// prints: ^the kernel, again +[0-9.]+ +same bits: True$
#include "sums.cuh"

enum { THREADS = 256, WARP = 32, MAX_BLOCKS = 1024 };

// [divergent]
__global__ void divergent(float *sums, const float *x) {
  __shared__ float part[THREADS];
  int t = threadIdx.x;
  part[t] = x[blockIdx.x * THREADS + t];
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2) {
    if (t % (2 * step) == 0)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
}
// [end]

// [strided]
__global__ void strided(float *sums, const float *x) {
  __shared__ float part[THREADS];
  int t = threadIdx.x;
  part[t] = x[blockIdx.x * THREADS + t];
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2) {
    int index = 2 * step * t;
    if (index < THREADS)
      part[index] += part[index + step];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
}
// [end]

// [sequential]
__global__ void sequential(float *sums, const float *x) {
  __shared__ float part[THREADS];
  int t = threadIdx.x;
  part[t] = x[blockIdx.x * THREADS + t];
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
}
// [end]

// [two_loads]
__global__ void two_loads(float *sums, const float *x) {
  __shared__ float part[THREADS];
  int t = threadIdx.x, i = blockIdx.x * 2 * THREADS + t;
  part[t] = x[i] + x[i + THREADS];
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
}
// [end]

// [last_warp]
// One warp adds the last 64 partial sums. No other warp takes part, so __syncthreads() is not needed.
static __device__ void finish_warp(float *part, int lane) {
  for (int half = WARP; half > 0; half /= 2) {
    float other = part[lane + half];
    __syncwarp(); // all lanes have read before any lane writes
    part[lane] += other;
    __syncwarp(); // all lanes have written before any lane reads
  }
}

__global__ void last_warp(float *sums, const float *x) {
  __shared__ float part[THREADS];
  int t = threadIdx.x, i = blockIdx.x * 2 * THREADS + t;
  part[t] = x[i] + x[i + THREADS];
  __syncthreads();
  for (int half = THREADS / 2; half > WARP; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t < WARP)
    finish_warp(part, t);
  if (t == 0)
    sums[blockIdx.x] = part[0];
}
// [end]

// [unrolled]
// SIZE is known at compile time. The compiler unrolls the loop, and each `half` becomes a constant.
template <int SIZE> __global__ void unrolled(float *sums, const float *x) {
  __shared__ float part[SIZE];
  int t = threadIdx.x, i = blockIdx.x * 2 * SIZE + t;
  part[t] = x[i] + x[i + SIZE];
  __syncthreads();
#pragma unroll
  for (int half = SIZE / 2; half > WARP; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t < WARP)
    finish_warp(part, t);
  if (t == 0)
    sums[blockIdx.x] = part[0];
}
// [end]

// [many]
// The sum over a block of SIZE threads, in thread 0: the tree of step 6 as a function.
template <int SIZE> static __device__ float block_sum(float own) {
  __shared__ float part[SIZE];
  int t = threadIdx.x;
  part[t] = own;
  __syncthreads();
#pragma unroll
  for (int half = SIZE / 2; half > WARP; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t < WARP)
    finish_warp(part, t);
  return part[t];
}

template <int SIZE> __global__ void many(float *sums, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * SIZE + threadIdx.x; i < n; i += gridDim.x * SIZE)
    own += x[i];
  own = block_sum<SIZE>(own);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = own;
}
// [end]

// [by_atomics]
// One launch: each block adds its sum to *sum, which must be 0 before the launch.
__global__ void by_atomics(float *sum, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    own += x[i];
  own = block_sum<THREADS>(own);
  if (threadIdx.x == 0)
    atomicAdd(sum, own);
}
// [end]

// [one_pass]
// The block that finishes last adds the sums of all blocks. The counter `done` is 0 before and after the launch.
__global__ void one_pass(float *sum, float *sums, unsigned int *done, const float *x, int n) {
  __shared__ bool last;
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    own += x[i];
  own = block_sum<THREADS>(own);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = own;
    __threadfence(); // the sum is stored before the counter is incremented
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  __threadfence(); // the sums are loaded after the counter was read
  own = 0;
  for (int i = threadIdx.x; i < (int)gridDim.x; i += THREADS)
    own += sums[i];
  own = block_sum<THREADS>(own);
  if (threadIdx.x == 0) {
    *sum = own;
    *done = 0;
  }
}
// [end]

// ---- the sections --------------------------------------------------------------------------------------------------------

static void seven_steps(int n) {
  heading("Seven steps");
  const int blocks = n / THREADS, half = blocks / 2, few = half < MAX_BLOCKS ? half : MAX_BLOCKS;
  float ms = 0;
  printf("%d floats; the blocks' sums are added up by the host, which is not timed\n", n);
  titles();
  timed(ms)
    divergent<<<blocks, THREADS>>>(sums, x);
  row("divergent", blocks, false, n, ms);
  timed(ms)
    strided<<<blocks, THREADS>>>(sums, x);
  row("strided", blocks, false, n, ms);
  timed(ms)
    sequential<<<blocks, THREADS>>>(sums, x);
  row("sequential", blocks, false, n, ms);
  timed(ms)
    two_loads<<<half, THREADS>>>(sums, x);
  row("two_loads", half, false, n, ms);
  timed(ms)
    last_warp<<<half, THREADS>>>(sums, x);
  row("last_warp", half, false, n, ms);
  timed(ms)
    unrolled<THREADS><<<half, THREADS>>>(sums, x);
  row("unrolled", half, false, n, ms);
  timed(ms)
    many<THREADS><<<few, THREADS>>>(sums, x, n);
  row("many", few, false, n, ms);
}

static void one_launch(int n) {
  heading("One launch");
  unsigned int *done;
  CHECK(cudaMalloc(&done, sizeof *done));
  CHECK(cudaMemset(done, 0, sizeof *done));
  const int blocks = n / THREADS < MAX_BLOCKS ? n / THREADS : MAX_BLOCKS;
  float ms = 0;
  titles();
  clear();
  timed(ms)
    by_atomics<<<blocks, THREADS>>>(sum, x, n);
  row("by_atomics", blocks, true, n, ms);
  timed(ms)
    one_pass<<<blocks, THREADS>>>(sum, sums, done, x, n);
  row("one_pass", blocks, true, n, ms);
  CHECK(cudaFree(done));
}

// The kernel `many` with a different name, for two launches: the inspector then counts `many` separately.
__global__ void two_passes(float *sums, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    own += x[i];
  own = block_sum<THREADS>(own);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = own;
}

static float kernels_sum(int n, int blocks) {
  two_passes<<<blocks, THREADS>>>(sums, x, n);
  two_passes<<<1, THREADS>>>(sum, sums, blocks);
  CHECK_LAUNCH();
  return fetched(sum);
}

static void which_order(int n) {
  heading("Which order");
  double exact = 0;
  float forward = 0, backward = 0;
  for (int i = 0; i < n; i++)
    x_host[i] = 1.0f / (float)(i + 1);
  for (int i = 0; i < n; i++) {
    exact += x_host[i];
    forward += x_host[i];
    backward += x_host[n - 1 - i];
  }
  CHECK(cudaMemcpy(x, x_host, n * sizeof(float), cudaMemcpyHostToDevice));
  const float first = kernels_sum(n, 64), again = kernels_sum(n, 64), other = kernels_sum(n, 5);
  printf("in double          %10.6f\n", exact);
  printf("first to last      %10.6f\n", forward);
  printf("last to first      %10.6f\n", backward);
  printf("the kernel         %10.6f\n", first);
  printf("the kernel, again  %10.6f  same bits: %s\n", again, truth(first == again));
  printf("with 5 blocks      %10.6f  same bits: %s\n", other, truth(first == other));
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Parallel reduction", "A sum in seven steps, and in one launch.");
  const int n = chapter.quick ? 1 << 15 : 1 << 22;
  arrays_begin(n, n / THREADS);
  seven_steps(n);
  one_launch(n);
  which_order(n);
  arrays_end();
  return 0;
}
