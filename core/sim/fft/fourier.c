// SPDX-License-Identifier: MIT
// Powers of two by the radix-2 algorithm of J. Cooley and J. Tukey (1965); other lengths by L. Bluestein's (1970), as
// a convolution with a chirp, which transforms of powers of two compute.
#include "sim/fft/fourier.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/sim.h"

static double complex unit(double turns) {
  const double angle = 2 * 3.14159265358979323846 * turns;
  return CMPLX(cos(angle), sin(angle));
}

static double complex product(double complex a, double complex b) { // without C's care for infinities
  return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

static void reverse_bits(double complex *data, int n) {
  for (int i = 1, j = 0; i < n; i++) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j) {
      const double complex swapped = data[i];
      data[i] = data[j];
      data[j] = swapped;
    }
  }
}

static void power_of_two(double complex *data, int n, int sign) {
  double complex *roots = sim_allocate(((size_t)n / 2 + 1) * sizeof *roots);
  for (int i = 0; i < n / 2; i++)
    roots[i] = unit((double)sign * i / n);
  reverse_bits(data, n);
  for (int half = 1; half < n; half *= 2)
    for (int first = 0; first < n; first += 2 * half)
      for (int i = 0; i < half; i++) {
        const double complex low = data[first + i];
        const double complex high = product(data[first + i + half], roots[i * (n / (2 * half))]);
        data[first + i] = low + high;
        data[first + i + half] = low - high;
      }
  free(roots);
}

static void by_chirp(double complex *data, int n, int sign) {
  int length = 1;
  while (length < 2 * n - 1)
    length *= 2;
  double complex *chirp = sim_allocate((size_t)n * sizeof *chirp);
  double complex *a = sim_allocate((size_t)length * sizeof *a), *b = sim_allocate((size_t)length * sizeof *b);
  for (int i = 0; i < length; i++)
    a[i] = b[i] = 0;
  for (int i = 0; i < n; i++) {
    chirp[i] = unit(sign * (double)((long long)i * i % (2 * n)) / (2.0 * n));
    a[i] = product(data[i], chirp[i]);
    b[i] = conj(chirp[i]);
    if (i > 0)
      b[length - i] = b[i];
  }
  power_of_two(a, length, -1);
  power_of_two(b, length, -1);
  for (int i = 0; i < length; i++)
    a[i] = product(a[i], b[i]);
  power_of_two(a, length, 1);
  for (int i = 0; i < n; i++)
    data[i] = product(a[i], chirp[i]) / length;
  free(chirp);
  free(a);
  free(b);
}

void sim_fourier(double complex *data, int n, int sign) {
  if (n <= 1)
    return;
  if ((n & (n - 1)) == 0)
    power_of_two(data, n, sign);
  else
    by_chirp(data, n, sign);
}
