// SPDX-License-Identifier: MIT
// Benchmarks of forward passes in evaluation, without gradients: a model op by op, and its trace.
#include "bench.h"

static void set_up_forward(Run *run) {
  const Model model = (Model)run->bench->variant;
  run->model = fy_module_to(model_new(model), run->device);
  model_set_weights(run->model);
  fy_eval(run->model);
  run->a = fy_to(formula_numbers(model_input(model, run->size), 1, 2), run->device);
  run->items = (double)run->size;
}

// One batch of `size` samples.
void setup_forward(Run *run) {
  set_up_forward(run);
}

// The same by the trace, which a run before the clock has made a plan for.
void setup_traced(Run *run) {
  set_up_forward(run);
  run->model = fy_trace(run->model, run->a);
}

void body_forward(Run *run) {
  fy_no_grad {
    fy_forward(run->model, run->a);
  }
}

void body_traced(Run *run) {
  body_forward(run);
}
