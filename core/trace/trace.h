// SPDX-License-Identifier: MIT
// Tracing: torch.jit.trace.
//
// fy_trace runs a model's forward once and records the ops that it calls. It returns a module that runs these ops and
// nothing else, and that records nothing for backward:
//
//   fy_eval(model);
//   FyModule *traced = fy_trace(model, fy_randn(fy_shape(1, 3, 32, 32)));
//   FyTensor *y = fy_forward(traced, x);
//
// Control flow. The C code between the ops (an `if`, a loop, a number read by fy_item) is not recorded. The trace
// always does what forward did for the example. Reading a value during the trace prints PyTorch's TracerWarning.
//
// State. A traced module shares the parameters and buffers of its model, as with torch.jit.trace but not with
// torch.jit.freeze. They have the same names in fy_state_dict, and a change to them (an optimizer step,
// fy_load_state_dict, fy_module_to) affects both modules. Data that the traced module derives from them (folded
// constants, weights in a different layout) is recomputed in the next run. Other tensors that forward reads keep the
// values that they had during the trace. The trace also fixes the training mode, so call fy_eval first. Neither
// fy_trace nor the traced module changes its input, even if the model's forward changes it in place.
//
// Gradients. A traced module runs as in fy_no_grad: its result has no history, even if the input or the parameters
// require grad.
//
// Shapes. The batch size, dimension 0 of the input, may differ from the example's: views that kept it in the trace keep
// the new one. Any other shape with the example's number of dimensions works if all ops of the trace accept it;
// otherwise the run raises the error of the op. FY_RUNTIME_ERROR is raised for a different number of dimensions, a
// different dtype, and a device other than that of the parameters. The first run with a new shape makes a plan. Further
// runs with this shape allocate only their result.
//
// Threads. Several threads may run a traced module at the same time. Meanwhile, no thread may change its parameters.
#ifndef FERRY_TRACE_TRACE_H
#define FERRY_TRACE_TRACE_H

#include "nn/nn.h"

typedef struct FyTrace {
  FyTensor *example;
  bool no_check;          // skip the comparison with the model; PyTorch: check_trace=False
  FyTensors check_inputs; // more inputs for the comparison; PyTorch: check_inputs
} FyTrace;

// Traces a model's forward with an example input, and returns the traced module, owned by the innermost scope:
//
//   fy_trace(model, x)
//   fy_trace(model, x, .no_check = true)
//   fy_trace(model, x, .check_inputs = fy_list(a, b))
//
// Unless .no_check is set, compares the result of the traced module with the model's. If they differ for the example
// (dropout in training mode), prints a TracerWarning to stderr. The inputs in .check_inputs are compared by
// fy_traced_check.
//
// Raises FY_TYPE_ERROR for NULL. Raises FY_RUNTIME_ERROR if forward changes a parameter or buffer (batch norm in
// training mode) or a part of a tensor in place, or runs ops on a different device or in a different thread. Also
// raises the errors of forward and of fy_traced_check. PyTorch: torch.jit.trace(model, example).
#define fy_trace(model, ...) fy_trace_with((FyModule *)(model), (FyTrace){.example = __VA_ARGS__})
FY_API FyModule *fy_trace_with(FyModule *model, FyTrace options);

// Compares a traced module with its model: for each input, traces the model again and compares the ops, then runs both
// modules and compares their results, with an absolute and a relative tolerance of 1e-5. Raises FY_RUNTIME_ERROR
// "Tracing failed sanity checks!" with the first op that differs or with the largest differences of the results, and
// FY_TYPE_ERROR for a module that is not traced. PyTorch: the check in torch.jit.trace(check_trace=True).
#define fy_traced_check(traced, model, ...)                                                                            \
  fy_traced_check_with((FyModule *)(traced), (FyModule *)(model), fy_list(__VA_ARGS__))
FY_API void fy_traced_check_with(FyModule *traced, FyModule *model, FyTensors inputs);

// Prints the recorded ops to stdout, with the shapes for the example. Raises FY_TYPE_ERROR for a module that is not
// traced. PyTorch: print(traced.graph).
#define fy_traced_print_graph(traced) fy_traced_print_graph_of((FyModule *)(traced))
FY_API void fy_traced_print_graph_of(FyModule *traced);

// Prints the plan of the last run to stdout (before the first run, a plan for the example): which ops are fused, and
// how much memory the plan takes. Ops joined by " + " make one pass over their data. Of stages separated by commas,
// only the last one stores its result in the plan's memory. Raises FY_TYPE_ERROR for a module that is not traced.
#define fy_traced_print_plan(traced) fy_traced_print_plan_of((FyModule *)(traced))
FY_API void fy_traced_print_plan_of(FyModule *traced);

#endif
