// XORWOW and Philox: NVIDIA's numbers, which its own header gave where it was compiled for the host; skipping ahead; cuRAND's host
// functions.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <curand.h>
#include <curand_kernel.h>

static int failed;
static void expect(const char *what, bool good) {
  if (!good) {
    printf("FAIL %s\n", what);
    failed = 1;
  }
}

struct numbers {
  unsigned bits[6];
  float uniform, normal[2];
  double uniform_double, normal_double[2];
};
template <class S>
__global__ void draw(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, numbers *n) {
  S state;
  curand_init(seed, subsequence, offset, &state);
  for (unsigned &b : n->bits)
    b = curand(&state);
  n->uniform = curand_uniform(&state);
  n->normal[0] = curand_normal(&state);
  n->normal[1] = curand_normal(&state);
  n->uniform_double = curand_uniform_double(&state);
  n->normal_double[0] = curand_normal_double(&state);
  n->normal_double[1] = curand_normal_double(&state);
}
template <class S> __global__ void skip(int *same) {
  S a, b, c, d;
  curand_init(5, 2, 10, &a);
  curand_init(5, 0, 0, &b);
  skipahead_sequence(2, &b);
  for (int i = 0; i < 10; i++)
    curand(&b);
  curand_init(5, 0, 1000007, &c);
  curand_init(5, 0, 1000000, &d);
  skipahead(7, &d);
  *same = 1;
  for (int i = 0; i < 9; i++)
    *same &= curand(&a) == curand(&b) && curand(&c) == curand(&d);
}
__global__ void four(float4 *u) {
  curandStatePhilox4_32_10_t state;
  curand_init(0, 0, 1, &state);
  u[0] = curand_uniform4(&state);
  curand_init(0, 0, 1, &state);
  u[1] = {curand_uniform(&state), curand_uniform(&state), curand_uniform(&state), curand_uniform(&state)};
}

static bool is(const numbers &n, const unsigned (&bits)[6], float u, double n0, double n1, double d, double m0,
               double m1) {
  for (int i = 0; i < 6; i++)
    if (n.bits[i] != bits[i])
      return false;
  auto near = [](double x, double y) { return fabs(x - y) < 2e-5; };
  return n.uniform == u && near(n.normal[0], n0) && near(n.normal[1], n1) && n.uniform_double == d &&
         fabs(n.normal_double[0] - m0) < 1e-8 && fabs(n.normal_double[1] - m1) < 1e-8;
}

int main() {
  numbers *n;
  int *same;
  float4 *u;
  cudaMallocManaged(&n, sizeof *n);
  cudaMallocManaged(&same, sizeof *same);
  cudaMallocManaged(&u, 2 * sizeof *u);
  draw<curandState><<<1, 1>>>(0, 0, 0ull, n);
  cudaDeviceSynchronize();
  expect("XORWOW: seed 0, subsequence 0, offset 0",
         is(*n, {3179217846u, 1883133293u, 2220552389u, 674260989u, 306521119u, 1986458431u}, 0x1.d236a2p-3f, 1.172242,
            0.920361, 0x1.d4ad27a339a4cp-1, -0.1859016060, -0.1295045647));
  draw<curandState><<<1, 1>>>(1234, 100000, 1099511627776ull, n);
  cudaDeviceSynchronize();
  expect("XORWOW: seed 1234, subsequence 100000, offset 1099511627776",
         is(*n, {3333325705u, 1654296002u, 2546800110u, 2614126922u, 3054432844u, 1120417785u}, 0x1.d9d9fep-2f,
            0.521003, 0.541799, 0x1.b633a971bad72p-1, 0.0346676846, 1.6825389499));
  draw<curandStatePhilox4_32_10_t><<<1, 1>>>(0, 0, 0ull, n);
  cudaDeviceSynchronize();
  expect("Philox: seed 0, subsequence 0, offset 0",
         is(*n, {1713891541u, 3781805453u, 3159862348u, 2600524760u, 4175744164u, 1555169499u}, 0x1.634aeap-1f,
            0.312897, 2.547683, 0x1.471cca9cp-2, 0.8207807564, -1.3899953692));
  draw<curandStatePhilox4_32_10_t><<<1, 1>>>(1234, 77, 1000003ull, n);
  cudaDeviceSynchronize();
  expect("Philox: seed 1234, subsequence 77, offset 1000003",
         is(*n, {3311976009u, 1838895051u, 775923046u, 873992289u, 1427152243u, 3194055692u}, 0x1.31de38p-1f, -0.558699,
            -0.454925, 0x1.74f4493ep-1, -0.0664236914, -0.6255788433));
  skip<curandState><<<1, 1>>>(same);
  cudaDeviceSynchronize();
  expect("XORWOW: skipping ahead", *same);
  skip<curandStatePhilox4_32_10_t><<<1, 1>>>(same);
  cudaDeviceSynchronize();
  expect("Philox: skipping ahead", *same);
  four<<<1, 1>>>(u);
  cudaDeviceSynchronize();
  expect("four at once", u[0].x == u[1].x && u[0].y == u[1].y && u[0].z == u[1].z && u[0].w == u[1].w);

  const int count = 100000;
  float *d, *h = (float *)malloc(count * sizeof *h);
  cudaMalloc(&d, count * sizeof *d);
  curandGenerator_t g;
  expect("a generator", curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_SUCCESS);
  curandSetPseudoRandomGeneratorSeed(g, 1234);
  expect("uniform numbers", curandGenerateUniform(g, d, count) == CURAND_STATUS_SUCCESS);
  cudaMemcpy(h, d, count * sizeof *h, cudaMemcpyDeviceToHost);
  curandState first, second;
  curand_init(1234, 0, 0, &first);
  curand_init(1234, 1, 0, &second);
  float a = curand_uniform(&first), b = curand_uniform(&second), next = curand_uniform(&first);
  expect("their order", h[0] == a && h[1] == b && h[4096] == next);
  curandSetGeneratorOffset(g, 4097);
  curandGenerateUniform(g, d, 1);
  float single;
  cudaMemcpy(&single, d, 4, cudaMemcpyDeviceToHost);
  expect("an offset", single == h[4097]);
  expect("normal numbers", curandGenerateNormal(g, d, count, 3, 2) == CURAND_STATUS_SUCCESS);
  cudaMemcpy(h, d, count * sizeof *h, cudaMemcpyDeviceToHost);
  double sum = 0, squares = 0;
  for (int i = 0; i < count; i++) {
    sum += h[i];
    squares += (h[i] - 3.0) * (h[i] - 3.0);
  }
  expect("their mean and variance", fabs(sum / count - 3) < 0.05 && fabs(squares / count - 4) < 0.1);
  expect("an odd number of them", curandGenerateNormal(g, d, 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  expect("what is not simulated", curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MRG32K3A) == CURAND_STATUS_TYPE_ERROR);

  // The first numbers of Sobol's sequence, and of its third dimension by direction numbers of NVIDIA's.
  expect("Sobol", curandCreateGenerator(&g, CURAND_RNG_QUASI_SOBOL32) == CURAND_STATUS_SUCCESS);
  expect("its dimensions", curandSetQuasiRandomGeneratorDimensions(g, 3) == CURAND_STATUS_SUCCESS);
  expect("not as many", curandSetQuasiRandomGeneratorDimensions(g, 20000) == CURAND_STATUS_OUT_OF_RANGE);
  unsigned int *quasi;
  cudaMallocManaged(&quasi, 12 * sizeof *quasi);
  expect("a multiple of them", curandGenerate(g, quasi, 10) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  expect("quasi-random numbers", curandGenerate(g, quasi, 12) == CURAND_STATUS_SUCCESS);
  const unsigned int third[4] = {0, 0x80000000u, 0x40000000u, 0xc0000000u};
  for (int i = 0; i < 4; i++)
    expect("the first dimension", quasi[i] == (i == 0 ? 0 : i == 1 ? 0x80000000u : i == 2 ? 0xc0000000u : 0x40000000u));
  for (int i = 0; i < 4; i++)
    expect("the third dimension", quasi[8 + i] == third[i]);
  curandDirectionVectors32_t *directions;
  curandGetDirectionVectors32(&directions, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
  expect("direction numbers",
         directions[2][7] == 0xc5000000u && directions[13][6] == 0x42000000u && directions[20][7] == 0x51000000u);
  curandStateSobol32_t from_start, from_five;
  curand_init(directions[5], 0, &from_start);
  curand_init(directions[5], 5, &from_five);
  skipahead(5u, &from_start);
  expect("an offset of Sobol's", curand(&from_start) == curand(&from_five));
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
