// SPDX-License-Identifier: MIT
// cub's collectives of a warp, or of a part of one: by shuffles.
#ifndef CUDASIM_CUB_WARP_H
#define CUDASIM_CUB_WARP_H

#include "cudasim_cub.h"

namespace cub {

enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };

namespace cudasim_detail {

template <int Size> class of_warp {
  static_assert(Size >= 1 && Size <= 32, "a warp's part has at most 32 threads");

protected:
  static constexpr int size = Size;
  const int whole, first, lane; // in the warp: this thread, its part's first; in the part: this thread
  const unsigned int mask;

  of_warp(void)
      : whole(::cudasim::lane()), first(whole / Size * Size), lane(whole - first),
        mask((Size == 32 ? ~0u : (1u << Size % 32) - 1u) << first) {
  }
  // The values that all threads of the part bring, at one meeting for each eight bytes; of a thread that has returned, this one's.
  template <class T> void gather(const T &value, T (&values)[Size]) const {
    for (size_t at = 0; at < sizeof(T); at += 8) {
      const size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
      uint64_t piece = 0;
      __builtin_memcpy(&piece, reinterpret_cast<const char *>(&value) + at, bytes);
      unsigned int came;
      const uint64_t *const brought = cudasim_warp(mask, piece, &came, __builtin_FILE(), __builtin_LINE());
      for (int i = 0; i < Size; i++)
        __builtin_memcpy(reinterpret_cast<char *>(&values[i]) + at,
                         came >> (first + i) & 1u ? &brought[first + i] : &piece, bytes);
    }
  }
};

} // namespace cudasim_detail

template <class T, int Size = 32, int = 0> class WarpReduce : cudasim_detail::of_warp<Size> {
public:
  using TempStorage = NullType;
  explicit WarpReduce(TempStorage &) {
  }
  template <class Operation> T Reduce(T value, Operation operation, int valid = Size) {
    T values[Size];
    this->gather(value, values);
    return this->lane == 0 ? cudasim_detail::combine(&values[0], 0, valid, operation) : value;
  }
  T Sum(T value, int valid = Size) {
    return Reduce(value, ::cub::Sum(), valid);
  }
  T Max(T value, int valid = Size) {
    return Reduce(value, ::cub::Max(), valid);
  }
  T Min(T value, int valid = Size) {
    return Reduce(value, ::cub::Min(), valid);
  }
};

template <class T, int Size = 32, int = 0> class WarpScan : cudasim_detail::of_warp<Size> {
  // The exclusive scan's result, when something comes before; the inclusive one's; all.
  template <class Operation> bool scan(T value, Operation &operation, T &before, T &with, T &all) {
    T values[Size];
    this->gather(value, values);
    all = values[0];
    with = all;
    for (int i = 1; i < Size; i++) {
      if (i == this->lane)
        before = all;
      all = operation(all, values[i]);
      if (i == this->lane)
        with = all;
    }
    return this->lane > 0;
  }

public:
  using TempStorage = NullType;
  explicit WarpScan(TempStorage &) {
  }
  template <class Operation> void InclusiveScan(T in, T &out, Operation operation, T &aggregate) {
    T before, all;
    scan(in, operation, before, out, all);
    aggregate = all;
  }
  template <class Operation> void InclusiveScan(T in, T &out, Operation operation) {
    T all;
    InclusiveScan(in, out, operation, all);
  }
  void InclusiveSum(T in, T &out) {
    InclusiveScan(in, out, Sum());
  }
  void InclusiveSum(T in, T &out, T &aggregate) {
    InclusiveScan(in, out, Sum(), aggregate);
  }
  template <class Operation> void ExclusiveScan(T in, T &out, T initial, Operation operation, T &aggregate) {
    T before, with, all;
    const bool some = scan(in, operation, before, with, all);
    out = some ? operation(initial, before) : initial;
    aggregate = all;
  }
  template <class Operation> void ExclusiveScan(T in, T &out, T initial, Operation operation) {
    T all;
    ExclusiveScan(in, out, initial, operation, all);
  }
  template <class Operation> void ExclusiveScan(T in, T &out, Operation operation) {
    T before, with, all;
    if (scan(in, operation, before, with, all))
      out = before;
  }
  void ExclusiveSum(T in, T &out) {
    ExclusiveScan(in, out, T{}, Sum());
  }
  void ExclusiveSum(T in, T &out, T &aggregate) {
    ExclusiveScan(in, out, T{}, Sum(), aggregate);
  }
  template <class Operation> void Scan(T in, T &inclusive, T &exclusive, Operation operation) {
    T before, all;
    if (scan(in, operation, before, inclusive, all))
      exclusive = before;
  }
  T Broadcast(T in, unsigned int source) {
    T values[Size];
    this->gather(in, values);
    return values[source % Size];
  }
};

template <class T, int N, int Size = 32, WarpExchangeAlgorithm = WARP_EXCHANGE_SMEM, int = 0>
class WarpExchange : cudasim_detail::of_warp<Size> {
public:
  struct TempStorage {
    alignas(T) char bytes[sizeof(T) * N * Size];
  };

private:
  T *const items;
  template <class From, class To, class U> void move(const T *in, U *out, From source, To target) {
    for (int i = 0; i < N; i++)
      items[source(i)] = in[i];
    __syncwarp(this->mask);
    T found[N];
    for (int i = 0; i < N; i++)
      found[i] = items[target(i)];
    __syncwarp(this->mask);
    for (int i = 0; i < N; i++)
      out[i] = found[i];
  }

public:
  explicit WarpExchange(TempStorage &temp) : items(reinterpret_cast<T *>(temp.bytes)) {
  }
  template <class U> void BlockedToStriped(const T (&in)[N], U (&out)[N]) {
    move(
        in, out, [this](int i) { return this->lane * N + i; }, [this](int i) { return this->lane + i * Size; });
  }
  template <class U> void StripedToBlocked(const T (&in)[N], U (&out)[N]) {
    move(
        in, out, [this](int i) { return this->lane + i * Size; }, [this](int i) { return this->lane * N + i; });
  }
  template <class U, class Rank> void ScatterToStriped(const T (&in)[N], U (&out)[N], Rank (&ranks)[N]) {
    move(
        in, out, [&](int i) { return (int)ranks[i]; }, [this](int i) { return this->lane + i * Size; });
  }
  template <class Rank> void ScatterToStriped(T (&in)[N], Rank (&ranks)[N]) {
    ScatterToStriped(in, in, ranks);
  }
};

} // namespace cub

#endif
