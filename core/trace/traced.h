// SPDX-License-Identifier: MIT
// Programs and the modules that run them: for core/ only. onnx/ makes modules of programs that it has read, and writes the programs
// of traced modules.
#ifndef FERRY_TRACE_TRACED_H
#define FERRY_TRACE_TRACED_H

#include "nn/nn.h"
#include "trace/program.h"

// A module that runs `program`, which it holds: named constants are its parameters (leaves that require a gradient) and
// buffers, under those names. Owned by the innermost scope. Raises FY_OUT_OF_MEMORY_ERROR.
FyModule *fy_traced_new(FyProgram *program);

// The same with the parameters and buffers of `model`, those that the program does not use among them.
FyModule *fy_traced_new_of(FyProgram *program, FyModule *model);

// The program of a traced module, borrowed from it. Raises FY_TYPE_ERROR for another module, and for NULL.
FyProgram *fy_traced_program(FyModule *traced);

#endif
