// SPDX-License-Identifier: MIT
// Which instructions a build of Ferry needs of the processor beyond those that every x86-64 has. The list has what compilers choose for
// -march; on other processors it is empty: -march=armv8-a, the baseline of `make install`, is what every 64-bit ARM has.
#ifndef FERRY_SIM_PROCESSOR_H
#define FERRY_SIM_PROCESSOR_H

#include <stdbool.h>

// X(macro, name): what the compiler defines when it may use them, and __builtin_cpu_supports's word.
#ifdef __x86_64__
#define SIM_INSTRUCTIONS(X)                                                                                            \
  X(__SSE3__, "sse3")                                                                                                  \
  X(__SSSE3__, "ssse3")                                                                                                \
  X(__SSE4_1__, "sse4.1")                                                                                              \
  X(__SSE4_2__, "sse4.2")                                                                                              \
  X(__POPCNT__, "popcnt")                                                                                              \
  X(__AVX__, "avx")                                                                                                    \
  X(__AVX2__, "avx2")                                                                                                  \
  X(__BMI__, "bmi")                                                                                                    \
  X(__BMI2__, "bmi2")                                                                                                  \
  X(__FMA__, "fma")                                                                                                    \
  X(__SSE4A__, "sse4a")                                                                                                \
  X(__FMA4__, "fma4")                                                                                                  \
  X(__XOP__, "xop")                                                                                                    \
  X(__AVX512F__, "avx512f")                                                                                            \
  X(__AVX512CD__, "avx512cd")                                                                                          \
  X(__AVX512DQ__, "avx512dq")                                                                                          \
  X(__AVX512BW__, "avx512bw")                                                                                          \
  X(__AVX512VL__, "avx512vl")                                                                                          \
  X(__AVX512IFMA__, "avx512ifma")                                                                                      \
  X(__AVX512VBMI__, "avx512vbmi")                                                                                      \
  X(__AVX512VBMI2__, "avx512vbmi2")                                                                                    \
  X(__AVX512VNNI__, "avx512vnni")                                                                                      \
  X(__AVX512BITALG__, "avx512bitalg")                                                                                  \
  X(__AVX512VPOPCNTDQ__, "avx512vpopcntdq")
#else
#define SIM_INSTRUCTIONS(X)
#endif

// For each of the list: may this build use them? Data alone, compiled with the flags of the rest (processor_needs.c).
extern const bool sim_processor_needs[];

// Runs before everything else of Ferry. Ends the program with status 2, and says why, where the processor lacks what the build
// needs; without it the program would die of an illegal instruction.
void sim_processor_check(void);

#endif
