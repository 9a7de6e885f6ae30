// SPDX-License-Identifier: MIT
// Recording a forward pass: for trace/ only.
#ifndef FERRY_TRACE_RECORD_H
#define FERRY_TRACE_RECORD_H

#include "nn/nn.h"
#include "trace/program.h"

// Runs model(example) without gradients and returns what it was, owned by the innermost scope. Values that leave the tensors are
// told as TracerWarnings when `warns`. Raises as fy_trace.
FyProgram *fy_record_program(FyModule *model, FyTensor *example, bool warns);

// Whether the op draws random numbers, other ones in each run. Never raises.
bool fy_program_is_random(const FyOp *op);

#endif
