// Launches, copies and fills that something else may not be ordered behind: by streams, events and what the host has waited for.
#ifndef INSPECT_PAST_H
#define INSPECT_PAST_H

#include "inspect/inspect.h"
#include "sim/base/plugin.h"

// Sets the launch's stamp and its first era; words that copies have come to which nothing orders before it remember them.
void past_begin_launch(struct launch *launch);
void past_end_launch(void);

struct transferred { // device memory
  struct sim_region region;
  uint32_t place;      // of the call that asked for it; 0: nobody knows, as of NCCL's
  const char *library; // "cublas gemm"; NULL: a copy or fill
  bool writes, frees;  // a write, as far as others are concerned: what comes to it later may come to another's memory
};
// The running copy, fill or library function reads or writes this: another's access that nothing orders before it is a finding.
void past_transfer(struct transferred what);
// A constant, so far behind the first of all, which no cell remembers.
void past_reads_constant(struct launch *launch, uint64_t address, size_t offset, uint32_t key);
// The host comes to memory that it shares with kernels, and `knows` this; as long as `version` is the same it has waited for nothing more.
void past_host_access(const struct sim_vector_clock *knows, unsigned long version, struct transferred what);
// A function of the host's does, which a stream calls; it is ordered as `stamp` says.
void past_host_function(const struct sim_vector_clock *stamp, struct transferred what);
void past_forget_host(void); // all that it has come to so far

bool past_touches(const struct sim_region *region, uint64_t address, size_t bytes);
bool past_is_ordered(const struct launch *launch, const struct note *before);
// Such an access and one with this key, by a thread of the launch, came to `what`.
void past_conflict(const struct launch *launch, const struct note *before, uint32_t key, uint32_t allocated,
                   const char *what, const char *by);

#endif
