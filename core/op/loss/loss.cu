// SPDX-License-Identifier: MIT
// cross_entropy and mse_loss on CUDA. A target that is no class stops the kernel: a device-side assert, as in PyTorch.
#include "op/loss/loss.h"
#include "op/reduction/reduce_cuda.cuh"
#include "op/normalization/softmax_cuda.cuh"

// ---- cross_entropy: maximum and sum of each row, its loss, then the sum of the losses --------------------------------------

template <class T> struct RowLoss {
  typedef typename FyMath<T>::type X;
  typedef FyExpSum<X> State;
  enum { WRITES = 1 };
  const T *x;
  T *p; // the softmax of the rows
  const int64_t *target;
  int64_t classes, ignore_index;
  X *losses; // (n), for the sum
  T *out;    // (n), or NULL
  __device__ __forceinline__ State none() const {
    return fy_exp_sum_none<X>();
  }
  __device__ __forceinline__ void add(State *s, int64_t i) const {
    fy_exp_sum_add(s, fy_load(x + i));
  }
  __device__ __forceinline__ State combine(State a, State b) const {
    return fy_exp_sum_combine(a, b);
  }
  __device__ __forceinline__ State shuffle(State s, int lanes) const {
    return fy_exp_sum_shuffle(s, lanes);
  }
  __device__ __forceinline__ void finish(int64_t row, State *s, bool first) const {
    if (isinf(s->max)) // infinity minus itself
      s->sum = (X)NAN;
    if (first)
      put_loss(row, log(s->sum) - (fy_load(x + row * classes + place_of(row)) - s->max));
    s->sum = 1 / s->sum; // what write needs of it
  }
  __device__ __forceinline__ void write(int64_t i, State s) const {
    fy_store(p + i, fy_exp(fy_load(x + i) - s.max) * s.sum);
  }
  // The target's class; any one where the target is ignored.
  __device__ __forceinline__ int64_t place_of(int64_t row) const {
    const int64_t t = target[row];
    assert(t == ignore_index || (t >= 0 && t < classes));
    return t == ignore_index ? 0 : t;
  }
  __device__ __forceinline__ void put_loss(int64_t row, X loss) const {
    loss = target[row] == ignore_index ? 0 : loss;
    if (out)
      fy_store(out + row, loss);
    else
      losses[row] = loss;
  }
};

template <class X> struct Total { X loss, count; };

template <class X> struct TotalOp {
  typedef Total<X> Acc;
  __device__ __forceinline__ Acc init() const {
    Acc none = {0, 0};
    return none;
  }
  __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
    a.loss += b.loss;
    a.count += b.count;
    return a;
  }
  __device__ __forceinline__ Acc shuffle(Acc a, int lanes) const {
    a.loss = __shfl_xor_sync(0xffffffffu, a.loss, lanes);
    a.count = __shfl_xor_sync(0xffffffffu, a.count, lanes);
    return a;
  }
};

template <class X> struct LossSource {
  const X *losses;
  const int64_t *target;
  int64_t ignore_index;
  __device__ __forceinline__ int64_t base(int64_t) const {
    return 0;
  }
  __device__ __forceinline__ Total<X> term(int64_t, int64_t row) const {
    Total<X> total = {losses[row], (X)(target[row] != ignore_index)};
    return total;
  }
};

template <class T> struct TotalSink {
  typedef typename FyMath<T>::type X;
  T *out;
  X *count;
  bool mean;
  __device__ __forceinline__ void put(int64_t, Total<X> total) const {
    fy_store(out, mean ? total.loss / total.count : total.loss);
    *count = total.count;
  }
};

template <class T> static int cross_entropy(FyLaunch *l) {
  typedef typename FyMath<T>::type X;
  const FyLossParams *p = (const FyLossParams *)l->params;
  const FyArray *in = l->in[0];
  const bool none = p->reduction == FY_LOSS_NONE;
  const int64_t classes = in->shape[in->ndim - 1], n = in->ndim == 2 ? in->shape[0] : 1;
  const int64_t *target = (const int64_t *)l->in[1]->data;
  T *out = (T *)l->out[0]->data;
  X *losses = none || !n ? NULL : (X *)l->workspace(l, (size_t)n * sizeof(X));
  if (!losses && !none && n)
    return FY_LAUNCH_NO_MEMORY;
  const RowLoss<T> rows = {(const T *)in->data, (T *)l->out[1]->data, target, classes, p->ignore_index, losses,
                           none ? out : NULL};
  const FySoftmaxShape shape = {n, classes, 1};
  const int error = fy_run_rows(l, rows, shape);
  if (error || none)
    return error;
  const LossSource<X> source = {losses, target, p->ignore_index};
  const TotalSink<T> sink = {out, (X *)l->out[2]->data, p->reduction == FY_LOSS_MEAN};
  return fy_reduce(l, TotalOp<X>(), source, sink, 1, n, false);
}

extern "C" int fy_cuda_cross_entropy(FyLaunch *l) {
  FY_SWITCH_FLOATING(l->in[0]->dtype, T, { return cross_entropy<T>(l); });
}

// grad_x[row][c] = p[row][c] * scale, less scale where c is the target, scale being the gradient of the row's loss: 0 of an ignored one.
template <class T, class Index>
__global__ void cross_entropy_gradient(T *out, const T *grad, const T *p, const int64_t *target,
                                       const typename FyMath<T>::type *count, Index classes, int64_t ignore_index,
                                       int reduction, int64_t n) {
  typedef typename FyMath<T>::type X;
  FY_GRID_STRIDE(i, n) {
    const Index row = (Index)i / classes, c = (Index)i - row * classes;
    const int64_t t = target[row];
    X scale = fy_load(grad + (reduction == FY_LOSS_NONE ? row : 0));
    if (reduction == FY_LOSS_MEAN)
      scale /= *count;
    if (t == ignore_index)
      scale = 0;
    fy_store(out + i, fy_load(p + i) * scale - ((int64_t)c == t ? scale : (X)0));
  }
}

template <class T> static int cross_entropy_backward(FyLaunch *l) {
  typedef typename FyMath<T>::type X;
  const FyLossParams *params = (const FyLossParams *)l->params;
  const FyArray *p = l->in[1];
  const int64_t classes = p->shape[p->ndim - 1];
  if (!p->numel)
    return FY_LAUNCH_OK;
  const T *grad = (const T *)l->in[0]->data, *chances = (const T *)p->data;
  const int64_t *target = (const int64_t *)l->in[2]->data;
  const X *count = (const X *)l->in[3]->data;
  T *out = (T *)l->out[0]->data;
  const unsigned blocks = fy_blocks(l, p->numel);
  if (p->numel <= INT32_MAX)
    cross_entropy_gradient<T, uint32_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(
        out, grad, chances, target, count, (uint32_t)classes, params->ignore_index, params->reduction, p->numel);
  else
    cross_entropy_gradient<T, int64_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(
        out, grad, chances, target, count, classes, params->ignore_index, params->reduction, p->numel);
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_cross_entropy_backward(FyLaunch *l) {
  FY_SWITCH_FLOATING(l->in[1]->dtype, T, { return cross_entropy_backward<T>(l); });
}

// ---- mse_loss ------------------------------------------------------------------------------------------------------------

template <class T> struct SquareSource {
  typedef typename FyMath<T>::type X;
  const T *x, *target;
  __device__ __forceinline__ int64_t base(int64_t) const {
    return 0;
  }
  __device__ __forceinline__ X term(int64_t, int64_t i) const {
    const X difference = fy_load(x + i) - fy_load(target + i);
    return difference * difference;
  }
};

template <class T> struct QuotientSink {
  T *out;
  typename FyMath<T>::type divisor;
  __device__ __forceinline__ void put(int64_t i, typename FyMath<T>::type sum) const {
    fy_store(out + i, sum / divisor);
  }
};

template <class T> __global__ void squares(T *out, SquareSource<T> source, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    fy_store(out + i, source.term(0, i));
  }
}

template <class T> static int mse_loss(FyLaunch *l) {
  typedef typename FyMath<T>::type X;
  const FyLossParams *p = (const FyLossParams *)l->params;
  const int64_t n = l->in[0]->numel;
  const SquareSource<T> source = {(const T *)l->in[0]->data, (const T *)l->in[1]->data};
  T *out = (T *)l->out[0]->data;
  if (p->reduction != FY_LOSS_NONE) {
    const QuotientSink<T> sink = {out, (X)(p->reduction == FY_LOSS_MEAN ? n : 1)};
    return fy_reduce(l, FySumOp<X>(), source, sink, 1, n, false);
  }
  if (n)
    squares<T><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>(out, source, n);
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_mse_loss(FyLaunch *l) {
  FY_SWITCH_FLOATING(l->in[0]->dtype, T, { return mse_loss<T>(l); });
}

// `divisor` is 1 but for the mean; the gradient of the loss is one number, or one per element.
template <class T>
__global__ void differences(T *out, const T *grad, const T *x, const T *target, bool each,
                            typename FyMath<T>::type divisor, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    const typename FyMath<T>::type scale = 2 * fy_load(grad + (each ? i : 0)) / divisor;
    fy_store(out + i, (fy_load(x + i) - fy_load(target + i)) * scale);
  }
}

template <class T> static int mse_loss_backward(FyLaunch *l) {
  typedef typename FyMath<T>::type X;
  const int reduction = ((const FyLossParams *)l->params)->reduction;
  const int64_t n = l->in[1]->numel;
  if (n)
    differences<T><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>(
        (T *)l->out[0]->data, (const T *)l->in[0]->data, (const T *)l->in[1]->data, (const T *)l->in[2]->data,
        reduction == FY_LOSS_NONE, (X)(reduction == FY_LOSS_MEAN ? n : 1), n);
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_mse_loss_backward(FyLaunch *l) {
  FY_SWITCH_FLOATING(l->in[1]->dtype, T, { return mse_loss_backward<T>(l); });
}
