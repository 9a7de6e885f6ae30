// Lesson 32, docs/32_debugging_kernels.md: the kernels of chapters/kernels/broken, fixed, and checks inside a program.
//
// prints: ^scale, with a guard: +True$
// prints: ^neighbors, with a barrier: +True$
// prints: ^reversed, guard and barrier apart: +True$
// prints: ^histogram, set to 0 first: +True$
// prints: ^the copy waits for the stream: +True$
// prints: ^the first that is not finite: +element 777$
// prints: ^after the launch: +cudaErrorInvalidConfiguration$
// prints: ^asked again: +cudaSuccess$
#include "kernels.h"
#include <math.h>

enum { THREADS = 256, BINS = 16, N = 1000 };

// [scale]
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = 2 * x[i];
}
// [end]

// [neighbors]
__global__ void neighbors(int *out, const int *in) {
  __shared__ int chunk[THREADS];
  int t = threadIdx.x;
  chunk[t] = in[t];
  __syncthreads();
  out[t] = chunk[t] + (t > 0 ? chunk[t - 1] : 0);
}
// [end]

// [reversed]
__global__ void reversed(float *out, const float *in, int n) {
  __shared__ float chunk[THREADS];
  int t = threadIdx.x;
  if (t < n)
    chunk[t] = in[t];
  __syncthreads(); // all threads of the block reach it
  if (t < n)
    out[t] = chunk[n - 1 - t];
}
// [end]

// [histogram]
__global__ void histogram(int *bins, const unsigned char *x, int n) {
  __shared__ int own[BINS];
  if (threadIdx.x < BINS)
    own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += THREADS)
    atomicAdd(&own[x[i] % BINS], 1);
  __syncthreads();
  if (threadIdx.x < BINS)
    bins[threadIdx.x] = own[threadIdx.x];
}
// [end]

__global__ void count(int *x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x * blockDim.x + threadIdx.x;
}

// [not_finite]
// The index of the first element that is infinite or NaN. Set *first to n before the launch: it stays n if there is none.
__global__ void first_not_finite(int *first, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && !isfinite(x[i]))
    atomicMin(first, i);
}
// [end]

// ---- the host ----------------------------------------------------------------------------------------------------------------

static const char *yes(bool right) {
  return right ? "True" : "False";
}

static void *to_device(const void *from, size_t bytes) {
  void *memory = NULL;
  CHECK(cudaMalloc(&memory, bytes));
  CHECK(cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice));
  return memory;
}

static void from_device(void *to, void *memory, size_t bytes) {
  CHECK(cudaMemcpy(to, memory, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(memory));
}

static bool scale_right(void) {
  float x[N];
  bool right = true;
  for (int i = 0; i < N; i++)
    x[i] = (float)i;
  float *on_device = (float *)to_device(x, sizeof x);
  scale<<<(N + THREADS - 1) / THREADS, THREADS>>>(on_device, N);
  CHECK_LAUNCH();
  from_device(x, on_device, sizeof x);
  for (int i = 0; i < N; i++)
    right &= x[i] == 2.0f * (float)i;
  return right;
}

static bool neighbors_right(void) {
  int in[THREADS], got[THREADS];
  bool right = true;
  for (int i = 0; i < THREADS; i++)
    in[i] = i * i;
  int *x = (int *)to_device(in, sizeof in), *y = (int *)to_device(in, sizeof in);
  neighbors<<<1, THREADS>>>(y, x);
  CHECK_LAUNCH();
  from_device(got, y, sizeof got);
  CHECK(cudaFree(x));
  for (int i = 0; i < THREADS; i++)
    right &= got[i] == in[i] + (i > 0 ? in[i - 1] : 0);
  return right;
}

static bool reversed_right(void) {
  enum { FEWER = 200 };
  float in[FEWER], got[FEWER];
  bool right = true;
  for (int i = 0; i < FEWER; i++)
    in[i] = (float)i;
  float *x = (float *)to_device(in, sizeof in), *y = (float *)to_device(in, sizeof in);
  reversed<<<1, THREADS>>>(y, x, FEWER);
  CHECK_LAUNCH();
  from_device(got, y, sizeof got);
  CHECK(cudaFree(x));
  for (int i = 0; i < FEWER; i++)
    right &= got[i] == in[FEWER - 1 - i];
  return right;
}

static bool histogram_right(void) {
  unsigned char in[N];
  int got[BINS], want[BINS] = {0};
  bool right = true;
  for (int i = 0; i < N; i++) {
    in[i] = (unsigned char)(i * 7);
    want[in[i] % BINS]++;
  }
  unsigned char *x = (unsigned char *)to_device(in, sizeof in);
  int *bins = (int *)to_device(want, sizeof want);
  CHECK(cudaMemset(bins, 0xff, sizeof want));
  histogram<<<1, THREADS>>>(bins, x, N);
  CHECK_LAUNCH();
  from_device(got, bins, sizeof got);
  CHECK(cudaFree(x));
  for (int i = 0; i < BINS; i++)
    right &= got[i] == want[i];
  return right;
}

static bool stream_right(void) {
  enum { MANY = 1 << 14 };
  int *x = NULL, last = 0;
  cudaStream_t own;
  CHECK(cudaMalloc((void **)&x, MANY * sizeof(int)));
  CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  // [stream]
  count<<<MANY / THREADS, THREADS, 0, own>>>(x);
  CHECK_LAUNCH();
  CHECK(cudaMemcpyAsync(&last, x + MANY - 1, sizeof last, cudaMemcpyDeviceToHost, own)); // after the kernel
  CHECK(cudaStreamSynchronize(own));                                                     // wait for both
  // [end]
  CHECK(cudaStreamDestroy(own));
  CHECK(cudaFree(x));
  return last == MANY - 1;
}

static int find_not_finite(void) {
  float x[N];
  int first = N;
  for (int i = 0; i < N; i++)
    x[i] = i >= 777 && i % 111 == 0 ? NAN : 1;
  float *on_device = (float *)to_device(x, sizeof x);
  int *d_first = (int *)to_device(&first, sizeof first);
  first_not_finite<<<(N + THREADS - 1) / THREADS, THREADS>>>(d_first, on_device, N);
  CHECK_LAUNCH();
  from_device(&first, d_first, sizeof first);
  CHECK(cudaFree(on_device));
  return first;
}

static void show_errors(void) {
  heading("An error, and who asks for it");
  int *x = NULL;
  CHECK(cudaMalloc((void **)&x, 4096 * sizeof(int)));
  count<<<1, 4096>>>(x); // a block has at most 1024 threads
  printf("after the launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("asked again:      %s\n", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaFree(x));
}

int main(int argc, char **argv) {
  chapter_begin(argc, argv, "Debugging kernels", "Broken kernels, mended; and what a program can look after itself.");
  heading("Mended");
  printf("scale, with a guard:               %s\n", yes(scale_right()));
  printf("neighbors, with a barrier:        %s\n", yes(neighbors_right()));
  printf("reversed, guard and barrier apart: %s\n", yes(reversed_right()));
  printf("histogram, set to 0 first:         %s\n", yes(histogram_right()));
  printf("the copy waits for the stream:     %s\n", yes(stream_right()));
  heading("Where did the NaN come from?");
  printf("the first that is not finite: element %d\n", find_not_finite());
  show_errors();
  return 0;
}
