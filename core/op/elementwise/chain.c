// SPDX-License-Identifier: MIT
// The record of the chain, and its kernel for the CPU. (A traced module on the CPU has chains of its own, block by block.)
#include "op/elementwise/chain.h"
#include "base/threads.h"
#include "op/op.h"

// The inputs are row-major, as whoever makes a chain sees to.
static void infer_chain(FyOpCall *call) {
  const FyChainParams *p = call->params;
  fy_call_output(call, 0, FY_FLOAT32, p->ndim, p->shape);
}

typedef struct Job {
  const FyChainParams *params;
  const float *in[FY_MAX_INPUTS];
  float *out;
} Job;

static void run_part(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  for (int64_t i = begin; i < end; i++)
    job->out[i] = fy_chain_value(job->params, job->in, i);
}

static int fy_cpu_pointwise_chain(FyLaunch *l) {
  enum { GRAIN = 2048 };
  Job job = {.params = l->params, .out = l->out[0]->data};
  for (int k = 0; k < l->n_in; k++)
    job.in[k] = l->in[k]->data;
  fy_parallel_for(l->out[0]->numel, GRAIN, run_part, &job);
  return FY_LAUNCH_OK;
}

const FyOp fy_op_pointwise_chain = {
    .name = "pointwise_chain",
    .flags = FY_OP_NO_GRAD,
    .infer = infer_chain,
    .cpu = fy_cpu_pointwise_chain,
    .params_size = sizeof(FyChainParams),
    .id = FY_OP_ID_pointwise_chain,
};
