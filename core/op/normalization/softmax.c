// SPDX-License-Identifier: MIT
// F.softmax and F.log_softmax along one dimension, written out in full; each is one kernel, and so is its gradient.
//
//   softmax      y[i] = e^(x[i] - max) / sum over k of e^(x[k] - max)         max is the largest x[k]
//   log_softmax  y[i] = x[i] - max - log(sum over k of e^(x[k] - max))        the logarithm of the above
//
// i and k run along dimension `dim`; y has the shape of x. For x (2, 3, 4) and dim 1 there are 2 * 4 sums of 3 terms: the array
// is seen as (outer, n, inner) = (2, 3, 4). Taking max away changes nothing in the quotient, and no power overflows.
//
// Backward, from y alone; the sums run along the same dimension:
//
//   softmax      grad_x[i] = (grad_y[i] - sum of grad_y[k] * y[k]) * y[i]
//   log_softmax  grad_x[i] = grad_y[i] - e^y[i] * sum of grad_y[k]
#include "op/normalization/softmax.h"
#include "base/threads.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise_math.h"
#include "op/reduction/reduce_cpu.h"

// ---- CPU -------------------------------------------------------------------------------------------------------------

enum { TILE = 256, PARALLEL_GRAIN = 4096 };

typedef struct Job {
  FySoftmaxShape shape;
  int64_t tiles;
  bool take_log;
  void *out;
  const void *a, *y; // forward: x and NULL; backward: grad_y and y
} Job;

#define T float
#define S f32
#include "op/normalization/softmax_rows.h"
#define T double
#define S f64
#include "op/normalization/softmax_rows.h"

static int run(FyLaunch *launch, bool take_log) {
  const FySoftmaxParams *p = launch->params;
  const FyArray *in = launch->in[0];
  Job job = {.shape = fy_softmax_shape(in, p->dim), .take_log = take_log, .out = launch->out[0]->data, .a = in->data};
  job.y = launch->n_in > 1 ? launch->in[1]->data : NULL;
  job.tiles = (job.shape.inner + TILE - 1) / TILE;
  if (!in->numel) // of any dtype
    return FY_LAUNCH_OK;
  if (in->dtype != FY_FLOAT32 && in->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  int64_t work = job.shape.n * (job.shape.inner < TILE ? job.shape.inner : TILE);
  fy_parallel_for(job.shape.outer * job.tiles, PARALLEL_GRAIN / (work + 1) + 1,
                  in->dtype == FY_FLOAT32 ? run_f32 : run_f64, &job);
  return FY_LAUNCH_OK;
}

// Forward and backward both: they differ in the number of inputs.
static int fy_cpu_softmax(FyLaunch *launch) {
  return run(launch, false);
}

static int fy_cpu_log_softmax(FyLaunch *launch) {
  return run(launch, true);
}

// ---- records -----------------------------------------------------------------------------------------------------------

// in[0] is x, out[0] is y.
static void infer(FyOpCall *call) {
  const FySoftmaxParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  if (!fy_dtype_is_floating((FyDType)a->dtype) && a->numel > 0) {
    const bool last = p->dim == a->ndim - 1 || a->ndim == 0, take_log = call->op == &fy_op_log_softmax;
    fy_raise_not_implemented(take_log ? last ? "log_softmax_lastdim_kernel_impl" : "log_softmax_kernel_impl"
                             : last   ? "softmax_lastdim_kernel_impl"
                                      : "softmax_kernel_impl",
                             (FyDType)a->dtype);
  }
  fy_call_contiguous(call, 0);
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
}

// in[0] is grad_y, in[1] is y, out[0] is grad_x.
static void infer_backward(FyOpCall *call) {
  const FyArray *y = &call->in[1]->array;
  fy_call_cast(call, 0, (FyDType)y->dtype);
  fy_call_contiguous(call, 0);
  fy_call_contiguous(call, 1);
  fy_call_output(call, 0, (FyDType)y->dtype, y->ndim, y->shape);
}

// y, as an output: an exponential less in the backward of softmax, and x may be changed in the meantime.
static void save(FyOpCall *call, FyNode *node) {
  fy_save_output(node, call, 0);
}

static void softmax_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  grad_in[0] =
      fy_run(&fy_op_softmax_backward, fy_node_params(node, FySoftmaxParams), FY_INPUTS(grad_out[0], fy_saved(node, 0)));
}

static void log_softmax_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  grad_in[0] = fy_run(&fy_op_log_softmax_backward, fy_node_params(node, FySoftmaxParams),
                      FY_INPUTS(grad_out[0], fy_saved(node, 0)));
}

// A block for each long row.
static void row_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FySoftmaxShape s = fy_softmax_shape(launch->in[0], ((const FySoftmaxParams *)launch->params)->dim);
  if (s.inner == 1 && s.n > FY_SHORT_ROW)
    cost->blocks = (double)s.outer;
}

const FyOp fy_op_softmax = {
    .name = "softmax",
    .grad_name = "SoftmaxBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = {[FY_CUDA] = FY_AUTOCAST_FLOAT32_INSIDE},
    .infer = infer,
    .cpu = fy_cpu_softmax,
    .save = save,
    .backward = softmax_backward,
    .cost = row_cost,
    .params_size = sizeof(FySoftmaxParams),
    .id = FY_OP_ID_softmax,
};

const FyOp fy_op_log_softmax = {
    .name = "log_softmax",
    .grad_name = "LogSoftmaxBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = {[FY_CUDA] = FY_AUTOCAST_FLOAT32_INSIDE},
    .infer = infer,
    .cpu = fy_cpu_log_softmax,
    .save = save,
    .backward = log_softmax_backward,
    .cost = row_cost,
    .params_size = sizeof(FySoftmaxParams),
    .id = FY_OP_ID_log_softmax,
};

// The gradients are ops too, so that they run on either device and in any dtype as all ops do.

const FyOp fy_op_softmax_backward = {
    .name = "softmax_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = infer_backward,
    .cpu = fy_cpu_softmax,
    .cost = row_cost,
    .params_size = sizeof(FySoftmaxParams),
    .id = FY_OP_ID_softmax_backward,
};

const FyOp fy_op_log_softmax_backward = {
    .name = "log_softmax_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = infer_backward,
    .cpu = fy_cpu_log_softmax,
    .cost = row_cost,
    .params_size = sizeof(FySoftmaxParams),
    .id = FY_OP_ID_log_softmax_backward,
};

FyTensor *fy_softmax(FyTensor *a, int dim) {
  FySoftmaxParams p = {fy_wrap_dim(dim, a->array.ndim)};
  return fy_run(&fy_op_softmax, &p, FY_INPUTS(a));
}

FyTensor *fy_log_softmax(FyTensor *a, int dim) {
  FySoftmaxParams p = {fy_wrap_dim(dim, a->array.ndim)};
  return fy_run(&fy_op_log_softmax, &p, FY_INPUTS(a));
}
