// SPDX-License-Identifier: MIT
// Discrete Fourier transforms of any length, in double.
#ifndef SIM_FOURIER_H
#define SIM_FOURIER_H

#include <complex.h>

#ifndef CMPLX // glibc has it for gcc alone
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif

// n elements in place: out[k] = sum of in[j] exp(sign 2 pi i j k / n), not divided by n.
void sim_fourier(double complex *data, int n, int sign);

#endif
