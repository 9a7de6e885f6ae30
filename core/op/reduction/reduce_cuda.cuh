// SPDX-License-Identifier: MIT
// Reductions on CUDA, over anything: an Op says how two partial results become one, a Source where the terms are, a Sink
// what to do with a result. No floating atomics and no barriers: large reductions are cut into chunks whose results are
// reduced again, so the same call on the same device always gives the same bits.
//
//   Op      typedef Acc; init(), combine(Acc, Acc), shuffle(Acc, lanes): the Acc of the thread `lanes` apart by xor
//   Source  base(output): where its terms start; term(base, r): the r-th one as an Acc
//   Sink    put(output, Acc)
#ifndef FERRY_OP_REDUCE_CUDA_CUH
#define FERRY_OP_REDUCE_CUDA_CUH

#include "op/kernel/cuda_common.cuh"

template <class A> struct FySumOp {
  typedef A Acc;
  __device__ __forceinline__ A init() const {
    return (A)0;
  }
  __device__ __forceinline__ A combine(A a, A b) const {
    return a + b;
  }
  __device__ __forceinline__ A shuffle(A a, int lanes) const {
    return __shfl_xor_sync(0xffffffffu, a, lanes);
  }
};

// The terms [r, end), `step` apart, four at a time so that four loads are on their way together.
template <class Op, class Source>
__device__ __forceinline__ typename Op::Acc fy_reduce_terms(Op op, const Source &source, int64_t output, int64_t r,
                                                            int64_t end, int64_t step) {
  typename Op::Acc a = op.init(), b = op.init(), c = op.init(), d = op.init();
  const int64_t base = source.base(output);
  for (; r + 3 * step < end; r += 4 * step) {
    a = op.combine(a, source.term(base, r));
    b = op.combine(b, source.term(base, r + step));
    c = op.combine(c, source.term(base, r + 2 * step));
    d = op.combine(d, source.term(base, r + 3 * step));
  }
  for (; r < end; r += step)
    a = op.combine(a, source.term(base, r));
  return op.combine(op.combine(a, b), op.combine(c, d));
}

// [reduce_rows]
// A group of `lanes` neighboring threads (a power of two up to a warp) per output and chunk: for terms that lie together.
template <class Op, class Source, class Sink>
__global__ void fy_reduce_rows(Op op, Source source, Sink sink, int64_t outputs, int64_t terms, int64_t chunks,
                               int64_t chunk, int lanes) {
  const int64_t groups = outputs * chunks, step = (int64_t)gridDim.x * blockDim.x / lanes;
  int64_t group = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / lanes;
  const int64_t first_of_warp = group - threadIdx.x % FY_WARP / lanes;
  const int lane = (int)threadIdx.x % lanes;
  for (int64_t warp = first_of_warp; warp < groups; warp += step, group += step) {
    typename Op::Acc acc = op.init();
    if (group < groups) {
      const int64_t output = chunks > 1 ? group / chunks : group;
      const int64_t begin = (group - output * chunks) * chunk;
      acc = fy_reduce_terms(op, source, output, begin + lane, begin + chunk < terms ? begin + chunk : terms, lanes);
    }
    for (int apart = lanes / 2; apart > 0; apart /= 2)
      acc = op.combine(acc, op.shuffle(acc, apart));
    if (group < groups && lane == 0)
      sink.put(group, acc);
  }
}
// [end]

// A thread per output and chunk: for outputs that lie together.
template <class Op, class Source, class Sink>
__global__ void fy_reduce_columns(Op op, Source source, Sink sink, int64_t outputs, int64_t terms, int64_t chunks,
                                  int64_t chunk) {
  FY_GRID_STRIDE(i, outputs * chunks) {
    const int64_t part = chunks > 1 ? i / outputs : 0, output = i - part * outputs, begin = part * chunk;
    sink.put(i, fy_reduce_terms(op, source, output, begin, begin + chunk < terms ? begin + chunk : terms, 1));
  }
}

// Results of chunks on their way to the next stage.
template <class A> struct FyPartialSink {
  A *at;
  __device__ __forceinline__ void put(int64_t i, A acc) const {
    at[i] = acc;
  }
};
template <class A> struct FyPartialSource {
  const A *at;
  int64_t output_stride, term_stride;
  __device__ __forceinline__ int64_t base(int64_t output) const {
    return output * output_stride;
  }
  __device__ __forceinline__ A term(int64_t base, int64_t r) const {
    return at[base + r * term_stride];
  }
};

// What a thread should have to do at least, in terms; and at most when that costs no thread.
enum { FY_REDUCE_TERMS = 32 };

static inline int fy_reduce_lanes(int64_t terms) {
  int lanes = 1;
  while (lanes < FY_WARP && lanes * 4 < terms)
    lanes *= 2;
  return lanes;
}

// Reduces `terms` terms into each of `outputs` outputs. `columns`: neighboring outputs are neighbors in memory.
template <class Op, class Source, class Sink>
static int fy_reduce(FyLaunch *l, Op op, Source source, Sink sink, int64_t outputs, int64_t terms, bool columns) {
  typedef typename Op::Acc Acc;
  const cudaStream_t stream = fy_stream(l);
  const int lanes = columns ? 1 : fy_reduce_lanes(terms);
  const int64_t full = (int64_t)(l->multi_processors > 0 ? l->multi_processors : 1) * 2048;
  int64_t chunks = full / (outputs * lanes);
  const int64_t most = terms / (lanes * FY_REDUCE_TERMS);
  chunks = chunks < most ? chunks : most;
  chunks = chunks < 1 ? 1 : chunks;
  const int64_t chunk = (terms + chunks - 1) / chunks;
  const unsigned blocks = fy_blocks(l, outputs * chunks * lanes);
  if (chunks == 1) {
    if (columns)
      fy_reduce_columns<Op, Source, Sink>
          <<<blocks, FY_BLOCK, 0, stream>>>(op, source, sink, outputs, terms, chunks, chunk);
    else
      fy_reduce_rows<Op, Source, Sink>
          <<<blocks, FY_BLOCK, 0, stream>>>(op, source, sink, outputs, terms, chunks, chunk, lanes);
    return (int)cudaGetLastError();
  }
  FyPartialSink<Acc> parts = {(Acc *)l->workspace(l, (size_t)(outputs * chunks) * sizeof(Acc))};
  if (!parts.at)
    return FY_LAUNCH_NO_MEMORY;
  if (columns)
    fy_reduce_columns<Op, Source, FyPartialSink<Acc>>
        <<<blocks, FY_BLOCK, 0, stream>>>(op, source, parts, outputs, terms, chunks, chunk);
  else
    fy_reduce_rows<Op, Source, FyPartialSink<Acc>>
        <<<blocks, FY_BLOCK, 0, stream>>>(op, source, parts, outputs, terms, chunks, chunk, lanes);
  const FyPartialSource<Acc> next = {parts.at, columns ? 1 : chunks, columns ? outputs : 1};
  return fy_reduce(l, op, next, sink, outputs, chunks, columns && outputs >= FY_WARP);
}

#endif
