// SPDX-License-Identifier: MIT
// How often ops ran on adopted kernels. With FERRY_ADOPTED_REPORT the program says so when it ends.
#include "adopt/adopt.h"
#include "device/counters.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int64_t own[FY_ADOPTED_OPS], library[FY_ADOPTED_OPS], launches[FY_ADOPTED_OPS];

static const char *const names[] = {
#define FY_ADOPTED_OP(name) #name,
#include "adopt/adopted.def"
#undef FY_ADOPTED_OP
};

const char *fy_adopted_op_name(FyAdoptedOp op) {
  return names[op];
}

FyAdoptedUse fy_adopted_use(FyAdoptedOp op) {
  return (FyAdoptedUse){own[op], library[op], launches[op]};
}

int64_t fy_adopted_begin(void) {
  return fy_counters().launches;
}

void fy_adopted_end(FyAdoptedOp op, int64_t begun) {
  own[op]++;
  launches[op] += fy_counters().launches - begun;
}

void fy_adopted_by_library(FyAdoptedOp op) {
  library[op]++;
}

__attribute__((destructor)) static void report(void) {
  if (!getenv("FERRY_ADOPTED_REPORT"))
    return;
  fflush(stdout);
  fprintf(stderr, "\nCalls on kernels of your own (the others are outside of the domain of your answer):\n");
  bool any = false;
  for (int op = 0; op < FY_ADOPTED_OPS; op++)
    if (own[op] + library[op] > 0) {
      fprintf(stderr, "  %-8s %lld of %lld\n", names[op], (long long)own[op], (long long)(own[op] + library[op]));
      any = true;
    }
  if (!any)
    fprintf(stderr, "  none: no op of this program calls an adopted kernel on a CUDA device\n");
}
