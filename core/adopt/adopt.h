// SPDX-License-Identifier: MIT
// Answers to exercises as kernels of the library's ops (./ferry adopt). Plain C, shared with the CUDA sources.
//
// A *slot* is a function that adapters.cu calls in the place of a kernel of the library: own_softmax. adopted.def says which
// exercise can fill which slot, and which ops call it. ./ferry adopt compiles an answer, names its function after the slot, and
// links programs with it, with the objects of this folder, and with libferry.a. kernels.cu takes the place of the library's table
// of kernels in such a program; the library itself stays as it is. An empty slot is a null pointer: the op then runs the library's
// kernel, as it does for calls outside of the answer's domain (other dtypes, layouts, sizes, streams).
#ifndef FERRY_ADOPT_H
#define FERRY_ADOPT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum FyAdoptedOp {
#define FY_ADOPTED_OP(name) FY_ADOPTED_##name,
#include "adopt/adopted.def"
#undef FY_ADOPTED_OP
  FY_ADOPTED_OPS
} FyAdoptedOp;

#ifdef __cplusplus
extern "C" {
#endif

// The calls of one op on CUDA devices, in this process, while one of its slots is filled.
typedef struct FyAdoptedUse {
  int64_t own, library; // by the answer; by the library, because the answer's domain does not include the call
  int64_t launches;     // kernels, copies and fills that the answer queued
} FyAdoptedUse;

FyAdoptedUse fy_adopted_use(FyAdoptedOp op);
const char *fy_adopted_op_name(FyAdoptedOp op);

// Around a call of an answer, which counts it.
int64_t fy_adopted_begin(void);
void fy_adopted_end(FyAdoptedOp op, int64_t begun);
void fy_adopted_by_library(FyAdoptedOp op);

#ifdef __cplusplus
}
#endif

#endif
