// FIR filter of a long signal in chunks on several streams; pinned memory, events, stream-ordered
// allocation, host callbacks
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define TAPS 9
#define CHUNK 512
#define CHUNKS 6
#define STREAMS 3
#define OK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e = (x);                                                                                               \
    if (e) {                                                                                                           \
      printf("%s: %s\n", #x, cudaGetErrorString(e));                                                                   \
      exit(2);                                                                                                         \
    }                                                                                                                  \
  } while (0)

__constant__ float taps[TAPS];
static std::atomic<int> finished(0);

__global__ void fir(const float *in, float *out, int n) // in has TAPS - 1 samples more than out
{
  __shared__ float s[128 + TAPS - 1];
  int base = blockIdx.x * 128;
  for (int i = threadIdx.x; i < 128 + TAPS - 1 && base + i < n + TAPS - 1; i += 128)
    s[i] = in[base + i];
  __syncthreads();
  int i = base + threadIdx.x;
  if (i < n) {
    float a = 0.f;
    for (int k = 0; k < TAPS; k++)
      a += taps[k] * s[threadIdx.x + k];
    out[i] = a;
  }
}

__global__ void energy(const float *x, int n, double *e) // one block
{
  __shared__ double sum[128];
  double v = 0;
  for (int i = threadIdx.x; i < n; i += 128)
    v += (double)x[i] * x[i];
  sum[threadIdx.x] = v;
  for (int h = 64; h; h >>= 1) {
    __syncthreads();
    if (threadIdx.x < h)
      sum[threadIdx.x] += sum[threadIdx.x + h];
  }
  if (threadIdx.x == 0)
    *e = sum[0];
}

static void CUDART_CB chunkDone(void *user) {
  finished += *(int *)user;
}

int main() {
  const int n = CHUNK * CHUNKS;
  float *h_in, *h_out, *d_out, w[TAPS];
  double *d_e, h_e = 0;
  int one = 1;
  OK(cudaMallocHost(&h_in, (n + TAPS - 1) * sizeof(float)));
  OK(cudaMallocHost(&h_out, n * sizeof(float)));
  OK(cudaMalloc(&d_out, n * sizeof(float)));
  OK(cudaMalloc(&d_e, sizeof(double)));
  for (int i = 0; i < n + TAPS - 1; i++)
    h_in[i] = sinf(0.05f * i) + (i % 7) * 0.1f;
  for (int k = 0; k < TAPS; k++)
    w[k] = 1.0f / TAPS;
  OK(cudaMemcpyToSymbol(taps, w, sizeof w));

  cudaStream_t st[STREAMS], last;
  cudaEvent_t ev[STREAMS];
  for (int s = 0; s < STREAMS; s++) {
    OK(cudaStreamCreateWithFlags(&st[s], cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&ev[s], cudaEventDisableTiming));
  }
  OK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
  OK(cudaDeviceSynchronize()); // the taps are there before any stream starts

  for (int c = 0; c < CHUNKS; c++) {
    cudaStream_t q = st[c % STREAMS];
    float *d_in;
    OK(cudaMallocAsync((void **)&d_in, (CHUNK + TAPS - 1) * sizeof(float), q));
    OK(cudaMemcpyAsync(d_in, h_in + c * CHUNK, (CHUNK + TAPS - 1) * sizeof(float), cudaMemcpyHostToDevice, q));
    fir<<<CHUNK / 128, 128, 0, q>>>(d_in, d_out + c * CHUNK, CHUNK);
    OK(cudaFreeAsync(d_in, q));
    OK(cudaMemcpyAsync(h_out + c * CHUNK, d_out + c * CHUNK, CHUNK * sizeof(float), cudaMemcpyDeviceToHost, q));
    OK(cudaLaunchHostFunc(q, chunkDone, &one));
  }
  for (int s = 0; s < STREAMS; s++) {
    OK(cudaEventRecord(ev[s], st[s]));
    OK(cudaStreamWaitEvent(last, ev[s], 0));
  }
  energy<<<1, 128, 0, last>>>(d_out, n, d_e);
  OK(cudaMemcpyAsync(&h_e, d_e, sizeof h_e, cudaMemcpyDeviceToHost, last));
  OK(cudaStreamSynchronize(last)); // all streams have ended with it

  double e = 0, worst = 0;
  for (int i = 0; i < n; i++) {
    double a = 0;
    for (int k = 0; k < TAPS; k++)
      a += h_in[i + k] / (double)TAPS;
    e += a * a;
    worst = fmax(worst, fabs(a - h_out[i]));
  }
  bool good = worst < 1e-4 && fabs(e - h_e) < 1e-2 && finished == CHUNKS;
  printf("fir: difference %g, energy %.3f/%.3f, callbacks %d\n", worst, h_e, e, finished.load());
  for (int s = 0; s < STREAMS; s++) {
    OK(cudaStreamDestroy(st[s]));
    OK(cudaEventDestroy(ev[s]));
  }
  OK(cudaStreamDestroy(last));
  OK(cudaFree(d_out));
  OK(cudaFree(d_e));
  OK(cudaFreeHost(h_in));
  OK(cudaFreeHost(h_out));
  return good ? 0 : 1;
}
