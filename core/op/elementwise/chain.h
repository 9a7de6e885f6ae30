// SPDX-License-Identifier: MIT
// A chain of pointwise ops as one op, float32: each link reads the one before it, inputs and numbers. For traced modules, which on
// CUDA so have one kernel where there were several. Plain C, shared by the CPU and CUDA sources.
#ifndef FERRY_OP_CHAIN_H
#define FERRY_OP_CHAIN_H

#include "op/elementwise/pointwise_math.h"
#include "op/launch.h"

enum { FY_CHAIN_MOST_LINKS = 16 };

typedef enum FyChainCode {
  FY_CHAIN_ADD,
  FY_CHAIN_SUB,
  FY_CHAIN_MUL,
  FY_CHAIN_DIV,
  FY_CHAIN_NEG,
  FY_CHAIN_ABS,
  FY_CHAIN_EXP,
  FY_CHAIN_LOG,
  FY_CHAIN_SQRT,
  FY_CHAIN_TANH,
  FY_CHAIN_SIGMOID,
  FY_CHAIN_RELU,
  FY_CHAIN_GELU,
  FY_CHAIN_CLAMP,
} FyChainCode;

// Operands: an input's number, or one of these.
enum { FY_CHAIN_LAST = -1, FY_CHAIN_NUMBER = -2 };

typedef struct FyChainLink {
  int8_t code, a, b; // b of binary ops
  float x, y;        // the number; clamp's bounds
} FyChainLink;

typedef struct FyChainParams {
  int count;
  FyChainLink links[FY_CHAIN_MOST_LINKS];
  int ndim; // of the result
  int64_t shape[FY_MAX_DIM];
  int64_t period[FY_MAX_INPUTS]; // 0: element by element; else so many elements, again and again
} FyChainParams;

FY_MATH float fy_chain_operand(const FyChainParams *p, const float *const *in, int operand, const FyChainLink *link,
                               float last, int64_t i) {
  if (operand == FY_CHAIN_LAST)
    return last;
  if (operand == FY_CHAIN_NUMBER)
    return link->x;
  return in[operand][p->period[operand] ? i % p->period[operand] : i];
}

FY_MATH float fy_chain_link(int code, float a, float b, const FyChainLink *link) {
  switch (code) {
  case FY_CHAIN_ADD:
    return fy_add_f32(a, b);
  case FY_CHAIN_SUB:
    return fy_sub_f32(a, b);
  case FY_CHAIN_MUL:
    return fy_mul_f32(a, b);
  case FY_CHAIN_DIV:
    return fy_div_f32(a, b);
  case FY_CHAIN_NEG:
    return fy_neg_f32(a);
  case FY_CHAIN_ABS:
    return fy_abs_f32(a);
  case FY_CHAIN_EXP:
    return fy_exp_f32(a);
  case FY_CHAIN_LOG:
    return fy_log_f32(a);
  case FY_CHAIN_SQRT:
    return fy_sqrt_f32(a);
  case FY_CHAIN_TANH:
    return fy_tanh_f32(a);
  case FY_CHAIN_SIGMOID:
    return fy_sigmoid_f32(a);
  case FY_CHAIN_RELU:
    return fy_relu_f32(a);
  case FY_CHAIN_GELU:
    return fy_gelu_f32(a);
  default:
    return fy_clamp_f32(a, link->x, link->y);
  }
}

// Element i of the result.
FY_MATH float fy_chain_value(const FyChainParams *p, const float *const *in, int64_t i) {
  float last = 0;
  for (int k = 0; k < p->count; k++) {
    const FyChainLink *link = &p->links[k];
    const float a = fy_chain_operand(p, in, link->a, link, last, i);
    const float b = link->code <= FY_CHAIN_DIV ? fy_chain_operand(p, in, link->b, link, last, i) : 0;
    last = fy_chain_link(link->code, a, b, link);
  }
  return last;
}

#endif
