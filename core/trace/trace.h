// SPDX-License-Identifier: MIT
// Tracing: torch.jit.trace.
//
// fy_trace runs a model's forward once and writes down the ops that it calls. What comes back is a module that runs those
// ops, and nothing else, without recording anything for backward:
//
//   fy_eval(model);
//   FyModule *traced = fy_trace(model, fy_randn(fy_shape(1, 3, 32, 32)));
//   FyTensor *y = fy_forward(traced, x);
//
// What C does between the ops (an `if`, a loop, a number read by fy_item) is not an op: the trace has what happened for the
// example, for ever. Reading a value during the trace prints PyTorch's TracerWarning.
//
// State. As of torch.jit.trace, and not as of torch.jit.freeze, a traced module shares the parameters and buffers of its
// model: they appear under the same names in fy_state_dict, and a change of one (a step of an optimizer, fy_load_state_dict,
// fy_module_to) is seen by both. What the trace has made of them (folded constants, weights in another layout) is made again
// at the next run. Other tensors that forward reads are kept as they were. Training mode is that of the trace: fy_eval first. A
// trace changes nothing outside of it: where forward changes its input in place, the trace's input stays as it is.
//
// Gradients. A traced module runs as under fy_no_grad: its result has no history, whatever its input or parameters ask for.
//
// Shapes. The batch, dimension 0, may change: views that kept it keep it. Other inputs of the example's rank run where all ops of
// the trace take them, and raise what those raise where not. Another rank, dtype or device is refused. For each new shape a
// plan is made: a run of that shape then allocates nothing but its result.
//
// Threads. Several threads may run one traced module at a time. While one does, no thread may change its parameters.
#ifndef FERRY_TRACE_TRACE_H
#define FERRY_TRACE_TRACE_H

#include "nn/nn.h"

typedef struct FyTrace {
  FyTensor *example;
  bool no_check;          // check_trace=False
  FyTensors check_inputs; // check_inputs: also compared with the model; none: only the example
} FyTrace;

// torch.jit.trace(model, example): the traced module, owned by the innermost scope. fy_trace(model, x),
// fy_trace(model, x, .no_check = true), fy_trace(model, x, .check_inputs = fy_list(a, b)).
//
// Afterwards, unless .no_check, it is compared with the model as fy_traced_check does; what differs for the example (dropout in
// training mode) is a TracerWarning on stderr.
//
// Raises what forward raises; FY_TYPE_ERROR for NULL; FY_RUNTIME_ERROR where forward changes a parameter or buffer (batch norm
// in training mode), a part of a tensor in place, or leaves the example's device; what fy_traced_check raises.
#define fy_trace(model, ...) fy_trace_with((FyModule *)(model), (FyTrace){.example = __VA_ARGS__})
FY_API FyModule *fy_trace_with(FyModule *model, FyTrace options);

// torch.jit.trace's check (check_trace): for each input, traces the model again and compares the ops, then runs both and compares
// their results, within 1e-5 of absolute and relative difference. Raises FY_RUNTIME_ERROR "Tracing failed sanity checks!" with
// what was different: the first op that differs, or how far the results are apart. FY_TYPE_ERROR for a module that is not
// traced.
#define fy_traced_check(traced, model, ...)                                                                            \
  fy_traced_check_with((FyModule *)(traced), (FyModule *)(model), fy_list(__VA_ARGS__))
FY_API void fy_traced_check_with(FyModule *traced, FyModule *model, FyTensors inputs);

// print(traced.graph): the ops as they were recorded, with shapes for the example.
#define fy_traced_print_graph(traced) fy_traced_print_graph_of((FyModule *)(traced))
FY_API void fy_traced_print_graph_of(FyModule *traced);

// The plan that the last run used (before the first run: one for the example): what runs as one, and the memory that it takes. Ops
// joined by " + " are one pass over their data; stages joined by "," never meet the memory of the plan.
#define fy_traced_print_plan(traced) fy_traced_print_plan_of((FyModule *)(traced))
FY_API void fy_traced_print_plan_of(FyModule *traced);

#endif
