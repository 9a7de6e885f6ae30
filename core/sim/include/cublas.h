// SPDX-License-Identifier: MIT
// The interface of cublas_v2.h.
#include "cublas_v2.h"
