// SPDX-License-Identifier: MIT
// All in cuda_pipeline_primitives.h.
#include "cuda_pipeline_primitives.h"
