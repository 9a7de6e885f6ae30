// SPDX-License-Identifier: MIT
// What this build needs of the processor, from what the compiler defined under the build's own flags. No code: none of it may run
// before the check.
#include "sim/base/processor.h"

// A macro that is defined is 1, another one keeps its name.
#define TEXT(macro) #macro
#define NEEDS(macro, name) sizeof TEXT(macro) == sizeof "1",

const bool sim_processor_needs[] = {SIM_INSTRUCTIONS(NEEDS) false};
