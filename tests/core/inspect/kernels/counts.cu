// Kernels whose sectors, passes and lanes are known by hand. `//@name` names a line; `// count KERNEL LINE FIELD VALUE` says what
// the line of JSON has to have.
#include <cuda_runtime.h>

enum { TILE = 32, ROWS = 8 };

// count copy l0 sectors_load 4
// count copy l0 sectors_store 4
// count copy l0 lanes 1
__global__ void copy(float *out, const float *in) {
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y, n = gridDim.x * TILE;
  for (int j = 0; j < TILE; j += ROWS)
    out[(y + j) * n + x] = in[(y + j) * n + x]; //@l0
}

// count naive l1 sectors_load 4
// count naive l1 sectors_store 32
// count naive l1 sectors_store_ideal 4
__global__ void naive(float *out, const float *in) {
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y, n = gridDim.x * TILE;
  for (int j = 0; j < TILE; j += ROWS)
    out[x * n + y + j] = in[(y + j) * n + x]; //@l1
}

// count tiled<32> l2 sectors_load 4
// count tiled<32> l2 wavefronts_store 1
// count tiled<32> l3 wavefronts_load 32
// count tiled<32> l3 wavefronts_load_ideal 1
// count tiled<32> l3 sectors_store 4
// count tiled<33> l3 wavefronts_load 1
template <int WIDTH> __global__ void tiled(float *out, const float *in) {
  __shared__ float tile[TILE][WIDTH];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y, n = gridDim.x * TILE;
  for (int j = 0; j < TILE; j += ROWS)
    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x]; //@l2
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j]; //@l3
}

// One operand by rows, 32 sectors, the other one word for all: (32 + 1) / 2.
// count product l4 sectors_load 16.5
__global__ void product(float *c, const float *a, const float *b, int n) {
  int row = threadIdx.x, column = threadIdx.y;
  float sum = 0;
  for (int i = 0; i < n; i++)
    sum += a[row * n + i] * b[i * n + column]; //@l4
  c[row * n + column] = sum;
}

// A stride of s words: 4 s sectors, at most one for each lane; in shared memory as many passes as s and 32 have in common.
// count strides<1> l5 sectors_load 4
// count strides<2> l5 sectors_load 8
// count strides<3> l5 sectors_load 12
// count strides<4> l5 sectors_load 16
// count strides<7> l5 sectors_load 28
// count strides<8> l5 sectors_load 32
// count strides<32> l5 sectors_load 32
// count strides<32> l5 sectors_load_ideal 4
// count strides<1> l6 wavefronts_load 1
// count strides<2> l6 wavefronts_load 2
// count strides<3> l6 wavefronts_load 1
// count strides<4> l6 wavefronts_load 4
// count strides<7> l6 wavefronts_load 1
// count strides<8> l6 wavefronts_load 8
// count strides<32> l6 wavefronts_load 32
template <int STRIDE> __global__ void strides(float *out, const float *in) {
  __shared__ float room[32 * STRIDE];
  for (int i = threadIdx.x; i < 32 * STRIDE; i += 32)
    room[i] = 0;
  __syncthreads();
  float own = in[threadIdx.x * STRIDE]; //@l5
  own += room[threadIdx.x * STRIDE];    //@l6
  out[threadIdx.x] = own;
}

// count shifted l7 sectors_load 5
// count shifted l7 sectors_load_ideal 4
// count shifted l8 sectors_load 1
// count shifted l9 sectors_load 16
// count shifted l9 sectors_load_ideal 16
// count shifted l10 sectors_load 8
__global__ void shifted(float *out, const float *in) {
  float own = in[threadIdx.x + 1];                                         //@l7
  own += in[blockIdx.x];                                                   //@l8
  float4 four = reinterpret_cast<const float4 *>(in)[threadIdx.x];         //@l9
  double two = reinterpret_cast<const double *>(in)[threadIdx.x];          //@l10
  out[threadIdx.x] = own + four.x + four.y + four.z + four.w + (float)two; //@l11
}

// count adds l12 sectors_atomic 1
// count adds l12 lanes_at_one_address_sectors 8
// count adds l13 lanes_at_one_address_wavefronts 32
// count adds l13 lanes_at_one_address_wavefronts_most 32
__global__ void adds(int *out) {
  __shared__ int all;
  if (threadIdx.x == 0)
    all = 0;
  __syncthreads();
  atomicAdd(&out[threadIdx.x % 4], 1); //@l12
  atomicAdd(&all, 1);                  //@l13
  __syncthreads();
  if (threadIdx.x == 0)
    out[4] = all;
}

// Half of the lanes each way; and a loop from which every second turn jumps on, the same for all lanes: 8 turns of all of them.
// count parted l14 lanes 0.5
// count parted l15 lanes 0.5
// count parted l16 lanes 1
// count parted l16 requests_sectors_load 8
// count parted l17 lanes 0.5
// count parted l17 requests_sectors_load 16
__global__ void parted(float *out, const float *in) {
  int t = threadIdx.x;
  float own = 0;
  if (t % 2)
    out[t + 64] = 1; //@l14
  else
    out[t + 32] = 2; //@l15
  for (int i = 0; i < 16; i++) {
    if (i % 2)
      continue;
    own += in[i * 32 + t]; //@l16
  }
  for (int i = 0; i < 16; i++) { // other lanes in each turn: 16 turns of half of them
    if ((i + t) % 2)
      continue;
    own *= in[i * 32 + t]; //@l17
  }
  out[t] = own;
}

// A function that is called, not inlined, from two places: no lane of one place runs together with one of the other.
// count called l18 lanes 0.5
__device__ __attribute__((noinline)) float helper(const float *in, int i) {
  return in[i] * 2; //@l18
}
__global__ void called(float *out, const float *in) {
  int t = threadIdx.x;
  float own;
  if (t % 4 < 2)
    own = helper(in, t) + 1;
  else
    own = helper(in, t + 32) - 1;
  out[t] = own;
}

struct Pair {
  float a, b;
};
__device__ Pair halved(Pair p) {
  return {p.a / 2, p.b / 2};
}
__device__ __attribute__((noinline)) int4 next(int4 v) {
  return make_int4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
}
__device__ int4 turned(int4 v) {
  int4 a = next(v), b = next(a);
  return b.x < v.y ? make_int4(v.w, a.x, b.y, v.z) : make_int4(b.w, v.x, v.y, a.z);
}

// Structs that are passed by value: read where the function is called, which is not where its code stands.
// count passed l19 sectors_load 16
// count passed l19 sectors_store -
// count passed l20 sectors_store 16
// count passed l20 sectors_load -
// count passed l21 sectors_load 8
// count passed l22 sectors_store 8
// count passed l23 sectors_load 16
// count passed l23 sectors_store 16
__global__ void passed(int4 *out, const int4 *in, Pair *pairs) {
  int i = threadIdx.x;
  int4 x = turned(in[i]);           //@l19
  out[i] = x;                       //@l20
  Pair p = halved(pairs[i]);        //@l21
  pairs[i + 32] = p;                //@l22
  out[i + 32] = turned(in[i + 32]); //@l23
}

// What stands behind a branch is done by the whole warp, also where a compiler could keep the two sides apart to the end.
// count together l24 sectors_store 4
// count together l24 lanes 1
__device__ int total(int x) {
  __shared__ int of_warp[2];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 31)
    of_warp[warp] = x;
  __syncthreads();
  if (warp == 0) {
    int sum = __shfl_up_sync(0xffffffffu, lane < 2 ? of_warp[lane] : 0, 1);
    if (lane < 2)
      of_warp[lane] = sum;
  }
  __syncthreads();
  return x + (warp > 0 ? of_warp[warp - 1] : 0);
}
__global__ void together(int *out, const int *in) {
  out[threadIdx.x] = total(in[threadIdx.x]); //@l24
  if (threadIdx.x == 0)
    out[64] = 0;
}

int main(void) {
  enum { N = 64, BYTES = 16384 };
  float *in, *out;
  cudaMalloc(&in, BYTES);
  cudaMalloc(&out, BYTES);
  cudaMemset(in, 0, BYTES);
  cudaMemset(out, 0, BYTES);
  dim3 grid(N / TILE, N / TILE), block(TILE, ROWS);
  copy<<<grid, block>>>(out, in);
  naive<<<grid, block>>>(out, in);
  tiled<32><<<grid, block>>>(out, in);
  tiled<33><<<grid, block>>>(out, in);
  product<<<1, dim3(32, 32)>>>(out, in, in, 32);
  strides<1><<<1, 32>>>(out, in);
  strides<2><<<1, 32>>>(out, in);
  strides<3><<<1, 32>>>(out, in);
  strides<4><<<1, 32>>>(out, in);
  strides<7><<<1, 32>>>(out, in);
  strides<8><<<1, 32>>>(out, in);
  strides<32><<<1, 32>>>(out, in);
  shifted<<<1, 32>>>(out, in);
  adds<<<1, 32>>>((int *)out);
  parted<<<1, 32>>>(out, in);
  called<<<1, 32>>>(out, in);
  passed<<<1, 32>>>((int4 *)out, (const int4 *)in, (Pair *)(out + 512));
  together<<<1, 64>>>((int *)out, (const int *)in);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}
