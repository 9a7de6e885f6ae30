// SPDX-License-Identifier: MIT
// cub as a whole; see cudasim_cub.h.
#include "../cudasim_cub_block.h"
#include "../cudasim_cub_device.h"
#include "../cudasim_cub_warp.h"
