// softmax and log_softmax along one dimension, and their gradients, each in one kernel.
#include "op/normalisation/softmax.h"
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
  const void *a, *y; // forward: input and NULL; backward: gradient and the forward's output
} Job;

#define T float
#define S f32
#include "op/normalisation/softmax_rows.h"
#define T double
#define S f64
#include "op/normalisation/softmax_rows.h"

static int run(FyLaunch *launch, bool take_log) {
  const FySoftmaxParams *p = launch->params;
  const FyArray *in = launch->in[0];
  Job job = {.shape = fy_softmax_shape(in, p->dim), .take_log = take_log, .out = launch->out[0]->data, .a = in->data};
  job.y = launch->n_in > 1 ? launch->in[1]->data : NULL;
  job.tiles = (job.shape.inner + TILE - 1) / TILE;
  if (in->dtype != FY_FLOAT32 && in->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  if (!in->numel)
    return FY_LAUNCH_OK;
  int64_t work = job.shape.n * (job.shape.inner < TILE ? job.shape.inner : TILE);
  fy_parallel_for(job.shape.outer * job.tiles, PARALLEL_GRAIN / (work + 1) + 1,
                  in->dtype == FY_FLOAT32 ? run_f32 : run_f64, &job);
  return FY_LAUNCH_OK;
}

static int fy_cpu_softmax(FyLaunch *launch) {
  return run(launch, false);
}

static int fy_cpu_log_softmax(FyLaunch *launch) {
  return run(launch, true);
}

// ---- records -----------------------------------------------------------------------------------------------------------

static void infer(FyCall *call) {
  const FySoftmaxParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  if (!fy_dtype_is_floating((FyDType)a->dtype)) {
    bool last = p->dim == a->ndim - 1 || a->ndim == 0, take_log = call->op == &fy_op_log_softmax;
    fy_raise_not_implemented(!last      ? "softmax_kernel_impl"
                             : take_log ? "log_softmax_lastdim_kernel_impl"
                                        : "softmax_lastdim_kernel_impl",
                             (FyDType)a->dtype);
  }
  fy_call_contiguous(call, 0);
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
}

// in[0] the gradient of the output, in[1] the output.
static void infer_backward(FyCall *call) {
  const FyArray *y = &call->in[1]->array;
  fy_call_cast(call, 0, (FyDType)y->dtype);
  fy_call_contiguous(call, 0);
  fy_call_contiguous(call, 1);
  fy_call_output(call, 0, (FyDType)y->dtype, y->ndim, y->shape);
}

static void save(FyCall *call, FyNode *node) {
  fy_save_output(node, call, 0);
}

#define SOFTMAX_OP(NAME, TITLE)                                                                                        \
  static void NAME##_gradient(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {                           \
    grad_in[0] = fy_run(&fy_op_##NAME##_backward, fy_node_params(node, FySoftmaxParams),                               \
                        FY_INPUTS(grad_out[0], fy_saved(node, 0)));                                                    \
  }                                                                                                                    \
  const FyOp fy_op_##NAME = {                                                                                          \
      .name = #NAME,                                                                                                   \
      .grad_name = TITLE "Backward0",                                                                                  \
      .flags = FY_OP_CPU_HALF_AS_FLOAT,                                                                                \
      .autocast = FY_AUTOCAST_FLOAT32,                                                                                 \
      .infer = infer,                                                                                                  \
      .cpu = fy_cpu_##NAME,                                                                                            \
      .save = save,                                                                                                    \
      .backward = NAME##_gradient,                                                                                     \
      .params_size = sizeof(FySoftmaxParams),                                                                          \
      .id = FY_OP_ID_##NAME,                                                                                           \
  };                                                                                                                   \
  const FyOp fy_op_##NAME##_backward = {                                                                               \
      .name = #NAME "_backward",                                                                                       \
      .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,                                                                \
      .infer = infer_backward,                                                                                         \
      .cpu = fy_cpu_##NAME,                                                                                            \
      .params_size = sizeof(FySoftmaxParams),                                                                          \
      .id = FY_OP_ID_##NAME##_backward,                                                                                \
  };
SOFTMAX_OP(softmax, "Softmax")
SOFTMAX_OP(log_softmax, "LogSoftmax")

FyTensor *fy_softmax(FyTensor *a, int dim) {
  FySoftmaxParams p = {fy_wrap_dim(dim, a->array.ndim)};
  return fy_run(&fy_op_softmax, &p, FY_INPUTS(a));
}

FyTensor *fy_log_softmax(FyTensor *a, int dim) {
  FySoftmaxParams p = {fy_wrap_dim(dim, a->array.ndim)};
  return fy_run(&fy_op_log_softmax, &p, FY_INPUTS(a));
}
