// A fault in each kernel. `//@name` names a line; the lines `// expect KIND KERNEL LINE [LINE]` say what has to be found, which is
// all that may be found.
#include <cuda_runtime.h>

enum { THREADS = 64 };

// expect race-block no_barrier w0 r0
__global__ void no_barrier(float *out, const float *in) {
  __shared__ float tile[THREADS];
  tile[threadIdx.x] = in[threadIdx.x];              //@w0
  out[threadIdx.x] = tile[(threadIdx.x + 32) % 64]; //@r0
}

// expect race-block one_barrier_of_two r1 w1
__global__ void one_barrier_of_two(float *out, const float *in) {
  __shared__ float tile[THREADS];
  float sum = 0;
  for (int turn = 0; turn < 3; turn++) {
    tile[threadIdx.x] = in[threadIdx.x + turn]; //@w1
    __syncthreads();
    sum += tile[(threadIdx.x + 32) % 64]; //@r1
  }
  out[threadIdx.x] = sum;
}

// expect race-block in_global w2 r2
__global__ void in_global(float *out, float *room) {
  room[threadIdx.x] = (float)threadIdx.x;           //@w2
  out[threadIdx.x] = room[(threadIdx.x + 32) % 64]; //@r2
}

// expect race-block plain_and_atomic a3 w3
// expect race-warp plain_and_atomic a3 w3
__global__ void plain_and_atomic(int *out) {
  __shared__ int counts[4];
  counts[threadIdx.x % 4] = 0;                  //@w3
  atomicAdd(&counts[(threadIdx.x + 1) % 4], 1); //@a3
  __syncthreads();
  if (threadIdx.x < 4)
    out[threadIdx.x] = counts[threadIdx.x];
}

// The lanes would have to meet: only on old GPUs did they keep step.
// expect race-warp warp_without_meeting w4 r4
// expect race-warp warp_without_meeting u4 r4
__global__ void warp_without_meeting(float *out, const float *in) {
  __shared__ volatile float sums[48];
  int t = threadIdx.x;
  if (t < 16)
    sums[t + 32] = 0; //@z4
  __syncwarp();
  sums[t] = in[t]; //@w4
  for (int step = 16; step > 0; step /= 2) {
    float other = sums[t + step]; //@r4
    sums[t] = sums[t] + other;    //@u4
  }
  if (t == 0)
    out[0] = sums[0];
}

// expect race-grid sum_of_blocks u5
__global__ void sum_of_blocks(float *sum, const float *in) {
  if (threadIdx.x == 0)
    *sum += in[blockIdx.x]; //@u5
}

// Atomic for the threads of a block, and here are several.
// expect race-grid within_blocks a5
// expect race-grid within_some_blocks a6 b6
__global__ void within_blocks(int *count) {
  atomicAdd_block(count, 1); //@a5
}
__global__ void within_some_blocks(int *count) {
  if (blockIdx.x % 2)
    atomicMax_block(count, 1); //@a6
  else
    atomicAdd(count, 1); //@b6
}

// Without __threadfence() the counter says nothing about the sums.
// expect race-grid last_without_fence w6 r6
__global__ void last_without_fence(float *sum, float *part, unsigned *count, const float *in) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = in[blockIdx.x]; //@w6
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x)
    sum[threadIdx.x] = part[threadIdx.x] * 2; //@r6
}

// A byte each, but one is written by two.
// expect race-warp bytes w7
__global__ void bytes(unsigned char *out) {
  out[threadIdx.x == 5 ? 4 : threadIdx.x] = (unsigned char)threadIdx.x; //@w7
}

// expect divergent in_branch b8
__global__ void in_branch(float *out) {
  if (threadIdx.x < 32)
    __syncthreads(); //@b8
  out[threadIdx.x] = 1;
}

// expect divergent two_barriers b9 c9
__global__ void two_barriers(float *out) {
  if (threadIdx.x < 32)
    __syncthreads(); //@b9
  else
    __syncthreads(); //@c9
  out[threadIdx.x] = 1;
}

// expect barrier ordered_nothing b10
__global__ void ordered_nothing(float *out, const float *in) {
  __shared__ float tile[THREADS];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float own = tile[63 - threadIdx.x];
  __syncthreads(); //@b10
  out[threadIdx.x] = own;
}

// expect uninitialized-shared shared_not_written r11
__global__ void shared_not_written(float *out) {
  __shared__ float tile[THREADS];
  if (threadIdx.x < 32)
    tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x]; //@r11
}

// expect uninitialized-shared counts_not_zeroed a12
__global__ void counts_not_zeroed(int *out) {
  __shared__ int counts[4];
  atomicAdd(&counts[threadIdx.x % 4], 1); //@a12
  __syncthreads();
  if (threadIdx.x < 4)
    out[threadIdx.x] = counts[threadIdx.x];
}

// expect uninitialized-global global_not_written r13
__global__ void global_not_written(float *out, const float *never) {
  out[threadIdx.x] = never[threadIdx.x]; //@r13
}

// expect uninitialized-global added_to_nothing u14
__global__ void added_to_nothing(float *never) {
  never[threadIdx.x] += 1; //@u14
}

// expect bounds-global one_too_many u15
__global__ void one_too_many(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    x[i] = 1; //@u15
}

// expect bounds-global before_it r16
__global__ void before_it(float *out, const float *in) {
  out[threadIdx.x] = in[(int)threadIdx.x - 1]; //@r16
}

// expect bounds-array array_too_small w17
__global__ void array_too_small(float *out) {
  __shared__ float tile[THREADS];
  tile[threadIdx.x + 1] = 1; //@w17
  __syncthreads();
  out[threadIdx.x] = threadIdx.x ? tile[threadIdx.x] : 0;
}

// expect bounds-array inner_dimension w18
__global__ void inner_dimension(float *out) {
  __shared__ float tile[4][16];
  int y = threadIdx.x / 16, x = threadIdx.x % 16;
  tile[y][x] = 0;
  __syncthreads();
  if (y == 1)
    tile[y][x + 1] = 1; //@w18
  __syncthreads();
  out[threadIdx.x] = tile[y][x];
}

__constant__ float weights[8];
// expect bounds-array constant_array r19
__global__ void constant_array(float *out, int shift) {
  out[threadIdx.x] = weights[threadIdx.x % 8 + shift]; //@r19
}

// The compiler knows no size where the array is a pointer; the next array lies behind it.
// expect bounds-array through_a_parameter w29
static __device__ void fill(float *part, int count, float value) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    part[i] = value; //@w29
}
__global__ void through_a_parameter(float *out) {
  __shared__ float first[THREADS], second[THREADS];
  fill(first, THREADS + 1, 1);
  fill(second, THREADS + 1, 2);
  __syncthreads();
  out[threadIdx.x] = first[THREADS - 1 - threadIdx.x] + second[THREADS - 1 - threadIdx.x];
}

// expect bounds-dynamic dynamic_too_small w20
__global__ void dynamic_too_small(float *out) {
  extern __shared__ float room[];
  room[threadIdx.x] = 1; //@w20
  out[threadIdx.x] = 1;
}

// expect misaligned vector_of_three r21
__global__ void vector_of_three(float *out, const float *in) {
  const float4 v = *reinterpret_cast<const float4 *>(in + 3 * (threadIdx.x % 4)); //@r21
  out[threadIdx.x] = v.x + v.w;
}

// expect freed after_free f22
__global__ void after_free(float *x) {
  x[threadIdx.x] = 1;
}

// expect freed through_a_pointer w23
__global__ void through_a_pointer(float **where) {
  (*where)[threadIdx.x] = 1; //@w23
}

// expect argument of_the_host f24
__global__ void of_the_host(float *x) {
  x[threadIdx.x] = 1;
}

// expect illegal nowhere w25
__global__ void nowhere(float *x) {
  if (threadIdx.x == 3)
    x = nullptr;
  x[threadIdx.x] = 1; //@w25
}

// expect equal all_say_so w26
__global__ void all_say_so(int *flag) {
  *flag = 1; //@w26
}

// Sixteen lanes meet, and the other sixteen read.
// expect race-warp half_of_the_warp w27 r27
__global__ void half_of_the_warp(float *out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = (float)threadIdx.x; //@w27
  if (threadIdx.x < 16)
    __syncwarp(0x0000ffffu);
  out[threadIdx.x] = tile[(threadIdx.x + 16) % 32]; //@r27
}

// expect leak - l28

// The optimizer removes the read, whose value nobody uses.
// expect race-warp read_in_vain r30 w30
// expect race-block read_in_vain r30 w30
__global__ void read_in_vain(int *out) {
  __shared__ int total;
  if (threadIdx.x == 0)
    total = 0;
  __syncthreads();
  if (threadIdx.x == 0)
    total = 7;                //@w30
  const int seen = total + 1; //@r30
  __syncthreads();
  out[threadIdx.x] = total;
}

static void forget_errors(void) {
  cudaDeviceSynchronize();
  cudaDeviceReset();
}

int main(void) {
  enum { BYTES = 4096 };
  float *in, *out, *room, *lost;
  cudaMalloc(&in, BYTES);
  cudaMalloc(&out, BYTES);
  cudaMemset(in, 0, BYTES);
  cudaMemset(out, 0, BYTES);
  float values[8] = {0};
  cudaMemcpyToSymbol(weights, values, sizeof values);
  no_barrier<<<1, THREADS>>>(out, in);
  one_barrier_of_two<<<1, THREADS>>>(out, in);
  in_global<<<1, THREADS>>>(out, in);
  plain_and_atomic<<<1, THREADS>>>((int *)out);
  warp_without_meeting<<<1, 32>>>(out, in);
  sum_of_blocks<<<4, THREADS>>>(out, in);
  cudaMemset(out, 0, BYTES);
  within_blocks<<<4, THREADS>>>((int *)out);
  within_some_blocks<<<4, THREADS>>>((int *)out + 1);
  cudaMemset(out, 0, BYTES);
  last_without_fence<<<4, THREADS>>>(out, out + 64, (unsigned *)out + 128, in);
  bytes<<<1, 32>>>((unsigned char *)out);
  in_branch<<<1, THREADS>>>(out);
  forget_errors();
  two_barriers<<<1, THREADS>>>(out);
  forget_errors();
  ordered_nothing<<<1, THREADS>>>(out, in);
  shared_not_written<<<1, THREADS>>>(out);
  counts_not_zeroed<<<1, THREADS>>>((int *)out);
  cudaMalloc(&room, BYTES);
  global_not_written<<<1, THREADS>>>(out, room);
  added_to_nothing<<<1, THREADS>>>(room + 512);
  one_too_many<<<17, THREADS>>>(room, BYTES / 4);
  before_it<<<1, THREADS>>>(in, out);
  array_too_small<<<1, THREADS>>>(out);
  inner_dimension<<<1, THREADS>>>(out);
  constant_array<<<1, THREADS>>>(out, 1);
  through_a_parameter<<<1, THREADS>>>(out);
  dynamic_too_small<<<1, THREADS, 60 * sizeof(float)>>>(out);
  vector_of_three<<<1, THREADS>>>(out, in);
  forget_errors();
  all_say_so<<<1, THREADS>>>((int *)out);
  half_of_the_warp<<<1, 32>>>(out);
  read_in_vain<<<1, THREADS>>>((int *)out);
  cudaMemcpy(out, &room, sizeof room, cudaMemcpyHostToDevice);
  cudaFree(room);
  through_a_pointer<<<1, THREADS>>>((float **)out);
  cudaDeviceSynchronize();
  after_free<<<1, THREADS>>>(room); //@f22
  forget_errors();
  of_the_host<<<1, THREADS>>>(values); //@f24
  forget_errors();
  nowhere<<<1, THREADS>>>(out);
  forget_errors();
  cudaMalloc(&lost, 12); //@l28
  cudaFree(in);
  cudaFree(out);
  return 0;
}
