// SPDX-License-Identifier: MIT
// fy_trace.
#include "trace/trace.h"
#include "tensor/impl.h"
#include "trace/check.h"
#include "trace/record.h"
#include "trace/traced.h"
#include <stdio.h>
#include <string.h>

// What makes two runs of one trace differ, and is not there in evaluation: told as PyTorch's tracer does.
static void warn_of_random(const FyProgram *program) {
  const FyOp *seen = NULL;
  for (int i = 0; i < program->step_count && !seen; i++)
    if (fy_program_is_random(program->steps[i].op))
      seen = program->steps[i].op;
  if (seen)
    fprintf(stderr,
            "TracerWarning: Trace had nondeterministic nodes. Did you forget call fy_eval() on your model? Nodes:\n"
            "\tfy::%s\n"
            "This may cause errors in trace checking. To disable trace checking, pass .no_check = true to fy_trace()\n",
            seen->name);
}

// The comparison for the example, and then for the other inputs. Only those raise.
static void check(FyModule *traced, FyModule *model, const FyTrace *options) {
  char difference[1024];
  warn_of_random(fy_traced_program(traced));
  if (!fy_outputs_agree(traced, model, options->example, difference, sizeof difference))
    fprintf(stderr,
            "TracerWarning: Output nr 1. of the traced function does not match the corresponding output of the C "
            "function. Detailed error:\n%s\n",
            difference);
  if (options->check_inputs.count)
    fy_traced_check_with(traced, model, options->check_inputs);
}

FyModule *fy_trace_with(FyModule *model, FyTrace options) {
  fy_check(model, FY_TYPE_ERROR, "fy_trace: the module is NULL");
  fy_check(options.example, FY_TYPE_ERROR, "fy_trace: the example is NULL");
  const int scope = fy_scope_open();
  FyModule *traced = fy_traced_new_of(fy_record_program(model, options.example, true), model);
  if (!options.no_check)
    check(traced, model, &options);
  fy_keep(traced);
  fy_scope_close(scope);
  return traced;
}
