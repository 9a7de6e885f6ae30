// Lesson 27, docs/27_the_matrix_product.md: one product in eight versions, from one thread per element to nested tiles.
//
// prints: ^by_columns +128 +True
// prints: ^tiled +128 +True
// prints: ^square +8 +True
// prints: ^buffered +8 +True
// prints: ^by_warps +8 +True
// prints: ^square +128 x 128 +8 x 8 +32.00 +2.00
#include "kernels.h"

#ifdef FERRY_SIM
#define WITH_CUBLAS // the simulator has it; elsewhere: nvcc -DWITH_CUBLAS chapters/27_the_matrix_product.cu -lcublas
#endif
#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

// [naive]
// c (m, n) = a (m, k) * b (k, n), all row-major. One thread per element of c.
static __device__ float dot(const float *a, const float *b, int row, int column, int n, int k) {
  float sum = 0;
  for (int p = 0; p < k; p++)
    sum += a[row * k + p] * b[p * n + column];
  return sum;
}

__global__ void by_rows(float *c, const float *a, const float *b, int n, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  c[row * n + column] = dot(a, b, row, column, n, k);
}

__global__ void by_columns(float *c, const float *a, const float *b, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  c[row * n + column] = dot(a, b, row, column, n, k);
}
// [end]

// [tiled]
enum { TILE = 32 };

__global__ void tiled(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[y][x] = a[row * k + begin + x];
    b_tile[y][x] = b[(begin + y) * n + column];
    __syncthreads(); // both tiles are complete
#pragma unroll
    for (int p = 0; p < TILE; p++)
      sum += a_tile[y][p] * b_tile[p][x];
    __syncthreads(); // all threads have read them
  }
  c[row * n + column] = sum;
}
// [end]

// [strip]
// A block computes 64 x 64 elements of c, a thread 8 of them in one column. A step covers 8 elements of k.
enum { SIDE = 64, STEP = 8, EACH = 8 };

__global__ void strip(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[SIDE][STEP], b_tile[STEP][SIDE];
  int t = threadIdx.x, x = t % SIDE, y = t / SIDE * EACH; // its first element in the block's tile
  a += blockIdx.y * SIDE * k;
  b += blockIdx.x * SIDE;
  c += blockIdx.y * SIDE * n + blockIdx.x * SIDE;
  float sum[EACH] = {0};
  for (int begin = 0; begin < k; begin += STEP) {
    a_tile[t / STEP][t % STEP] = a[t / STEP * k + begin + t % STEP]; // 512 threads, 512 elements per tile
    b_tile[t / SIDE][t % SIDE] = b[(begin + t / SIDE) * n + t % SIDE];
    __syncthreads();
    for (int p = 0; p < STEP; p++) {
      float b_reg = b_tile[p][x];
#pragma unroll
      for (int i = 0; i < EACH; i++)
        sum[i] += a_tile[y + i][p] * b_reg;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; i++)
    c[(y + i) * n + x] = sum[i];
}
// [end]

// [square]
// A block computes 128 x 128 elements of c, and each of its 256 threads 8 x 8 of them.
enum { WIDE = 128, THREADS = 256 };

__global__ void square(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[WIDE][STEP], b_tile[STEP][WIDE];
  int t = threadIdx.x, x = t % 16 * EACH, y = t / 16 * EACH;
  a += blockIdx.y * WIDE * k;
  b += blockIdx.x * WIDE;
  c += blockIdx.y * WIDE * n + blockIdx.x * WIDE;
  float sum[EACH][EACH] = {{0}}, a_reg[EACH], b_reg[EACH];
  for (int begin = 0; begin < k; begin += STEP) {
    for (int i = t; i < WIDE * STEP; i += THREADS) {
      a_tile[i / STEP][i % STEP] = a[i / STEP * k + begin + i % STEP];
      b_tile[i / WIDE][i % WIDE] = b[(begin + i / WIDE) * n + i % WIDE];
    }
    __syncthreads();
    for (int p = 0; p < STEP; p++) {
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        a_reg[i] = a_tile[y + i][p];
        b_reg[i] = b_tile[p][x + i];
      }
#pragma unroll
      for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
          sum[i][j] += a_reg[i] * b_reg[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; i++)
#pragma unroll
    for (int j = 0; j < EACH; j++)
      c[(y + i) * n + x + j] = sum[i][j];
}
// [end]

// [vectors]
// The tiles of one step. The tile of a is stored transposed, so that 4 elements of a column are adjacent.
typedef struct Tiles {
  float a[STEP][WIDE], b[STEP][WIDE];
} Tiles;

// The elements that a thread loads in one step: four adjacent ones in a row of a, and four in a row of b.
typedef struct Brought {
  float4 a, b;
} Brought;

static __device__ Brought bring(const float *a, const float *b, int begin, int n, int k) {
  int t = threadIdx.x;
  Brought four;
  four.a = *(const float4 *)&a[t / 2 * k + begin + t % 2 * 4];
  four.b = *(const float4 *)&b[(begin + t / 32) * n + t % 32 * 4];
  return four;
}

static __device__ void put(Tiles *to, Brought four) {
  int t = threadIdx.x, row = t / 2, p = t % 2 * 4;
  to->a[p][row] = four.a.x;
  to->a[p + 1][row] = four.a.y;
  to->a[p + 2][row] = four.a.z;
  to->a[p + 3][row] = four.a.w;
  *(float4 *)&to->b[t / 32][t % 32 * 4] = four.b;
}

// A thread computes four sub-tiles of 4 x 4: rows y to y + 3 and y + down to y + down + 3, and the same for columns.
static __device__ void multiply(float (*sum)[EACH], const Tiles *in, int x, int y, int across, int down) {
  float a_reg[EACH], b_reg[EACH];
  for (int p = 0; p < STEP; p++) {
    *(float4 *)&a_reg[0] = *(const float4 *)&in->a[p][y];
    *(float4 *)&a_reg[4] = *(const float4 *)&in->a[p][y + down];
    *(float4 *)&b_reg[0] = *(const float4 *)&in->b[p][x];
    *(float4 *)&b_reg[4] = *(const float4 *)&in->b[p][x + across];
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
      for (int j = 0; j < EACH; j++)
        sum[i][j] += a_reg[i] * b_reg[j];
  }
}

static __device__ void store(float *c, float (*sum)[EACH], int x, int y, int across, int down, int n) {
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    float *row = &c[(y + i % 4 + i / 4 * down) * n + x];
    *(float4 *)&row[0] = *(const float4 *)&sum[i][0];
    *(float4 *)&row[across] = *(const float4 *)&sum[i][4];
  }
}

__global__ void vectors(float *c, const float *a, const float *b, int n, int k) {
  __shared__ __align__(16) Tiles tiles;
  int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
  a += blockIdx.y * WIDE * k;
  b += blockIdx.x * WIDE;
  c += blockIdx.y * WIDE * n + blockIdx.x * WIDE;
  __align__(16) float sum[EACH][EACH] = {{0}};
  for (int begin = 0; begin < k; begin += STEP) {
    put(&tiles, bring(a, b, begin, n, k));
    __syncthreads();
    multiply(sum, &tiles, x, y, 64, 64);
    __syncthreads();
  }
  store(c, sum, x, y, 64, 64, n);
}
// [end]

// [buffered]
__global__ void buffered(float *c, const float *a, const float *b, int n, int k) {
  __shared__ __align__(16) Tiles tiles[2];
  int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4, now = 0;
  a += blockIdx.y * WIDE * k;
  b += blockIdx.x * WIDE;
  c += blockIdx.y * WIDE * n + blockIdx.x * WIDE;
  __align__(16) float sum[EACH][EACH] = {{0}};
  put(&tiles[0], bring(a, b, 0, n, k));
  __syncthreads();
  for (int begin = STEP; begin < k; begin += STEP) {
    Brought next = bring(a, b, begin, n, k); // in flight during multiply
    multiply(sum, &tiles[now], x, y, 64, 64);
    put(&tiles[!now], next);
    __syncthreads();
    now = !now;
  }
  multiply(sum, &tiles[now], x, y, 64, 64);
  store(c, sum, x, y, 64, 64, n);
}
// [end]

// [by_warps]
// Each of the eight warps computes 64 rows and 32 columns of the 128 x 128 tile. Its lanes form 8 rows of 4.
__global__ void by_warps(float *c, const float *a, const float *b, int n, int k) {
  __shared__ __align__(16) Tiles tiles[2];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, now = 0;
  int x = warp % 4 * 32 + lane % 4 * 4, y = warp / 4 * 64 + lane / 4 * 4;
  a += blockIdx.y * WIDE * k;
  b += blockIdx.x * WIDE;
  c += blockIdx.y * WIDE * n + blockIdx.x * WIDE;
  __align__(16) float sum[EACH][EACH] = {{0}};
  put(&tiles[0], bring(a, b, 0, n, k));
  __syncthreads();
  for (int begin = STEP; begin < k; begin += STEP) {
    Brought next = bring(a, b, begin, n, k);
    multiply(sum, &tiles[now], x, y, 16, 32);
    put(&tiles[!now], next);
    __syncthreads();
    now = !now;
  }
  multiply(sum, &tiles[now], x, y, 16, 32);
  store(c, sum, x, y, 16, 32, n);
}
// [end]

// ---- matrices on both sides ------------------------------------------------------------------------------------------------

static int m, n, k;
static float *a, *b, *c, *a_host, *b_host, *c_host;
static double *probe, *want;

static float *filled(float **device, int count, int from) {
  float *host = (float *)malloc(count * sizeof(float));
  for (int i = 0; i < count; i++)
    host[i] = (float)((i * 37 + i / 29 + from) % 7 - 3); // small whole numbers: every order of adding is exact
  CHECK(cudaMalloc(device, count * sizeof(float)));
  CHECK(cudaMemcpy(*device, host, count * sizeof(float), cudaMemcpyHostToDevice));
  return host;
}

// [check]
// c times a vector must equal a times (b times the vector). This takes m k + k n steps instead of m n k.
static void expect_product(void) {
  double *middle = (double *)calloc(k, sizeof(double));
  for (int j = 0; j < n; j++)
    probe[j] = (double)((j * 7919 + 13) % 1009);
  for (int p = 0; p < k; p++)
    for (int j = 0; j < n; j++)
      middle[p] += b_host[p * n + j] * probe[j];
  for (int i = 0; i < m; i++) {
    want[i] = 0;
    for (int p = 0; p < k; p++)
      want[i] += a_host[i * k + p] * middle[p];
  }
  free(middle);
}

static bool is_product(void) {
  CHECK(cudaMemcpy(c_host, c, (size_t)m * n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(c, 0xff, (size_t)m * n * sizeof(float))); // NaN, for the next kernel
  for (int i = 0; i < m; i++) {
    double got = 0;
    for (int j = 0; j < n; j++)
      got += c_host[i * n + j] * probe[j];
    if (!(got == want[i]))
      return false;
  }
  return true;
}
// [end]

static void matrices_begin(void) {
  a_host = filled(&a, m * k, 1);
  b_host = filled(&b, k * n, 4);
  free(filled(&c, m * n, 0));
  c_host = (float *)malloc((size_t)m * n * sizeof(float));
  probe = (double *)malloc(n * sizeof(double));
  want = (double *)malloc(m * sizeof(double));
  expect_product();
}

static void matrices_end(void) {
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  free(a_host);
  free(b_host);
  free(c_host);
  free(probe);
  free(want);
}

// ---- the sections --------------------------------------------------------------------------------------------------------

static Table ladder = {5, {10, 8, 6, 20, 9}};

static const char *speed_text(float ms) {
  return shows_times() && ms > 0 ? text("%.1f", 2.0 * m * n * k / 1e9 / (double)ms) : "-";
}

static void row(const char *kernel, int blocks, float ms) {
  table_row(&ladder, kernel, text("%d", blocks), is_product() ? "True" : "False", time_text(ms), speed_text(ms));
}

static void eight_products(void) {
  heading("Eight products");
  float ms = 0;
  ladder.columns = !chapter_now_.simulated || chapter_now_.counted ? 5 : 3; // a kernel that is not counted has no time
  printf("c (%d, %d) = a (%d, %d) * b (%d, %d)\n", m, n, m, k, k, n);
  table_row(&ladder, "kernel", "blocks", "right", "time", "TFLOP/s");
  const dim3 threads(TILE, TILE), by_m(m / TILE, n / TILE), small(n / TILE, m / TILE);
  const dim3 middle(n / SIDE, m / SIDE), large(n / WIDE, m / WIDE);
  timed(ms)
    by_rows<<<by_m, threads>>>(c, a, b, n, k);
  row("by_rows", by_m.x * by_m.y, ms);
  timed(ms)
    by_columns<<<small, threads>>>(c, a, b, n, k);
  row("by_columns", small.x * small.y, ms);
  timed(ms)
    tiled<<<small, threads>>>(c, a, b, n, k);
  row("tiled", small.x * small.y, ms);
  timed(ms)
    strip<<<middle, SIDE * SIDE / EACH>>>(c, a, b, n, k);
  row("strip", middle.x * middle.y, ms);
  timed(ms)
    square<<<large, THREADS>>>(c, a, b, n, k);
  row("square", large.x * large.y, ms);
  timed(ms)
    vectors<<<large, THREADS>>>(c, a, b, n, k);
  row("vectors", large.x * large.y, ms);
  timed(ms)
    buffered<<<large, THREADS>>>(c, a, b, n, k);
  row("buffered", large.x * large.y, ms);
  timed(ms)
    by_warps<<<large, THREADS>>>(c, a, b, n, k);
  row("by_warps", large.x * large.y, ms);
}

static void librarys_product(void) {
  heading("The library's product");
#ifdef WITH_CUBLAS
  cublasHandle_t handle;
  const float one = 1, zero = 0;
  float ms = 0;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
    printf("cuBLAS could not begin\n");
    return;
  }
  // cuBLAS is column-major. It reads a row-major matrix as its transpose, and c^T = b^T a^T.
  timed(ms)
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  printf("cublasSgemm, (%d, %d) * (%d, %d): %s", m, k, k, n, is_product() ? "True" : "False");
  if (shows_times())
    printf(", %.1f us%s, %s TFLOP/s", 1e3 * (double)ms, chapter_now_.modeled ? " (modeled)" : "", speed_text(ms));
  printf("\n");
  cublasDestroy(handle);
#else
  printf("left out: this program was built without cuBLAS\n");
#endif
}

// [intensity]
// FLOP per byte of a tile of rows x columns elements of c. For each p it loads `rows` elements of a and `columns` of b,
// and does rows x columns multiply-adds of 2 FLOP.
static double intensity(int rows, int columns) {
  return 2.0 * rows * columns / ((rows + columns) * sizeof(float));
}
// [end]

static void at_each_level(void) {
  heading("Operations for each byte");
  static const struct Level {
    const char *kernel;
    int tile, rows, columns, warp_rows, warp_columns; // of c: a block's (square), a thread's, a warp's
  } levels[] = {{"by_columns", 1, 1, 1, 1, 32},  {"tiled", TILE, 1, 1, 1, 32},     {"strip", SIDE, 8, 1, 8, 32},
                {"square", WIDE, 8, 8, 16, 128}, {"vectors", WIDE, 8, 8, 16, 128}, {"by_warps", WIDE, 8, 8, 64, 32}};
  const Table table = {6, {10, 10, 8, 10, 10, 10}};
  table_row(&table, "", "block's", "thread's", "a byte of", "a byte by", "a byte by");
  table_row(&table, "kernel", "tile", "part", "global", "threads", "warps");
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    const struct Level *l = &levels[i];
    table_row(&table, l->kernel, text("%d x %d", l->tile, l->tile), text("%d x %d", l->rows, l->columns),
              text("%.2f", intensity(l->tile, l->tile)), text("%.2f", intensity(l->rows, l->columns)),
              text("%.2f", intensity(l->warp_rows, l->warp_columns)));
  }
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "The matrix product", "One product in eight versions.");
  m = 896, n = 1536, k = 256; // 84 blocks of 128 x 128, one per multiprocessor of an A6000
  if (!chapter.simulated)
    m = n = k = 4096;
  else if (!chapter.counted && !chapter.modeled)
    m = 384, n = 512;
  if (chapter.quick)
    m = 256, n = 512, k = 64;
  matrices_begin();
  eight_products();
  librarys_product();
  matrices_end();
  at_each_level();
  return 0;
}
