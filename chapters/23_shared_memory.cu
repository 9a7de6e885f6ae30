// Lesson 23, docs/23_shared_memory.md: shared memory, barriers, bank conflicts, a transpose in five versions, and a stencil.
//
// prints: ^shared memory, as the kernel says  +True$
// prints: ^shared memory, as the launch says  +True$
// prints: ^ +0 +1$
// prints: ^ +32 +32$
// prints: ^ +33 +1$
// prints: ^naive +True
// prints: ^swizzled +True
// prints: ^stencil_direct +True$
// prints: ^stencil +True$
// prints: ^a block may have 49152 bytes
// prints: ^64 KB, asked for: +no error, True$
#include "kernels.h"

enum { TILE = 32, ROWS = 8, THREADS = 256, BANKS = 32, RADIUS = 4 };

// [reverse]
// Reverses each chunk of 256 elements: each thread writes an element that another thread of its block has read.
__global__ void reverse(float *out, const float *in) {
  __shared__ float chunk[THREADS];
  int t = threadIdx.x, first = blockIdx.x * THREADS;
  chunk[t] = in[first + t];
  __syncthreads();
  out[first + t] = chunk[THREADS - 1 - t];
}
// [end]

// [reverse_any]
// The same for chunks of any size. The launch sets the size of the shared memory.
__global__ void reverse_any(float *out, const float *in, int size) {
  extern __shared__ float chunk[];
  int first = blockIdx.x * size;
  for (int i = threadIdx.x; i < size; i += blockDim.x)
    chunk[i] = in[first + i];
  __syncthreads();
  for (int i = threadIdx.x; i < size; i += blockDim.x)
    out[first + i] = chunk[size - 1 - i];
}
// [end]

// [stride]
// Launched with one warp, whose lanes read words that are STRIDE apart.
template <int STRIDE> __global__ void stride(float *out) {
  __shared__ float words[32 * STRIDE];
  for (int i = threadIdx.x; i < 32 * STRIDE; i += 32)
    words[i] = (float)i;
  __syncwarp();
  out[threadIdx.x] = words[threadIdx.x * STRIDE];
}
// [end]

// [copy]
__global__ void copy(float *out, const float *in, int n) {
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    out[(row + k) * n + column] = in[(row + k) * n + column];
}
// [end]

// [naive]
__global__ void naive(float *out, const float *in, int n) {
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    out[column * n + row + k] = in[(row + k) * n + column];
}
// [end]

// [tiled]
__global__ void tiled(float *out, const float *in, int n) {
  __shared__ float tile[TILE][TILE];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    tile[threadIdx.y + k][threadIdx.x] = in[(row + k) * n + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x; // position in out: block (x, y) writes tile (y, x)
  row = blockIdx.x * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    out[(row + k) * n + column] = tile[threadIdx.x][threadIdx.y + k];
}
// [end]

__global__ void padded(float *out, const float *in, int n) {
  // [padded]
  __shared__ float tile[TILE][TILE + 1];
  // [end]
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    tile[threadIdx.y + k][threadIdx.x] = in[(row + k) * n + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    out[(row + k) * n + column] = tile[threadIdx.x][threadIdx.y + k];
}

// [swizzled]
__global__ void swizzled(float *out, const float *in, int n) {
  __shared__ float tile[TILE][TILE];
  int x = threadIdx.x, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS) {
    int y = threadIdx.y + k;
    tile[y][x ^ y] = in[(row + k) * n + column];
  }
  __syncthreads();
  column = blockIdx.y * TILE + x;
  row = blockIdx.x * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS) {
    int y = threadIdx.y + k;
    out[(row + k) * n + column] = tile[x][y ^ x];
  }
}
// [end]

// Each thread loads all of its 2 * RADIUS + 1 elements from global memory.
__global__ void stencil_direct(float *out, const float *in, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int k = i - RADIUS; k <= i + RADIUS; k++)
    sum += k >= 0 && k < n ? in[k] : 0;
  if (i < n)
    out[i] = sum;
}

// [stencil]
// out[i] is the sum of in[i - RADIUS] to in[i + RADIUS]. Elements outside of the array count as 0.
__global__ void stencil(float *out, const float *in, int n) {
  __shared__ float chunk[THREADS + 2 * RADIUS];
  int first = blockIdx.x * THREADS - RADIUS; // the index in `in` of chunk[0]
  for (int k = threadIdx.x; k < THREADS + 2 * RADIUS; k += THREADS) {
    int i = first + k;
    chunk[k] = i >= 0 && i < n ? in[i] : 0;
  }
  __syncthreads();
  int i = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int k = 0; k <= 2 * RADIUS; k++)
    sum += chunk[threadIdx.x + k];
  if (i < n)
    out[i] = sum;
}
// [end]

// ---- arrays on both sides ------------------------------------------------------------------------------------------------

static float *in, *out, *in_host, *out_host;

static void arrays_begin(int count) {
  CHECK(cudaMalloc(&in, count * sizeof(float)));
  CHECK(cudaMalloc(&out, count * sizeof(float)));
  in_host = (float *)malloc(count * sizeof(float));
  out_host = (float *)malloc(count * sizeof(float));
  for (int i = 0; i < count; i++)
    in_host[i] = (float)i;
  CHECK(cudaMemcpy(in, in_host, count * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(out, 0xff, count * sizeof(float)));
}

static void arrays_end(void) {
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  free(in_host);
  free(out_host);
}

// Copies `out` to the host, then fills it with NaN for the next kernel.
static const float *fetched(int count) {
  CHECK(cudaMemcpy(out_host, out, count * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(out, 0xff, count * sizeof(float)));
  return out_host;
}

static const char *truth(bool value) {
  return value ? "True" : "False";
}

static bool is_reversed(int count, int size) {
  const float *got = fetched(count);
  for (int i = 0; i < count; i++)
    if (got[i] != in_host[i - i % size + size - 1 - i % size])
      return false;
  return true;
}

static bool is_transposed(int n, bool transposed) {
  const float *got = fetched(n * n);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++)
      if (got[r * n + c] != in_host[transposed ? c * n + r : r * n + c])
        return false;
  return true;
}

static bool is_stencil(int n) {
  const float *got = fetched(n);
  for (int i = 0; i < n; i++) {
    float sum = 0;
    for (int k = i - RADIUS; k <= i + RADIUS; k++)
      sum += k >= 0 && k < n ? in_host[k] : 0;
    if (got[i] != sum)
      return false;
  }
  return true;
}

// ---- the sections --------------------------------------------------------------------------------------------------------

static void a_blocks_own_memory(void) {
  heading("A block's own memory");
  enum { COUNT = 16 * THREADS, SIZE = 512 };
  arrays_begin(COUNT);
  reverse<<<COUNT / THREADS, THREADS>>>(out, in);
  CHECK_LAUNCH();
  printf("shared memory, as the kernel says  %s\n", truth(is_reversed(COUNT, THREADS)));
  // [dynamic]
  reverse_any<<<COUNT / SIZE, THREADS, SIZE * sizeof(float)>>>(out, in, SIZE);
  // [end]
  CHECK_LAUNCH();
  printf("shared memory, as the launch says  %s\n", truth(is_reversed(COUNT, SIZE)));
  arrays_end();
}

// [passes]
// Wavefronts of a request whose lanes read words `stride` apart: the most distinct words in any one bank.
static int passes(int stride) {
  int words[BANKS] = {0}, wavefronts = 0, last = -1;
  for (int lane = 0; lane < 32; lane++) {
    int word = lane * stride, bank = word % BANKS;
    words[bank] += word != last; // lanes that read the same word share one wavefront (broadcast)
    wavefronts = words[bank] > wavefronts ? words[bank] : wavefronts;
    last = word;
  }
  return wavefronts;
}
// [end]

static void banks(void) {
  heading("Banks");
  arrays_begin(32);
  stride<1><<<1, 32>>>(out);
  stride<2><<<1, 32>>>(out);
  stride<3><<<1, 32>>>(out);
  stride<4><<<1, 32>>>(out);
  stride<16><<<1, 32>>>(out);
  stride<32><<<1, 32>>>(out);
  stride<33><<<1, 32>>>(out);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());
  arrays_end();
  const int strides[] = {0, 1, 2, 3, 4, 16, 32, 33};
  printf("words apart  passes\n");
  for (int i = 0; i < 8; i++)
    printf("%11d %7d\n", strides[i], passes(strides[i]));
}

static void transposes(int n) {
  heading("A transpose");
  const Table table = {4, {10, 6, 20, 10}};
  const dim3 grid(n / TILE, n / TILE), block(TILE, ROWS);
  float ms = 0;
  arrays_begin(n * n);
  printf("%d x %d floats\n", n, n);
  table_row(&table, "kernel", "right", "time", "rate");
#define ROW(NAME, TURNED)                                                                                              \
  table_row(&table, NAME, truth(is_transposed(n, TURNED)), time_text(ms), rate_text(2.0 * n * n * sizeof(float), ms))
  timed(ms)
    copy<<<grid, block>>>(out, in, n);
  ROW("copy", false);
  timed(ms)
    naive<<<grid, block>>>(out, in, n);
  ROW("naive", true);
  timed(ms)
    tiled<<<grid, block>>>(out, in, n);
  ROW("tiled", true);
  timed(ms)
    padded<<<grid, block>>>(out, in, n);
  ROW("padded", true);
  timed(ms)
    swizzled<<<grid, block>>>(out, in, n);
  ROW("swizzled", true);
#undef ROW
  arrays_end();
}

static void stencils(int n) {
  heading("Stencils");
  arrays_begin(n);
  stencil_direct<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, in, n);
  CHECK_LAUNCH();
  printf("stencil_direct  %s\n", truth(is_stencil(n)));
  stencil<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, in, n);
  CHECK_LAUNCH();
  printf("stencil         %s\n", truth(is_stencil(n)));
  arrays_end();
}

static void more_of_it(void) {
  heading("More than 48 KB");
  enum { SIZE = 16384, COUNT = 4 * SIZE }; // 64 KB per block
  arrays_begin(COUNT);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  printf("a block may have %d bytes\n", (int)properties.sharedMemPerBlock);
  // [more]
  size_t bytes = SIZE * sizeof(float);
  reverse_any<<<COUNT / SIZE, THREADS, bytes>>>(out, in, SIZE);
  printf("64 KB, just so:    %s\n", cudaGetErrorString(cudaGetLastError()));
  CHECK(cudaFuncSetAttribute(reverse_any, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  reverse_any<<<COUNT / SIZE, THREADS, bytes>>>(out, in, SIZE);
  printf("64 KB, asked for:  %s, ", cudaGetErrorString(cudaGetLastError()));
  // [end]
  printf("%s\n", truth(is_reversed(COUNT, SIZE)));
  arrays_end();
}

int main(int argc, char **argv) {
  Chapter chapter =
      chapter_begin(argc, argv, "Shared memory", "Tiles, banks, a transpose in five versions, and a stencil.");
  a_blocks_own_memory();
  banks();
  transposes(chapter.quick ? 128 : 2048);
  stencils(chapter.quick ? 9999 : 999999);
  more_of_it();
  return 0;
}
