// SPDX-License-Identifier: MIT
// All in cudasim_cub.h.
#include "../cudasim_cub.h"
