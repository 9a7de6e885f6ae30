// SPDX-License-Identifier: MIT
// arange, linspace and eye: ops that write a fresh tensor, the target of an in-place call.
#include "op/creation/sequence.h"

#include "base/threads.h"
#include "op/copy/convert.h"
#include "op/op.h"
#include "op/elementwise/pointwise.h"

static void infer_target(FyOpCall *call) {
  const FyArray *a = &call->in[0]->array;
  fy_call_output(call, 0, (FyDType)a->dtype, a->ndim, a->shape);
}

// ---- sequences: values are made in double or int64, some at a time, and converted ----------------------------------------

enum { PIECE = 256 };

typedef struct Fill {
  const FyArray *out;
  const FySequence *sequence;
  double (*at)(const FySequence *, int64_t); // NULL for integers
} Fill;

static double arange_at(const FySequence *s, int64_t i) {
  return fy_arange_at(s, i);
}
static double linspace_at(const FySequence *s, int64_t i) {
  return fy_linspace_at(s, i);
}

static void fill_pieces(int64_t begin, int64_t end, void *context) {
  const Fill *fill = context;
  union {
    double real[PIECE];
    int64_t integer[PIECE];
  } piece;
  while (begin < end) {
    const int64_t n = end - begin < PIECE ? end - begin : PIECE;
    for (int64_t i = 0; i < n; i++) {
      if (fill->at)
        piece.real[i] = fill->at(fill->sequence, begin + i);
      else
        piece.integer[i] = fy_arange_integer_at(fill->sequence, begin + i);
    }
    FyArray from = {.data = &piece, .numel = n, .ndim = 1, .contiguous = true, .shape = {n}, .stride = {1}};
    FyArray to = from;
    from.dtype = fill->at ? FY_FLOAT64 : FY_INT64;
    to.dtype = fill->out->dtype;
    to.data = (char *)fill->out->data + begin * (int)fy_dtype_size(to.dtype);
    fy_convert(&to, &from);
    begin += n;
  }
}

static int fy_cpu_arange(FyLaunch *l) {
  const bool floating = fy_dtype_is_floating((FyDType)l->out[0]->dtype);
  Fill fill = {.out = l->out[0], .sequence = l->params, .at = floating ? arange_at : NULL};
  fy_parallel_for(l->out[0]->numel, FY_GRAIN_CHEAP, fill_pieces, &fill);
  return FY_LAUNCH_OK;
}

static int fy_cpu_linspace(FyLaunch *l) {
  Fill fill = {.out = l->out[0], .sequence = l->params, .at = linspace_at};
  fy_parallel_for(l->out[0]->numel, FY_GRAIN_CHEAP, fill_pieces, &fill);
  return FY_LAUNCH_OK;
}

const FyOp fy_op_arange = {
    .name = "arange",
    .flags = FY_OP_NO_GRAD,
    .infer = infer_target,
    .cpu = fy_cpu_arange,
    .params_size = sizeof(FySequence),
    .cost = fy_cost_fill,
    .id = FY_OP_ID_arange,
};

const FyOp fy_op_linspace = {
    .name = "linspace",
    .flags = FY_OP_NO_GRAD,
    .infer = infer_target,
    .cpu = fy_cpu_linspace,
    .params_size = sizeof(FySequence),
    .cost = fy_cost_fill,
    .id = FY_OP_ID_linspace,
};

// ---- eye -------------------------------------------------------------------------------------------------------------------

static int fy_cpu_eye(FyLaunch *l) {
  const FyArray *out = l->out[0];
  const int64_t n = out->shape[0];
  const FyArray diagonal = {.data = out->data,
                            .numel = n,
                            .ndim = 1,
                            .dtype = out->dtype,
                            .contiguous = n == 1,
                            .shape = {n},
                            .stride = {n + 1}};
  fy_fill_array(out, 0);
  fy_fill_array(&diagonal, 1);
  return FY_LAUNCH_OK;
}

const FyOp fy_op_eye = {
    .name = "eye",
    .flags = FY_OP_NO_GRAD,
    .infer = infer_target,
    .cpu = fy_cpu_eye,
    .cost = fy_cost_fill,
    .id = FY_OP_ID_eye,
};
