// SPDX-License-Identifier: MIT
// All in cooperative_groups.h.
#include "../cooperative_groups.h"
