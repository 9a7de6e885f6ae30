// SPDX-License-Identifier: MIT
// Comparing a traced module with its model: for trace/ only.
#ifndef FERRY_TRACE_CHECK_H
#define FERRY_TRACE_CHECK_H

#include "nn/nn.h"

// Whether both modules give the same for `input`, within 1e-5 of absolute and relative difference; where not, `difference` (of
// `size` bytes) says by how much. Raises what they raise.
bool fy_outputs_agree(FyModule *traced, FyModule *model, FyTensor *input, char *difference, size_t size);

#endif
