// SPDX-License-Identifier: MIT
// All in cudasim_abi.h.
#include "cudasim_abi.h"
