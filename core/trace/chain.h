// SPDX-License-Identifier: MIT
// A chain: pointwise ops that run as one on the CPU, block by block, so that what lies between them never leaves the cache. Each op's
// own kernel does its part of a block. For trace/ only.
#ifndef FERRY_TRACE_CHAIN_H
#define FERRY_TRACE_CHAIN_H

#include "op/op.h"

enum { FY_MAX_CHAIN = 16, FY_MAX_CHAIN_INPUTS = 16 };

// An operand: the result of a link before (source >= 0), or input -1 - source of the chain.
typedef struct FyLink {
  const FyOp *op;
  const void *params; // the program's
  int n_in, source[FY_MAX_INPUTS];
  FyDType dtype; // of its result
} FyLink;

// How an input meets the result: element by element, or again and again.
typedef struct FyChainInput {
  FyDType dtype;
  int64_t period; // 0: as the result; else its elements are repeated, so many of them
} FyChainInput;

typedef struct FyChain {
  int count, input_count;
  FyLink links[FY_MAX_CHAIN];
  FyChainInput inputs[FY_MAX_CHAIN_INPUTS];
  int64_t numel, block;         // of the result; elements of a block, a multiple of the period
  size_t memory;                // bytes of a thread's memory
  int64_t offset[FY_MAX_CHAIN]; // of each link's block in it
} FyChain;

// When all links and inputs are there: chooses the block and lays out the memory. False where the periods are
// not all the same, or too large for a block.
bool fy_chain_finish(FyChain *chain);

static inline int64_t fy_chain_tasks(const FyChain *chain) {
  return (chain->numel + chain->block - 1) / chain->block;
}

// One block. Returns what kernels return; *failed is the link whose kernel did not return FY_LAUNCH_OK. Any thread.
int fy_chain_run(const FyChain *chain, int64_t task, void *const *in, void *out, void *memory, const FyLink **failed);

#endif
