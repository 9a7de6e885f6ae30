// Which pointwise ops run as a chain on the CPU: each reads the one before it, which nobody else does, and all have the same shape.
#include "trace/plan.h"
#include <stdlib.h>
#include <string.h>

static bool is_pointwise(const FyOp *op) {
  static const FyOp *const ops[] = {
      &fy_op_add, &fy_op_sub,  &fy_op_mul,  &fy_op_div,  &fy_op_neg,   &fy_op_abs,   &fy_op_pow,     &fy_op_exp,
      &fy_op_log, &fy_op_sqrt, &fy_op_tanh, &fy_op_relu, &fy_op_gelu,  &fy_op_clamp, &fy_op_eq,      &fy_op_ne,
      &fy_op_lt,  &fy_op_le,   &fy_op_gt,   &fy_op_ge,   &fy_op_where, &fy_op_copy,  &fy_op_sigmoid, &fy_op_isfinite,
  };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (op == ops[i])
      return true;
  return false;
}

typedef struct Builder {
  FyPlan *plan;
  const FyProgram *program;
  int first; // step: what the chain reads has to be there before it
  FyArray shape;
  FyChain *chain;
  int inputs[FY_MAX_CHAIN_INPUTS]; // values of the plan
  int last;                        // value of the program
} Builder;

static int maker_of(const FyProgram *program, int value) {
  for (int i = 0; i < program->step_count; i++)
    for (int k = 0; k < program->steps[i].n_out; k++)
      if (program->steps[i].out[k] == value)
        return i;
  return -1;
}

// How an input meets the chain's shape; false where it does so in a way that no chain has.
static bool meets(const FyArray *in, const FyArray *shape, FyChainInput *input) {
  input->dtype = (FyDType)in->dtype;
  input->period = in->numel == 1 && shape->numel != 1 ? 1 : in->numel;
  if (in->numel == 1)
    return true;
  int d = 0;
  while (d < in->ndim && in->shape[d] == 1)
    d++;
  const int rest = in->ndim - d, skipped = shape->ndim - rest;
  bool same = in->contiguous && skipped >= 0;
  for (int k = 0; same && k < rest; k++)
    same = in->shape[d + k] == shape->shape[skipped + k];
  if (same && in->numel == shape->numel)
    input->period = 0;
  return same;
}

// A constant in another dtype, as the op's kernel wants it.
static int converted(FyPlan *plan, int value, FyDType dtype) {
  const int scope = fy_scope_open();
  FyTensor *copy = fy_copy_of(plan->values[value].constant, dtype);
  const int added = fy_plan_add_value(plan, &copy->array);
  plan->values[added].constant = fy_retain(copy);
  fy_scope_close(scope);
  return added;
}

static int add_input(Builder *b, int value, const FyChainInput *input) {
  FyChain *chain = b->chain;
  for (int i = 0; i < chain->input_count; i++)
    if (b->inputs[i] == value)
      return -1 - i;
  if (chain->input_count == FY_MAX_CHAIN_INPUTS)
    return 0;
  b->inputs[chain->input_count] = value;
  chain->inputs[chain->input_count] = *input;
  return -1 - chain->input_count++;
}

// Whether all that the step reads is there: constants, what was made before the chain, and the chain's last result.
static bool is_ready(const Builder *b, const FyProgramStep *step) {
  for (int k = 0; k < step->n_in; k++) {
    const int value = step->in[k];
    if (value < 0)
      return false;
    if (!(b->chain->count && value == b->last) && !b->plan->values[value].constant &&
        maker_of(b->program, value) >= b->first)
      return false;
  }
  return true;
}

// Adds a step as the chain's next link. False, and nothing is changed but the list of inputs, where it cannot be one.
static bool add_link(Builder *b, int i) {
  const FyProgramStep *step = &b->program->steps[i];
  FyChain *chain = b->chain;
  FyDescribed d;
  FyLink link = {.op = step->op, .params = step->params, .n_in = step->n_in};
  if (chain->count == FY_MAX_CHAIN || !is_pointwise(step->op) || step->n_out != 1 || !is_ready(b, step))
    return false;
  fy_plan_describe(b->plan, step, &d);
  const FyOutput *o = &d.output[0];
  const FyArray array = fy_plan_array((FyDType)o->dtype, b->plan->device, o->ndim, o->shape);
  if (chain->count == 0)
    b->shape = array;
  if (d.call.aside || o->strided || array.numel == 0 || array.ndim == 0 || !fy_same_shape(&array, &b->shape))
    return false;
  for (int k = 0; k < step->n_in; k++) {
    int value = step->in[k];
    FyChainInput input;
    const bool casts = d.call.copied >> k & 1;
    if (casts && !b->plan->values[value].constant)
      return false;
    if (chain->count && value == b->last) {
      link.source[k] = chain->count - 1;
      continue;
    }
    if (casts)
      value = converted(b->plan, value, (FyDType)d.call.wanted[k]);
    if (!meets(&b->plan->values[value].array, &b->shape, &input))
      return false;
    link.source[k] = add_input(b, value, &input);
    if (link.source[k] == 0)
      return false;
  }
  link.dtype = (FyDType)o->dtype;
  chain->links[chain->count++] = link;
  b->last = step->out[0];
  b->plan->values[b->last].array = array;
  b->plan->values[b->last].root = b->last;
  return true;
}

static bool finish(Builder *b) {
  FyChain *chain = b->chain;
  chain->numel = b->shape.numel;
  return chain->count > 1 && fy_chain_finish(chain);
}

bool fy_fuse_chain(FyPlan *plan, int first, const int *uses, bool *taken) {
  Builder b = {.plan = plan, .program = plan->program, .first = first};
  int steps[FY_MAX_CHAIN], next = first;
  if (plan->device.type != FY_CPU || !is_pointwise(plan->program->steps[first].op))
    return false;
  FyPlanStep *step = fy_plan_add_step(plan, FY_STEP_CHAIN, NULL, NULL);
  b.chain = step->chain = calloc(1, sizeof *b.chain); // the plan's, whatever is raised
  fy_check(b.chain, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
  while (next >= 0 && !taken[next] && add_link(&b, next)) {
    steps[b.chain->count - 1] = next;
    next = uses[b.last];
  }
  if (!finish(&b)) {
    free(b.chain);
    plan->step_count--;
    return false;
  }
  step->name = "pointwise";
  step->n_in = b.chain->input_count;
  step->n_out = 1;
  memcpy(step->in, b.inputs, sizeof step->in);
  step->out[0] = b.last;
  step->memory = (plan->thread_bytes + 63) / 64 * 64;
  plan->thread_bytes = step->memory + b.chain->memory;
  for (int i = 0; i < b.chain->count; i++)
    taken[steps[i]] = true;
  return true;
}
