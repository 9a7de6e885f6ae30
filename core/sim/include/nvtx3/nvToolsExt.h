// SPDX-License-Identifier: MIT
// NVTX, where version 3 has it.
#include "../nvToolsExt.h"
