// SPDX-License-Identifier: MIT
// The ledger of a kernel's operations on simulated devices: each launch, copy or fill, at the place where the simulator queues
// it. The linker sends calls of sim_submit through here (--wrap).
#include "child.h"
#include "ledger_sim.h"
#include "sim/runtime/node.h"
#include "sim/runtime/stream.h"

cudaError_t __real_sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **node);
cudaError_t __wrap_sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **node);

static int refused_in; // so many operations until the one that is refused; 0: none is
static cudaError_t refusal;
static int64_t since;

void ledger_refuse(int which, cudaError_t error) {
  refused_in = which;
  refusal = error;
  since = 0;
}

int64_t ledger_since_refusal(void) {
  return refused_in > 0 ? -1 : since;
}

// Whether this operation is the one that is to be refused.
static bool refuses(void) {
  if (refused_in == 0)
    since++;
  return refused_in > 0 && --refused_in == 0;
}

cudaError_t __wrap_sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **node) {
  bool counts = work && work->count && !stream->capture; // the work may be gone afterwards
  if (counts && refuses()) {
    sim_work_release(work);
    if (node)
      *node = NULL;
    return refusal;
  }
  cudaError_t error = __real_sim_submit(stream, work, node);
  if (counts && error == cudaSuccess)
    ledger_add(LEDGER_OPERATION, 0);
  return error;
}
