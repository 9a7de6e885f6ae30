// SPDX-License-Identifier: MIT
// The optimizer steps on CUDA: one grid-stride pass, computed in float32 (float64 for double parameters).
#include "op/kernel/cuda_common.cuh"
#include "op/optimizer/step.h"

template <class T, class X> struct SgdArguments {
  T *p;
  const T *g;
  X *buffer; // NULL without momentum
  X lr, decay, momentum, keep, add;
  bool nesterov;
};

template <class T, class X> __global__ void sgd_kernel(SgdArguments<T, X> a, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    X p = fy_load(a.p + i);
    X d = fy_load(a.g + i) + (a.decay != 0 ? a.decay * p : (X)0); // without decay an infinite p adds nothing
    if (a.buffer) {
      X b = a.keep * a.buffer[i] + a.add * d;
      a.buffer[i] = b;
      d = a.nesterov ? d + a.momentum * b : b;
    }
    fy_store(a.p + i, p - a.lr * d);
  }
}

extern "C" int fy_cuda_sgd_step(FyLaunch *l) {
  const FySgdStep *o = (const FySgdStep *)l->params;
  int64_t n = l->out[0]->numel;
  if (n == 0)
    return 0;
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, {
    typedef FyMath<T>::type X;
    SgdArguments<T, X> a;
    a.p = (T *)l->out[0]->data;
    a.g = (const T *)l->in[1]->data;
    a.buffer = l->n_in > 2 && l->in[2] ? (X *)l->in[2]->data : NULL;
    a.lr = (X)o->lr;
    a.decay = (X)o->weight_decay;
    a.keep = o->first ? (X)0 : (X)o->momentum;
    a.add = o->first ? (X)1 : (X)(1 - o->dampening);
    a.momentum = (X)o->momentum;
    a.nesterov = o->nesterov;
    sgd_kernel<T, X><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>(a, n);
  });
  return (int)cudaGetLastError();
}

template <class T, class X> struct AdamArguments {
  T *p;
  const T *g;
  X *average, *square;
  X beta1, rest1, beta2, rest2, decay, shrink, size, correction, eps;
  const double *factors; // or NULL: `size` and `correction` as they are
};

template <class T, class X> __global__ void adam_kernel(AdamArguments<T, X> a, int64_t n) {
  if (a.factors) {
    if (a.factors[FY_ADAM_SKIPPED] != 0)
      return;
    a.size = (X)a.factors[FY_ADAM_SIZE];
    a.correction = (X)a.factors[FY_ADAM_CORRECTION];
  }
  FY_GRID_STRIDE(i, n) {
    X p = fy_load(a.p + i);
    X d = fy_load(a.g + i) + (a.decay != 0 ? a.decay * p : (X)0); // without decay an infinite p adds nothing
    X m = a.beta1 * a.average[i] + a.rest1 * d;
    X v = a.beta2 * a.square[i] + a.rest2 * d * d;
    a.average[i] = m;
    a.square[i] = v;
    fy_store(a.p + i, a.shrink * p - a.size * m / (sqrt(v) * a.correction + a.eps));
  }
}

extern "C" int fy_cuda_adam_step(FyLaunch *l) {
  const FyAdamStep *o = (const FyAdamStep *)l->params;
  int64_t n = l->out[0]->numel;
  if (n == 0)
    return 0;
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, {
    typedef FyMath<T>::type X;
    AdamArguments<T, X> a;
    a.p = (T *)l->out[0]->data;
    a.g = (const T *)l->in[1]->data;
    a.average = (X *)l->in[2]->data;
    a.square = (X *)l->in[3]->data;
    a.beta1 = (X)o->beta1;
    a.rest1 = (X)(1 - o->beta1);
    a.beta2 = (X)o->beta2;
    a.rest2 = (X)(1 - o->beta2);
    a.decay = o->decoupled ? (X)0 : (X)o->weight_decay;
    a.shrink = o->decoupled ? (X)(1 - o->lr * o->weight_decay) : (X)1;
    a.size = (X)(o->lr / o->bias_correction1);
    a.correction = (X)(1 / o->bias_correction2_sqrt);
    a.eps = (X)o->eps;
    a.factors = l->n_in > 4 ? (const double *)l->in[4]->data : NULL;
    adam_kernel<T, X><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>(a, n);
  });
  return (int)cudaGetLastError();
}

static __global__ void adam_advance_kernel(float *step, double *factors, const float *found_inf, FyAdamAdvance o) {
  fy_adam_advance(step, factors, found_inf, o);
}

extern "C" int fy_cuda_adam_advance(FyLaunch *l) {
  adam_advance_kernel<<<1, 1, 0, fy_stream(l)>>>((float *)l->out[0]->data, (double *)l->in[1]->data,
                                                 l->n_in > 2 ? (const float *)l->in[2]->data : NULL,
                                                 *(const FyAdamAdvance *)l->params);
  return (int)cudaGetLastError();
}
