// SPDX-License-Identifier: MIT
// The first thing that a program with Ferry does: compare what the build needs with what the processor has. This file alone is
// compiled for the oldest processor of its kind (core/tool/install.mk), so that it can run on all of them.
#include "sim/base/processor.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_LIST = 512 };

// The names of what is needed and missing, each with a space before it.
static void find_missing(char *names) {
  int i = 0;
  names[0] = '\0';
#ifdef __x86_64__
  __builtin_cpu_init();
#define CHECK(macro, name)                                                                                             \
  if (sim_processor_needs[i++] && !__builtin_cpu_supports(name))                                                       \
    strcat(names, " " name);
  SIM_INSTRUCTIONS(CHECK)
#endif
  (void)i;
}

void sim_processor_check(void) {
  char missing[LONGEST_LIST];
  find_missing(missing);
  if (!missing[0])
    return;
  fprintf(
      stderr,
      "ferry: this program was built for a processor with%s, which this one does not have. Build Ferry again for it: "
      "`make` on this machine, or `make install MARCH=x86-64` for every one of its kind\n",
      missing);
  _exit(2);
}

// Runs before the constructors without a number, which are compiled for the build's processor. It is a function that no header declares:
// GCC drops the number of a constructor that was declared before without one.
__attribute__((constructor(101))) static void begin(void) {
  sim_processor_check();
}
