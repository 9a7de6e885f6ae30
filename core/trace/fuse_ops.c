// SPDX-License-Identifier: MIT
// Which ops run as one on every device and in every dtype: those for which the library has an op that is several.
#include "op/convolution/conv_pool.h"
#include "op/convolution/pool.h"
#include "op/product/matmul.h"
#include "trace/plan.h"
#include <string.h>

// The step that alone reads `value`, if it is this op; NULL: none.
static const FyProgramStep *reader_of(const FyPlan *plan, int value, const FyOp *op, const int *uses) {
  const FyProgramStep *step = uses[value] < 0 ? NULL : &plan->program->steps[uses[value]];
  return step && step->op == op && step->in[0] == value ? step : NULL;
}

static void mark_taken(const FyPlan *plan, const FyProgramStep *step, bool *taken) {
  taken[step - plan->program->steps] = true;
}

// The shape of what a step makes is known then, and it was checked.
static const FyArray *describe(FyPlan *plan, const FyProgramStep *step) {
  FyDescribed d;
  fy_plan_describe(plan, step, &d);
  const FyOutput *o = &d.output[0];
  plan->values[step->out[0]].array = fy_plan_array((FyDType)o->dtype, plan->device, o->ndim, o->shape);
  return &plan->values[step->out[0]].array;
}

static bool fuse_conv_pool(FyPlan *plan, const FyProgramStep *conv, const int *uses, bool *taken) {
  const FyProgramStep *relu = reader_of(plan, conv->out[0], &fy_op_relu, uses);
  const FyProgramStep *pool = relu ? reader_of(plan, relu->out[0], &fy_op_max_pool2d, uses) : NULL;
  const FyArray *x = &plan->values[conv->in[0]].array;
  if (!pool || pool->out[1] >= 0 || !fy_dtype_is_floating((FyDType)x->dtype))
    return false;
  const FyConv2dParams *c = conv->params;
  const FyPool2dParams *p = pool->params;
  const FyArray *y = describe(plan, conv);
  const bool tiles = p->kernel <= FY_MAX_TAP_WINDOW && p->stride == p->kernel && p->padding == 0;
  if (!tiles || c->groups != 1 || x->numel == 0 || y->shape[2] < p->kernel || y->shape[3] < p->kernel)
    return false;
  describe(plan, relu);
  describe(plan, pool);
  const FyConvPoolParams params = {.conv = *c, .window = p->kernel};
  FyProgramStep step = *conv;
  step.op = &fy_op_conv2d_relu_max_pool2d;
  step.params = (void *)(uintptr_t)&params;
  step.n_out = 2;
  step.out[0] = pool->out[0];
  step.out[1] = -1;
  fy_plan_add_kernel(plan, &step);
  mark_taken(plan, relu, taken);
  mark_taken(plan, pool, taken);
  return true;
}

static bool fuse_linear_relu(FyPlan *plan, const FyProgramStep *linear, const int *uses, bool *taken) {
  const FyProgramStep *relu = reader_of(plan, linear->out[0], &fy_op_relu, uses);
  if (!relu)
    return false;
  describe(plan, linear);
  describe(plan, relu);
  FyLinearParams params = *(const FyLinearParams *)linear->params;
  params.relu = 1;
  FyProgramStep step = *linear;
  step.params = &params;
  step.out[0] = relu->out[0];
  fy_plan_add_kernel(plan, &step);
  mark_taken(plan, relu, taken);
  return true;
}

bool fy_fuse_ops(FyPlan *plan, int first, const int *uses, bool *taken) {
  const FyProgramStep *step = &plan->program->steps[first];
  return (step->op == &fy_op_conv2d && fuse_conv_pool(plan, step, uses, taken)) ||
         (step->op == &fy_op_linear && fuse_linear_relu(plan, step, uses, taken));
}
