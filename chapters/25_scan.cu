// Lesson 25, docs/25_scan.md: a scan in a block and over blocks, what it is good for, and a histogram.
//
// prints: ^hillis_steele +256 +True
// prints: ^one_pass +1 +True
// prints: ^by tickets +[0-9]+ True +(True|False) *$
// prints: ^by a scan +[0-9]+ True +True *$
// prints: ^runs: [0-9]+, longest [0-9]+, True$
// prints: ^8 copies of its own +True
#include "kernels.h"

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, PIECE = 4 * THREADS, BINS = 64 };
#define ALL_LANES 0xffffffffu

// [hillis]
// A block's own inclusive scan, after Hillis and Steele: in step s each element adds the one 2^s before it.
__global__ void hillis_steele(int *out, const int *in) {
  __shared__ int sums[2][THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, now = 0;
  sums[now][t] = in[i];
  __syncthreads();
  for (int before = 1; before < THREADS; before *= 2) {
    sums[!now][t] = sums[now][t] + (t >= before ? sums[now][t - before] : 0);
    now = !now;
    __syncthreads();
  }
  out[i] = sums[now][t];
}
// [end]

// [blelloch]
// Where element i of a tree stands: with a gap of one word after every 32, or without.
template <bool GAPS> static __device__ int place(int i) {
  return GAPS ? i + i / WARP : i;
}

// After Blelloch: up the tree, where each node becomes the sum of its leaves; down again, where each node hands its left child
// what stands before it, and its right child that and the left one's sum.
template <bool GAPS> __global__ void blelloch(int *out, const int *in) {
  __shared__ int tree[2 * THREADS + 2 * THREADS / WARP];
  int t = threadIdx.x, i = blockIdx.x * 2 * THREADS + t, own[2] = {in[i], in[i + THREADS]};
  tree[place<GAPS>(t)] = own[0];
  tree[place<GAPS>(t + THREADS)] = own[1];
  __syncthreads();
  for (int step = 1; step < 2 * THREADS; step *= 2) {
    int right = 2 * step * (t + 1) - 1;
    if (right < 2 * THREADS)
      tree[place<GAPS>(right)] += tree[place<GAPS>(right - step)];
    __syncthreads();
  }
  if (t == 0)
    tree[place<GAPS>(2 * THREADS - 1)] = 0; // thread 0 itself is the first to read it
  for (int step = THREADS; step > 0; step /= 2) {
    int right = 2 * step * (t + 1) - 1;
    if (right < 2 * THREADS) {
      int left = tree[place<GAPS>(right - step)];
      tree[place<GAPS>(right - step)] = tree[place<GAPS>(right)];
      tree[place<GAPS>(right)] += left;
    }
    __syncthreads();
  }
  out[i] = tree[place<GAPS>(t)] + own[0];
  out[i + THREADS] = tree[place<GAPS>(t + THREADS)] + own[1];
}
// [end]

// [warp_scan]
// The inclusive scan over a warp's lanes: Hillis and Steele's steps, from register to register.
static __device__ int warp_scan(int x) {
  int lane = threadIdx.x % WARP;
  for (int before = 1; before < WARP; before *= 2) {
    int other = __shfl_up_sync(ALL_LANES, x, before);
    if (lane >= before)
      x += other;
  }
  return x;
}

// The inclusive scan over a block; *all becomes the sum of all of it.
static __device__ int block_scan(int x, int *all) {
  __shared__ int of_warp[WARPS];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  x = warp_scan(x);
  if (lane == WARP - 1)
    of_warp[warp] = x;
  __syncthreads();
  if (warp == 0) {
    int sum = warp_scan(lane < WARPS ? of_warp[lane] : 0);
    if (lane < WARPS)
      of_warp[lane] = sum;
  }
  __syncthreads();
  *all = of_warp[WARPS - 1];
  return x + (warp > 0 ? of_warp[warp - 1] : 0);
}
// [end]

// [by_warps]
__global__ void by_warps(int *out, const int *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, all;
  out[i] = block_scan(in[i], &all);
}
// [end]

// [by_fours]
// A thread's four elements are one int4: it adds them up, and the threads' sums are scanned.
static __device__ int4 scan_fours(int4 x, int before, int *all) {
  x.y += x.x;
  x.z += x.y;
  x.w += x.z;
  before += block_scan(x.w, all) - x.w;
  return make_int4(before + x.x, before + x.y, before + x.z, before + x.w);
}

__global__ void by_fours(int4 *out, const int4 *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, all;
  out[i] = scan_fours(in[i], 0, &all);
}
// [end]

// [blocks_apart]
// First way. Each block scans its piece and says what the piece sums to ...
__global__ void scan_pieces(int4 *out, int *sums, const int4 *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, all;
  out[i] = scan_fours(in[i], 0, &all);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = all;
}
// ... one block turns the sums into what stands before each piece, and writes the sum of all behind them ...
__global__ void scan_sums(int *sums, int n) {
  int before = 0, all;
  for (int first = 0; first < n; first += THREADS) {
    int i = first + threadIdx.x, x = i < n ? sums[i] : 0, end = block_scan(x, &all);
    if (i < n)
      sums[i] = before + end - x;
    before += all;
    __syncthreads(); // all have read what the next turn's block_scan writes
  }
  if (threadIdx.x == 0)
    sums[n] = before;
}
// ... and all of it is read and written once more.
__global__ void add_before(int4 *out, const int *sums) {
  int i = blockIdx.x * THREADS + threadIdx.x, before = sums[blockIdx.x];
  int4 x = out[i];
  out[i] = make_int4(x.x + before, x.y + before, x.z + before, x.w + before);
}
// [end]

// [reduce_first]
// Second way: first the sums alone, which writes almost nothing; the scan then begins where it should.
__global__ void sum_pieces(int *sums, const int4 *in) {
  int4 x = in[blockIdx.x * THREADS + threadIdx.x];
  int all;
  block_scan(x.x + x.y + x.z + x.w, &all);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = all;
}
__global__ void scan_after(int4 *out, const int *sums, const int4 *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, all;
  out[i] = scan_fours(in[i], sums[blockIdx.x], &all);
}
// [end]

// [look_back]
// Third way: once through. A block publishes what its piece sums to, looks back over what others have published, and publishes
// where its piece ends. A state is one word of 64 bits, so that number and kind come together.
typedef unsigned long long State;
enum { NOTHING, SUM, END }; // not there yet; the piece's own sum; the sum of it and all before it

static __device__ void publish(State *state, int kind, int value) {
  atomicExch(state, (State)kind << 32 | (unsigned int)value);
}

static __device__ int look_back(State *states, int piece) {
  int before = 0;
  for (int at = piece - 1; at >= 0;) {
    State seen = atomicAdd(&states[at], 0ull); // read where all blocks see the same
    if (seen >> 32 == NOTHING)
      continue;
    before += (int)(unsigned int)seen;
    if (seen >> 32 == END)
      break;
    at--;
  }
  return before;
}

__global__ void one_pass(int4 *out, State *states, unsigned int *next, const int4 *in) {
  __shared__ int piece, before;
  if (threadIdx.x == 0)
    piece = atomicAdd(next, 1u); // pieces in the order in which blocks begin: those before this one have begun
  __syncthreads();
  int i = piece * THREADS + threadIdx.x, all;
  int4 x = in[i];
  x = scan_fours(x, 0, &all);
  if (threadIdx.x == 0) {
    publish(&states[piece], SUM, all);
    before = look_back(states, piece);
    publish(&states[piece], END, before + all);
  }
  __syncthreads();
  out[i] = make_int4(x.x + before, x.y + before, x.z + before, x.w + before);
}
// [end]

// [keep_atomic]
// Elements above 0, in any order. First way: a ticket for each.
__global__ void keep_by_tickets(int *out, int *count, const int *in) {
  int x = in[blockIdx.x * THREADS + threadIdx.x];
  if (x > 0)
    out[atomicAdd(count, 1)] = x;
}
// [end]

// [keep_ballot]
// Second way: a warp counts its own by a vote and draws for all of them at once.
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
// Third way, and the only one that keeps their order: each block counts; the counts are scanned; each block scans its flags.
__global__ void count_kept(int *counts, const int *in) {
  int all = __syncthreads_count(in[blockIdx.x * THREADS + threadIdx.x] > 0);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = all;
}
__global__ void keep_in_order(int *out, const int *before, const int *in) {
  int x = in[blockIdx.x * THREADS + threadIdx.x], all, flag = x > 0;
  int end = before[blockIdx.x] + block_scan(flag, &all);
  if (flag)
    out[end - 1] = x;
}
// [end]

// [runs]
// Runs of equal elements: a run's head is an element that differs from the one before it. Heads are kept like any others.
static __device__ int is_head(const int *in, int i) {
  return i == 0 || in[i] != in[i - 1];
}
__global__ void count_heads(int *counts, const int *in) {
  int all = __syncthreads_count(is_head(in, blockIdx.x * THREADS + threadIdx.x));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = all;
}
__global__ void write_heads(int *starts, const int *before, const int *in) {
  int i = blockIdx.x * THREADS + threadIdx.x, all, flag = is_head(in, i);
  int end = before[blockIdx.x] + block_scan(flag, &all);
  if (flag)
    starts[end - 1] = i;
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
// COPIES of the bins in each block: neighbouring lanes count in different ones. A copy is one word longer than its bins, so that
// the same bin of two copies lies in two banks.
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

// ---- arrays, and what is right --------------------------------------------------------------------------------------------

static int *in, *out, *sums, *in_host, *out_host;
static State *states;
static unsigned int *next;

static void arrays_begin(int n) {
  const size_t bytes = n * sizeof(int), pieces = n / PIECE;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaMalloc(&sums, (n / THREADS + 1) * sizeof(int)));
  CHECK(cudaMalloc(&states, pieces * sizeof(State)));
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

// Is out the inclusive scan of each `piece` elements?
static bool is_scanned(int n, int piece) {
  fetch(n);
  for (int i = 0, sum = 0; i < n; i++) {
    sum = (i % piece ? sum : 0) + in_host[i];
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
    by_fours<<<n / PIECE, THREADS>>>((int4 *)out, (const int4 *)in);
  ROW("by_fours", PIECE);
#undef ROW
}

static void over_blocks(int n) {
  heading("Over blocks");
  const Table table = {5, {14, 12, 6, 20, 10}};
  const int pieces = n / PIECE;
  int4 *to = (int4 *)out;
  const int4 *from = (const int4 *)in;
  float ms = 0;
  table_row(&table, "way", "launches", "right", "time", "rate");
#define ROW(NAME, LAUNCHES)                                                                                            \
  table_row(&table, NAME, LAUNCHES, truth(is_scanned(n, n)), time_text(ms), rate_text(2.0 * n * sizeof(int), ms))
  timed(ms) {
    scan_pieces<<<pieces, THREADS>>>(to, sums, from);
    scan_sums<<<1, THREADS>>>(sums, pieces);
    add_before<<<pieces, THREADS>>>(to, sums);
  }
  ROW("scan, add", "3");
  timed(ms) {
    sum_pieces<<<pieces, THREADS>>>(sums, from);
    scan_sums<<<1, THREADS>>>(sums, pieces);
    scan_after<<<pieces, THREADS>>>(to, sums, from);
  }
  ROW("sum, scan", "3");
  CHECK(cudaMemset(states, 0, pieces * sizeof(State)));
  CHECK(cudaMemset(next, 0, sizeof *next));
  timed(ms)
    one_pass<<<pieces, THREADS>>>(to, states, next, from);
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
  keep_by_tickets<<<blocks, THREADS>>>(out, count, in);
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

// Do the runs that are told lead to the elements? The longest one, or -1.
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
  return 0;
}
