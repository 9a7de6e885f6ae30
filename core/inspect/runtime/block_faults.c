// SPDX-License-Identifier: MIT
// Findings that the simulator reports of a block: deadlocks and faults.
#include "inspect/runtime/block_faults.h"
#include "inspect/finding.h"
#include "inspect/inspect.h"
#include "inspect/runtime/lane.h"
#include "inspect/step/step.h"

void block_divergent(int thread, const char *file, int line, int other, const char *other_file, int other_line,
                     bool of_warp) {
  struct block_state *bs = inspect_current;
  const enum finding_kind kind = of_warp ? FIND_LANES : FIND_DIVERGENT;
  struct location location = {.file = file, .line = line, .other_line = other_line};
  unsigned block = block_of(bs->launch, bs->instance);
  const struct finding *f;
  if (other_file)
    f = finding_add(kind, bs->launch->kernel, location, "thread %d waits here, thread %d %s, in block %u", thread,
                    other, of_warp ? "elsewhere" : "at another barrier", block);
  else
    f = finding_add(kind, bs->launch->kernel, location, "thread %d waits here, thread %d has returned, in block %u",
                    thread, other, block);
  if (step_is_on())
    step_ends("deadlock", f, thread, other);
}

void block_divergent_grid(const char *file, int line, unsigned int returned) {
  struct block_state *bs = inspect_current;
  finding_add(FIND_DIVERGENT_GRID, bs->launch->kernel, (struct location){.file = file, .line = line},
              "block %u waits here, block %u has returned", block_of(bs->launch, bs->instance), returned);
}

void block_livelocked(void) {
  struct block_state *bs = inspect_current;
  const struct finding *f =
      finding_add(FIND_LIVELOCK, bs->launch->kernel, (struct location){.first = event_pc(lane_last_event(bs))},
                  "thread %d of block %u", bs->thread, block_of(bs->launch, bs->instance));
  if (step_is_on())
    step_ends("livelock", f, bs->thread, -1);
}

void block_faulted(const void *address) {
  struct block_state *bs = inspect_current;
  const struct finding *f =
      finding_add(FIND_ILLEGAL, bs->launch->kernel, (struct location){.first = event_pc(lane_last_event(bs))},
                  "address %p: thread %d of block %u", address, bs->thread, block_of(bs->launch, bs->instance));
  if (step_is_on())
    step_ends("fault", f, bs->thread, -1);
}
