// Launches, copies and fills that something else may not be ordered behind: by streams, events and what the host has waited for.
#ifndef INSPECT_PAST_H
#define INSPECT_PAST_H

#include "inspect/inspect.h"

// Sets the launch's stamp and its first era; words that copies have come to which nothing orders before it remember them.
void past_begin_launch(struct launch *launch);
void past_end_launch(void);

struct transferred { // device memory
  uint64_t address;
  size_t bytes;
  uint32_t place; // of the call of a copy or fill; 0: of a library's function
  bool writes;
};
// The running copy, fill or library function, whose number is `run`, reads or writes this: another's access that nothing orders
// before it is a finding.
void past_transfer(uint32_t run, struct transferred what);

bool past_is_ordered(const struct launch *launch, const struct note *before);
// Such an access and one with this key, by a thread of the launch, came to `what`.
void past_conflict(const struct launch *launch, const struct note *before, uint32_t key, uint32_t allocated,
                   const char *what, const char *by);

#endif
