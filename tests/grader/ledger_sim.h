// SPDX-License-Identifier: MIT
// For drivers of kernels on simulated devices: a launch or copy that fails, as on a GPU that has no resources left.
#ifndef GRADER_LEDGER_SIM_H
#define GRADER_LEDGER_SIM_H

#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Weak: ./ferry inspect links drivers without them. The so many-th launch, copy or fill from now on (the next is 1) is not done, and its call returns `error`; 0: none is refused.
void ledger_refuse(int which, cudaError_t error) __attribute__((weak));
// What has been done since then; -1: it did not come to the one that was to be refused.
int64_t ledger_since_refusal(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
