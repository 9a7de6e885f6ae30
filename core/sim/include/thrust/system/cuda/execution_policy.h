// SPDX-License-Identifier: MIT
// In the place of CCCL's file of this name.
#pragma GCC system_header
#include <cudasim_thrust_policy.h>
