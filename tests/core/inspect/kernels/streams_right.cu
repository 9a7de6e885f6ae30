// Work in several streams that is ordered, or need not be: nothing may be found.
#include <cublas_v2.h>
#include <cufft.h>
#include <cuda_runtime.h>

enum { THREADS = 64, BYTES = THREADS * sizeof(float), STREAMS = 3, TURNS = 4 };

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];

__global__ void add(float *y, const float *x, float value) {
  y[threadIdx.x] += x[THREADS - 1 - threadIdx.x] + value;
}

__global__ void count(int *counts) {
  atomicAdd(&counts[threadIdx.x % 4], 1);
}

static float *array(int elements) {
  float *pointer;
  cudaMalloc(&pointer, elements * sizeof(float));
  cudaMemset(pointer, 0, elements * sizeof(float));
  cudaDeviceSynchronize();
  return pointer;
}

// Each waits for the one before, by an event, and the first of the next turn for the last.
static void in_a_ring(float *x, float *y, float *host) {
  for (int turn = 0; turn < TURNS; turn++)
    for (int s = 0; s < STREAMS; s++) {
      cudaStreamWaitEvent(streams[s], events[(s + STREAMS - 1) % STREAMS], 0);
      cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, streams[s]);
      add<<<1, THREADS, 0, streams[s]>>>(y, x, 1);
      cudaMemcpyAsync(host + THREADS, y, BYTES, cudaMemcpyDeviceToHost, streams[s]);
      cudaEventRecord(events[s], streams[s]);
    }
}

// The host waits, in three ways.
static void by_the_host(float *x, float *y) {
  add<<<1, THREADS, 0, streams[0]>>>(x, y, 1);
  cudaStreamSynchronize(streams[0]);
  add<<<1, THREADS, 0, streams[1]>>>(y, x, 1);
  cudaEventRecord(events[1], streams[1]);
  cudaEventSynchronize(events[1]);
  add<<<1, THREADS, 0, streams[2]>>>(x, y, 1);
  while (cudaStreamQuery(streams[2]) == cudaErrorNotReady) {
  }
  add<<<1, THREADS, 0, streams[0]>>>(y, x, 1);
}

// Pieces of one array, and a place that all read.
static void apart(float *pieces, const float *x) {
  for (int turn = 0; turn < TURNS; turn++)
    for (int s = 0; s < STREAMS; s++)
      add<<<1, THREADS, 0, streams[s]>>>(pieces + s * THREADS, x, 1);
}

static void atomics(int *counts) {
  for (int s = 0; s < STREAMS; s++)
    count<<<2, THREADS, 0, streams[s]>>>(counts);
}

// The default stream and those that block wait for each other.
static void default_stream(float *x, float *y) {
  cudaStream_t blocking;
  cudaStreamCreate(&blocking);
  add<<<1, THREADS>>>(x, y, 1);
  add<<<1, THREADS, 0, blocking>>>(y, x, 1);
  cudaMemset(x, 0, BYTES);
  add<<<1, THREADS, 0, blocking>>>(y, x, 1);
  cudaStreamSynchronize(blocking);
  cudaStreamDestroy(blocking);
}

// Branches of a graph that meet; and the graph twice, after itself.
static void graph(float *x, float *y, float *z) {
  cudaGraph_t captured;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal);
  cudaEventRecord(events[0], streams[0]);
  cudaStreamWaitEvent(streams[1], events[0], 0);
  add<<<1, THREADS, 0, streams[0]>>>(y, x, 1);
  add<<<1, THREADS, 0, streams[1]>>>(z, x, 1);
  cudaEventRecord(events[1], streams[1]);
  cudaStreamWaitEvent(streams[0], events[1], 0);
  add<<<1, THREADS, 0, streams[0]>>>(x, y, 1);
  add<<<1, THREADS, 0, streams[0]>>>(x, z, 1);
  cudaStreamEndCapture(streams[0], &captured);
  cudaGraphInstantiate(&exec, captured, 0);
  cudaGraphLaunch(exec, streams[0]);
  cudaGraphLaunch(exec, streams[0]);
  cudaStreamSynchronize(streams[0]);
  add<<<1, THREADS, 0, streams[1]>>>(x, y, 1);
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(captured);
}

// Memory that is freed in one stream, and lies where another stream's comes to lie.
static void again_and_again(const float *x) {
  for (int turn = 0; turn < 2 * TURNS; turn++) {
    float *mine;
    cudaMallocAsync((void **)&mine, BYTES, streams[turn % STREAMS]);
    cudaMemsetAsync(mine, 0, BYTES, streams[turn % STREAMS]);
    add<<<1, THREADS, 0, streams[turn % STREAMS]>>>(mine, x, 1);
    cudaFreeAsync(mine, streams[turn % STREAMS]);
  }
}

// Copies and fills: each of its own piece, two that only read, and one behind the other.
static void copies(float *pieces, float *x, float *host) {
  for (int s = 0; s < STREAMS; s++)
    cudaMemsetAsync(pieces + s * THREADS, 0, BYTES, streams[s]);
  cudaDeviceSynchronize();
  for (int s = 0; s < 2; s++)
    cudaMemcpyAsync(host + s * THREADS, pieces, BYTES, cudaMemcpyDeviceToHost, streams[s]);
  cudaDeviceSynchronize();
  cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, streams[0]);
  cudaEventRecord(events[0], streams[0]);
  cudaStreamWaitEvent(streams[1], events[0], 0);
  cudaMemsetAsync(x, 0, BYTES, streams[1]);
  cudaStreamSynchronize(streams[1]);
  cudaMemcpyAsync(pieces, x, BYTES, cudaMemcpyDeviceToDevice, streams[2]);
  cudaDeviceSynchronize();
}

// A library's functions, too: two that read the same, and what is overwritten when it has been read.
static void products(float *x, float *y, float *z) {
  static const float one = 1, zero = 0;
  cublasHandle_t blas;
  cublasCreate(&blas);
  for (int turn = 0; turn < TURNS; turn++) {
    cublasSetStream(blas, streams[0]);
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 4, 8, &one, x, 4, x + 32, 4, &zero, y, 4);
    cublasSetStream(blas, streams[1]);
    cublasSgeam(blas, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, &one, x, 8, &zero, x, 8, z, 8);
    cublasSaxpy(blas, 8, &one, x, 1, z, 2);
    cudaEventRecord(events[0], streams[0]);
    cudaStreamWaitEvent(streams[1], events[0], 0);
    add<<<1, THREADS, 0, streams[1]>>>(x, y, 1);
    cudaEventRecord(events[1], streams[1]);
    cudaStreamWaitEvent(streams[0], events[1], 0);
  }
  cudaDeviceSynchronize();
  cublasDestroy(blas);
}

// Of one matrix: a product's rows, a kernel's and a copy's below, each in a stream of its own.
__global__ void fill_rows(float *x, int rows, int pitch) {
  for (int column = threadIdx.x; column < 8; column += blockDim.x)
    for (int row = 0; row < rows; row++)
      x[column * pitch + row] = 1;
}
static void rows_of_one(float *x, float *y, float *host) {
  static const float one = 1, zero = 0;
  cublasHandle_t blas;
  cublasCreate(&blas);
  for (int turn = 0; turn < TURNS; turn++) {
    cublasSetStream(blas, streams[0]);
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 8, 8, &one, x, 8, x, 8, &zero, y, 8);
    cublasSetStream(blas, streams[1]);
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 8, 8, &one, x, 8, x, 8, &zero, y + 2, 8);
    fill_rows<<<1, 8, 0, streams[2]>>>(y + 4, 4, 8);
    cudaStreamSynchronize(streams[2]);
    cudaMemcpy2DAsync(host, 8 * sizeof *y, y + 4, 8 * sizeof *y, 4 * sizeof *y, 8, cudaMemcpyDeviceToHost, streams[2]);
    cudaDeviceSynchronize();
  }
  cublasDestroy(blas);
}

// What libraries leave in device memory has been written: a number that a function finds, and matrices by way of pointers.
static void results(const float *x, float *y) {
  static const float one = 1, zero = 0;
  float *written, **pointers, *of_pointers[3] = {(float *)x, (float *)x};
  cublasHandle_t blas;
  cudaMalloc((void **)&written, BYTES);
  cudaMalloc((void **)&pointers, sizeof of_pointers);
  of_pointers[2] = written + 16;
  cudaMemcpy(pointers, of_pointers, sizeof of_pointers, cudaMemcpyHostToDevice);
  cublasCreate(&blas);
  cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE);
  cublasSdot(blas, 4, x, 1, x, 1, written);
  cublasIsamax(blas, 4, x, 1, (int *)written + 1);
  cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST);
  cublasScopy(blas, 14, x, 1, written + 2, 1);
  cublasSgemmBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 12, 4, &one, (const float *const *)pointers, 4,
                     (const float *const *)pointers + 1, 4, &zero, pointers + 2, 4, 1);
  add<<<1, THREADS>>>(y, written, 1);
  cudaDeviceSynchronize();
  cublasDestroy(blas);
  cudaFree(written);
  cudaFree(pointers);
}

// A transform's numbers lie apart: what is between them is another's.
static void transforms(float *x, float *y) {
  int n = 8;
  cufftHandle plan;
  cufftPlanMany(&plan, 1, &n, &n, 2, 2 * n, &n, 1, n, CUFFT_C2C, 1);
  for (int turn = 0; turn < TURNS; turn++) {
    cufftSetStream(plan, streams[0]);
    cufftExecC2C(plan, (cufftComplex *)x, (cufftComplex *)y, CUFFT_FORWARD);
    cudaMemsetAsync(x + 2, 0, 2 * sizeof *x, streams[1]);
    add<<<1, 8, 0, streams[1]>>>(y + 32, x, 1);
    cudaEventRecord(events[0], streams[0]);
    cudaStreamWaitEvent(streams[1], events[0], 0);
    add<<<1, 8, 0, streams[1]>>>(x, y, 1);
    cudaEventRecord(events[1], streams[1]);
    cudaStreamWaitEvent(streams[0], events[1], 0);
  }
  cudaDeviceSynchronize();
  cufftDestroy(plan);
}

int main(void) {
  float *x = array(THREADS), *y = array(THREADS), *z = array(THREADS), *pieces = array(STREAMS * THREADS), *host;
  cudaMallocHost(&host, 2 * BYTES);
  for (int s = 0; s < STREAMS; s++) {
    cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&events[s], cudaEventDisableTiming);
  }
  in_a_ring(x, y, host);
  cudaDeviceSynchronize();
  by_the_host(x, y);
  cudaDeviceSynchronize();
  apart(pieces, x);
  again_and_again(x);
  cudaDeviceSynchronize();
  copies(pieces, x, host);
  cudaDeviceSynchronize();
  products(x, y, z);
  rows_of_one(x, y, host);
  results(x, y);
  transforms(x, y);
  atomics((int *)z);
  cudaDeviceSynchronize();
  default_stream(x, y);
  graph(x, y, z);
  for (int s = 0; s < STREAMS; s++) {
    cudaStreamDestroy(streams[s]);
    cudaEventDestroy(events[s]);
  }
  cudaFreeHost(host);
  cudaFree(x);
  cudaFree(y);
  cudaFree(z);
  cudaFree(pieces);
  return 0;
}
