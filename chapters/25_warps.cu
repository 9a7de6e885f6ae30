// Lesson 25, docs/25_warps.md: warp shuffles and votes, a sparse matrix, atomic operations, cooperative groups.
//
// prints: ^shuffles +[0-9]+ +True
// prints: ^above 1.5: +[0-9]+, True$
// prints: ^rows of 8: +True$
// prints: ^spmv: +[0-9]+ nonzeros, True$
// prints: ^one atomic addition per element: True$
// prints: ^cooperative +[0-9]+ +True
// prints: ^keep_above: +[0-9]+ elements, True$
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "sums.cuh"

enum { THREADS = 256, WARP = 32, MAX_BLOCKS = 1024 };
#define ALL_LANES 0xffffffffu

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

// [spmv]
// y = A @ x for a sparse matrix in CSR format. Each thread computes one row.
__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = offsets[row]; k < offsets[row + 1]; k++)
    sum += values[k] * x[columns[k]];
  y[row] = sum;
}
// [end]

// [atomic]
__global__ void atomic_each(float *sum, const float *x) {
  atomicAdd(sum, x[blockIdx.x * THREADS + threadIdx.x]);
}
// [end]

// [tile]
namespace cg = cooperative_groups;

// The sum over a block of whole warps, in every thread.
static __device__ float sum_over(cg::thread_block block, float x) {
  __shared__ float warp_sums[WARP];
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  unsigned int lane = warp.thread_rank();
  x = cg::reduce(warp, x, cg::plus<float>()); // the sum over the warp, in every lane
  if (lane == 0)
    warp_sums[warp.meta_group_rank()] = x;
  block.sync(); // the same as __syncthreads()
  x = lane < warp.meta_group_size() ? warp_sums[lane] : 0;
  return cg::reduce(warp, x, cg::plus<float>());
}
// [end]

// [cooperative]
// One launch. Block 0 adds the sums of all blocks after the barrier of the grid.
__global__ void cooperative(float *sum, float *sums, const float *x, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  float own = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size())
    own += x[i];
  own = sum_over(block, own);
  if (block.thread_rank() == 0)
    sums[blockIdx.x] = own;
  grid.sync(); // every block has stored its sum, and block 0 sees all of them
  if (blockIdx.x > 0)
    return;
  own = 0;
  for (int b = block.thread_rank(); b < (int)gridDim.x; b += block.size())
    own += sums[b];
  own = sum_over(block, own);
  if (block.thread_rank() == 0)
    *sum = own;
}
// [end]

// [coalesced]
// Returns a different index to each calling thread. One lane adds to the counter for all lanes that call together.
static __device__ int next_index(int *count) {
  cg::coalesced_group active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0)
    first = atomicAdd(count, (int)active.size());
  return active.shfl(first, 0) + (int)active.thread_rank();
}

// Writes the elements above a bound to out, in any order.
__global__ void keep_above(float *out, int *count, const float *x, float bound, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > bound)
    out[next_index(count)] = x[i];
}
// [end]

// ---- the sections --------------------------------------------------------------------------------------------------------

static const float bound = 1.5f;

// The number of the first n elements that are above the bound, and their sum.
static int expected_above(int n, double *total) {
  int count = 0;
  *total = 0;
  for (int i = 0; i < n; i++)
    if (x_host[i] > bound) {
      count++;
      *total += x_host[i];
    }
  return count;
}

static void by_shuffles(int n) {
  heading("Shuffles");
  const int blocks = n / THREADS < MAX_BLOCKS ? n / THREADS : MAX_BLOCKS;
  float ms = 0;
  titles();
  timed(ms)
    shuffles<<<blocks, THREADS>>>(sums, x, n);
  row("shuffles", blocks, false, n, ms);
}

static void votes_and_groups(int n) {
  heading("Votes and groups");
  int *count, got, wrong = 0;
  double total;
  CHECK(cudaMalloc(&count, sizeof *count));
  CHECK(cudaMemset(count, 0, sizeof *count));
  const int some = n - 100, rows = n / THREADS; // not a multiple of 32
  count_above<<<(some + THREADS - 1) / THREADS, THREADS>>>(count, x, bound, some);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(&got, count, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(count));
  printf("above 1.5:       %d, %s\n", got, truth(got == expected_above(some, &total)));

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

static void *copied(const void *host, size_t bytes) {
  void *device;
  CHECK(cudaMalloc(&device, bytes));
  CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  return device;
}

// A matrix of n / 64 rows and as many columns. Row r has r * 37 % 63 nonzeros, in adjacent columns from r on.
static void sparse(int n) {
  heading("Sparse matrix-vector product");
  const int rows = n / 64;
  int *offsets_host = (int *)malloc((rows + 1) * sizeof(int)), count = 0, wrong = 0;
  for (int r = 0; r < rows; r++) {
    offsets_host[r] = count;
    count += r * 37 % 63;
  }
  offsets_host[rows] = count;
  int *columns_host = (int *)malloc(count * sizeof(int));
  float *values_host = (float *)malloc(count * sizeof(float)), *got = (float *)malloc(rows * sizeof(float));
  for (int r = 0; r < rows; r++)
    for (int k = offsets_host[r]; k < offsets_host[r + 1]; k++) {
      columns_host[k] = (r + k - offsets_host[r]) % rows;
      values_host[k] = (float)(k % 5 + 1);
    }
  int *offsets = (int *)copied(offsets_host, (rows + 1) * sizeof(int));
  int *columns = (int *)copied(columns_host, count * sizeof(int));
  float *values = (float *)copied(values_host, count * sizeof(float));
  spmv<<<(rows + THREADS - 1) / THREADS, THREADS>>>(sums, offsets, columns, values, x, rows);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(got, sums, rows * sizeof(float), cudaMemcpyDeviceToHost));
  for (int r = 0; r < rows; r++) {
    float want = 0;
    for (int k = offsets_host[r]; k < offsets_host[r + 1]; k++)
      want += values_host[k] * x_host[columns_host[k]];
    wrong += got[r] != want;
  }
  printf("spmv:            %d nonzeros, %s\n", count, truth(wrong == 0));
  CHECK(cudaFree(offsets));
  CHECK(cudaFree(columns));
  CHECK(cudaFree(values));
  free(offsets_host);
  free(columns_host);
  free(values_host);
  free(got);
}

static void an_atomic_for_each(int n) {
  heading("Atomics");
  clear();
  atomic_each<<<n / THREADS, THREADS>>>(sum, x);
  CHECK_LAUNCH();
  printf("one atomic addition per element: %s\n", truth(fetched(sum) == expected));
}

static void by_groups(const Chapter *chapter, int n) {
  heading("Cooperative groups");
  const int most = chapter->simulated ? 64 : n / THREADS; // a simulated device needs a thread of the CPU for each block
  int device, sms, blocks_per_sm;
  float ms = 0;
  // [launch]
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, (const void *)cooperative, THREADS, 0));
  int blocks = sms * blocks_per_sm; // the blocks that fit on the GPU at the same time
  blocks = blocks < most ? blocks : most;
  void *arguments[] = {&sum, &sums, &x, &n};
  timed(ms)
    CHECK(cudaLaunchCooperativeKernel(cooperative, blocks, THREADS, arguments, 0, NULL));
  // [end]
  titles();
  row("cooperative", blocks, true, n, ms);
}

static void keep(int n) {
  const int some = n - 100;
  int *count, got;
  double wanted = 0, total = 0;
  float *kept, *kept_host = (float *)malloc(n * sizeof(float));
  CHECK(cudaMalloc(&kept, n * sizeof(float)));
  CHECK(cudaMalloc(&count, sizeof *count));
  CHECK(cudaMemset(count, 0, sizeof *count));
  keep_above<<<(some + THREADS - 1) / THREADS, THREADS>>>(kept, count, x, bound, some);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(&got, count, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(kept_host, kept, got * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < got; i++)
    total += kept_host[i];
  const int want = expected_above(some, &wanted);
  printf("\nkeep_above:      %d elements, %s\n", got, truth(got == want && total == wanted));
  CHECK(cudaFree(kept));
  CHECK(cudaFree(count));
  free(kept_host);
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Warp primitives and atomics",
                                  "Shuffles, votes, a sparse matrix, atomic operations and cooperative groups.");
  const int n = chapter.quick ? 1 << 15 : 1 << 22;
  arrays_begin(n, n / 64);
  by_shuffles(n);
  votes_and_groups(n);
  sparse(n);
  an_atomic_for_each(n);
  by_groups(&chapter, n);
  keep(n);
  arrays_end();
  return 0;
}
