// Kernels that cu2cpp --split takes apart (yes_), among them such whose blocks side by side are one to them (joins_), and kernels that
// it has to leave alone (no_): test_split.sh looks at what it says of
// each, and that all give the same results either way.
#include <cooperative_groups.h>
#include <stdio.h>
#include <string.h>

#define SIZE 64
#define SUM(x, y) ((x) + (y))
#define LEAVE return
enum { HALF = SIZE / 2 };
const int three = 3;
__device__ int changing = 2;

__device__ int twice(int x) {
  return 2 * x;
}
__device__ int with_barrier(int x) {
  __syncthreads();
  return x;
}
__device__ void set(int &x, int value) {
  x = value;
}
__device__ bool try_lock(int *lock) {
  return atomicCAS(lock, 0, 1) == 0;
}

template <typename T, int N> __global__ void yes_template(T *out) {
  __shared__ T s[N];
  const int t = threadIdx.x;
  s[t] = (T)t;
  __syncthreads();
  for (int k = N / 2; k > 0; k >>= 1) {
    if (t < k)
      s[t] += s[t + k];
    __syncthreads();
  }
  out[t] = s[0] + t;
}

__global__ void yes_returns_at_the_end(int *out) {
  __shared__ int s[SIZE];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int i = 0; i < 3; i++)
    if (threadIdx.x == 5 + i)
      return;
  out[threadIdx.x] = s[SIZE - 1 - threadIdx.x];
}

__global__ void yes_all_return(int *out, int n) {
  if (n < 100)
    out[threadIdx.x] = 1;
  if (n < 50)
    return;
  __syncthreads();
  out[threadIdx.x] += 2;
}

__global__ void yes_leaves_a_loop(int *out, int n) {
  __shared__ int s[SIZE];
  s[threadIdx.x] = 1;
  int k = 0;
  while (true) {
    __syncthreads();
    s[threadIdx.x] = s[threadIdx.x] * 2 + k;
    if (k == n % 7)
      break;
    k++;
    if (k == 2)
      continue;
    __syncthreads();
    s[threadIdx.x] += 5;
  }
  out[threadIdx.x] = s[threadIdx.x];
}

__global__ void yes_keeps_addresses(int *out) {
  int one = threadIdx.x, pair[2] = {1, (int)threadIdx.x};
  int *p = &one, *q = pair;
  __syncthreads();
  *p += 3;
  q[1] += 4;
  __syncthreads();
  out[threadIdx.x] = one * 100 + pair[1] + q[0];
}

__global__ void yes_moves_a_parameter(int *out, const int *in, int n) {
  out += threadIdx.x;
  n += three;
  __syncthreads();
  *out = in[threadIdx.x] + n;
}

__global__ void yes_changes_by_reference(int *out) {
  int x = 1, y = HALF;
  set(x, threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = twice(x) + SUM(x, y);
}

__global__ void yes_group(int *out) {
  cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
  __shared__ int s[SIZE];
  s[block.thread_rank()] = block.thread_index().x;
  block.sync();
  out[threadIdx.x] = s[SIZE - 1 - threadIdx.x];
}

namespace cg = cooperative_groups;
__device__ int sum_before(int x, volatile int *s, const cg::thread_block &block, int size) {
  const int t = threadIdx.x;
  s[t] = x;
  for (int apart = 1; apart < size; apart *= 2) {
    cg::sync(block);
    const int other = t >= apart ? s[t - apart] : 0;
    block.sync();
    s[t] += other;
  }
  return s[t];
}
__global__ void yes_group_of_a_function(int *out, const int *in) {
  cg::thread_block mine = cg::this_thread_block();
  __shared__ int s[SIZE];
  const int sum = sum_before(in[threadIdx.x], s, mine, SIZE);
  cg::this_thread_block().sync();
  s[SIZE - 1 - threadIdx.x] = sum;
  cg::sync(mine);
  out[threadIdx.x] = s[threadIdx.x];
}

__device__ int sum_of_table(const int table[4][2], cg::thread_block block) {
  block.sync();
  return table[threadIdx.x % 4][1];
}
__global__ void yes_array_of_a_function(int *out, const int in[][2], int n) {
  __shared__ int table[4][2];
  cg::thread_block block = cg::this_thread_block();
  if (threadIdx.x < 8)
    table[threadIdx.x / 2][threadIdx.x % 2] = in[threadIdx.x / 2][1] * n;
  out[threadIdx.x] = sum_of_table(table, block);
}

__global__ void no_part_of_a_block(int *out) {
  cg::thread_block_tile<8> block = cg::tiled_partition<8>(cg::this_thread_block());
  out[threadIdx.x] = threadIdx.x;
  cg::sync(block);
  out[threadIdx.x] += out[threadIdx.x ^ 1] > 0;
}

__global__ void joins_arrays(int out[][4], const int in[16], int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i / 4][i % 4] = in[i % 16];
}

__global__ void yes_adds(int *out) {
  __shared__ int count;
  if (threadIdx.x == 0)
    count = 0;
  __syncthreads();
  for (int i = 0; i < 3; i++)
    atomicAdd(&count, i);
  __syncthreads();
  out[threadIdx.x] = count;
}

__global__ void yes_shared_number(int *out) {
  __shared__ int base;
  if (threadIdx.x == 0)
    base = 5;
  __syncthreads();
  int mine = base + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0)
    base = 100;
  __syncthreads();
  out[threadIdx.x] = mine + base;
}

__global__ void yes_divides_after_a_return(int *out, const int *in, int zero) {
  out[threadIdx.x] = 3;
  __syncthreads();
  if (in[0] > 0)
    return;
  const int part = 10 / zero;
  out[threadIdx.x] = part;
}

// Warp functions.
#define ALL 0xffffffffu
__device__ int warp_sum(int x) {
  for (int apart = 16; apart > 0; apart /= 2)
    x += __shfl_down_sync(ALL, x, apart);
  return x;
}
template <typename T, int N> __device__ T block_sum(T x) {
  static __shared__ T of_warp[N];
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0)
    of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
  if (threadIdx.x < 32)
    x = warp_sum(x);
  return x;
}
__device__ int scan(int x, int *all, int rounds) {
  *all = warp_sum(x);
  return x + rounds;
}
__device__ int scan(int x, int *all) {
  int lane = threadIdx.x & 31;
  for (int before = 1; before < 32; before *= 2) {
    int other = __shfl_up_sync(ALL, x, before);
    if (lane >= before)
      x += other;
  }
  *all = __shfl_sync(ALL, x, 31);
  return x;
}
__device__ int twice_over(int depth, int x) {
  if (depth > 0)
    return twice_over(depth - 1, x);
  return __shfl_xor_sync(ALL, x, 1);
}

__global__ void yes_block_sum(int *out) {
  int x = threadIdx.x * threadIdx.x;
  int first = block_sum<int, 32>(x);
  __syncthreads();
  out[threadIdx.x] = first + block_sum<int, 32>(x + 1) + blockDim.x;
}

__global__ void yes_scan(int *out, const int *in) {
  int all, i = threadIdx.x, part = scan(in[i], &all);
  out[i] = part * 100 + all;
}

__global__ void yes_ballot(int *out, const int *in, int bound) {
  unsigned above = __ballot_sync(ALL, in[threadIdx.x] > bound);
  if (__all_sync(ALL, in[threadIdx.x] > 0))
    out[threadIdx.x] = __popc(above) + __any_sync(ALL, threadIdx.x == 40) * 100;
}

__global__ void yes_rows(int *out, const int *in, int rows) { // a warp for each; agreed upon where warps are whole
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
  if (row >= rows)
    return;
  int x = in[row * 16 + lane];
  x += __shfl_xor_sync(ALL, x, 8, 16);
  if (lane < 8)
    out[row * 16 + lane] = x;
}

__global__ void yes_tree(int *out) {
  __shared__ volatile int s[SIZE];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  if (t < 32) {
    s[t] = s[t] + s[t + 32];
    __syncwarp();
    for (int half = 16; half > 0; half >>= 1) {
      int sum = s[t] + s[t + half];
      __syncwarp();
      s[t] = sum;
      __syncwarp();
    }
  }
  if (t == 0)
    out[0] = s[0];
}

__global__ void yes_wide(double2 *out) {
  double2 x = make_double2(threadIdx.x, threadIdx.x * 0.5);
  double far = __shfl_down_sync(ALL, x.y, 3);
  out[threadIdx.x % 32].x = far + x.x;
}

__global__ void yes_counts(int *out, const int *in) {
  int n = __syncthreads_count(in[threadIdx.x] % 3 == 0);
  for (int i = 0; i < n; i++) {
    out[threadIdx.x] += i;
    __syncthreads();
  }
}

__global__ void no_part_of_a_warp(int *out, unsigned mask) {
  if (threadIdx.x % 2 == 0)
    out[threadIdx.x] = __shfl_down_sync(mask, (int)threadIdx.x, 2);
}

__global__ void no_chosen_call(int *out, const int *in) {
  out[threadIdx.x] = in[0] > 100 && __any_sync(ALL, in[threadIdx.x] > 5);
}

__global__ void no_loop_of_votes(int *out, const int *in) {
  int x = in[threadIdx.x];
  while (__any_sync(ALL, x > 10))
    x -= 3;
  out[threadIdx.x] = x;
}

__global__ void no_lane_condition(int *out, const int *in) {
  if (in[threadIdx.x / 32] > 0)
    out[threadIdx.x] = __shfl_xor_sync(ALL, in[threadIdx.x], 4);
}

__global__ void no_recursion(int *out) {
  out[threadIdx.x] = twice_over(3, threadIdx.x);
}

__global__ void no_warp_leaves_a_loop(int *out, int n) { // u is the same for each warp alone
  int u = 0;
  for (int i = 0; i < n; i++) {
    if (threadIdx.x / 32 == i)
      break;
    out[threadIdx.x] += __shfl_xor_sync(ALL, i, 1);
    u += 3;
  }
  for (int k = 0; k < u; k++)
    out[threadIdx.x] += __shfl_down_sync(ALL, k, 1);
}

__global__ void no_warp_changes_what_all_share(int *out) {
  int apart = 16, x = threadIdx.x;
  while (apart > 0) {
    x += __shfl_xor_sync(ALL, x, apart);
    apart /= 2;
  }
  __syncthreads();
  out[threadIdx.x] = x + apart;
}

// No barrier: the loop is over the threads that pass the conditions.
__global__ void joins_inner_points(int *out, int width, int height) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c > 0 && r > 0 && c < width - 1 && r + 1 < height)
    out[r * width + c] = r * 100 + c;
}

__global__ void joins_leave_early(int *out, const int *in, int n, int m) {
  const unsigned int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n || m < 0)
    return;
  int part = i / 3;
  if (part == 4 || (m & i) == 5)
    return;
  if (in[i] == 9)
    return;
  out[i] = part + 7;
}

__global__ void joins_every_other(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 2 == 1 && i < n)
    out[i] = i;
}

__global__ void yes_conditions_between(int *out, int n) {
  __shared__ int s[SIZE];
  const int t = threadIdx.x + blockDim.x * threadIdx.y;
  s[t] = t;
  __syncthreads();
  if (threadIdx.x < 5 && threadIdx.y > n) {
    for (int i = 0; i < 2; i++)
      s[t] += 2 * i;
  }
  __syncthreads();
  out[t] = s[SIZE - 1 - t];
}

__global__ void joins_single_condition(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 3;
}

__global__ void no_brackets(int *out) {
  for (int i = 0; i < 4;) {
    __syncthreads();
    if (threadIdx.x < SIZE)
      (i)++;
    out[threadIdx.x] = i;
  }
}

__global__ void no_condition(int *out, const int *in) {
  int more = in[0];
  do {
    __syncthreads();
    more--;
  } while (more > 0);
  out[threadIdx.x] = more;
}

__global__ void no_changing_variable(int *out) {
  for (int i = 0; i < changing; i++) {
    __syncthreads();
    out[threadIdx.x] = i;
  }
}

__global__ void no_step_by_reference(int *out) {
  int i = 0;
  while (i < 4) {
    __syncthreads();
    set(i, i + 1);
  }
  out[threadIdx.x] = i;
}

__global__ void yes_barrier_in_a_function(int *out) {
  out[threadIdx.x] = with_barrier(threadIdx.x);
  __syncthreads();
}

__global__ void yes_shuffle(int *out) {
  int x = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x, 1);
}

__global__ void no_lock(int *out, int *lock) {
  __syncthreads();
  while (!try_lock(lock))
    ;
  out[threadIdx.x] += 1;
  atomicExch(lock, 0);
}

__global__ void no_early_return(int *out) {
  if (threadIdx.x == 1000)
    return;
  __syncthreads();
  out[threadIdx.x] = 7;
}

__global__ void no_hidden_return(int *out) {
  if (threadIdx.x == 1000)
    LEAVE;
  __syncthreads();
  out[threadIdx.x] = 8;
}

__global__ void yes_vote(int *out) {
  out[threadIdx.x] = __syncthreads_count(threadIdx.x & 1);
  __syncthreads();
}

__global__ void no_lambda(int *out) {
  int x = 3;
  auto f = [&](int y) { return x + y; };
  __syncthreads();
  out[threadIdx.x] = f(threadIdx.x);
}

// Blocks side by side as one.
__global__ void joins_blocks(int *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 3 * in[i] + out[n - 1 - i] * 0;
}

enum { TILE = 4 };
__global__ void joins_tiles(int *out, const int *in, int n) { // apart where a block is not TILE threads wide
  const int i = threadIdx.x + TILE * blockIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || r > 1)
    return;
  out[2 * i + r] = in[i] ^ r;
}

__global__ void joins_casts(int *out, const int *__restrict__ in) {
  const size_t stride = gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + (int)threadIdx.x; i < SIZE; i += stride)
    out[i] = twice(__ldg(&in[(blockIdx.x * blockDim.x + threadIdx.x) % 7])) + (int)i;
}

__global__ void no_block_number(int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = blockIdx.x;
}

__global__ void no_place_twice(int *out) {
  int i = threadIdx.x + blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.x;
  out[i / 2] = i + j;
}

__global__ void no_other_factor(int *out) {
  int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  out[i % SIZE] = i;
}

__global__ void no_factor_of_the_thread(int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x * 2;
  out[i % SIZE] = i;
}

__device__ int own_number(void) {
  return threadIdx.x;
}
__global__ void no_number_in_a_function(int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = own_number();
}

#define BLOCK_NUMBER ((int)blockIdx.x)
__global__ void no_number_in_a_macro(int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = BLOCK_NUMBER;
}

__global__ void no_shared_memory(int *out) {
  __shared__ int mine;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  mine = i * 3;
  out[i] = mine;
}

__global__ void no_volatile_memory(volatile int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile int *mine = out + i;
  *mine = i;
}

__global__ void no_counting(int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&out[i / 4], i);
}

static int *out, *in;

static void tell(const char *name) {
  printf("%s:", name);
  if (cudaDeviceSynchronize() != cudaSuccess)
    printf(" failed");
  for (int i = 0; i < SIZE; i++)
    printf(" %d", out[i]);
  printf("\n");
  memset(out, 0, SIZE * sizeof *out);
}

#define RUN(...)                                                                                                       \
  __VA_ARGS__;                                                                                                         \
  tell(#__VA_ARGS__)

int main(void) {
  cudaMallocManaged(&out, 2 * SIZE * sizeof(double));
  cudaMallocManaged(&in, SIZE * sizeof *in);
  for (int i = 0; i < SIZE; i++)
    in[i] = i + 3;
  memset(out, 0, SIZE * sizeof *out);
  RUN(yes_template<int, SIZE><<<1, SIZE>>>(out));
  RUN(yes_returns_at_the_end<<<1, SIZE>>>(out));
  RUN(yes_all_return<<<1, SIZE>>>(out, 10));
  RUN(yes_all_return<<<1, SIZE>>>(out, 70));
  RUN(yes_leaves_a_loop<<<1, SIZE>>>(out, 5));
  RUN(yes_keeps_addresses<<<1, dim3(8, 4, 2)>>>(out));
  RUN(yes_moves_a_parameter<<<1, SIZE>>>(out, in, 5));
  RUN(yes_changes_by_reference<<<1, SIZE>>>(out));
  RUN(yes_group<<<1, SIZE>>>(out));
  RUN(yes_group_of_a_function<<<1, SIZE>>>(out, in));
  RUN(yes_array_of_a_function<<<1, SIZE>>>(out, (int(*)[2])in, 3));
  RUN(no_part_of_a_block<<<1, SIZE>>>(out));
  RUN(joins_arrays<<<SIZE / 2, 2>>>((int(*)[4])out, in, 61));
  RUN(yes_adds<<<1, SIZE>>>(out));
  RUN(yes_shared_number<<<1, SIZE>>>(out));
  RUN(yes_divides_after_a_return<<<1, SIZE>>>(out, in, 0));
  RUN(yes_block_sum<<<1, SIZE>>>(out));
  RUN(yes_scan<<<1, SIZE>>>(out, in));
  RUN(yes_scan<<<1, dim3(16, 4)>>>(out, in));
  RUN(yes_scan<<<1, 45>>>(out, in));
  RUN(yes_ballot<<<1, SIZE>>>(out, in, 20));
  RUN(yes_ballot<<<1, 50>>>(out, in, 20));
  RUN(yes_rows<<<1, SIZE>>>(out, in, 2));
  RUN(yes_rows<<<2, SIZE / 2>>>(out, in, 3));
  RUN(yes_tree<<<1, SIZE>>>(out));
  RUN(yes_wide<<<1, 32>>>((double2 *)out));
  RUN(yes_counts<<<1, SIZE>>>(out, in));
  RUN(no_part_of_a_warp<<<1, SIZE>>>(out, 0x55555555u));
  RUN(no_chosen_call<<<1, SIZE>>>(out, in));
  RUN(no_loop_of_votes<<<1, SIZE>>>(out, in));
  RUN(no_lane_condition<<<1, SIZE>>>(out, in));
  RUN(no_recursion<<<1, SIZE>>>(out));
  RUN(no_warp_leaves_a_loop<<<1, SIZE>>>(out, 4));
  RUN(no_warp_changes_what_all_share<<<1, SIZE>>>(out));
  RUN(joins_inner_points<<<dim3(2, 2), dim3(4, 4)>>>(out, 8, 8));
  RUN(joins_inner_points<<<dim3(2, 2), dim3(4, 4)>>>(out, 7, 6));
  RUN(joins_leave_early<<<4, SIZE / 4>>>(out, in, 50, 5));
  RUN(joins_leave_early<<<1, SIZE>>>(out, in, 50, -5));
  RUN(joins_every_other<<<2, SIZE / 2>>>(out, 50));
  RUN(yes_conditions_between<<<1, dim3(16, 4)>>>(out, 1));
  RUN(joins_single_condition<<<2, SIZE / 2>>>(out, 50));
  RUN(joins_single_condition<<<SIZE / 2, 2>>>(out, 50));
  RUN(joins_inner_points<<<dim3(8, 4), dim3(2, 2)>>>(out, 8, 8));
  RUN(joins_inner_points<<<dim3(16, 2), dim3(1, 4)>>>(out, 13, 4));
  RUN(joins_every_other<<<SIZE / 2, 2>>>(out, 50));
  RUN(joins_leave_early<<<SIZE, 1>>>(out, in, 50, 5));
  RUN(joins_blocks<<<SIZE / 2, 2>>>(out, in, SIZE - 3));
  RUN(joins_tiles<<<dim3(20, 3), TILE>>>(out, in, HALF - 1));
  RUN(joins_tiles<<<dim3(20, 2), TILE / 2>>>(out, in, HALF));
  RUN(joins_tiles<<<dim3(20, 2), 1>>>(out, in, HALF));
  RUN(joins_casts<<<24, 2>>>(out, in));
  RUN(no_block_number<<<SIZE / 2, 2>>>(out));
  RUN(no_place_twice<<<SIZE / 2, 2>>>(out));
  RUN(no_other_factor<<<SIZE / 2, 2>>>(out));
  RUN(no_factor_of_the_thread<<<SIZE / 2, 2>>>(out));
  RUN(no_number_in_a_function<<<SIZE / 2, 2>>>(out));
  RUN(no_number_in_a_macro<<<SIZE / 2, 2>>>(out));
  RUN(no_shared_memory<<<SIZE / 2, 2>>>(out));
  RUN(no_volatile_memory<<<SIZE / 2, 2>>>(out));
  RUN(no_counting<<<SIZE / 2, 2>>>(out));
  RUN(no_brackets<<<1, SIZE>>>(out));
  RUN(no_condition<<<1, SIZE>>>(out, in));
  RUN(no_changing_variable<<<1, SIZE>>>(out));
  RUN(no_step_by_reference<<<1, SIZE>>>(out));
  RUN(yes_barrier_in_a_function<<<1, SIZE>>>(out));
  RUN(yes_shuffle<<<1, SIZE>>>(out));
  in[1] = 0;
  RUN(no_lock<<<1, SIZE>>>(out, in + 1));
  RUN(no_early_return<<<1, SIZE>>>(out));
  RUN(no_hidden_return<<<1, SIZE>>>(out));
  RUN(yes_vote<<<1, SIZE>>>(out));
  RUN(no_lambda<<<1, SIZE>>>(out));
  return 0;
}
