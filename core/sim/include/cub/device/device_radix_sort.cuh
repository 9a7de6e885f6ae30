// SPDX-License-Identifier: MIT
// All in cudasim_cub_device.h.
#include "../../cudasim_cub_device.h"
