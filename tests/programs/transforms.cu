// cuFFT: against the sums that define a transform, for lengths of all kinds; there and back; real numbers, in place too; functions of
// the program's own that load and store; transforms on two devices.
#include <cufftXt.h>
#include <cmath>
#include <cstdio>
#include <initializer_list>

static int failures;
#define CHECK(what)                                                                                                    \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                                                \
      failures++;                                                                                                      \
    }                                                                                                                  \
  } while (0)
#define DONE(call) CHECK((call) == CUFFT_SUCCESS)

static double number(int i) {
  return std::sin(0.7 * i * i + 0.3 * i);
}

static void one_dimension(int n, int batch) {
  cufftComplex *x, *y;
  cufftHandle plan;
  cudaMallocManaged(&x, n * batch * sizeof *x);
  cudaMallocManaged(&y, n * batch * sizeof *y);
  for (int i = 0; i < n * batch; i++)
    x[i] = make_cuComplex((float)number(i), (float)number(2 * i + 1));
  DONE(cufftPlan1d(&plan, n, CUFFT_C2C, batch));
  DONE(cufftExecC2C(plan, x, y, CUFFT_FORWARD));
  cudaDeviceSynchronize();
  double worst = 0;
  for (int b = 0; b < batch; b++)
    for (int k = 0; k < n; k++) {
      double re = 0, im = 0;
      for (int j = 0; j < n; j++) {
        const double angle = -2 * M_PI * (double)((long long)j * k % n) / n;
        const cufftComplex v = x[b * n + j];
        re += v.x * std::cos(angle) - v.y * std::sin(angle);
        im += v.x * std::sin(angle) + v.y * std::cos(angle);
      }
      worst = std::fmax(worst, std::hypot(re - y[b * n + k].x, im - y[b * n + k].y));
    }
  CHECK(worst < 1e-5 * n);
  DONE(cufftExecC2C(plan, y, y, CUFFT_INVERSE));
  cudaDeviceSynchronize();
  for (int i = 0; i < n * batch; i++)
    CHECK(std::hypot(y[i].x / n - x[i].x, y[i].y / n - x[i].y) < 1e-5);
  DONE(cufftDestroy(plan));
  cudaFree(x);
  cudaFree(y);
}

static void two_dimensions(void) {
  enum { ROWS = 6, COLUMNS = 10, HALF = COLUMNS / 2 + 1 };
  double *real, *place;
  cufftDoubleComplex *spectrum;
  cudaMallocManaged(&real, ROWS * COLUMNS * sizeof *real);
  cudaMallocManaged(&spectrum, ROWS * HALF * sizeof *spectrum);
  cudaMallocManaged(&place, ROWS * HALF * 2 * sizeof *place);
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    real[i] = number(i);
    place[i / COLUMNS * 2 * HALF + i % COLUMNS] = real[i];
  }
  cufftHandle there, back;
  DONE(cufftPlan2d(&there, ROWS, COLUMNS, CUFFT_D2Z));
  DONE(cufftPlan2d(&back, ROWS, COLUMNS, CUFFT_Z2D));
  DONE(cufftExecD2Z(there, real, spectrum));
  DONE(cufftExecD2Z(there, place, (cufftDoubleComplex *)place));
  cudaDeviceSynchronize();
  for (int row = 0; row < ROWS; row++)
    for (int column = 0; column < HALF; column++) {
      double re = 0, im = 0;
      for (int i = 0; i < ROWS * COLUMNS; i++) {
        const double angle =
            -2 * M_PI * ((double)(row * (i / COLUMNS)) / ROWS + (double)(column * (i % COLUMNS)) / COLUMNS);
        re += real[i] * std::cos(angle);
        im += real[i] * std::sin(angle);
      }
      const cufftDoubleComplex s = spectrum[row * HALF + column];
      CHECK(std::hypot(re - s.x, im - s.y) < 1e-10);
      CHECK(place[2 * (row * HALF + column)] == s.x && place[2 * (row * HALF + column) + 1] == s.y);
    }
  DONE(cufftExecZ2D(back, spectrum, real));
  cudaDeviceSynchronize();
  for (int i = 0; i < ROWS * COLUMNS; i++)
    CHECK(std::fabs(real[i] / (ROWS * COLUMNS) - number(i)) < 1e-12);
  CHECK(cufftExecZ2Z(there, spectrum, spectrum, CUFFT_FORWARD) == CUFFT_INVALID_TYPE);
  double *little; // too short for rows of complex numbers
  cudaMalloc(&little, ROWS * COLUMNS * sizeof *little);
  CHECK(cufftExecD2Z(there, little, (cufftDoubleComplex *)little) == CUFFT_INVALID_VALUE);
}

// Loads what the filter leaves of an element, and stores it with its parts exchanged.
static __device__ cufftComplex filtered(void *data, size_t at, void *info, void *) {
  const cufftComplex value = ((cufftComplex *)data)[at];
  const float weight = ((const float *)info)[at];
  return make_cuComplex(weight * value.x, weight * value.y);
}
static __device__ void exchanged(void *data, size_t at, cufftComplex value, void *info, void *shared) {
  *(int *)shared = 7;
  ((cufftComplex *)data)[at] = make_cuComplex(value.y, *(int *)shared * *(float *)info * value.x);
}
__device__ cufftCallbackLoadC loader = filtered;
__device__ cufftCallbackStoreC storer = exchanged;

static void callbacks(void) {
  enum { N = 24 };
  cufftComplex *x, *plain, *own;
  float *weights, *one;
  cudaMallocManaged(&x, N * sizeof *x);
  cudaMallocManaged(&plain, N * sizeof *x);
  cudaMallocManaged(&own, N * sizeof *x);
  cudaMallocManaged(&weights, N * sizeof *weights);
  cudaMallocManaged(&one, sizeof *one);
  *one = 1;
  for (int i = 0; i < N; i++) {
    x[i] = make_cuComplex((float)number(i), (float)number(3 * i));
    weights[i] = (float)(i % 3);
    plain[i] = make_cuComplex(weights[i] * x[i].x, weights[i] * x[i].y);
  }
  cufftHandle there, with;
  long long n = N;
  size_t bytes;
  DONE(cufftPlan1d(&there, N, CUFFT_C2C, 1));
  DONE(cufftCreate(&with));
  DONE(cufftXtMakePlanMany(with, 1, &n, NULL, 1, 1, CUDA_C_32F, NULL, 1, 1, CUDA_C_32F, 1, &bytes, CUDA_C_32F));
  cufftCallbackLoadC load;
  cufftCallbackStoreC store;
  cudaMemcpyFromSymbol(&load, loader, sizeof load);
  cudaMemcpyFromSymbol(&store, storer, sizeof store);
  DONE(cufftXtSetCallback(with, (void **)&load, CUFFT_CB_LD_COMPLEX, (void **)&weights));
  DONE(cufftXtSetCallback(with, (void **)&store, CUFFT_CB_ST_COMPLEX, (void **)&one));
  DONE(cufftXtSetCallbackSharedSize(with, CUFFT_CB_ST_COMPLEX, sizeof(int)));
  CHECK(cufftXtSetCallback(with, (void **)&load, CUFFT_CB_LD_REAL, (void **)&weights) == CUFFT_INVALID_TYPE);
  DONE(cufftExecC2C(there, plain, plain, CUFFT_FORWARD));
  DONE(cufftXtExec(with, x, own, CUFFT_FORWARD));
  cudaDeviceSynchronize();
  for (int i = 0; i < N; i++)
    CHECK(own[i].x == plain[i].y && own[i].y == 7 * plain[i].x);
  DONE(cufftXtClearCallback(with, CUFFT_CB_LD_COMPLEX));
  DONE(cufftXtClearCallback(with, CUFFT_CB_ST_COMPLEX));
  DONE(cufftExecC2C(there, x, plain, CUFFT_FORWARD));
  DONE(cufftXtExec(with, x, own, CUFFT_FORWARD));
  cudaDeviceSynchronize();
  for (int i = 0; i < N; i++)
    CHECK(own[i].x == plain[i].x && own[i].y == plain[i].y);
}

static void two_devices(int rows, int columns, int batch) {
  const int n = rows * columns * batch;
  cufftComplex *x = new cufftComplex[n], *y = new cufftComplex[n], *expected;
  cudaMallocManaged(&expected, n * sizeof *expected);
  for (int i = 0; i < n; i++)
    x[i] = expected[i] = make_cuComplex((float)number(i), (float)number(i + 1));
  cufftHandle one, both;
  int sizes[2] = {rows, columns}, devices[2] = {1, 0}, rank = columns > 1 ? 2 : 1;
  size_t work[2];
  DONE(cufftPlanMany(&one, rank, sizes, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, batch));
  DONE(cufftExecC2C(one, expected, expected, CUFFT_FORWARD));
  cudaDeviceSynchronize();
  DONE(cufftCreate(&both));
  DONE(cufftXtSetGPUs(both, 2, devices));
  DONE(cufftMakePlanMany(both, rank, sizes, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, batch, work));
  cudaLibXtDesc *parts, *ordered;
  DONE(cufftXtMalloc(both, &parts, CUFFT_XT_FORMAT_INPLACE));
  DONE(cufftXtMalloc(both, &ordered, CUFFT_XT_FORMAT_INPLACE));
  CHECK(parts->descriptor->nGPUs == 2 && parts->descriptor->GPUs[0] == 1);
  DONE(cufftXtMemcpy(both, parts, x, CUFFT_COPY_HOST_TO_DEVICE));
  DONE(cufftXtExecDescriptorC2C(both, parts, parts, CUFFT_FORWARD));
  CHECK(parts->subFormat == CUFFT_XT_FORMAT_INPLACE_SHUFFLED);
  if (rank == 2) { // the first device has the first half of each row
    const int half = (columns + 1) / 2;
    cufftComplex *own = new cufftComplex[rows * half];
    cudaMemcpy(own, parts->descriptor->data[0], rows * half * sizeof *own, cudaMemcpyDeviceToHost);
    CHECK(own[half].x == expected[columns].x && own[half + 1].y == expected[columns + 1].y);
    delete[] own;
  }
  DONE(cufftXtMemcpy(both, ordered, parts, CUFFT_COPY_DEVICE_TO_DEVICE));
  DONE(cufftXtMemcpy(both, y, ordered, CUFFT_COPY_DEVICE_TO_HOST));
  for (int i = 0; i < n; i++)
    CHECK(y[i].x == expected[i].x && y[i].y == expected[i].y);
  cufftComplex last; // in order: the end of the second device's part is the end of all
  const int rest = batch > 1 ? batch / 2 * rows * columns : rows / 2 * columns;
  cudaMemcpy(&last, (cufftComplex *)ordered->descriptor->data[1] + rest - 1, sizeof last, cudaMemcpyDeviceToHost);
  CHECK(last.x == expected[n - 1].x);
  DONE(cufftXtExecDescriptorC2C(both, parts, parts, CUFFT_INVERSE));
  DONE(cufftXtMemcpy(both, y, parts, CUFFT_COPY_DEVICE_TO_HOST));
  for (int i = 0; i < n; i++)
    CHECK(std::hypot(y[i].x / (rows * columns) - x[i].x, y[i].y / (rows * columns) - x[i].y) < 1e-5);
  DONE(cufftXtFree(parts));
  DONE(cufftXtFree(ordered));
  delete[] x;
  delete[] y;
}

int main() {
  for (int n : {1, 2, 3, 8, 60, 97, 128, 1000})
    one_dimension(n, 1 + n % 3);
  two_dimensions();
  callbacks();
  two_devices(7, 5, 1);
  two_devices(31, 1, 1);
  two_devices(8, 1, 5);
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
