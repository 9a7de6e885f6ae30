// SPDX-License-Identifier: MIT
// Running one block of a kernel: its threads, their barriers and their warps, on one operating-system thread.
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H

#include <stdbool.h>

#include "cudasim_launch.h"

enum { SIM_MAX_BLOCK_THREADS = 1024, SIM_MAX_SHARED_BYTES = 232448 };

// Runs block `index` (linear, x fastest) of the launch. An error has been reported by then. `inspection` is what an inspector
// keeps of the launch, or NULL.
cudaError_t sim_block_run(const struct cudasim_launch_request *launch, unsigned int index, void *inspection);

// The same for up to `most` blocks from this one on, if the kernel can coarsen them into one wide block.
struct sim_blocks_ran {
  cudaError_t error;
  unsigned int count; // how many ran
  bool independent;   // cu2cpp has proved that they wait for no other block
};
struct sim_blocks_ran sim_blocks_run(const struct cudasim_launch_request *launch, unsigned int index, unsigned int most,
                                     void *inspection);

// True on a thread that runs a kernel's block at this moment.
bool sim_block_running(void);

// Grows the running thread's stack if the address is of its inaccessible part: true. Called by the signal handler.
bool sim_block_grows_stack(const void *address);

// Gives the running block up, because a launch of its own has failed and has been reported.
_Noreturn void sim_block_fail(cudaError_t error);

// Reports a fault of the running kernel and gives the block up with `error`: cudaErrorIllegalAddress,
// cudaErrorMisalignedAddress, or cudaErrorLaunchFailure for any other instruction. Called by the signal handler. `does` is
// "reads" or "writes". `what` describes an illegal address that is near no named array, and each misaligned one.
struct sim_fault {
  const void *address;
  const char *does, *what;
  cudaError_t error;
  const void *pc; // of the instruction
};
_Noreturn void sim_block_fault(struct sim_fault fault);

#endif
