// SPDX-License-Identifier: MIT
// All in cudasim_cub_block.h.
#include "../../cudasim_cub_block.h"
