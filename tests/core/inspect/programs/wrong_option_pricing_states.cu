// finding: uninitialized-global 28
// The setup launch rounds the number of blocks down, the generator states of the last threads are never initialized.
// European call by Monte Carlo, one curand state per thread.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <curand_kernel.h>

struct Option {
  float spot, strike, rate, vol, years;
};

__global__ void setupStates(curandStateXORWOW_t *st, int n, unsigned long long seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    curand_init(seed, i, 0, st + i);
}

__device__ float payoff(const Option &o, float z) {
  float s = o.spot * expf((o.rate - 0.5f * o.vol * o.vol) * o.years + o.vol * sqrtf(o.years) * z);
  return fmaxf(s - o.strike, 0.0f);
}

__global__ void simulate(curandStateXORWOW_t *st, int n, Option o, int paths, double *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double acc = 0;
  if (i < n) {
    curandStateXORWOW_t s = st[i];
    for (int p = 0; p < paths; ++p)
      acc += payoff(o, curand_normal(&s));
    st[i] = s;
  }
  for (int d = 16; d; d >>= 1)
    acc += __shfl_down_sync(0xffffffff, acc, d);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(sum, acc);
}

static double blackScholes(Option o) {
  double d1 = (std::log(o.spot / o.strike) + (o.rate + 0.5 * o.vol * o.vol) * o.years) / (o.vol * std::sqrt(o.years));
  double d2 = d1 - o.vol * std::sqrt(o.years);
  auto N = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  return o.spot * N(d1) - o.strike * std::exp(-o.rate * o.years) * N(d2);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int threads = 128, paths = 64;
  Option o = {100, 105, 0.03f, 0.2f, 1.0f};
  curandStateXORWOW_t *st;
  double *sum, h = 0;
  cudaMalloc(&st, n * sizeof *st);
  cudaMalloc(&sum, sizeof *sum);
  cudaMemset(sum, 0, sizeof *sum);
  setupStates<<<n / threads, threads>>>(st, n, 2024);
  simulate<<<(n + threads - 1) / threads, threads>>>(st, n, o, paths, sum);
  cudaMemcpy(&h, sum, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(st);
  cudaFree(sum);
  double price = std::exp(-o.rate * o.years) * h / ((double)n * paths), exact = blackScholes(o);
  std::printf("price %.3f, Black-Scholes %.3f %s\n", price, exact, std::fabs(price - exact) < 0.5 ? "ok" : "off");
  return 0;
}
