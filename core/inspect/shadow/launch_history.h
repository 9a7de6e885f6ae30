// SPDX-License-Identifier: MIT
// Happens-before between launches, copies, fills, library functions and the host: by streams, events and waits of the
// host. Each operation has a vector clock (sim_vector_clock, core/sim/runtime/stamp.c).
#ifndef INSPECT_LAUNCH_HISTORY_H
#define INSPECT_LAUNCH_HISTORY_H

#include "inspect/inspect.h"
#include "sim/base/plugin.h"

// Sets the launch's stamp and its first interval. Copies that are not ordered before it are recorded in the shadow
// words that they touch.
void history_begin_launch(struct launch *launch);
void history_end_launch(void);

struct range_access { // a range of device memory, and who accesses it
  struct sim_region region;
  uint32_t pc;         // of the call that enqueued it; 0: unknown, as with NCCL
  const char *library; // "cublas gemm"; NULL: a copy or fill
  bool writes, frees;  // A write for the purpose of race detection: the memory may be reused
};
// The running copy, fill or library function accesses this range. Reports accesses that are not ordered before it.
void history_transfer(struct range_access what);
// A read of `__constant__` memory. It has no shadow words; only the first reading instruction of each word is kept,
// per launch.
void history_reads_constant(struct launch *launch, uint64_t address, size_t offset, uint32_t event);
// The host accesses memory that it shares with kernels, and `knows` what it has waited for. The same `version` means
// the same knowledge.
void history_host_access(const struct sim_vector_clock *knows, unsigned long version, struct range_access what);
// A host function that a stream calls accesses such memory; its order is `stamp`.
void history_host_function(const struct sim_vector_clock *stamp, struct range_access what);
void history_forget_host(void); // drops all accesses of the host so far

bool history_overlaps(const struct sim_region *region, uint64_t address, size_t bytes);
bool history_happens_before(const struct launch *launch, const struct access *before);
// Reports `before` and an access with this event, by a thread of the launch, to `what`.
void history_report(const struct launch *launch, const struct access *before, uint32_t event, uint32_t allocated,
                    const char *what, const char *by);

#endif
