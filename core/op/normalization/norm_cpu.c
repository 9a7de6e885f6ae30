// SPDX-License-Identifier: MIT
// Batch normalization on the CPU: threads share the channels, so sums have one order for any number of threads.
#include "op/normalization/norm_cpu.h"
#include "base/threads.h"
#include "tensor/half.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

// Channels of a block, lanes of a sum and the values summed up before float64 takes over.
enum { CHANNELS = 64, LANES = 32, RUN = 4096 };

// Arrays of a block that are widened at a time, at most: x, grad and the result.
enum { WIDE = 3 };

typedef struct Norm {
  FyNormShape s;
  FyDType dtype; // of the arithmetic
  bool half;     // x, grad and out are bfloat16, and `dtype` float32
  const FyBatchNormParams *params;
  const void *x, *weight, *bias, *grad;
  void *running_mean, *running_var;
  void *mean, *invstd; // written by the forward, read by the backward
  void *out;           // the output, or the gradient of x
  void *grad_weight, *grad_bias;
  float *wide; // of bfloat16: WIDE blocks of one image for each thread
  atomic_int next_thread;
} Norm;

#define T float
#define NAME(x) f32_##x
#include "op/normalization/norm_channels.h"

#define T double
#define NAME(x) f64_##x
#include "op/normalization/norm_channels.h"

// Channels per block: a cache line of them when rows are read across, one when each is a run.
static int64_t block_of(const Norm *p) {
  return p->s.area == 1 ? CHANNELS : 1;
}

// The calling thread's own: each calls a body once.
static float *wide_of(Norm *p) {
  return p->half ? p->wide + atomic_fetch_add(&p->next_thread, 1) * WIDE * p->s.area * block_of(p) : NULL;
}

static void forward_blocks(int64_t begin, int64_t end, void *context) {
  Norm *p = context;
  float *wide = wide_of(p);
  int64_t block = block_of(p);
  for (int64_t c = begin * block; c < end * block && c < p->s.channels; c += block) {
    int count = (int)(p->s.channels - c < block ? p->s.channels - c : block);
    if (p->dtype == FY_FLOAT32)
      f32_forward(p, c, count, wide);
    else
      f64_forward(p, c, count, NULL);
  }
}

static void backward_blocks(int64_t begin, int64_t end, void *context) {
  Norm *p = context;
  float *wide = wide_of(p);
  int64_t block = block_of(p);
  for (int64_t c = begin * block; c < end * block && c < p->s.channels; c += block) {
    int count = (int)(p->s.channels - c < block ? p->s.channels - c : block);
    if (p->dtype == FY_FLOAT32)
      f32_backward(p, c, count, wide);
    else
      f64_backward(p, c, count, NULL);
  }
}

static int run(FyLaunch *l, Norm *p, void (*body)(int64_t, int64_t, void *)) {
  enum { GRAIN = 1 << 14 }; // values worth a thread
  int64_t block = block_of(p), values = p->s.images * p->s.area * block;
  if (p->dtype != FY_FLOAT32 && p->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  if (p->half) {
    p->wide = l->workspace(l, (size_t)(fy_get_num_threads() * WIDE * p->s.area * block) * sizeof *p->wide);
    if (!p->wide)
      return FY_LAUNCH_NO_MEMORY;
  }
  fy_parallel_for((p->s.channels + block - 1) / block, GRAIN / (values + 1) + 1, body, p);
  return FY_LAUNCH_OK;
}

int fy_cpu_batch_norm(FyLaunch *l) {
  const FyArray *x = l->in[FY_NORM_X];
  Norm p = {
      .s = fy_norm_shape(x),
      .dtype = x->dtype == FY_BFLOAT16 ? FY_FLOAT32 : (FyDType)x->dtype,
      .half = x->dtype == FY_BFLOAT16,
      .params = l->params,
      .x = x->data,
      .weight = fy_array_data(l->in[FY_NORM_WEIGHT]),
      .bias = fy_array_data(l->in[FY_NORM_BIAS]),
      .running_mean = fy_array_data(l->in[FY_NORM_RUNNING_MEAN]),
      .running_var = fy_array_data(l->in[FY_NORM_RUNNING_VAR]),
      .out = l->out[FY_NORM_OUT]->data,
      .mean = l->out[FY_NORM_MEAN]->data,
      .invstd = l->out[FY_NORM_INVSTD]->data,
  };
  return x->numel == 0 ? FY_LAUNCH_OK : run(l, &p, forward_blocks);
}

int fy_cpu_batch_norm_backward(FyLaunch *l) {
  const FyArray *x = l->in[FY_NORM_GRAD_X];
  Norm p = {
      .s = fy_norm_shape(x),
      .dtype = x->dtype == FY_BFLOAT16 ? FY_FLOAT32 : (FyDType)x->dtype,
      .half = x->dtype == FY_BFLOAT16,
      .params = l->params,
      .x = x->data,
      .grad = l->in[FY_NORM_GRAD]->data,
      .mean = l->in[FY_NORM_GRAD_MEAN]->data,
      .invstd = l->in[FY_NORM_GRAD_INVSTD]->data,
      .weight = fy_array_data(l->in[FY_NORM_GRAD_WEIGHT]),
      .out = l->out[0]->data,
      .grad_weight = l->out[1]->data,
      .grad_bias = l->out[2]->data,
  };
  if (x->numel > 0)
    return run(l, &p, backward_blocks);
  fy_array_clear(l->out[1]);
  fy_array_clear(l->out[2]);
  return FY_LAUNCH_OK;
}
