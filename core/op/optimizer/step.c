// SPDX-License-Identifier: MIT
// sgd_step, adam_step: torch.optim's updates, fused. Parameter and state are written in place. adam_advance: the number of
// Adam's next step, counted on the device.
//
// All inputs are row-major, of one shape and on one device. The state is of the type the kernels compute in: the
// parameter's, or float32 for a parameter of a half type, so that small changes are not lost in it.
#include "op/optimizer/step.h"
#include "base/threads.h"
#include "op/op.h"
#include <math.h>

enum { GRAIN = 16384 }; // elements per thread that are worth a thread

enum { IN_FACTORS = 4 }; // of adam_step, on CUDA: from adam_advance

static void infer_step(FyOpCall *call) {
  const FyArray *param = &call->in[0]->array;
  if (!fy_dtype_is_floating(param->dtype))
    fy_raise_not_implemented(call->op->name, param->dtype);
  if (call->n_in > IN_FACTORS && call->device.type != FY_CUDA)
    fy_panic("%s: factors are for CUDA", call->op->name);
  for (int i = 0; i < call->n_in && i < IN_FACTORS; i++) {
    const FyArray *a = call->in[i] ? &call->in[i]->array : param;
    FyDType state = param->dtype == FY_FLOAT64 ? FY_FLOAT64 : FY_FLOAT32;
    if (!a->contiguous || a->numel != param->numel || a->dtype != (i < 2 ? (FyDType)param->dtype : state))
      fy_panic("%s: input %d does not fit the parameter", call->op->name, i);
  }
  fy_call_output(call, 0, param->dtype, param->ndim, param->shape);
}

// ---- kernels -----------------------------------------------------------------------------------------------------------

typedef struct Arrays {
  void *p;
  const void *g;
  void *s1, *s2;
  const void *params;
} Arrays;

static Arrays arrays_of(const FyLaunch *l) {
  return (Arrays){.p = l->out[0]->data,
                  .g = l->in[1]->data,
                  .s1 = l->n_in > 2 && l->in[2] ? l->in[2]->data : NULL,
                  .s2 = l->n_in > 3 && l->in[3] ? l->in[3]->data : NULL,
                  .params = l->params};
}

#define SGD_KERNEL(T)                                                                                                  \
  static void sgd_plain_##T(int64_t begin, int64_t end, void *context) {                                               \
    const Arrays *a = context;                                                                                         \
    const FySgdStep *o = a->params;                                                                                    \
    T *restrict p = a->p;                                                                                              \
    const T *restrict g = a->g;                                                                                        \
    T lr = (T)o->lr, decay = (T)o->weight_decay;                                                                       \
    for (int64_t i = begin; i < end; i++)                                                                              \
      p[i] -= lr * (g[i] + (decay != 0 ? decay * p[i] : 0));                                                           \
  }                                                                                                                    \
                                                                                                                       \
  static void sgd_momentum_##T(int64_t begin, int64_t end, void *context) {                                            \
    const Arrays *a = context;                                                                                         \
    const FySgdStep *o = a->params;                                                                                    \
    T *restrict p = a->p;                                                                                              \
    T *restrict buffer = a->s1;                                                                                        \
    const T *restrict g = a->g;                                                                                        \
    T lr = (T)o->lr, decay = (T)o->weight_decay, momentum = (T)o->momentum;                                            \
    T keep = o->first ? 0 : momentum, add = o->first ? 1 : (T)(1 - o->dampening);                                      \
    const bool nesterov = o->nesterov;                                                                                 \
    for (int64_t i = begin; i < end; i++) {                                                                            \
      T d = g[i] + (decay != 0 ? decay * p[i] : 0);                                                                    \
      T b = keep * buffer[i] + add * d;                                                                                \
      buffer[i] = b;                                                                                                   \
      p[i] -= lr * (nesterov ? d + momentum * b : b);                                                                  \
    }                                                                                                                  \
  }

#define ADAM_KERNEL(T, SQRT)                                                                                           \
  static void adam_##T(int64_t begin, int64_t end, void *context) {                                                    \
    const Arrays *a = context;                                                                                         \
    const FyAdamStep *o = a->params;                                                                                   \
    T *restrict p = a->p;                                                                                              \
    T *restrict average = a->s1;                                                                                       \
    T *restrict square = a->s2;                                                                                        \
    const T *restrict g = a->g;                                                                                        \
    T decay = o->decoupled ? 0 : (T)o->weight_decay, shrink = o->decoupled ? (T)(1 - o->lr * o->weight_decay) : 1;     \
    T beta1 = (T)o->beta1, rest1 = (T)(1 - o->beta1), beta2 = (T)o->beta2, rest2 = (T)(1 - o->beta2);                  \
    T size = (T)(o->lr / o->bias_correction1), correction = (T)(1 / o->bias_correction2_sqrt), eps = (T)o->eps;        \
    for (int64_t i = begin; i < end; i++) {                                                                            \
      T d = g[i] + (decay != 0 ? decay * p[i] : 0);                                                                    \
      T m = beta1 * average[i] + rest1 * d;                                                                            \
      T v = beta2 * square[i] + rest2 * d * d;                                                                         \
      average[i] = m;                                                                                                  \
      square[i] = v;                                                                                                   \
      p[i] = shrink * p[i] - size * m / (SQRT(v) * correction + eps);                                                  \
    }                                                                                                                  \
  }

SGD_KERNEL(float)
SGD_KERNEL(double)
ADAM_KERNEL(float, sqrtf)
ADAM_KERNEL(double, sqrt)

static int fy_cpu_sgd_step(FyLaunch *l) {
  Arrays a = arrays_of(l);
  bool wide = l->out[0]->dtype == FY_FLOAT64;
  if (a.s1)
    fy_parallel_for(l->out[0]->numel, GRAIN, wide ? sgd_momentum_double : sgd_momentum_float, &a);
  else
    fy_parallel_for(l->out[0]->numel, GRAIN, wide ? sgd_plain_double : sgd_plain_float, &a);
  return FY_LAUNCH_OK;
}

static int fy_cpu_adam_step(FyLaunch *l) {
  Arrays a = arrays_of(l);
  fy_parallel_for(l->out[0]->numel, GRAIN, l->out[0]->dtype == FY_FLOAT64 ? adam_double : adam_float, &a);
  return FY_LAUNCH_OK;
}

// ---- adam_advance ------------------------------------------------------------------------------------------------------

static void infer_advance(FyOpCall *call) {
  const FyArray *step = &call->in[0]->array, *factors = &call->in[1]->array;
  if (step->numel != 1 || step->dtype != FY_FLOAT32 || factors->numel != FY_ADAM_FACTORS ||
      factors->dtype != FY_FLOAT64)
    fy_panic("adam_advance: the step or the factors have another type");
  fy_call_output(call, 0, FY_FLOAT32, step->ndim, step->shape);
}

static int fy_cpu_adam_advance(FyLaunch *l) {
  fy_adam_advance(l->out[0]->data, l->in[1]->data, l->n_in > 2 ? l->in[2]->data : NULL,
                  *(const FyAdamAdvance *)l->params);
  return FY_LAUNCH_OK;
}

// ---- records -----------------------------------------------------------------------------------------------------------

// The state is written, too: the inputs behind the gradient.
static void step_cost(const FyLaunch *launch, FyOpCost *cost) {
  const double elements = (double)launch->in[0]->numel;
  int states = 0;
  for (int i = 2; i < launch->n_in; i++)
    states += launch->in[i] && (double)launch->in[i]->numel == elements;
  cost->bytes_written *= 1 + states;
  cost->flops = elements * (3 + 5 * states);
}

const FyOp fy_op_sgd_step = {
    .name = "sgd_step",
    .flags = FY_OP_NO_GRAD | FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_step,
    .cpu = fy_cpu_sgd_step,
    .params_size = sizeof(FySgdStep),
    .cost = step_cost,
    .id = FY_OP_ID_sgd_step,
};

const FyOp fy_op_adam_step = {
    .name = "adam_step",
    .flags = FY_OP_NO_GRAD | FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_step,
    .cpu = fy_cpu_adam_step,
    .params_size = sizeof(FyAdamStep),
    .cost = step_cost,
    .id = FY_OP_ID_adam_step,
};

const FyOp fy_op_adam_advance = {
    .name = "adam_advance",
    .flags = FY_OP_NO_GRAD,
    .infer = infer_advance,
    .cpu = fy_cpu_adam_advance,
    .params_size = sizeof(FyAdamAdvance),
    .id = FY_OP_ID_adam_advance,
};
