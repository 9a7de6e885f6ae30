// Running one block of a kernel: its threads, their barriers and their warps, on one operating-system thread.
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H

#include <stdbool.h>

#include "cudasim_launch.h"

enum { SIM_MAX_BLOCK_THREADS = 1024, SIM_MAX_SHARED_BYTES = 232448 };

// Runs block `index` (linear, x fastest) of the launch. An error has been reported by then. `inspection` is what an inspector
// keeps of the launch, or NULL.
cudaError_t sim_block_run(const struct cudasim_launch_request *launch, unsigned int index, void *inspection);

// The same for this block and, where they are one wide block to the kernel, up to `most` blocks from it on.
struct sim_blocks_ran {
  cudaError_t error;
  unsigned int count; // how many ran
  bool independent;   // cu2cpp has seen that they wait for no other block
};
struct sim_blocks_ran sim_blocks_run(const struct cudasim_launch_request *launch, unsigned int index, unsigned int most,
                                     void *inspection);

// True on a thread that runs a kernel's block at this moment.
bool sim_block_running(void);

// True when the address is of the running thread's stack, which reaches it now; called by the signal handler.
bool sim_block_grows_stack(const void *address);

// Gives the running block up: what it has launched has failed, and said why.
_Noreturn void sim_block_fail(cudaError_t error);

// Reports an access by the running kernel that cannot be, and gives the block up with cudaErrorIllegalAddress or
// cudaErrorMisalignedAddress, or whatever else an instruction did (cudaErrorLaunchFailure); called by the signal handler. "reads" or "writes" is what it `does`; `what` is said of an illegal
// address that is near no array with a name, and of each that is misaligned.
struct sim_fault {
  const void *address;
  const char *does, *what;
  cudaError_t error;
  const void *pc; // of the instruction
};
_Noreturn void sim_block_fault(struct sim_fault fault);

#endif
