// SPDX-License-Identifier: MIT
// The vector that the CPU's kernels are written with: as wide as the registers that the compiler may use. Wider ones are correct, and
// slow, since compilers keep them in memory.
#ifndef FERRY_OP_VECTOR_H
#define FERRY_OP_VECTOR_H

#if defined(__AVX512F__)
enum { FY_VECTOR_BYTES = 64 };
#elif defined(__AVX__)
enum { FY_VECTOR_BYTES = 32 };
#else
enum { FY_VECTOR_BYTES = 16 };
#endif

#endif
