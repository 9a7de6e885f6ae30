// Lesson 24, docs/24_reductions.md: a sum in seven steps, then by shuffles, in one launch, and the same bits every time.
//
// prints: ^divergent +[0-9]+ +True
// prints: ^many +[0-9]+ +True
// prints: ^shuffles +[0-9]+ +True
// prints: ^one_pass +[0-9]+ +True
// prints: ^above 1.5: +[0-9]+, True$
// prints: ^rows of 8: +True$
// prints: ^the kernel, again +[0-9.]+ +same bits: True$
#include "kernels.h"

enum { THREADS = 256, WARP = 32, MAX_BLOCKS = 1024 };
#define ALL_LANES 0xffffffffu

// [atomic]
__global__ void atomic_each(float *sum, const float *x) {
  atomicAdd(sum, x[blockIdx.x * THREADS + threadIdx.x]);
}
// [end]

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
template <int SIZE> __global__ void many(float *sums, const float *x, int n) {
  __shared__ float part[SIZE];
  int t = threadIdx.x;
  float own = 0;
  for (int i = blockIdx.x * SIZE + t; i < n; i += gridDim.x * SIZE)
    own += x[i];
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
  if (t == 0)
    sums[blockIdx.x] = part[0];
}
// [end]

// [shuffles]
// The sum over the 32 lanes of a warp, in lane 0. The values move from register to register.
static __device__ float warp_sum(float x) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    x += __shfl_down_sync(ALL_LANES, x, offset);
  return x;
}

// The sum over a block of whole warps, in thread 0.
static __device__ float block_sum(float x) {
  __shared__ float warp_sums[WARP];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  x = warp_sum(x);
  if (lane == 0)
    warp_sums[warp] = x;
  __syncthreads();
  if (warp == 0)
    x = warp_sum(lane < (int)blockDim.x / WARP ? warp_sums[lane] : 0);
  return x;
}

__global__ void shuffles(float *sums, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += x[i];
  own = block_sum(own);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = own;
}
// [end]

// [by_atomics]
// One launch: each block adds its sum to *sum, which must be 0 before the launch.
__global__ void by_atomics(float *sum, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += x[i];
  own = block_sum(own);
  if (threadIdx.x == 0)
    atomicAdd(sum, own);
}
// [end]

// [one_pass]
// The block that finishes last adds the sums of all blocks. The counter `done` is 0 before and after the launch.
__global__ void one_pass(float *sum, float *sums, unsigned int *done, const float *x, int n) {
  __shared__ bool last;
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += x[i];
  own = block_sum(own);
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
  for (int i = threadIdx.x; i < (int)gridDim.x; i += blockDim.x)
    own += sums[i];
  own = block_sum(own);
  if (threadIdx.x == 0) {
    *sum = own;
    *done = 0;
  }
}
// [end]

// [vote]
// Counts the elements above a bound. Each warp counts its elements with one vote.
__global__ void count_above(int *count, const float *x, float bound, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int above = __ballot_sync(ALL_LANES, i < n && x[i] > bound); // lanes past the end vote 0
  if (threadIdx.x % WARP == 0)
    atomicAdd(count, __popc(above));
}
// [end]

// [groups]
// Sums of rows of 8 elements. A warp has four rows, and its shuffles stay within groups of 8 lanes.
__global__ void sum_rows(float *sums, const float *x, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / 8;
  float own = row < rows ? x[i] : 0;
  for (int offset = 4; offset > 0; offset /= 2)
    own += __shfl_down_sync(ALL_LANES, own, offset, 8);
  if (row < rows && i % 8 == 0)
    sums[row] = own;
}
// [end]

// ---- arrays and the expected sum ----------------------------------------------------------------------------------------

static float *x, *sums, *sum, *x_host;
static unsigned int *done;
static double right;

// Small integers: floats add them without rounding, in any order.
static void arrays_begin(int n) {
  const size_t bytes = n * sizeof(float);
  CHECK(cudaMalloc(&x, bytes));
  CHECK(cudaMalloc(&sums, bytes / THREADS));
  CHECK(cudaMalloc(&sum, sizeof(float)));
  CHECK(cudaMalloc(&done, sizeof *done));
  CHECK(cudaMemset(done, 0, sizeof *done));
  x_host = (float *)malloc(bytes);
  right = 0;
  for (int i = 0; i < n; i++)
    right += x_host[i] = (float)(i * 7 % 11 % 4);
  CHECK(cudaMemcpy(x, x_host, bytes, cudaMemcpyHostToDevice));
}

static void arrays_end(void) {
  CHECK(cudaFree(x));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(sum));
  CHECK(cudaFree(done));
  free(x_host);
}

static float fetched(const float *number) {
  float value;
  CHECK(cudaMemcpy(&value, number, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

static const char *truth(bool value) {
  return value ? "True" : "False";
}

static const Table table = {5, {10, 7, 6, 20, 10}};

// The total of the blocks' sums.
static double added_up(int blocks) {
  double all = 0;
  float *of_blocks = (float *)malloc(blocks * sizeof(float));
  CHECK(cudaMemcpy(of_blocks, sums, blocks * sizeof(float), cudaMemcpyDeviceToHost));
  for (int b = 0; b < blocks; b++)
    all += of_blocks[b];
  free(of_blocks);
  return all;
}

// A line about a kernel that took `ms`. It left one sum per block in `sums` or (`finished`) the total in `sum`.
static void row(const char *kernel, int blocks, bool finished, int n, float ms) {
  const double all = finished ? fetched(sum) : added_up(blocks);
  table_row(&table, kernel, text("%d", blocks), truth(all == right), time_text(ms),
            rate_text((double)n * sizeof(float), ms));
}

static void clear(void) {
  CHECK(cudaMemset(sum, 0, sizeof(float)));
}

// ---- the sections --------------------------------------------------------------------------------------------------------

static void seven_steps(int n) {
  heading("Seven steps");
  const int blocks = n / THREADS, half = blocks / 2, few = half < MAX_BLOCKS ? half : MAX_BLOCKS;
  float ms = 0;
  printf("%d floats; the blocks' sums are added up by the host, which is not timed\n", n);
  table_row(&table, "kernel", "blocks", "right", "time", "rate");
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

static void by_warps(int n) {
  heading("Shuffles, and one launch");
  const int blocks = n / THREADS < MAX_BLOCKS ? n / THREADS : MAX_BLOCKS;
  float ms = 0;
  table_row(&table, "kernel", "blocks", "right", "time", "rate");
  timed(ms)
    shuffles<<<blocks, THREADS>>>(sums, x, n);
  row("shuffles", blocks, false, n, ms);
  clear();
  timed(ms)
    by_atomics<<<blocks, THREADS>>>(sum, x, n);
  row("by_atomics", blocks, true, n, ms);
  timed(ms)
    one_pass<<<blocks, THREADS>>>(sum, sums, done, x, n);
  row("one_pass", blocks, true, n, ms);
}

static void an_atomic_for_each(int n) {
  heading("An atomic for each");
  clear();
  atomic_each<<<n / THREADS, THREADS>>>(sum, x);
  CHECK_LAUNCH();
  printf("right: %s\n", truth(fetched(sum) == right));
}

static void votes_and_groups(int n) {
  heading("Votes and groups");
  int *count, got, want = 0, wrong = 0;
  CHECK(cudaMalloc(&count, sizeof *count));
  CHECK(cudaMemset(count, 0, sizeof *count));
  const int some = n - 100, rows = n / THREADS; // not a multiple of 32
  count_above<<<(some + THREADS - 1) / THREADS, THREADS>>>(count, x, 1.5f, some);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(&got, count, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(count));
  for (int i = 0; i < some; i++)
    want += x_host[i] > 1.5f;
  printf("above 1.5:       %d, %s\n", got, truth(got == want));

  sum_rows<<<(8 * rows + THREADS - 1) / THREADS, THREADS>>>(sums, x, rows);
  CHECK_LAUNCH();
  float *of_rows = (float *)malloc(rows * sizeof(float));
  CHECK(cudaMemcpy(of_rows, sums, rows * sizeof(float), cudaMemcpyDeviceToHost));
  for (int r = 0; r < rows; r++) {
    float in_row = 0;
    for (int i = 0; i < 8; i++)
      in_row += x_host[8 * r + i];
    wrong += of_rows[r] != in_row;
  }
  free(of_rows);
  printf("rows of 8:       %s\n", truth(wrong == 0));
}

// The kernel `shuffles` under another name, for two launches: the inspector then counts `shuffles` separately.
__global__ void two_passes(float *sums, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += x[i];
  own = block_sum(own);
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
  float one_by_one = 0, backward = 0;
  for (int i = 0; i < n; i++)
    x_host[i] = 1.0f / (float)(i + 1);
  for (int i = 0; i < n; i++) {
    exact += x_host[i];
    one_by_one += x_host[i];
    backward += x_host[n - 1 - i];
  }
  CHECK(cudaMemcpy(x, x_host, n * sizeof(float), cudaMemcpyHostToDevice));
  const float first = kernels_sum(n, 64), again = kernels_sum(n, 64), other = kernels_sum(n, 5);
  printf("in double          %10.6f\n", exact);
  printf("one by one         %10.6f\n", one_by_one);
  printf("from behind        %10.6f\n", backward);
  printf("the kernel         %10.6f\n", first);
  printf("the kernel, again  %10.6f  same bits: %s\n", again, truth(first == again));
  printf("with 5 blocks      %10.6f  same bits: %s\n", other, truth(first == other));
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Reductions and warps", "A sum in seven steps, and by shuffles.");
  const int n = chapter.quick ? 1 << 15 : 1 << 22;
  arrays_begin(n);
  seven_steps(n);
  by_warps(n);
  an_atomic_for_each(n);
  votes_and_groups(n);
  which_order(n);
  arrays_end();
  return 0;
}
