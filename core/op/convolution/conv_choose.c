// SPDX-License-Identifier: MIT
// The algorithms of a convolution, for benchmark mode: which there are for a call, and what the choice depends on.
//
// One function serves all five ops, whose arrays stand in different places: a plain convolution and its two gradients, and the
// fused op (conv_pool.c), whose backward computes both gradients by one algorithm.
#include "op/convolution/conv_choose.h"
#include "base/threads.h"
#include "op/benchmark_impl.h"
#include "op/convolution/conv_pool.h"
#include "op/convolution/winograd.h"
#include "op/op.h"
#include <stdio.h>
#include <string.h>

typedef enum Pass { FORWARD, BACKWARD_INPUT, BACKWARD_WEIGHT, FUSED, FUSED_BACKWARD } Pass;

// A call, whichever op it is of.
typedef struct Conv {
  Pass pass;
  FyDType dtype;
  bool bias, x_last, out_last; // the channels of x, and of the result or its gradient, lie together
  int window, needs;           // of the fused op
  FyConvShape s;
  union {
    FyConv2dParams plain;
    FyConvPoolParams fused;
  } params; // a copy, whose algorithm can be set
} Conv;

// Their arrays: x, weight, bias -> out; grad, weight -> x; grad, x -> weight; x, weight, bias -> pooled, taps;
// grad, taps, x, weight -> three gradients.
static Conv conv_of(const FyLaunch *l, Pass pass) {
  Conv c = {.pass = pass, .dtype = (FyDType)l->in[0]->dtype};
  const FyArray *x = pass == BACKWARD_INPUT ? l->out[0] : pass == BACKWARD_WEIGHT ? l->in[1] : l->in[0];
  const FyArray *weight = pass == BACKWARD_WEIGHT ? l->out[0] : l->in[1];
  const FyArray *out = pass == FORWARD || pass == FUSED ? l->out[0] : l->in[0];
  if (pass == FUSED_BACKWARD) {
    x = l->in[2];
    weight = l->in[3];
  }
  if (pass == FUSED || pass == FUSED_BACKWARD) {
    memcpy(&c.params.fused, l->params, sizeof c.params.fused);
    c.window = c.params.fused.window;
  } else {
    memcpy(&c.params.plain, l->params, sizeof c.params.plain);
  }
  c.s = fy_conv_shape(&c.params.plain, x->shape, weight->shape); // the fused op's parameters begin with it
  c.bias = (pass == FORWARD || pass == FUSED) && l->in[2];
  c.x_last = !x->contiguous;
  c.out_last = !out->contiguous;
  for (int i = 0; pass == FUSED_BACKWARD && i < 3; i++)
    c.needs |= (l->out[i] != NULL) << i;
  return c;
}

// ---- candidates --------------------------------------------------------------------------------------------------------

static void add(FySearch *search, FyConvAlgorithm algorithm) {
  static const char *const names[FY_CONV_ALGORITHMS] = {
      [FY_CONV_BY_RULE] = "heuristic",
      [FY_CONV_IM2COL] = "columns and a product",
      [FY_CONV_DNN] = "oneDNN direct, in chunks",
      [FY_CONV_DNN_WHOLE] = "oneDNN direct, whole batch",
      [FY_CONV_WINOGRAD] = "Winograd",
      [FY_CONV_DIRECT] = "from the pixels",
      [FY_CONV_EXPLICIT_GEMM] = "explicit matrix product",
      [FY_CONV_IMPLICIT_GEMM] = "implicit matrix product",
  };
  search->candidates[search->count++] = (FyCandidate){.algorithm = algorithm, .name = names[algorithm]};
}

// By cuDNN's numbers; NULL where results would differ from run to run, or there is no such algorithm.
static void add_cudnn(FySearch *search, Pass pass) {
  enum { MOST = FY_CONV_ALGORITHMS - FY_CONV_CUDNN };
  static const char *const names[][MOST] = {
      [FORWARD] = {"cuDNN implicit product", "cuDNN implicit, indices made", "cuDNN explicit product", "cuDNN direct",
                   "cuDNN FFT", "cuDNN FFT in tiles", "cuDNN Winograd", "cuDNN Winograd, not fused"},
      [BACKWARD_INPUT] = {NULL, "cuDNN product", "cuDNN FFT", "cuDNN FFT in tiles", "cuDNN Winograd",
                          "cuDNN Winograd, not fused"},
      [BACKWARD_WEIGHT] = {NULL, "cuDNN product", "cuDNN FFT", NULL, NULL, "cuDNN Winograd, not fused",
                           "cuDNN FFT in tiles"},
      // Those that have one number for both gradients.
      [FUSED_BACKWARD] = {NULL, "cuDNN product", "cuDNN FFT", NULL, NULL, "cuDNN Winograd, not fused"},
  };
  for (int i = 0; i < MOST; i++)
    if (names[pass][i] && (fy_backends_winograd() || !strstr(names[pass][i], "Winograd")))
      search->candidates[search->count++] = (FyCandidate){.algorithm = FY_CONV_CUDNN + i, .name = names[pass][i]};
}

static void add_cpu(FySearch *search, const Conv *c) {
  enum { FEW = 4 }; // channels: Winograd's ways to the points and back are paid for by products over channels
  const bool fused = c->pass == FUSED || c->pass == FUSED_BACKWARD;
  if (c->dtype == FY_FLOAT64 && !fused)
    return; // columns alone
  if (fused)
    add(search, FY_CONV_DIRECT);
  else if (c->dtype != FY_BFLOAT16)
    add(search, FY_CONV_IM2COL);
  add(search, FY_CONV_DNN);
  if (!fused)
    add(search, FY_CONV_DNN_WHOLE);
  if (fy_backends_winograd() && fy_winograd_suits(c->dtype, &c->s) && c->s.c >= FEW && c->s.o >= FEW)
    add(search, FY_CONV_WINOGRAD);
  search->rule = search->count; // of a layer's two gradients it may compute each by another algorithm
  add(search, FY_CONV_BY_RULE);
}

static void add_cuda(FySearch *search, const Conv *c) {
  search->rule = search->count;
  add(search, FY_CONV_EXPLICIT_GEMM);
  add(search, FY_CONV_IMPLICIT_GEMM);
  if (!fy_cuda_is_simulated())
    add_cudnn(search, c->pass == FUSED ? FORWARD : c->pass);
}

// ---- what the choice depends on ------------------------------------------------------------------------------------------

static void make_key(FySearch *search, const Conv *c, FyDevice device) {
  const int64_t words[] = {
      c->pass,   c->dtype,  device.type,           device.index,
      c->bias,   c->x_last, c->out_last,           device.type == FY_CPU ? fy_get_num_threads() : 0,
      c->window, c->needs,  fy_backends_winograd()};
  enum { WORDS = sizeof words / sizeof *words };
  _Static_assert(sizeof words + sizeof c->s <= sizeof search->key, "the key has no room for a convolution");
  memcpy(search->key, words, sizeof words);
  memcpy(search->key + WORDS, &c->s, sizeof c->s);
}

static void describe(FySearch *search, const Conv *c, FyDevice device) {
  static const char *const passes[] = {"conv2d", "conv2d, gradient of the input", "conv2d, gradient of the weight",
                                       "conv2d + relu + max_pool2d", "conv2d + relu + max_pool2d, gradients"};
  const FyConvShape *s = &c->s;
  snprintf(search->what, sizeof search->what,
           "%s (%lld, %lld, %lld, %lld) by (%lld, %lld, %lld, %lld)%s%s%s%s, %s on %s", passes[c->pass],
           (long long)s->n, (long long)s->c, (long long)s->h, (long long)s->w, (long long)s->o,
           (long long)(s->c / s->groups), (long long)s->kh, (long long)s->kw, s->stride > 1 ? ", strided" : "",
           s->padding > 0 ? ", padded" : "", s->dilation > 1 ? ", dilated" : "", s->groups > 1 ? ", in groups" : "",
           fy_dtype_name(c->dtype) + strlen("torch."), fy_device_name_of(device));
}

static int choose(FyLaunch *launch, FyKernel *kernel, FyDevice device, Pass pass) {
  Conv c = conv_of(launch, pass);
  FySearch search = {.rule = -1, .algorithm = &c.params.plain.algorithm};
  const FyConvShape *s = &c.s;
  if (s->n * s->c * s->h * s->w * s->o * s->oh * s->ow == 0)
    return kernel(launch);
  if (device.type == FY_CPU)
    add_cpu(&search, &c);
  else
    add_cuda(&search, &c);
  if (search.count == 0)
    return kernel(launch);
  make_key(&search, &c, device);
  describe(&search, &c, device);
  FyLaunch own = *launch;
  own.params = &c.params;
  return fy_run_fastest(&own, kernel, device, &search);
}

int fy_choose_conv2d(FyLaunch *launch, FyKernel *kernel, FyDevice device) {
  return choose(launch, kernel, device, FORWARD);
}

int fy_choose_conv2d_backward_input(FyLaunch *launch, FyKernel *kernel, FyDevice device) {
  return choose(launch, kernel, device, BACKWARD_INPUT);
}

int fy_choose_conv2d_backward_weight(FyLaunch *launch, FyKernel *kernel, FyDevice device) {
  return choose(launch, kernel, device, BACKWARD_WEIGHT);
}

int fy_choose_conv_pool(FyLaunch *launch, FyKernel *kernel, FyDevice device) {
  return choose(launch, kernel, device, FUSED);
}

int fy_choose_conv_pool_backward(FyLaunch *launch, FyKernel *kernel, FyDevice device) {
  return choose(launch, kernel, device, FUSED_BACKWARD);
}
