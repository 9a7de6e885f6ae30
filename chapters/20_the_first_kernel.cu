// Lesson 20, docs/20_the_first_kernel.md: saxpy as a kernel, in five versions; launches and their errors.
// prints: ^CPU and device agree: yes$
// prints: ^one thread +1 +1 +1048576 +yes( |$)
// prints: ^one block +1 +256 +4096 +yes( |$)
// prints: ^a thread each +4096 +256 +1 +yes( |$)
// prints: ^grid-stride +64 +256 +64 +yes( |$)
// prints: ^two dimensions +4096 +256 +1 +yes( |$)
// prints: ^block 2, thread 3: element 11$
// prints: ^the launch: invalid configuration argument$
// prints: ^asked again: no error$
// prints: ^after cudaDeviceSynchronize: an illegal memory access was encountered$
// prints: ^cudaMalloc, which has nothing to do with it: an illegal memory access was encountered$
#include "kernels.h"

// [scale]
__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = a * x[i];
}
// [end]

// ---- five versions -------------------------------------------------------------------------------------------------------

// [one_thread]
__global__ void saxpy_one_thread(float *y, const float *x, float a, int n) {
  for (int i = 0; i < n; i++)
    y[i] = a * x[i] + y[i];
}
// [end]

// [one_block]
__global__ void saxpy_one_block(float *y, const float *x, float a, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = a * x[i] + y[i];
}
// [end]

// [each]
__global__ void saxpy_each(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
// [end]

// [stride]
__global__ void saxpy_stride(float *y, const float *x, float a, int n) {
  int threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
    y[i] = a * x[i] + y[i];
}
// [end]

// [two]
__global__ void saxpy_2d(float *y, const float *x, float a, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns)
    y[row * columns + column] = a * x[row * columns + column] + y[row * columns + column];
}
// [end]

// ---- test arrays --------------------------------------------------------------------------------------------------------

typedef struct Arrays {
  int n;
  size_t bytes;
  float *x, *y, *result; // on the host; y is never changed
  float *d_x, *d_y;      // on the device
} Arrays;

static const float A = 2;

static Arrays arrays_new(int n) {
  Arrays all = {n, n * sizeof(float), NULL, NULL, NULL, NULL, NULL};
  all.x = (float *)malloc(all.bytes);
  all.y = (float *)malloc(all.bytes);
  all.result = (float *)malloc(all.bytes);
  for (int i = 0; i < n; i++) {
    all.x[i] = (float)(i % 1000);
    all.y[i] = 1;
  }
  CHECK(cudaMalloc(&all.d_x, all.bytes));
  CHECK(cudaMalloc(&all.d_y, all.bytes));
  CHECK(cudaMemcpy(all.d_x, all.x, all.bytes, cudaMemcpyHostToDevice));
  return all;
}

static void arrays_free(Arrays *all) {
  CHECK(cudaFree(all->d_x));
  CHECK(cudaFree(all->d_y));
  free(all->x);
  free(all->y);
  free(all->result);
}

// True if the device's y is the result of one saxpy. The numbers are small integers, which are exact in float.
static bool is_right(Arrays *all) {
  CHECK(cudaMemcpy(all->result, all->d_y, all->bytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < all->n; i++)
    if (all->result[i] != A * all->x[i] + all->y[i])
      return false;
  return true;
}

// ---- the lesson ----------------------------------------------------------------------------------------------------------

static void whole_program(void) {
  heading("From cudaMalloc to cudaFree");
  // [whole]
  const int n = 1000;
  const size_t bytes = n * sizeof(float);
  float x[n], result[n];
  for (int i = 0; i < n; i++)
    x[i] = (float)i;

  float *d_x; // d_: a pointer to device memory
  CHECK(cudaMalloc(&d_x, bytes));
  CHECK(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));

  scale<<<4, 256>>>(d_x, 3, n); // 4 blocks of 256 threads: 1024 threads for 1000 elements
  CHECK_LAUNCH();

  CHECK(cudaMemcpy(result, d_x, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(d_x));
  // [end]
  bool agree = true;
  for (int i = 0; i < n; i++)
    agree &= result[i] == 3 * x[i];
  printf("x[0] = %g, x[1] = %g, x[999] = %g\n", (double)result[0], (double)result[1], (double)result[999]);
  printf("CPU and device agree: %s\n", agree ? "yes" : "no");
}

static void fresh(const Arrays *all) {
  CHECK(cudaMemcpy(all->d_y, all->y, all->bytes, cudaMemcpyHostToDevice));
}

static void row(const Table *table, Arrays *all, const char *name, int blocks, int threads, float milliseconds) {
  int each = (all->n + blocks * threads - 1) / (blocks * threads);
  table_row(table, name, text("%d", blocks), text("%d", threads), text("%d", each), is_right(all) ? "yes" : "no",
            time_text(milliseconds));
}

static void five_versions(void) {
  heading("Five versions");
  Arrays all = arrays_new(1 << 20);
  const int n = all.n, threads = 256, rows = 1 << 10, columns = n / rows;
  float *d_y = all.d_y, *d_x = all.d_x, ms = 0;
  const Table table = {shows_times() ? 6 : 5, {16, 8, 8, 12, 6, 20}};
  printf("%d elements\n\n", n);
  table_row(&table, "version", "blocks", "threads", "elements", "right", "time");
  table_row(&table, "", "", "a block", "a thread", "", "");
  fresh(&all);
  timed(ms) {
    saxpy_one_thread<<<1, 1>>>(d_y, d_x, A, n);
  }
  row(&table, &all, "one thread", 1, 1, ms);
  fresh(&all);
  timed(ms) {
    saxpy_one_block<<<1, threads>>>(d_y, d_x, A, n);
  }
  row(&table, &all, "one block", 1, threads, ms);
  fresh(&all);
  // [blocks]
  int blocks = (n + threads - 1) / threads; // rounded up
  timed(ms) {
    saxpy_each<<<blocks, threads>>>(d_y, d_x, A, n);
  }
  // [end]
  row(&table, &all, "a thread each", blocks, threads, ms);
  fresh(&all);
  timed(ms) {
    saxpy_stride<<<64, threads>>>(d_y, d_x, A, n);
  }
  row(&table, &all, "grid-stride", 64, threads, ms);
  fresh(&all);
  // [blocks_2d]
  dim3 block(32, 8);                                                            // 32 columns, 8 rows
  dim3 grid((columns + block.x - 1) / block.x, (rows + block.y - 1) / block.y); // enough blocks in both directions
  timed(ms) {
    saxpy_2d<<<grid, block>>>(d_y, d_x, A, rows, columns);
  }
  // [end]
  row(&table, &all, "two dimensions", (int)(grid.x * grid.y), (int)(block.x * block.y), ms);
  arrays_free(&all);
}

// [whoami]
__global__ void whoami(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    printf("block %d, thread %d: element %d\n", (int)blockIdx.x, (int)threadIdx.x, i);
}
// [end]

static void printing(void) {
  heading("printf in a kernel");
  // [print]
  whoami<<<3, 4>>>(12);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize()); // the kernel's output appears here at the latest
  // [end]
}

static void launch_errors(void) {
  heading("A launch that cannot begin");
  float *d_y;
  CHECK(cudaMalloc(&d_y, sizeof(float)));
  // [config]
  saxpy_each<<<1, 2048>>>(d_y, d_y, A, 1); // a block has at most 1024 threads
  printf("the launch: %s\n", cudaGetErrorString(cudaGetLastError()));
  printf("asked again: %s\n", cudaGetErrorString(cudaGetLastError()));
  // [end]
  CHECK(cudaFree(d_y));
}

// [wild]
__global__ void write_nowhere(float *y) {
  float x = 1;
  for (int i = 0; i < 50000000; i++) // takes a while before it fails
    x = 0.5f * x + 1;
  y[0] = x;
}
// [end]

static void late_errors(void) {
  heading("An error that comes late, and stays");
  fflush(stdout);
  // [late]
  write_nowhere<<<1, 1>>>(NULL);
  printf("after the launch: %s\n", cudaGetErrorString(cudaGetLastError()));
  printf("after cudaDeviceSynchronize: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  float *d_p = NULL;
  printf("cudaMalloc, which has nothing to do with it: %s\n", cudaGetErrorString(cudaMalloc(&d_p, 4)));
  // [end]
}

int main(int argc, char **argv) {
  Chapter chapter =
      chapter_begin(argc, argv, "The first kernel", "Saxpy in five versions; a launch, its grid, its errors.");
  whole_program();
  five_versions();
  printing();
  launch_errors();
  if (!chapter.counted) // after it, the device cannot be used any more
    late_errors();
  return 0;
}
