// SPDX-License-Identifier: MIT
// Which pointwise ops run as a chain: each reads the one before it, which nobody else does, and all have the same shape. On the CPU
// a chain runs block by block, by the ops' own kernels; on CUDA it is one kernel, float32.
#include "op/elementwise/chain.h"
#include "op/elementwise/pointwise.h"
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

// Its code in a chain on CUDA, -1: none has it.
static int code_of(const FyOp *op) {
  static const FyOp *const ops[] = {
      [FY_CHAIN_ADD] = &fy_op_add,         [FY_CHAIN_SUB] = &fy_op_sub,     [FY_CHAIN_MUL] = &fy_op_mul,
      [FY_CHAIN_DIV] = &fy_op_div,         [FY_CHAIN_NEG] = &fy_op_neg,     [FY_CHAIN_ABS] = &fy_op_abs,
      [FY_CHAIN_EXP] = &fy_op_exp,         [FY_CHAIN_LOG] = &fy_op_log,     [FY_CHAIN_SQRT] = &fy_op_sqrt,
      [FY_CHAIN_TANH] = &fy_op_tanh,       [FY_CHAIN_RELU] = &fy_op_relu,   [FY_CHAIN_GELU] = &fy_op_gelu,
      [FY_CHAIN_SIGMOID] = &fy_op_sigmoid, [FY_CHAIN_CLAMP] = &fy_op_clamp,
  };
  for (int code = 0; code <= FY_CHAIN_CLAMP; code++)
    if (op == ops[code])
      return code;
  return -1;
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
  const bool cuda = b->plan->device.type == FY_CUDA;
  if (chain->count == FY_MAX_CHAIN || !is_pointwise(step->op) || step->n_out != 1 || step->out[0] < 0 ||
      !is_ready(b, step) || (cuda && code_of(step->op) < 0))
    return false;
  fy_plan_describe(b->plan, step, &d);
  const FyOutput *o = &d.output[0];
  const FyArray array = fy_plan_array((FyDType)o->dtype, b->plan->device, o->ndim, o->shape);
  if (chain->count == 0)
    b->shape = array;
  if (cuda && o->dtype != FY_FLOAT32)
    return false;
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

// ---- on the CPU --------------------------------------------------------------------------------------------------------------------

static bool add_blocks(Builder *b) {
  FyPlan *plan = b->plan;
  if (!fy_chain_finish(b->chain))
    return false;
  FyPlanStep *step = fy_plan_add_step(plan, FY_STEP_CHAIN, NULL, NULL);
  step->chain = malloc(sizeof *step->chain);
  fy_check(step->chain, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
  *step->chain = *b->chain;
  step->name = "pointwise";
  step->n_in = b->chain->input_count;
  step->n_out = 1;
  memcpy(step->in, b->inputs, sizeof step->in);
  step->out[0] = b->last;
  step->memory = plan->thread_bytes;
  plan->thread_bytes += b->chain->memory; // whole cache lines
  return true;
}

// ---- on CUDA -----------------------------------------------------------------------------------------------------------------------

// Input k of the chain as an operand: a number where it is one on the host, else an input of the op.
static int operand_of(const Builder *b, int k, FyProgramStep *step, FyChainParams *p, FyChainLink *link) {
  const FyPlanValue *value = &b->plan->values[b->inputs[k]];
  if (value->constant && value->array.host_scalar) {
    link->x = *(const float *)value->constant->array.data;
    return FY_CHAIN_NUMBER;
  }
  for (int i = 0; i < step->n_in; i++)
    if (step->in[i] == b->inputs[k])
      return i;
  if (step->n_in == FY_MAX_INPUTS)
    return FY_MAX_INPUTS;
  p->period[step->n_in] = b->chain->inputs[k].period;
  step->in[step->n_in] = b->inputs[k];
  return step->n_in++;
}

static bool add_link_on_cuda(const Builder *b, const FyLink *from, FyProgramStep *step, FyChainParams *p) {
  FyChainLink *link = &p->links[p->count++];
  const FyPointwise *numbers = from->params;
  int operand[2] = {FY_CHAIN_NUMBER, FY_CHAIN_NUMBER};
  link->code = (int8_t)code_of(from->op);
  if (from->op == &fy_op_clamp || (link->code <= FY_CHAIN_DIV && from->n_in == 1))
    link->x = (float)numbers->a;
  if (from->op == &fy_op_clamp)
    link->y = (float)numbers->b;
  for (int k = 0; k < from->n_in; k++) {
    const int source = from->source[k];
    if (source < 0 && b->chain->inputs[-1 - source].dtype != FY_FLOAT32)
      return false;
    operand[k] = source < 0 ? operand_of(b, -1 - source, step, p, link) : FY_CHAIN_LAST;
    if (operand[k] == FY_MAX_INPUTS)
      return false;
  }
  link->a = (int8_t)operand[0];
  link->b = (int8_t)operand[1];
  return true;
}

static bool add_on_cuda(Builder *b) {
  FyProgramStep step = {.op = &fy_op_pointwise_chain, .n_out = 1, .out = {b->last}};
  FyChainParams params = {.ndim = b->shape.ndim};
  memcpy(params.shape, b->shape.shape, sizeof params.shape);
  for (int i = 0; i < b->chain->count; i++)
    if (!add_link_on_cuda(b, &b->chain->links[i], &step, &params))
      return false;
  step.params = &params;
  fy_plan_add_kernel(b->plan, &step);
  return true;
}

// ---- the whole ---------------------------------------------------------------------------------------------------------------------

bool fy_fuse_chain(FyPlan *plan, int first, const int *uses, bool *taken) {
  FyChain chain = {.count = 0};
  Builder b = {.plan = plan, .program = plan->program, .first = first, .chain = &chain};
  int steps[FY_MAX_CHAIN], next = first;
  if (!is_pointwise(plan->program->steps[first].op))
    return false;
  while (next >= 0 && !taken[next] && add_link(&b, next)) {
    steps[chain.count - 1] = next;
    next = uses[b.last];
  }
  chain.numel = b.shape.numel;
  if (chain.count < 2 || !(plan->device.type == FY_CPU ? add_blocks(&b) : add_on_cuda(&b)))
    return false;
  for (int i = 0; i < chain.count; i++)
    taken[steps[i]] = true;
  return true;
}
