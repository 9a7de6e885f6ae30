// SPDX-License-Identifier: MIT
// All in cuda_runtime.h.
#include "cuda_runtime.h"
