// SPDX-License-Identifier: MIT
// All in cudasim_cub_warp.h.
#include "../../cudasim_cub_warp.h"
