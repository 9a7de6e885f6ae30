// SPDX-License-Identifier: MIT
// In front of CCCL's file of this name, which for a GPU brings more along.
#pragma GCC system_header
#include_next <thrust/scan.h>
#include <cudasim_thrust_policy.h>
