// SPDX-License-Identifier: MIT
// Programs and plans as text; programs after print(traced.graph).
#include "op/elementwise/chain.h"
#include "op/op.h"
#include "op/product/matmul.h"
#include "trace/plan.h"
#include "trace/trace.h"
#include "trace/traced.h"
#include <stdio.h>

// "Float(1, 10)", as PyTorch writes the type of a value.
static void print_type(FyDType dtype, int ndim, const int64_t *shape) {
  printf("%s(", fy_dtype_scalar_name(dtype));
  for (int d = 0; d < ndim; d++)
    printf("%s%lld", d ? ", " : "", (long long)shape[d]);
  printf(")");
}
static void print_type_of(const FyProgramValue *value) {
  print_type(value->dtype, value->ndim, value->shape);
}

// Values have their name, or else a number: "%conv1.weight", "%7".
static void print_name(const FyProgram *program, int value) {
  if (value < 0)
    printf("None");
  else if (program->values[value].name)
    printf("%%%s", program->values[value].name);
  else
    printf("%%%d", value);
}

static void print_step(const FyProgram *program, const FyProgramStep *step) {
  printf("  ");
  for (int i = 0, printed = 0; i < step->n_out; i++) {
    if (step->out[i] < 0)
      continue;
    printf("%s", printed++ ? ", " : "");
    print_name(program, step->out[i]);
    printf(" : ");
    print_type_of(&program->values[step->out[i]]);
  }
  printf(" = fy::%s(", step->op->name);
  for (int i = 0; i < step->n_in; i++) {
    printf("%s", i ? ", " : "");
    print_name(program, step->in[i]);
  }
  printf(")\n");
}

void fy_traced_print_graph_of(FyModule *traced) {
  const FyProgram *program = fy_traced_program(traced);
  printf("graph(");
  print_name(program, program->input);
  printf(" : ");
  print_type_of(&program->values[program->input]);
  printf("):\n");
  for (int i = 0; i < program->step_count; i++)
    print_step(program, &program->steps[i]);
  printf("  return (");
  print_name(program, program->output);
  printf(")\n");
}

// ---- plans ---------------------------------------------------------------------------------------------------------------------

static void print_stage(const FyStage *stage) {
  if (stage->kind == FY_STAGE_CONV)
    printf("conv2d%s%s", stage->conv.relu ? " + relu" : "", stage->conv.pool ? " + max_pool2d" : "");
  else
    printf("linear%s", stage->dense.relu ? " + relu" : "");
}

// Ops that are several: which.
static void print_kernel(const FyPlanStep *step) {
  static const char *const names[] = {"add", "sub",  "mul",  "div",     "neg",  "abs",  "exp",
                                      "log", "sqrt", "tanh", "sigmoid", "relu", "gelu", "clamp"};
  if (step->op == &fy_op_pointwise_chain) {
    const FyChainParams *p = step->params;
    for (int i = 0; i < p->count; i++)
      printf("%s%s", i ? " + " : "", names[p->links[i].code]);
  } else if (step->op == &fy_op_conv2d_relu_max_pool2d) {
    printf("conv2d + relu + max_pool2d");
  } else {
    const bool relu = step->op == &fy_op_linear && ((const FyLinearParams *)step->params)->relu;
    printf(relu ? "linear + relu" : "%s", step->op->name);
  }
}

static void print_ops(const FyPlanStep *step) {
  if (step->kind == FY_STEP_KERNEL)
    print_kernel(step);
  for (int i = 0; step->chain && i < step->chain->count; i++)
    printf("%s%s", i ? " + " : "", step->chain->links[i].op->name);
  for (int i = 0, printed = 0; step->group && i < step->group->count; i++) {
    const FyStageKind kind = step->group->stages[i].kind;
    if (kind != FY_STAGE_CONV && kind != FY_STAGE_DENSE)
      continue;
    printf("%s", printed++ ? ", " : "");
    print_stage(&step->group->stages[i]);
  }
}

static void print_value(const FyPlan *plan, int value) {
  const bool named = value >= 0 && value < plan->program->value_count;
  if (named || value < 0)
    print_name(plan->program, value);
  else
    printf("%%%d", value);
}

static void print_plan_step(const FyPlan *plan, const FyPlanStep *step) {
  printf("  ");
  for (int i = 0, printed = 0; i < step->n_out; i++) {
    if (step->out[i] < 0)
      continue;
    const FyArray *a = &plan->values[step->out[i]].array;
    printf("%s", printed++ ? ", " : "");
    print_value(plan, step->out[i]);
    printf(" : ");
    print_type((FyDType)a->dtype, a->ndim, a->shape);
  }
  printf(" = ");
  print_ops(step);
  printf("(");
  for (int i = 0; i < step->n_in; i++) {
    printf("%s", i ? ", " : "");
    print_value(plan, step->in[i]);
  }
  printf(")\n");
}

void fy_traced_print_plan_of(FyModule *traced) {
  fy_scope {
    const FyPlan *plan = fy_traced_plan(traced);
    const FyArray *input = &plan->values[plan->input].array;
    printf("plan(%%input : ");
    print_type((FyDType)input->dtype, input->ndim, input->shape);
    printf("):\n");
    for (int i = 0; i < plan->step_count; i++)
      print_plan_step(plan, &plan->steps[i]);
    printf("  return (");
    print_value(plan, plan->output);
    printf(")\n  memory: %zu bytes, %zu if values shared none\n", plan->arena_bytes, plan->arena_unshared);
    if (plan->thread_bytes + plan->shared_bytes)
      printf("  within fused ops: %zu bytes, and %zu for each thread\n", plan->shared_bytes, plan->thread_bytes);
  }
}
