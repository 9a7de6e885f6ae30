// The ledger of a kernel's operations on simulated devices: each launch, copy or fill, at the place where the simulator queues
// it. The linker sends calls of sim_submit through here (--wrap).
#include "child.h"
#include "sim/node.h"
#include "sim/stream.h"

cudaError_t __real_sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **node);
cudaError_t __wrap_sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **node);

cudaError_t __wrap_sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_node **node) {
  bool counts = work && work->count && !stream->capture; // the work may be gone afterwards
  cudaError_t error = __real_sim_submit(stream, work, node);
  if (counts && error == cudaSuccess)
    ledger_add(LEDGER_OPERATION, 0);
  return error;
}
