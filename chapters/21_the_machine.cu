// Lesson 21, docs/21_the_machine.md: multiprocessors, warps, latency hiding, divergence and occupancy.
// prints: ^a warp has 32 threads$
// prints: ^threadIdx \(5, 1\) of a block of \(48, 2\): thread 53, warp 1, lane 21$
// prints: ^1 +32 +[0-9]+ +yes( |$)
// prints: ^64 +2048 +[0-9]+ +yes( |$)
// prints: ^by lane +2 +yes( |$)
// prints: ^by warp +1 +yes( |$)
// prints: ^1024 +0 +2 +64 +100 %$
// prints: ^arithmetic and runtime agree: yes$
// prints: ^one block more +2 +[0-9]+ %( |$)
#include "kernels.h"

enum { WARP = 32 };

static cudaDeviceProp gpu;

// ---- warps and lanes --------------------------------------------------------------------------------------------------------

typedef struct Position {
  int x, y, thread, warp, lane;
} Position;

// [locate]
__global__ void locate(Position *out) {
  int thread = threadIdx.y * blockDim.x + threadIdx.x; // consecutive numbers form a warp
  out[thread] = (Position){(int)threadIdx.x, (int)threadIdx.y, thread, thread / 32, thread % 32};
}
// [end]

// ---- latency -------------------------------------------------------------------------------------------------------------

// [scale]
template <int WARPS> __global__ void scale(float *out, const float *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = 2 * in[i];
}
// [end]

// ---- divergence ------------------------------------------------------------------------------------------------------------

enum { TERMS = 16 };

// [polynomial]
// A polynomial of degree 15; `c` has its coefficients.
__device__ float polynomial(const float *c, float x) {
  float sum = 0;
  for (int k = 0; k < TERMS; k++)
    sum = sum * x + c[k];
  return sum;
}
// [end]

// [by_lane]
__global__ void by_lane(float *out, const float *even, const float *odd, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (threadIdx.x % 2 == 0)
      out[i] = polynomial(even, (float)i / n);
    else
      out[i] = polynomial(odd, (float)i / n);
  }
}
// [end]

// [by_warp]
__global__ void by_warp(float *out, const float *even, const float *odd, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (threadIdx.x / 32 % 2 == 0)
      out[i] = polynomial(even, (float)i / n);
    else
      out[i] = polynomial(odd, (float)i / n);
  }
}
// [end]

// ---- occupancy and waves ---------------------------------------------------------------------------------------------------

__global__ void with_shared(float *out) {
  extern __shared__ float scratch[];
  scratch[threadIdx.x] = (float)threadIdx.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = scratch[threadIdx.x];
}

// [arithmetic]
// Blocks that can be resident on a multiprocessor: the lowest limit decides. (Registers are the fourth limit.)
static int resident_blocks(int threads, size_t shared_bytes) {
  int whole_warps = (threads + WARP - 1) / WARP * WARP;
  int by_threads = gpu.maxThreadsPerMultiProcessor / whole_warps;
  int by_shared = (int)(gpu.sharedMemPerMultiprocessor / (shared_bytes + gpu.reservedSharedMemPerBlock));
  int blocks = by_threads < by_shared ? by_threads : by_shared;
  return blocks < gpu.maxBlocksPerMultiProcessor ? blocks : gpu.maxBlocksPerMultiProcessor;
}
// [end]

// [tail]
template <int MORE> __global__ void work(float *out, const float *in, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < rounds; k++)
    sum += in[(i + k * 4096) % 65536];
  out[i] = sum;
}
// [end]

// ---- the lesson ----------------------------------------------------------------------------------------------------------

static void the_device(void) {
  heading("What the device says of itself");
  printf("a warp has %d threads\n", gpu.warpSize);
  printf("multiprocessors: %d\n", gpu.multiProcessorCount);
  printf("each has room for %d threads (%d warps), %d blocks, %d registers, %d KB of shared memory\n",
         gpu.maxThreadsPerMultiProcessor, gpu.maxThreadsPerMultiProcessor / WARP, gpu.maxBlocksPerMultiProcessor,
         gpu.regsPerMultiprocessor, (int)(gpu.sharedMemPerMultiprocessor >> 10));
  printf("threads that fit on the device at a time: %d\n", gpu.multiProcessorCount * gpu.maxThreadsPerMultiProcessor);
}

static void warps_and_lanes(void) {
  heading("Warps and lanes");
  Position host[96], *d_positions;
  CHECK(cudaMalloc(&d_positions, sizeof host));
  locate<<<1, dim3(48, 2)>>>(d_positions);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(host, d_positions, sizeof host, cudaMemcpyDeviceToHost));
  const int show[] = {0, 31, 32, 47, 48, 53, 95};
  for (int k : show)
    printf("threadIdx (%d, %d) of a block of (48, 2): thread %d, warp %d, lane %d\n", host[k].x, host[k].y,
           host[k].thread, host[k].warp, host[k].lane);
  CHECK(cudaFree(d_positions));
}

static float *new_on_device(size_t elements) {
  float *p;
  CHECK(cudaMalloc(&p, elements * sizeof(float)));
  CHECK(cudaMemset(p, 0, elements * sizeof(float)));
  return p;
}

static bool is_filled(const float *d_out, int n, float value) {
  float *host = (float *)malloc(n * sizeof(float));
  CHECK(cudaMemcpy(host, d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; i++)
    right &= host[i] == value;
  free(host);
  return right;
}

static Table latency_table = {5, {8, 12, 14, 6, 20}};

// A launch with a given number of warps per multiprocessor: up to 32 in one block, 64 in two.
typedef struct Shape {
  int blocks, threads;
} Shape;

static Shape shape_of(int warps) {
  // [shape]
  int threads = (warps < 32 ? warps : 32) * 32;
  int blocks = (warps < 32 ? 1 : warps / 32) * gpu.multiProcessorCount; // one or two per multiprocessor
  // [end]
  return (Shape){blocks, threads};
}

static void scaled(int warps, float *out, int n, float ms) {
  const Shape shape = shape_of(warps);
  int iterations = (n + shape.blocks * shape.threads - 1) / (shape.blocks * shape.threads);
  table_row(&latency_table, text("%d", warps), text("%d", warps * WARP), text("%d", iterations),
            is_filled(out, n, 3) ? "yes" : "no", time_text(ms));
  CHECK(cudaMemset(out, 0, n * sizeof(float)));
}

static void latency(int n) {
  heading("One warp on each multiprocessor, or sixty-four");
  float *in = new_on_device(n), *out = new_on_device(n), *ones = (float *)malloc(n * sizeof(float)), ms = 0;
  for (int i = 0; i < n; i++)
    ones[i] = 1.5f;
  CHECK(cudaMemcpy(in, ones, n * sizeof(float), cudaMemcpyHostToDevice));
  latency_table.columns = shows_times() ? 5 : 4;
  table_row(&latency_table, "warps", "threads", "turns of the", "right", "time");
  table_row(&latency_table, "each", "each", "loop, at most", "", "");
  timed(ms) {
    Shape s = shape_of(1);
    scale<1><<<s.blocks, s.threads>>>(out, in, n);
  }
  scaled(1, out, n, ms);
  timed(ms) {
    Shape s = shape_of(2);
    scale<2><<<s.blocks, s.threads>>>(out, in, n);
  }
  scaled(2, out, n, ms);
  timed(ms) {
    Shape s = shape_of(4);
    scale<4><<<s.blocks, s.threads>>>(out, in, n);
  }
  scaled(4, out, n, ms);
  timed(ms) {
    Shape s = shape_of(8);
    scale<8><<<s.blocks, s.threads>>>(out, in, n);
  }
  scaled(8, out, n, ms);
  timed(ms) {
    Shape s = shape_of(16);
    scale<16><<<s.blocks, s.threads>>>(out, in, n);
  }
  scaled(16, out, n, ms);
  timed(ms) {
    Shape s = shape_of(32);
    scale<32><<<s.blocks, s.threads>>>(out, in, n);
  }
  scaled(32, out, n, ms);
  timed(ms) {
    Shape s = shape_of(64);
    scale<64><<<s.blocks, s.threads>>>(out, in, n);
  }
  scaled(64, out, n, ms);
  free(ones);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

static void divergence(int n) {
  heading("A branch by lane, and by warp");
  float *out = new_on_device(n), *even = new_on_device(TERMS), *odd = new_on_device(TERMS), one = 1, ms = 0;
  CHECK(cudaMemcpy(even + TERMS - 1, &one, sizeof one, cudaMemcpyHostToDevice)); // both are the constant 1
  CHECK(cudaMemcpy(odd + TERMS - 1, &one, sizeof one, cudaMemcpyHostToDevice));
  const Table table = {shows_times() ? 4 : 3, {10, 16, 6, 20}};
  table_row(&table, "branch", "ways of a warp", "right", "time");
  timed(ms) {
    by_lane<<<(n + 255) / 256, 256>>>(out, even, odd, n);
  }
  table_row(&table, "by lane", "2", is_filled(out, n, 1) ? "yes" : "no", time_text(ms));
  CHECK(cudaMemset(out, 0, n * sizeof(float)));
  timed(ms) {
    by_warp<<<(n + 255) / 256, 256>>>(out, even, odd, n);
  }
  table_row(&table, "by warp", "1", is_filled(out, n, 1) ? "yes" : "no", time_text(ms));
  CHECK(cudaFree(out));
  CHECK(cudaFree(even));
  CHECK(cudaFree(odd));
}

static void occupancy(void) {
  heading("Occupancy");
  const int threads[] = {32, 64, 128, 256, 512, 768, 1024};
  const size_t shared[] = {0, 16 << 10, 40 << 10};
  const Table table = {5, {8, 14, 8, 8, 10}};
  bool agree = true;
  table_row(&table, "threads", "shared bytes", "blocks", "warps", "occupancy");
  for (size_t bytes : shared)
    for (int t : threads) {
      int blocks = 0;
      // [ask]
      CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_shared, t, bytes));
      // [end]
      int warps = blocks * ((t + WARP - 1) / WARP);
      agree &= blocks == resident_blocks(t, bytes);
      table_row(&table, text("%d", t), text("%d", (int)bytes), text("%d", blocks), text("%d", warps),
                text("%d %%", 100 * warps * WARP / gpu.maxThreadsPerMultiProcessor));
    }
  printf("arithmetic and runtime agree: %s\n", agree ? "yes" : "no");
}

static void waves(void) {
  heading("Waves and tails");
  const int threads = 1024;
  int resident = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, work<0>, threads, 0));
  const int wave = resident * gpu.multiProcessorCount, rounds = 16;
  float *in = new_on_device(65536), *out = new_on_device(2 * (size_t)wave * threads), ms = 0;
  const Table table = {shows_times() ? 4 : 3, {16, 8, 16, 20}};
  printf("a wave is %d blocks on each of %d multiprocessors: %d\n\n", resident, gpu.multiProcessorCount, wave);
  table_row(&table, "grid", "waves", "places in use", "time");
  timed(ms) {
    work<0><<<wave, threads>>>(out, in, rounds);
  }
  table_row(&table, "one wave", "1", "100 %", time_text(ms));
  timed(ms) {
    work<1><<<wave + 1, threads>>>(out, in, rounds);
  }
  table_row(&table, "one block more", "2", text("%d %%", 100 * (wave + 1) / (2 * wave)), time_text(ms));
  timed(ms) {
    work<2><<<2 * wave, threads>>>(out, in, rounds);
  }
  table_row(&table, "two waves", "2", "100 %", time_text(ms));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "The machine", "Multiprocessors and warps, and what keeps them busy.");
  int device = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&gpu, device));
  the_device();
  warps_and_lanes();
  latency(chapter.quick || (chapter.simulated && !chapter.modeled) ? 1 << 20 : 1 << 22);
  divergence(1 << 18);
  occupancy();
  waves();
  return 0;
}
