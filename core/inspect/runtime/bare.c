// SPDX-License-Identifier: MIT
// What the main of a kernel without a program (core/sim/include/cudasim_bare_launch.h) says about its launches.
#include "inspect/inspect.h"

#include <stdlib.h>

const char *inspect_launch_text;
char *inspect_launched_text;
uint64_t inspect_events;

void inspect_launches_with(const char *text, bool counts);
bool inspect_launches_were_long(void);
void inspect_launched(const char *text);

void inspect_launches_with(const char *text, bool counts) {
  const char *wanted = getenv("FERRY_INSPECT_COUNTS");
  inspect_hold();
  inspect_launch_text = text ? inspect_copy(text, SIZE_MAX) : NULL; // which findings refer to
  inspect_counts = counts && (wanted == NULL || strcmp(wanted, "0") != 0);
  inspect_release();
}

// A number of events, so the result does not depend on the machine.
bool inspect_launches_were_long(void) {
  enum { MOST = 20 * 1000 * 1000 };
  return inspect_events > MOST;
}

void inspect_launched(const char *text) {
  free(inspect_launched_text);
  inspect_launched_text = inspect_copy(text, SIZE_MAX);
}
