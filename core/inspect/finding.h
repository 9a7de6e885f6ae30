// SPDX-License-Identifier: MIT
// Findings: what is wrong with a program (finding.c).
#ifndef INSPECT_FINDING_H
#define INSPECT_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inspect/finding_kinds.h"

struct kernel;

#define FINDING_KIND(kind, id) kind,
enum finding_kind { FINDING_KINDS(FINDING_KIND) FINDINGS };
#undef FINDING_KIND
extern const char *const finding_ids[FINDINGS]; // "race-block"

struct finding {
  enum finding_kind kind;
  struct kernel *kernel;
  uint32_t first, second, third; // program counters; third: of the allocation
  const char *file;              // of a barrier, whose source position the simulator knows
  int line, other_line;
  uint64_t count;
  char *detail;
  bool
      in_block; // a block was running when it occurred first: in this launch (struct launch), at this index in the grid
  uint32_t launch, launch_of_name;
  unsigned int block[3];
  bool hidden; // writes of one value that may be volatile flags
};

struct location {
  uint32_t first, second, third;
  const char *file;
  int line, other_line;
};
struct finding *finding_add(enum finding_kind kind, struct kernel *kernel, struct location location, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));
bool finding_has(enum finding_kind kind, struct kernel *kernel, struct location location);
const struct finding *finding_at(size_t i);

// The recorder of ./ferry step (step/findings.c), which wants to know of each occurrence.
struct access;
struct finding_observer {
  void (*found)(const struct finding *finding);
  // A race with an earlier access, by the running thread's access at this event.
  void (*race)(const struct finding *finding, const struct access *before, uint32_t event, uint64_t address);
  // A read of shared memory that the thread did before, and that nothing has written before it.
  void (*early)(const struct finding *finding, int thread, uint32_t event, uint64_t address);
};
extern const struct finding_observer *finding_observer; // NULL: no block is being recorded

#endif
