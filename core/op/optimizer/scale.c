// SPDX-License-Identifier: MIT
// amp_non_finite_check_and_unscale, amp_update_scale: what a gradient scaler does, on the device of the gradients, so that
// scaling itself waits for no device.
//
//   grad[i] *= inv_scale;  found_inf = 1 if any grad[i] is infinite or NaN, and as it was otherwise
#include "op/optimizer/scale.h"
#include "base/threads.h"
#include "op/op.h"
#include "op/ops.h"

enum { GRAIN = 16384 }; // elements per thread that are worth a thread
enum { IN_GRAD, IN_FOUND_INF, IN_INV_SCALE };
enum { IN_SCALE, IN_TRACKER, IN_FOUND };

// ---- checks ------------------------------------------------------------------------------------------------------------

static void check_number(const FyOpCall *call, int i, const char *name, FyDType dtype) {
  const FyArray *a = &call->in[i]->array;
  fy_check(a->numel == 1, FY_RUNTIME_ERROR, "%s must be a 1-element tensor.", name);
  fy_check(a->dtype == dtype, FY_RUNTIME_ERROR, "%s must be %s tensor.", name,
           dtype == FY_INT32 ? "an int" : "a float");
  fy_call_own_device(call, i);
}

static void infer_unscale(FyOpCall *call) {
  const FyArray *grad = &call->in[IN_GRAD]->array;
  check_number(call, IN_INV_SCALE, "inv_scale", FY_FLOAT32);
  check_number(call, IN_FOUND_INF, "found_inf", FY_FLOAT32);
  if (!fy_dtype_is_floating(grad->dtype))
    fy_raise_not_implemented("_amp_foreach_non_finite_check_and_unscale_cpu", grad->dtype);
  fy_call_contiguous(call, IN_GRAD);
  fy_call_output(call, 0, grad->dtype, grad->ndim, grad->shape);
  fy_call_output_contiguous(call);
}

static void infer_update(FyOpCall *call) {
  const FyArray *scale = &call->in[IN_SCALE]->array;
  check_number(call, IN_TRACKER, "growth_tracker", FY_INT32);
  check_number(call, IN_SCALE, "current_scale", FY_FLOAT32);
  check_number(call, IN_FOUND, "found_inf", FY_FLOAT32);
  fy_call_output(call, 0, scale->dtype, scale->ndim, scale->shape);
}

// ---- kernels -----------------------------------------------------------------------------------------------------------

typedef struct Unscaling {
  void *grad;
  float inv_scale, *found_inf;
} Unscaling;

// Overflows are rare: only one writes.
#define UNSCALE(T)                                                                                                     \
  static void unscale_##T(int64_t begin, int64_t end, void *context) {                                                 \
    const Unscaling *u = context;                                                                                      \
    T *restrict grad = u->grad;                                                                                        \
    const T factor = u->inv_scale;                                                                                     \
    bool finite = true;                                                                                                \
    for (int64_t i = begin; i < end; i++) {                                                                            \
      finite &= grad[i] - grad[i] == 0;                                                                                \
      grad[i] *= factor;                                                                                               \
    }                                                                                                                  \
    if (!finite)                                                                                                       \
      __atomic_store_n((uint32_t *)(void *)u->found_inf, 0x3f800000, __ATOMIC_RELAXED); /* 1.0f */                     \
  }
UNSCALE(float)
UNSCALE(double)

static int fy_cpu_amp_non_finite_check_and_unscale(FyLaunch *l) {
  Unscaling u = {l->out[0]->data, *(const float *)l->in[IN_INV_SCALE]->data, l->in[IN_FOUND_INF]->data};
  fy_parallel_for(l->out[0]->numel, GRAIN, l->out[0]->dtype == FY_FLOAT64 ? unscale_double : unscale_float, &u);
  return FY_LAUNCH_OK;
}

static int fy_cpu_amp_update_scale(FyLaunch *l) {
  fy_update_scale(l->out[0]->data, l->in[IN_TRACKER]->data, *(const float *)l->in[IN_FOUND]->data,
                  *(const FyUpdateScale *)l->params);
  return FY_LAUNCH_OK;
}

// ---- records and public functions --------------------------------------------------------------------------------------

const FyOp fy_op_amp_non_finite_check_and_unscale = {
    .name = "amp_non_finite_check_and_unscale",
    .flags = FY_OP_NO_GRAD | FY_OP_CPU_HALF_AS_FLOAT,
    .infer = infer_unscale,
    .cpu = fy_cpu_amp_non_finite_check_and_unscale,
    .id = FY_OP_ID_amp_non_finite_check_and_unscale,
};

const FyOp fy_op_amp_update_scale = {
    .name = "amp_update_scale",
    .flags = FY_OP_NO_GRAD,
    .infer = infer_update,
    .cpu = fy_cpu_amp_update_scale,
    .params_size = sizeof(FyUpdateScale),
    .id = FY_OP_ID_amp_update_scale,
};

void fy_amp_foreach_non_finite_check_and_unscale_(FyTensors grads, FyTensor *found_inf, FyTensor *inv_scale) {
  for (int i = 0; i < grads.count; i++)
    fy_run_in_place(&fy_op_amp_non_finite_check_and_unscale, NULL, FY_INPUTS(grads.items[i], found_inf, inv_scale));
  fy_bump_version(found_inf);
}

FyTensor *fy_amp_update_scale_(FyTensor *scale, FyTensor *growth_tracker, FyTensor *found_inf, double growth_factor,
                               double backoff_factor, int64_t growth_interval) {
  const FyUpdateScale p = {growth_factor, backoff_factor, growth_interval};
  fy_run_in_place(&fy_op_amp_update_scale, &p, FY_INPUTS(scale, growth_tracker, found_inf));
  fy_bump_version(growth_tracker);
  return scale;
}
