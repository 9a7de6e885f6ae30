// cuFFT: against the sums that define a transform, for lengths of all kinds; there and back; real numbers, in place too.
#include <cufft.h>
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

int main() {
  for (int n : {1, 2, 3, 8, 60, 97, 128, 1000})
    one_dimension(n, 1 + n % 3);
  two_dimensions();
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
