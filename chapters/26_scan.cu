// Lesson 26, docs/26_scan.md: prefix sums within a block and over several blocks, their applications, a histogram, and a radix sort.
//
// prints: ^hillis_steele +256 +True
// prints: ^one_pass +1 +True
// prints: ^by tickets +[0-9]+ True +(True|False) *$
// prints: ^by a scan +[0-9]+ True +True *$
// prints: ^runs: [0-9]+, longest [0-9]+, True$
// prints: ^8 copies of its own +True
// prints: ^after bit 15 +True$
#include "kernels.h"

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, CHUNK = 4 * THREADS, BINS = 64 };
#define ALL_LANES 0xffffffffu

// [hillis]
// Hillis-Steele: the inclusive scan of a block's elements. The buffers sums[0] and sums[1] alternate.
__global__ void hillis_steele(int *out, const int *in) {
  __shared__ int sums[2][THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, current = 0;
  sums[current][t] = in[i];
  __syncthreads();
  for (int distance = 1; distance < THREADS; distance *= 2) {
    sums[!current][t] = sums[current][t] + (t >= distance ? sums[current][t - distance] : 0);
    current = !current;
    __syncthreads();
  }
  out[i] = sums[current][t];
}
// [end]

// [blelloch]
// The index in shared memory of element i of the tree. With padding, one unused word follows every 32 words.
template <bool PADDED> static __device__ int index(int i) {
  return PADDED ? i + i / WARP : i;
}

// Blelloch: in the up-sweep each node becomes the sum of its leaves. In the down-sweep each node passes its prefix to its left
// child, and that prefix plus the left child's sum to its right child.
template <bool PADDED> __global__ void blelloch(int *out, const int *in) {
  __shared__ int tree[2 * THREADS + 2 * THREADS / WARP];
  int t = threadIdx.x, i = blockIdx.x * 2 * THREADS + t, x[2] = {in[i], in[i + THREADS]};
  tree[index<PADDED>(t)] = x[0];
  tree[index<PADDED>(t + THREADS)] = x[1];
  __syncthreads();
  for (int step = 1; step < 2 * THREADS; step *= 2) {
    int right = 2 * step * (t + 1) - 1;
    if (right < 2 * THREADS)
      tree[index<PADDED>(right)] += tree[index<PADDED>(right - step)];
    __syncthreads();
  }
  if (t == 0)
    tree[index<PADDED>(2 * THREADS - 1)] = 0; // no barrier needed: thread 0 also reads it first
  for (int step = THREADS; step > 0; step /= 2) {
    int right = 2 * step * (t + 1) - 1;
    if (right < 2 * THREADS) {
      int left = tree[index<PADDED>(right - step)];
      tree[index<PADDED>(right - step)] = tree[index<PADDED>(right)];
      tree[index<PADDED>(right)] += left;
    }
    __syncthreads();
  }
  out[i] = tree[index<PADDED>(t)] + x[0];
  out[i + THREADS] = tree[index<PADDED>(t + THREADS)] + x[1];
}
// [end]

// [warp_scan]
// The inclusive scan of one value per lane: the Hillis-Steele steps between registers, without shared memory.
static __device__ int warp_scan(int x) {
  int lane = threadIdx.x % WARP;
  for (int distance = 1; distance < WARP; distance *= 2) {
    int other = __shfl_up_sync(ALL_LANES, x, distance);
    if (lane >= distance)
      x += other;
  }
  return x;
}

// The inclusive scan of one value per thread of a block. *total becomes the sum of all of them.
static __device__ int block_scan(int x, int *total) {
  __shared__ int warp_sums[WARPS];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  x = warp_scan(x);
  if (lane == WARP - 1)
    warp_sums[warp] = x;
  __syncthreads();
  if (warp == 0) {
    int sum = warp_scan(lane < WARPS ? warp_sums[lane] : 0);
    if (lane < WARPS)
      warp_sums[lane] = sum;
  }
  __syncthreads();
  *total = warp_sums[WARPS - 1];
  return x + (warp > 0 ? warp_sums[warp - 1] : 0);
}
// [end]

// [by_warps]
__global__ void by_warps(int *out, const int *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, total;
  out[i] = block_scan(in[i], &total);
}
// [end]

// [by_fours]
// Each thread scans the four elements of an int4 in registers. block_scan then scans the threads' totals.
static __device__ int4 scan_fours(int4 x, int offset, int *total) {
  x.y += x.x;
  x.z += x.y;
  x.w += x.z;
  offset += block_scan(x.w, total) - x.w;
  return make_int4(offset + x.x, offset + x.y, offset + x.z, offset + x.w);
}

__global__ void by_fours(int4 *out, const int4 *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, total;
  out[i] = scan_fours(in[i], 0, &total);
}
// [end]

// [blocks_apart]
// Scan, then add. Launch 1: each block scans its chunk and stores the chunk total.
__global__ void scan_blocks(int4 *out, int *sums, const int4 *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, total;
  out[i] = scan_fours(in[i], 0, &total);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = total;
}
// Launch 2: one block replaces the n chunk totals by their exclusive scan, the chunks' offsets. sums[n] is the total.
__global__ void scan_sums(int *sums, int n) {
  int offset = 0, total;
  for (int first = 0; first < n; first += THREADS) {
    int i = first + threadIdx.x, x = i < n ? sums[i] : 0, inclusive = block_scan(x, &total);
    if (i < n)
      sums[i] = offset + inclusive - x;
    offset += total;
    __syncthreads(); // the next iteration's block_scan reuses shared memory
  }
  if (threadIdx.x == 0)
    sums[n] = offset;
}
// Launch 3: each element adds the offset of its chunk.
__global__ void add_prefix(int4 *out, const int *sums) {
  int i = blockIdx.x * THREADS + threadIdx.x, offset = sums[blockIdx.x];
  int4 x = out[i];
  out[i] = make_int4(x.x + offset, x.y + offset, x.z + offset, x.w + offset);
}
// [end]

// [reduce_first]
// Reduce, then scan. Launch 1 stores only the chunk totals, launch 2 is scan_sums again, and launch 3 scans with the offset.
__global__ void sum_blocks(int *sums, const int4 *in) {
  int4 x = in[blockIdx.x * THREADS + threadIdx.x];
  int total;
  block_scan(x.x + x.y + x.z + x.w, &total);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = total;
}
__global__ void scan_after(int4 *out, const int *sums, const int4 *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, total;
  out[i] = scan_fours(in[i], sums[blockIdx.x], &total);
}
// [end]

// [look_back]
// Decoupled look-back (Merrill and Garland, 2016). A block publishes its aggregate (the chunk total), looks back at its
// predecessors, and publishes its inclusive prefix. Status and value share one 64-bit word, so that they arrive together.
typedef unsigned long long State;
enum { INVALID, AGGREGATE, PREFIX }; // nothing published; the chunk total; the sum of this chunk and all before it

static __device__ void publish(State *state, int status, int value) {
  atomicExch(state, (State)status << 32 | (unsigned int)value);
}

static __device__ int look_back(State *states, int chunk) {
  int offset = 0;
  for (int i = chunk - 1; i >= 0;) {
    State seen = atomicAdd(&states[i], 0ull); // an atomic read: all blocks see the same value
    if (seen >> 32 == INVALID)
      continue;
    offset += (int)(unsigned int)seen;
    if (seen >> 32 == PREFIX)
      break;
    i--;
  }
  return offset;
}

__global__ void one_pass(int4 *out, State *states, unsigned int *next, const int4 *in) {
  __shared__ int chunk, offset;
  if (threadIdx.x == 0)
    chunk = atomicAdd(next, 1u); // dynamic block ID: the blocks of all earlier chunks have already started
  __syncthreads();
  int i = chunk * THREADS + threadIdx.x, total;
  int4 x = in[i];
  x = scan_fours(x, 0, &total);
  if (threadIdx.x == 0) {
    publish(&states[chunk], AGGREGATE, total);
    offset = look_back(states, chunk);
    publish(&states[chunk], PREFIX, offset + total);
  }
  __syncthreads();
  out[i] = make_int4(x.x + offset, x.y + offset, x.z + offset, x.w + offset);
}
// [end]

// [keep_atomic]
// Keeps the elements above 0, in any order. Each one claims a slot of out from an atomic counter.
__global__ void compact_atomics(int *out, int *count, const int *in) {
  int x = in[blockIdx.x * THREADS + threadIdx.x];
  if (x > 0)
    out[atomicAdd(count, 1)] = x;
}
// [end]

// [keep_ballot]
// Warp-aggregated atomics: the warp counts its kept elements by a vote, and lane 0 claims slots for all of them.
__global__ void keep_by_warps(int *out, int *count, const int *in) {
  int x = in[blockIdx.x * THREADS + threadIdx.x], lane = threadIdx.x % WARP, first = 0;
  unsigned int kept = __ballot_sync(ALL_LANES, x > 0);
  if (lane == 0)
    first = atomicAdd(count, __popc(kept));
  first = __shfl_sync(ALL_LANES, first, 0);
  if (x > 0)
    out[first + __popc(kept & ((1u << lane) - 1))] = x;
}
// [end]

// [keep_scan]
// In order: each block counts its kept elements, scan_sums turns the counts into offsets, and each block scans its flags.
__global__ void count_kept(int *counts, const int *in) {
  int total = __syncthreads_count(in[blockIdx.x * THREADS + threadIdx.x] > 0);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = total;
}
__global__ void keep_in_order(int *out, const int *offsets, const int *in) {
  int x = in[blockIdx.x * THREADS + threadIdx.x], total, flag = x > 0;
  int inclusive = offsets[blockIdx.x] + block_scan(flag, &total);
  if (flag)
    out[inclusive - 1] = x;
}
// [end]

// [runs]
// The head of a run is an element that differs from its left neighbor. The heads are compacted like any other elements.
static __device__ int is_head(const int *in, int i) {
  return i == 0 || in[i] != in[i - 1];
}
__global__ void count_heads(int *counts, const int *in) {
  int total = __syncthreads_count(is_head(in, blockIdx.x * THREADS + threadIdx.x));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = total;
}
__global__ void write_heads(int *starts, const int *offsets, const int *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, total, flag = is_head(in, i);
  int inclusive = offsets[blockIdx.x] + block_scan(flag, &total);
  if (flag)
    starts[inclusive - 1] = i;
}
// A run ends where the next one starts.
__global__ void write_runs(int *values, int *lengths, const int *starts, const int *in, int runs, int n) {
  int r = blockIdx.x * THREADS + threadIdx.x;
  if (r >= runs)
    return;
  values[r] = in[starts[r]];
  lengths[r] = (r + 1 < runs ? starts[r + 1] : n) - starts[r];
}
// [end]

// [count_global]
__global__ void count_global(unsigned int *bins, const unsigned char *in, int n) {
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    atomicAdd(&bins[in[i]], 1u);
}
// [end]

// [count_shared]
// Privatization: each block has COPIES of the bins, and adjacent lanes use different copies. A copy is one word longer than its
// bins, so that the same bin of different copies is in different banks.
template <int COPIES> __global__ void count_shared(unsigned int *bins, const unsigned char *in, int n) {
  __shared__ unsigned int own[COPIES][BINS + 1];
  for (int b = threadIdx.x; b < COPIES * (BINS + 1); b += THREADS)
    own[b / (BINS + 1)][b % (BINS + 1)] = 0;
  __syncthreads();
  unsigned int *mine = own[threadIdx.x % COPIES];
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    atomicAdd(&mine[in[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += THREADS) {
    unsigned int sum = 0;
    for (int c = 0; c < COPIES; c++)
      sum += own[c][b];
    atomicAdd(&bins[b], sum);
  }
}
// [end]

// [split]
// One pass of a radix sort: a stable split by one bit. Keys with the bit 0 go to the front, and all others after them.
static __device__ int is_zero(unsigned int key, int bit) {
  return !(key >> bit & 1);
}
__global__ void count_zeros(int *counts, const unsigned int *in, int bit) {
  int total = __syncthreads_count(is_zero(in[blockIdx.x * THREADS + threadIdx.x], bit));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = total;
}
__global__ void split(unsigned int *out, const int *offsets, const unsigned int *in, int bit) {
  int i = blockIdx.x * THREADS + threadIdx.x, total, flag = is_zero(in[i], bit);
  int zeros_before = offsets[blockIdx.x] + block_scan(flag, &total) - flag;
  int all_zeros = offsets[gridDim.x];
  out[flag ? zeros_before : all_zeros + i - zeros_before] = in[i];
}
// [end]

// ---- arrays and checks ----------------------------------------------------------------------------------------------------

static int *in, *out, *sums, *in_host, *out_host;
static State *states;
static unsigned int *next;

static void arrays_begin(int n) {
  const size_t bytes = n * sizeof(int), chunks = n / CHUNK;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaMalloc(&sums, (n / THREADS + 1) * sizeof(int)));
  CHECK(cudaMalloc(&states, chunks * sizeof(State)));
  CHECK(cudaMalloc(&next, sizeof *next));
  in_host = (int *)malloc(bytes);
  out_host = (int *)malloc(bytes);
  for (int i = 0; i < n; i++)
    in_host[i] = i * 7 % 11 - 4;
  CHECK(cudaMemcpy(in, in_host, bytes, cudaMemcpyHostToDevice));
}

static void arrays_end(void) {
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(states));
  CHECK(cudaFree(next));
  free(in_host);
  free(out_host);
}

static void fetch(int count) {
  CHECK(cudaMemcpy(out_host, out, count * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(out, 0xff, count * sizeof(int)));
}

static int number(const int *at) {
  int value;
  CHECK(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

static const char *truth(bool value) {
  return value ? "True" : "False";
}

// Is out the inclusive scan of each `chunk` elements?
static bool is_scanned(int n, int chunk) {
  fetch(n);
  for (int i = 0, sum = 0; i < n; i++) {
    sum = (i % chunk ? sum : 0) + in_host[i];
    if (out_host[i] != sum)
      return false;
  }
  return true;
}

// ---- the sections --------------------------------------------------------------------------------------------------------

static void within_blocks(int n) {
  heading("Within blocks");
  const Table table = {5, {14, 12, 6, 20, 10}};
  float ms = 0;
  printf("%d elements\n", n);
  table_row(&table, "kernel", "elements", "right", "time", "rate");
#define ROW(NAME, ELEMENTS)                                                                                            \
  table_row(&table, NAME, text("%d", ELEMENTS), truth(is_scanned(n, ELEMENTS)), time_text(ms),                         \
            rate_text(2.0 * n * sizeof(int), ms))
  timed(ms)
    hillis_steele<<<n / THREADS, THREADS>>>(out, in);
  ROW("hillis_steele", THREADS);
  timed(ms)
    blelloch<false><<<n / THREADS / 2, THREADS>>>(out, in);
  ROW("blelloch", 2 * THREADS);
  timed(ms)
    blelloch<true><<<n / THREADS / 2, THREADS>>>(out, in);
  ROW("with gaps", 2 * THREADS);
  timed(ms)
    by_warps<<<n / THREADS, THREADS>>>(out, in);
  ROW("by_warps", THREADS);
  timed(ms)
    by_fours<<<n / CHUNK, THREADS>>>((int4 *)out, (const int4 *)in);
  ROW("by_fours", CHUNK);
#undef ROW
}

static void over_blocks(int n) {
  heading("Over blocks");
  const Table table = {5, {14, 12, 6, 20, 10}};
  const int chunks = n / CHUNK;
  int4 *to = (int4 *)out;
  const int4 *from = (const int4 *)in;
  float ms = 0;
  table_row(&table, "way", "launches", "right", "time", "rate");
#define ROW(NAME, LAUNCHES)                                                                                            \
  table_row(&table, NAME, LAUNCHES, truth(is_scanned(n, n)), time_text(ms), rate_text(2.0 * n * sizeof(int), ms))
  timed(ms) {
    scan_blocks<<<chunks, THREADS>>>(to, sums, from);
    scan_sums<<<1, THREADS>>>(sums, chunks);
    add_prefix<<<chunks, THREADS>>>(to, sums);
  }
  ROW("scan, add", "3");
  timed(ms) {
    sum_blocks<<<chunks, THREADS>>>(sums, from);
    scan_sums<<<1, THREADS>>>(sums, chunks);
    scan_after<<<chunks, THREADS>>>(to, sums, from);
  }
  ROW("sum, scan", "3");
  CHECK(cudaMemset(states, 0, chunks * sizeof(State)));
  CHECK(cudaMemset(next, 0, sizeof *next));
  timed(ms)
    one_pass<<<chunks, THREADS>>>(to, states, next, from);
  ROW("one_pass", "1");
#undef ROW
}

// Are the first `count` of out the positive elements of in, in order, or in any?
static void kept_row(const char *way, int n, int count) {
  int kept = 0;
  long long got = 0, want = 0;
  bool in_order = true;
  fetch(n);
  for (int i = 0; i < n; i++)
    if (in_host[i] > 0) {
      in_order = in_order && out_host[kept] == in_host[i];
      want += in_host[i];
      got += out_host[kept++];
    }
  printf("%-11s %8d %-6s %-6s\n", way, count, truth(count == kept && got == want), truth(in_order));
}

static void compaction(int n) {
  heading("Compaction");
  const int blocks = n / THREADS;
  int *count;
  CHECK(cudaMalloc(&count, sizeof *count));
  printf("%-11s %8s %-6s %-6s\n", "", "kept", "right", "in order");
  CHECK(cudaMemset(count, 0, sizeof *count));
  compact_atomics<<<blocks, THREADS>>>(out, count, in);
  CHECK_LAUNCH();
  kept_row("by tickets", n, number(count));
  CHECK(cudaMemset(count, 0, sizeof *count));
  keep_by_warps<<<blocks, THREADS>>>(out, count, in);
  CHECK_LAUNCH();
  kept_row("by warps", n, number(count));
  count_kept<<<blocks, THREADS>>>(sums, in);
  scan_sums<<<1, THREADS>>>(sums, blocks);
  keep_in_order<<<blocks, THREADS>>>(out, sums, in);
  CHECK_LAUNCH();
  kept_row("by a scan", n, number(sums + blocks));
  CHECK(cudaFree(count));
}

// Runs of 1 to some dozens of equal elements.
static void make_runs(int n) {
  unsigned int state = 1;
  for (int i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    in_host[i] = i > 0 && state >> 28 > 3 ? in_host[i - 1] : (int)(state >> 24 & 15);
  }
  CHECK(cudaMemcpy(in, in_host, n * sizeof(int), cudaMemcpyHostToDevice));
}

// Checks that the runs decode to the input. Returns the longest length, or -1.
static int longest_run(const int *values, const int *lengths, int runs, int n) {
  int longest = 0, at = 0;
  for (int r = 0; r < runs; r++) {
    if (lengths[r] < 1 || lengths[r] > n - at || (r > 0 && values[r] == values[r - 1]))
      return -1;
    for (int i = 0; i < lengths[r]; i++)
      if (in_host[at++] != values[r])
        return -1;
    longest = lengths[r] > longest ? lengths[r] : longest;
  }
  return at == n ? longest : -1;
}

static void run_lengths(int n) {
  heading("Run lengths");
  const int blocks = n / THREADS;
  int *values, *lengths;
  make_runs(n);
  CHECK(cudaMalloc(&values, n * sizeof(int)));
  CHECK(cudaMalloc(&lengths, n * sizeof(int)));
  count_heads<<<blocks, THREADS>>>(sums, in);
  scan_sums<<<1, THREADS>>>(sums, blocks);
  write_heads<<<blocks, THREADS>>>(out, sums, in);
  CHECK_LAUNCH();
  const int runs = number(sums + blocks);
  write_runs<<<(runs + THREADS - 1) / THREADS, THREADS>>>(values, lengths, out, in, runs, n);
  CHECK_LAUNCH();
  int *lengths_host = (int *)malloc(n * sizeof(int));
  CHECK(cudaMemcpy(out_host, values, runs * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(lengths_host, lengths, runs * sizeof(int), cudaMemcpyDeviceToHost));
  const int longest = longest_run(out_host, lengths_host, runs, n);
  printf("runs: %d, longest %d, %s\n", runs, longest, truth(longest > 0));
  free(lengths_host);
  CHECK(cudaFree(values));
  CHECK(cudaFree(lengths));
}

static unsigned char *bytes, *bytes_host;
static unsigned int *bins;

static bool is_counted(int n) {
  unsigned int want[BINS] = {0}, got[BINS];
  for (int i = 0; i < n; i++)
    want[bytes_host[i]]++;
  CHECK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(bins, 0, sizeof got));
  return memcmp(want, got, sizeof got) == 0;
}

static void histograms(int n) {
  heading("A histogram");
  const int blocks = n < 128 * THREADS ? n / THREADS : 128;
  bytes_host = (unsigned char *)malloc(n);
  for (int i = 0; i < n; i++)
    bytes_host[i] = (unsigned char)(i % 3 == 0 ? 5 : i * 7 % 61); // a third is one value
  CHECK(cudaMalloc(&bytes, n));
  CHECK(cudaMalloc(&bins, BINS * sizeof *bins));
  CHECK(cudaMemcpy(bytes, bytes_host, n, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(bins, 0, BINS * sizeof *bins));
  count_global<<<blocks, THREADS>>>(bins, bytes, n);
  CHECK_LAUNCH();
  printf("global memory        %s\n", truth(is_counted(n)));
  count_shared<1><<<blocks, THREADS>>>(bins, bytes, n);
  CHECK_LAUNCH();
  printf("a block's own        %s\n", truth(is_counted(n)));
  count_shared<8><<<blocks, THREADS>>>(bins, bytes, n);
  CHECK_LAUNCH();
  printf("8 copies of its own  %s\n", truth(is_counted(n)));
  CHECK(cudaFree(bytes));
  CHECK(cudaFree(bins));
  free(bytes_host);
}

static int by_size(const void *a, const void *b) {
  const unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;
  return (x > y) - (x < y);
}

// Is out sorted by the bits from 0 to `bit`?
static bool is_sorted(const unsigned int *keys, unsigned int *host, int bit, int n) {
  const unsigned int mask = (2u << bit) - 1;
  CHECK(cudaMemcpy(host, keys, n * sizeof *host, cudaMemcpyDeviceToHost));
  for (int i = 1; i < n; i++)
    if ((host[i - 1] & mask) > (host[i] & mask))
      return false;
  return true;
}

static void radix_sort(int n) {
  heading("Radix sort");
  const int blocks = n / THREADS, bits = 16;
  const size_t size = n * sizeof(unsigned int);
  unsigned int *keys[2], *host = (unsigned int *)malloc(size), *want = (unsigned int *)malloc(size), state = 1;
  for (int i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    host[i] = want[i] = state >> (32 - bits);
  }
  qsort(want, n, sizeof *want, by_size);
  CHECK(cudaMalloc(&sums, (blocks + 1) * sizeof *sums));
  CHECK(cudaMalloc(&keys[0], size));
  CHECK(cudaMalloc(&keys[1], size));
  CHECK(cudaMemcpy(keys[0], host, size, cudaMemcpyHostToDevice));
  printf("%d keys    sorted by all bits so far\n", n);
  // [passes]
  for (int bit = 0; bit < bits; bit++) { // the two arrays alternate
    unsigned int *from = keys[bit % 2], *to = keys[!(bit % 2)];
    count_zeros<<<blocks, THREADS>>>(sums, from, bit);
    scan_sums<<<1, THREADS>>>(sums, blocks);
    split<<<blocks, THREADS>>>(to, sums, from, bit);
    CHECK_LAUNCH();
    if (bit % 5 == 0)
      printf("after bit %-2d       %s\n", bit, truth(is_sorted(to, host, bit, n)));
  }
  // [end]
  CHECK(cudaMemcpy(host, keys[bits % 2], size, cudaMemcpyDeviceToHost));
  printf("as qsort           %s\n", truth(memcmp(host, want, size) == 0));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(keys[0]));
  CHECK(cudaFree(keys[1]));
  free(host);
  free(want);
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Scan, compaction, histogram", "What stands before each element.");
  const int n = chapter.quick ? 1 << 15 : 1 << 20;
  arrays_begin(n);
  within_blocks(n);
  over_blocks(n);
  compaction(n);
  run_lengths(n);
  arrays_end();
  histograms(n);
  radix_sort(n);
  return 0;
}
