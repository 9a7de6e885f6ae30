// Work in two streams that nothing orders. The lines `// expect KIND - LINE [LINE]` say what has to be found, whichever of the two the
// simulator runs first, and is all that may be found.
#include <cublas_v2.h>
#include <cufft.h>
#include <cuda_runtime.h>

enum { THREADS = 64, BYTES = THREADS * sizeof(float) };

static cudaStream_t first, second;
static cudaEvent_t event;

static float *array(void) {
  float *pointer;
  cudaMalloc(&pointer, BYTES);
  cudaMemset(pointer, 0, BYTES);
  cudaDeviceSynchronize();
  return pointer;
}

static void finish(float *x, float *y) {
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}

// expect race-stream - w0 r0
__global__ void make(float *x) {
  x[threadIdx.x] = 1; //@w0
}
__global__ void use(float *y, const float *x) {
  y[threadIdx.x] = x[THREADS - 1 - threadIdx.x]; //@r0
}
static void nobody_waits(float *x, float *y) {
  make<<<1, THREADS, 0, first>>>(x);
  use<<<1, THREADS, 0, second>>>(y, x);
}

// expect race-stream - r1 w1
__global__ void add_up(float *y, const float *x) {
  y[threadIdx.x] += x[threadIdx.x]; //@r1
}
__global__ void overwrite(float *x) {
  x[threadIdx.x] = 2; //@w1
}
static void overwritten_while_read(float *x, float *y) {
  add_up<<<1, THREADS, 0, first>>>(y, x);
  overwrite<<<1, THREADS, 0, second>>>(x);
}

// expect race-stream - w2 r2
__global__ void late(float *x) {
  x[threadIdx.x] = 3; //@w2
}
__global__ void hasty(float *y, const float *x) {
  y[threadIdx.x] = x[threadIdx.x]; //@r2
}
static void recorded_too_early(float *x, float *y) {
  cudaEventRecord(event, first);
  late<<<1, THREADS, 0, first>>>(x);
  cudaStreamWaitEvent(second, event, 0);
  hasty<<<1, THREADS, 0, second>>>(y, x);
}

// expect race-stream - r3 c3
__global__ void before_it_arrives(float *y, const float *x) {
  y[threadIdx.x] = x[threadIdx.x]; //@r3
}
static void copied_there(float *x, float *y, float *host) {
  cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, first); //@c3
  before_it_arrives<<<1, THREADS, 0, second>>>(y, x);
}

// expect race-stream - w4 c4
__global__ void after_it_left(float *x) {
  x[threadIdx.x] = 4; //@w4
}
static void copied_back(float *x, float *host) {
  after_it_left<<<1, THREADS, 0, first>>>(x);
  cudaMemcpyAsync(host, x, BYTES, cudaMemcpyDeviceToHost, second); //@c4
}

// The host does not wait for a fill, nor do streams that do not block.
// expect race-stream - r5 c5
__global__ void over_a_fill(float *x) {
  x[threadIdx.x] += 5; //@r5
}
static void filled(float *x) {
  cudaMemset(x, 0, BYTES); //@c5
  over_a_fill<<<1, THREADS, 0, second>>>(x);
}

// expect race-stream - w6 r6
__global__ void branch(float *x) {
  x[threadIdx.x] = 6; //@w6
}
__global__ void other_branch(float *y, const float *x) {
  y[threadIdx.x] = x[threadIdx.x]; //@r6
}
static void captured(float *x, float *y) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
  cudaEventRecord(event, first);
  cudaStreamWaitEvent(second, event, 0);
  branch<<<1, THREADS, 0, first>>>(x);
  other_branch<<<1, THREADS, 0, second>>>(y, x);
  cudaEventRecord(event, second);
  cudaStreamWaitEvent(first, event, 0);
  cudaStreamEndCapture(first, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, first);
  cudaGraphLaunch(exec, first);
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

// Where both run at once the copy comes between blocks, and those behind it are to be found, too.
// expect race-stream - w7 c7
enum { MANY = 1024 };
__global__ void many_blocks(float *x) {
  x[blockIdx.x * THREADS + threadIdx.x] = 7; //@w7
}
static void copied_meanwhile(float *host) {
  float *x;
  cudaMalloc(&x, MANY * BYTES);
  cudaMemset(x, 0, MANY * BYTES);
  cudaDeviceSynchronize();
  many_blocks<<<MANY, THREADS, 0, first>>>(x);
  cudaMemcpyAsync(host, x + (MANY - 1) * THREADS, BYTES, cudaMemcpyDeviceToHost, second); //@c7
  cudaDeviceSynchronize();
  cudaFree(x);
}

// expect race-stream - c8 d8
static void copied_twice(float *x, float *host) {
  cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, first); //@c8
  cudaMemsetAsync(x + THREADS / 2, 0, BYTES / 2, second);         //@d8
}

// expect race-stream - c9 d9
static void handed_on(float *x, float *y, float *host) {
  cudaMemcpyAsync(y, x, BYTES, cudaMemcpyDeviceToDevice, first);   //@c9
  cudaMemcpyAsync(host, y, BYTES, cudaMemcpyDeviceToHost, second); //@d9
}

// expect race-stream - w10 c10
__global__ void factor(float *x) {
  x[threadIdx.x] = 10; //@w10
}
static cublasHandle_t blas;
static const float one = 1, zero = 0;
static void multiplied_too_early(float *x, float *y) {
  factor<<<1, THREADS, 0, first>>>(x);
  cublasSetStream(blas, second);
  cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, x, 4, x + 16, 4, &zero, y, 4); //@c10
}

// expect race-stream - w11 c11
__global__ void next_factor(float *x) {
  x[threadIdx.x] = 11; //@w11
}
static void overwritten_while_multiplied(float *x, float *y) {
  cublasSetStream(blas, first);
  cublasSgemv(blas, CUBLAS_OP_N, 4, 4, &one, x, 4, x + 16, 1, &zero, y, 1); //@c11
  next_factor<<<1, THREADS, 0, second>>>(x);
}

// expect race-stream - w12 c12
__global__ void next_signal(float *x) {
  x[threadIdx.x] = 12; //@w12
}
static void overwritten_while_transformed(float *x, float *y) {
  cufftHandle plan;
  cufftPlan1d(&plan, THREADS / 2, CUFFT_C2C, 1);
  cufftSetStream(plan, first);
  cufftExecC2C(plan, (cufftComplex *)x, (cufftComplex *)y, CUFFT_FORWARD); //@c12
  next_signal<<<1, THREADS, 0, second>>>(x);
  cudaDeviceSynchronize();
  cufftDestroy(plan);
}

// expect race-stream - c13 d13
static void fetched_too_early(float *x, float *y, float *host) {
  cublasSetStream(blas, first);
  cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, x, 4, x + 16, 4, &zero, y, 4); //@c13
  cudaMemcpyAsync(host, y, BYTES, cudaMemcpyDeviceToHost, second);                          //@d13
}

// expect race-stream - c14 d14
static void product_of_a_product(float *x, float *y) {
  cublasSetStream(blas, first);
  cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, x, 4, x, 4, &zero, y, 4); //@c14
  cublasSetStream(blas, second);
  cublasSscal(blas, 4, &one, y + 3, 4); //@d14
}

// The columns of both lie 8 apart, and have a row in common.
// expect race-stream - c15 d15
static void halves_that_overlap(float *x, float *y) {
  cublasSetStream(blas, first);
  cublasSgeam(blas, CUBLAS_OP_N, CUBLAS_OP_N, 5, 8, &one, x, 8, &zero, x, 8, y, 8); //@c15
  cublasSetStream(blas, second);
  cublasSgeam(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 8, &one, x, 8, &zero, x, 8, y + 4, 8); //@d15
}

int main(void) {
  float *host;
  cudaMallocHost(&host, BYTES);
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cublasCreate(&blas);
  for (int test = 0; test < 16; test++) {
    float *x = array(), *y = array();
    test == 0    ? nobody_waits(x, y)
    : test == 1  ? overwritten_while_read(x, y)
    : test == 2  ? recorded_too_early(x, y)
    : test == 3  ? copied_there(x, y, host)
    : test == 4  ? copied_back(x, host)
    : test == 5  ? filled(x)
    : test == 6  ? captured(x, y)
    : test == 7  ? copied_meanwhile(host)
    : test == 8  ? copied_twice(x, host)
    : test == 9  ? handed_on(x, y, host)
    : test == 10 ? multiplied_too_early(x, y)
    : test == 11 ? overwritten_while_multiplied(x, y)
    : test == 12 ? overwritten_while_transformed(x, y)
    : test == 13 ? fetched_too_early(x, y, host)
    : test == 14 ? product_of_a_product(x, y)
                 : halves_that_overlap(x, y);
    finish(x, y);
  }
  cublasDestroy(blas);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  cudaEventDestroy(event);
  cudaFreeHost(host);
  return 0;
}
