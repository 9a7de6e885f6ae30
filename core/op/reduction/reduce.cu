// SPDX-License-Identifier: MIT
// sum and mean on CUDA.
#include "op/reduction/reduce.h"
#include "op/reduction/reduce_cuda.cuh"

// The accumulator and the result of a sum of T: float for the half types, int64 for integers.
template <class T> struct SumOf { typedef int64_t Acc, Out; };
template <> struct SumOf<float> { typedef float Acc, Out; };
template <> struct SumOf<double> { typedef double Acc, Out; };
template <> struct SumOf<__half> {
  typedef float Acc;
  typedef __half Out;
};
template <> struct SumOf<__nv_bfloat16> {
  typedef float Acc;
  typedef __nv_bfloat16 Out;
};

// The terms of a plan: output and term number are unfolded over the kept and the reduced dimensions.
template <class T> struct StridedSource {
  const T *in;
  FyIndexer<1> kept, reduced;
  __device__ __forceinline__ int64_t base(int64_t output) const {
    return kept.offsets(output).at[0];
  }
  __device__ __forceinline__ typename SumOf<T>::Acc term(int64_t base, int64_t r) const {
    return fy_cast<typename SumOf<T>::Acc>(in[base + reduced.offsets(r).at[0]]);
  }
};

template <class T> struct SumSink {
  typename SumOf<T>::Out *out;
  typename SumOf<T>::Acc divisor;
  __device__ __forceinline__ void put(int64_t i, typename SumOf<T>::Acc acc) const {
    fy_store(out + i, acc / divisor);
  }
};

static FyIndexer<1> indexer_of(const FyReduceDim *dims, int n) {
  FyIter iter;
  int64_t shape[FY_MAX_DIM];
  for (int d = 0; d < n; d++)
    shape[d] = dims[d].size;
  fy_iter_begin(&iter, n, shape);
  iter.n = 1;
  for (int d = 0; d < n; d++)
    iter.stride[0][d] = dims[d].stride;
  fy_iter_finish(&iter, false);
  return fy_indexer<1>(&iter);
}

template <class T> static int reduce(FyLaunch *l, const FyReducePlan *plan, bool mean) {
  typedef typename SumOf<T>::Acc Acc;
  StridedSource<T> source = {(const T *)l->in[0]->data, indexer_of(plan->kept, plan->n_kept),
                             indexer_of(plan->reduced, plan->n_reduced)};
  SumSink<T> sink = {(typename SumOf<T>::Out *)l->out[0]->data, (Acc)(mean ? plan->reduced_count : 1)};
  return fy_reduce(l, FySumOp<Acc>(), source, sink, plan->kept_count, plan->reduced_count, fy_reduce_by_columns(plan));
}

static int run(FyLaunch *l, bool mean) {
  const FyReducePlan plan = fy_reduce_plan(l->in[0], ((const FyReduceParams *)l->params)->dims);
  if (!plan.kept_count)
    return FY_LAUNCH_OK;
  FY_SWITCH_ALL(l->in[0]->dtype, T, { return reduce<T>(l, &plan, mean); });
}

extern "C" int fy_cuda_sum(FyLaunch *l) {
  return run(l, false);
}

extern "C" int fy_cuda_mean(FyLaunch *l) {
  return run(l, true);
}
