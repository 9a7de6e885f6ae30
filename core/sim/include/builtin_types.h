// SPDX-License-Identifier: MIT
// All in cuda_runtime_api.h.
#include "cuda_runtime_api.h"
