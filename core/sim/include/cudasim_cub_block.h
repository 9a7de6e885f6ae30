// SPDX-License-Identifier: MIT
// cub's collectives of a block: each by shared memory and barriers. As in cub, whoever uses a temporary storage again has to come
// to a barrier before, and a reduction's result is thread 0's alone.
// Over 500 lines: one header of cub, as programs include it.
#ifndef CUDASIM_CUB_BLOCK_H
#define CUDASIM_CUB_BLOCK_H

#include <algorithm>

#include "cudasim_cub.h"

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

namespace cudasim_detail {

// Room for values that nobody constructs, and the block's own where a program hands none over.
template <class T, int Count> struct room {
  alignas(T) char bytes[sizeof(T) * Count];
  T *items(void) {
    return reinterpret_cast<T *>(bytes);
  }
};
template <class Storage> inline Storage &own_storage(void) {
  static thread_local Storage storage;
  return storage;
}

template <class Storage_, int X, int Y, int Z> class of_block {
public:
  using TempStorage = Storage_;
  of_block(void) : storage(own_storage<TempStorage>()), tid(RowMajorTid(X, Y, Z)) {
  }
  explicit of_block(TempStorage &temp) : storage(temp), tid(RowMajorTid(X, Y, Z)) {
  }

protected:
  static constexpr int threads = X * Y * Z;
  TempStorage &storage;
  const int tid;
};

} // namespace cudasim_detail

// ---- reductions and scans ----

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce : public cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z>, X, Y, Z> {
  using base = cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z>, X, Y, Z>;

public:
  using base::base;
  template <class Operation> T Reduce(T value, Operation operation, int valid = base::threads) {
    T *const items = this->storage.items();
    items[this->tid] = value;
    __syncthreads();
    return this->tid == 0 ? cudasim_detail::combine(items, 0, valid, operation) : value;
  }
  template <int N, class Operation> T Reduce(const T (&values)[N], Operation operation) {
    return Reduce(cudasim_detail::combine(values, 0, N, operation), operation);
  }
  T Sum(T value) {
    return Reduce(value, ::cub::Sum());
  }
  T Sum(T value, int valid) {
    return Reduce(value, ::cub::Sum(), valid);
  }
  template <int N> T Sum(const T (&values)[N]) {
    return Reduce(values, ::cub::Sum());
  }
};

// Behind the threads' values: the aggregate, then a prefix.
template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan : public cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z + 2>, X, Y, Z> {
  using base = cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z + 2>, X, Y, Z>;
  struct no_prefix {};

  // What comes before this thread's items, in `before`: false when that is nothing.
  template <class Operation, class Prefix>
  bool exchange(const T &own, Operation &operation, const T *initial, T *aggregate, Prefix &prefix, T &before) {
    T *const items = this->storage.items();
    items[this->tid] = own;
    __syncthreads();
    if (this->tid == 0) {
      for (int i = 1; i < base::threads; i++)
        items[i] = operation(items[i - 1], items[i]);
      items[base::threads] = items[base::threads - 1];
    }
    __syncthreads();
    const T whole = items[base::threads];
    bool some = this->tid > 0;
    if (some)
      before = items[this->tid - 1];
    if constexpr (!std::is_same_v<Prefix, no_prefix>) {
      if (this->tid < 32) { // the first warp calls it
        const T seed = prefix(whole);
        if (this->tid == 0)
          items[base::threads + 1] = seed;
      }
      __syncthreads();
      before = some ? operation(items[base::threads + 1], before) : items[base::threads + 1];
      some = true;
    } else if (initial) {
      before = some ? operation(*initial, before) : *initial;
      some = true;
    }
    if (aggregate)
      *aggregate = whole;
    return some;
  }
  template <int N, class Operation, class Prefix>
  void scan(const T *in, T *out, Operation operation, bool inclusive, const T *initial, T *aggregate, Prefix &prefix) {
    T copy[N], own = in[0], before;
    for (int i = 0; i < N; i++)
      copy[i] = in[i];
    for (int i = 1; i < N; i++)
      own = operation(own, copy[i]);
    bool some = exchange(own, operation, initial, aggregate, prefix, before);
    for (int i = 0; i < N; i++) {
      const T next = some ? operation(before, copy[i]) : copy[i];
      if (inclusive)
        out[i] = next;
      else if (some)
        out[i] = before;
      before = next;
      some = true;
    }
  }
  template <int N, class Operation>
  void plain(const T *in, T *out, Operation operation, bool inclusive, const T *initial, T *aggregate) {
    no_prefix none;
    scan<N>(in, out, operation, inclusive, initial, aggregate, none);
  }

public:
  using base::base;
  void ExclusiveSum(T in, T &out) {
    const T zero{};
    plain<1>(&in, &out, Sum(), false, &zero, nullptr);
  }
  void ExclusiveSum(T in, T &out, T &aggregate) {
    const T zero{};
    plain<1>(&in, &out, Sum(), false, &zero, &aggregate);
  }
  template <class Prefix> void ExclusiveSum(T in, T &out, Prefix &prefix) {
    scan<1>(&in, &out, Sum(), false, nullptr, nullptr, prefix);
  }
  template <int N> void ExclusiveSum(const T (&in)[N], T (&out)[N]) {
    const T zero{};
    plain<N>(in, out, Sum(), false, &zero, nullptr);
  }
  template <int N> void ExclusiveSum(const T (&in)[N], T (&out)[N], T &aggregate) {
    const T zero{};
    plain<N>(in, out, Sum(), false, &zero, &aggregate);
  }
  template <int N, class Prefix> void ExclusiveSum(const T (&in)[N], T (&out)[N], Prefix &prefix) {
    scan<N>(in, out, Sum(), false, nullptr, nullptr, prefix);
  }
  void InclusiveSum(T in, T &out) {
    plain<1>(&in, &out, Sum(), true, nullptr, nullptr);
  }
  void InclusiveSum(T in, T &out, T &aggregate) {
    plain<1>(&in, &out, Sum(), true, nullptr, &aggregate);
  }
  template <class Prefix> void InclusiveSum(T in, T &out, Prefix &prefix) {
    scan<1>(&in, &out, Sum(), true, nullptr, nullptr, prefix);
  }
  template <int N> void InclusiveSum(const T (&in)[N], T (&out)[N]) {
    plain<N>(in, out, Sum(), true, nullptr, nullptr);
  }
  template <int N> void InclusiveSum(const T (&in)[N], T (&out)[N], T &aggregate) {
    plain<N>(in, out, Sum(), true, nullptr, &aggregate);
  }
  template <int N, class Prefix> void InclusiveSum(const T (&in)[N], T (&out)[N], Prefix &prefix) {
    scan<N>(in, out, Sum(), true, nullptr, nullptr, prefix);
  }
  template <class Operation> void ExclusiveScan(T in, T &out, T initial, Operation operation) {
    plain<1>(&in, &out, operation, false, &initial, nullptr);
  }
  template <class Operation> void ExclusiveScan(T in, T &out, T initial, Operation operation, T &aggregate) {
    plain<1>(&in, &out, operation, false, &initial, &aggregate);
  }
  template <class Operation> void ExclusiveScan(T in, T &out, Operation operation) {
    plain<1>(&in, &out, operation, false, nullptr, nullptr);
  }
  template <class Operation> void ExclusiveScan(T in, T &out, Operation operation, T &aggregate) {
    plain<1>(&in, &out, operation, false, nullptr, &aggregate);
  }
  template <class Operation, class Prefix> void ExclusiveScan(T in, T &out, Operation operation, Prefix &prefix) {
    scan<1>(&in, &out, operation, false, nullptr, nullptr, prefix);
  }
  template <int N, class Operation> void ExclusiveScan(const T (&in)[N], T (&out)[N], T initial, Operation operation) {
    plain<N>(in, out, operation, false, &initial, nullptr);
  }
  template <int N, class Operation>
  void ExclusiveScan(const T (&in)[N], T (&out)[N], T initial, Operation operation, T &aggregate) {
    plain<N>(in, out, operation, false, &initial, &aggregate);
  }
  template <int N, class Operation, class Prefix>
  void ExclusiveScan(const T (&in)[N], T (&out)[N], Operation operation, Prefix &prefix) {
    scan<N>(in, out, operation, false, nullptr, nullptr, prefix);
  }
  template <class Operation> void InclusiveScan(T in, T &out, Operation operation) {
    plain<1>(&in, &out, operation, true, nullptr, nullptr);
  }
  template <class Operation> void InclusiveScan(T in, T &out, Operation operation, T &aggregate) {
    plain<1>(&in, &out, operation, true, nullptr, &aggregate);
  }
  template <class Operation, class Prefix> void InclusiveScan(T in, T &out, Operation operation, Prefix &prefix) {
    scan<1>(&in, &out, operation, true, nullptr, nullptr, prefix);
  }
  template <int N, class Operation> void InclusiveScan(const T (&in)[N], T (&out)[N], Operation operation) {
    plain<N>(in, out, operation, true, nullptr, nullptr);
  }
  template <int N, class Operation>
  void InclusiveScan(const T (&in)[N], T (&out)[N], Operation operation, T &aggregate) {
    plain<N>(in, out, operation, true, nullptr, &aggregate);
  }
  template <int N, class Operation, class Prefix>
  void InclusiveScan(const T (&in)[N], T (&out)[N], Operation operation, Prefix &prefix) {
    scan<N>(in, out, operation, true, nullptr, nullptr, prefix);
  }
};

// ---- loads and stores ----

template <class In, class T, int N> inline void LoadDirectBlocked(int tid, In from, T (&items)[N]) {
  for (int i = 0; i < N; i++)
    items[i] = from[tid * N + i];
}
template <class In, class T, int N> inline void LoadDirectBlocked(int tid, In from, T (&items)[N], int valid) {
  for (int i = 0; i < N; i++)
    if (tid * N + i < valid)
      items[i] = from[tid * N + i];
}
template <int Threads, class In, class T, int N> inline void LoadDirectStriped(int tid, In from, T (&items)[N]) {
  for (int i = 0; i < N; i++)
    items[i] = from[tid + i * Threads];
}
template <int Threads, class In, class T, int N>
inline void LoadDirectStriped(int tid, In from, T (&items)[N], int valid) {
  for (int i = 0; i < N; i++)
    if (tid + i * Threads < valid)
      items[i] = from[tid + i * Threads];
}
template <int Threads, class In, class T, int N, class Default>
inline void LoadDirectStriped(int tid, In from, T (&items)[N], int valid, Default other) {
  for (int i = 0; i < N; i++)
    items[i] = tid + i * Threads < valid ? static_cast<T>(from[tid + i * Threads]) : static_cast<T>(other);
}
template <class Out, class T, int N> inline void StoreDirectBlocked(int tid, Out to, T (&items)[N]) {
  for (int i = 0; i < N; i++)
    to[tid * N + i] = items[i];
}
template <class Out, class T, int N> inline void StoreDirectBlocked(int tid, Out to, T (&items)[N], int valid) {
  for (int i = 0; i < N; i++)
    if (tid * N + i < valid)
      to[tid * N + i] = items[i];
}
template <int Threads, class Out, class T, int N> inline void StoreDirectStriped(int tid, Out to, T (&items)[N]) {
  for (int i = 0; i < N; i++)
    to[tid + i * Threads] = items[i];
}
template <int Threads, class Out, class T, int N>
inline void StoreDirectStriped(int tid, Out to, T (&items)[N], int valid) {
  for (int i = 0; i < N; i++)
    if (tid + i * Threads < valid)
      to[tid + i * Threads] = items[i];
}

template <class T, int X, int N, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad : public cudasim_detail::of_block<NullType, X, Y, Z> {
  using base = cudasim_detail::of_block<NullType, X, Y, Z>;
  int place(int i) const {
    return Algorithm == BLOCK_LOAD_STRIPED ? this->tid + i * base::threads : this->tid * N + i;
  }

public:
  using base::base;
  template <class In> void Load(In from, T (&items)[N]) {
    for (int i = 0; i < N; i++)
      items[i] = from[place(i)];
  }
  template <class In> void Load(In from, T (&items)[N], int valid) {
    for (int i = 0; i < N; i++)
      if (place(i) < valid)
        items[i] = from[place(i)];
  }
  template <class In, class Default> void Load(In from, T (&items)[N], int valid, Default other) {
    for (int i = 0; i < N; i++)
      items[i] = place(i) < valid ? static_cast<T>(from[place(i)]) : static_cast<T>(other);
  }
};

template <class T, int X, int N, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore : public cudasim_detail::of_block<NullType, X, Y, Z> {
  using base = cudasim_detail::of_block<NullType, X, Y, Z>;

public:
  using base::base;
  template <class Out> void Store(Out to, T (&items)[N], int valid = N * base::threads) {
    for (int i = 0; i < N; i++) {
      const int at = Algorithm == BLOCK_STORE_STRIPED ? this->tid + i * base::threads : this->tid * N + i;
      if (at < valid)
        to[at] = items[i];
    }
  }
};

// ---- exchanges ----

template <class T, int X, int N, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange : public cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z * N>, X, Y, Z> {
  using base = cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z * N>, X, Y, Z>;

  int blocked(int i) const {
    return this->tid * N + i;
  }
  int striped(int i) const {
    return this->tid + i * base::threads;
  }
  int warp_striped(int i) const {
    return this->tid / 32 * 32 * N + this->tid % 32 + i * CUB_MIN(32, base::threads - this->tid / 32 * 32);
  }
  template <class From, class To, class U> void move(const T *in, U *out, From from, To to) {
    T *const items = this->storage.items();
    for (int i = 0; i < N; i++)
      items[from(i)] = in[i];
    __syncthreads();
    for (int i = 0; i < N; i++)
      out[i] = items[to(i)];
  }

public:
  using base::base;
#define CUDASIM_EXCHANGE(name, from, to)                                                                               \
  template <class U> void name(const T(&in)[N], U(&out)[N]) {                                                          \
    move(                                                                                                              \
        in, out, [this](int i) { return from(i); }, [this](int i) { return to(i); });                                  \
  }                                                                                                                    \
  void name(T(&items)[N]) {                                                                                            \
    name(items, items);                                                                                                \
  }
  CUDASIM_EXCHANGE(StripedToBlocked, striped, blocked)
  CUDASIM_EXCHANGE(BlockedToStriped, blocked, striped)
  CUDASIM_EXCHANGE(WarpStripedToBlocked, warp_striped, blocked)
  CUDASIM_EXCHANGE(BlockedToWarpStriped, blocked, warp_striped)
#undef CUDASIM_EXCHANGE
  template <class U, class Rank> void ScatterToBlocked(const T (&in)[N], U (&out)[N], Rank (&ranks)[N]) {
    move(
        in, out, [&](int i) { return (int)ranks[i]; }, [this](int i) { return blocked(i); });
  }
  template <class U, class Rank> void ScatterToStriped(const T (&in)[N], U (&out)[N], Rank (&ranks)[N]) {
    move(
        in, out, [&](int i) { return (int)ranks[i]; }, [this](int i) { return striped(i); });
  }
  template <class Rank> void ScatterToBlocked(T (&items)[N], Rank (&ranks)[N]) {
    ScatterToBlocked(items, items, ranks);
  }
  template <class Rank> void ScatterToStriped(T (&items)[N], Rank (&ranks)[N]) {
    ScatterToStriped(items, items, ranks);
  }
};

// ---- sorting ----

template <class K, class V, int Count> struct cudasim_sort_storage {
  cudasim_detail::room<K, Count> keys;
  cudasim_detail::room<V, Count> values;
  int order[Count];
};

template <class K, int X, int N, class V = NullType, int = 4, bool = true, BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS,
          int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort : public cudasim_detail::of_block<cudasim_sort_storage<K, V, X * Y * Z * N>, X, Y, Z> {
  using base = cudasim_detail::of_block<cudasim_sort_storage<K, V, X * Y * Z * N>, X, Y, Z>;
  static constexpr int bits = 8 * sizeof(K);

  void sort(K *keys, V *values, bool descending, bool to_striped, int begin_bit, int end_bit) {
    auto &s = this->storage;
    for (int i = 0; i < N; i++) {
      const int at = this->tid * N + i;
      s.keys.items()[at] = keys[i];
      if (values)
        s.values.items()[at] = values[i];
      s.order[at] = at;
    }
    __syncthreads();
    if (this->tid == 0)
      std::stable_sort(s.order, s.order + N * base::threads, [&](int a, int b) {
        const auto x = cudasim_detail::digits(s.keys.items()[a], begin_bit, end_bit);
        const auto y = cudasim_detail::digits(s.keys.items()[b], begin_bit, end_bit);
        return descending ? y < x : x < y;
      });
    __syncthreads();
    for (int i = 0; i < N; i++) {
      const int from = s.order[to_striped ? this->tid + i * base::threads : this->tid * N + i];
      keys[i] = s.keys.items()[from];
      if (values)
        values[i] = s.values.items()[from];
    }
  }

public:
  using base::base;
  void Sort(K (&keys)[N], int begin_bit = 0, int end_bit = bits) {
    sort(keys, nullptr, false, false, begin_bit, end_bit);
  }
  void Sort(K (&keys)[N], V (&values)[N], int begin_bit = 0, int end_bit = bits) {
    sort(keys, values, false, false, begin_bit, end_bit);
  }
  void SortDescending(K (&keys)[N], int begin_bit = 0, int end_bit = bits) {
    sort(keys, nullptr, true, false, begin_bit, end_bit);
  }
  void SortDescending(K (&keys)[N], V (&values)[N], int begin_bit = 0, int end_bit = bits) {
    sort(keys, values, true, false, begin_bit, end_bit);
  }
  void SortBlockedToStriped(K (&keys)[N], int begin_bit = 0, int end_bit = bits) {
    sort(keys, nullptr, false, true, begin_bit, end_bit);
  }
  void SortBlockedToStriped(K (&keys)[N], V (&values)[N], int begin_bit = 0, int end_bit = bits) {
    sort(keys, values, false, true, begin_bit, end_bit);
  }
  void SortDescendingBlockedToStriped(K (&keys)[N], int begin_bit = 0, int end_bit = bits) {
    sort(keys, nullptr, true, true, begin_bit, end_bit);
  }
};

// ---- neighbors ----

template <class T, int X, int Y = 1, int Z = 1>
class BlockAdjacentDifference : public cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z>, X, Y, Z> {
  using base = cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z>, X, Y, Z>;

public:
  using base::base;
  template <int N, class U, class Difference> void SubtractLeft(T (&in)[N], U (&out)[N], Difference difference) {
    T *const last = this->storage.items();
    last[this->tid] = in[N - 1];
    __syncthreads();
    for (int i = N - 1; i > 0; i--)
      out[i] = difference(in[i], in[i - 1]);
    out[0] = this->tid == 0 ? static_cast<U>(in[0]) : static_cast<U>(difference(in[0], last[this->tid - 1]));
  }
  template <int N, class U, class Difference> void SubtractRight(T (&in)[N], U (&out)[N], Difference difference) {
    T *const first = this->storage.items();
    first[this->tid] = in[0];
    __syncthreads();
    for (int i = 0; i < N - 1; i++)
      out[i] = difference(in[i], in[i + 1]);
    if (this->tid < base::threads - 1)
      out[N - 1] = difference(in[N - 1], first[this->tid + 1]);
    else
      out[N - 1] = in[N - 1];
  }
};

template <class T, int X, int Y = 1, int Z = 1>
class BlockDiscontinuity : public cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z>, X, Y, Z> {
  using base = cudasim_detail::of_block<cudasim_detail::room<T, X * Y * Z>, X, Y, Z>;

public:
  using base::base;
  template <int N, class Flag, class Different> void FlagHeads(Flag (&flags)[N], T (&in)[N], Different different) {
    T *const last = this->storage.items();
    last[this->tid] = in[N - 1];
    __syncthreads();
    flags[0] = this->tid == 0 ? 1 : different(last[this->tid - 1], in[0]);
    for (int i = 1; i < N; i++)
      flags[i] = different(in[i - 1], in[i]);
  }
  template <int N, class Flag, class Different> void FlagTails(Flag (&flags)[N], T (&in)[N], Different different) {
    T *const first = this->storage.items();
    first[this->tid] = in[0];
    __syncthreads();
    for (int i = 0; i < N - 1; i++)
      flags[i] = different(in[i], in[i + 1]);
    flags[N - 1] = this->tid == base::threads - 1 ? 1 : different(in[N - 1], first[this->tid + 1]);
  }
};

template <class T, int X, int N, int Bins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1, int Z = 1>
class BlockHistogram : public cudasim_detail::of_block<NullType, X, Y, Z> {
  using base = cudasim_detail::of_block<NullType, X, Y, Z>;

public:
  using base::base;
  template <class Counter> void InitHistogram(Counter (&histogram)[Bins]) {
    for (int bin = this->tid; bin < Bins; bin += base::threads)
      histogram[bin] = 0;
  }
  template <class Counter> void Composite(T (&items)[N], Counter (&histogram)[Bins]) {
    for (int i = 0; i < N; i++)
      atomicAdd(&histogram[items[i]], static_cast<Counter>(1));
  }
  template <class Counter> void Histogram(T (&items)[N], Counter (&histogram)[Bins]) {
    InitHistogram(histogram);
    __syncthreads();
    Composite(items, histogram);
  }
};

} // namespace cub

#endif
