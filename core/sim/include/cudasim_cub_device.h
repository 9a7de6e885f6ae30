// SPDX-License-Identifier: MIT
// cub's functions of a whole device: each is a kernel of one thread, so that streams, captures and errors are as for any kernel.
#ifndef CUDASIM_CUB_DEVICE_H
#define CUDASIM_CUB_DEVICE_H

#include <algorithm>
#include <vector>

#include "cudasim_cub.h"

namespace cub {

namespace cudasim_detail {

enum { TEMPORARY_BYTES = 256 };

// Called twice, first without a temporary storage: that asks how much is wanted.
template <class Work>
inline cudaError_t whole_device(const char *name, void *temp, size_t &bytes, cudaStream_t stream, Work work) {
  if (temp == nullptr) {
    bytes = TEMPORARY_BYTES;
    return cudaSuccess;
  }
  if (bytes < TEMPORARY_BYTES)
    return cudaErrorInvalidValue;
  void (*const none)(void) = nullptr;
  return ::cudasim::launch(
             none, [=](void) { work(); }, name, 1, 1, 0, stream)
      .submit();
}
template <class Iterator>
using value_of = std::remove_cv_t<std::remove_reference_t<decltype(*std::declval<Iterator>())>>;

template <class In, class Operation, class T>
inline T reduced(In in, long long first, long long count, Operation operation, T initial) {
  return count > 0 ? static_cast<T>(operation(initial, static_cast<T>(combine(in, first, count, operation)))) : initial;
}
template <class Pair, class In, class Operation>
inline Pair arg_reduced(In in, long long first, long long count, Operation operation, Pair result) {
  for (long long i = 0; i < count; i++) {
    using K = decltype(result.key);
    const Pair next = {static_cast<K>(i), static_cast<decltype(result.value)>(in[first + i])};
    result = i == 0 ? next : operation(result, next);
  }
  return result;
}
template <class T> using limits = std::numeric_limits<T>;

// What is sorted: the order of the keys; both arrays may be where they came from.
template <class K, class V, class Less>
inline void sort_range(const K *keys_in, K *keys_out, const V *values_in, V *values_out, long long first,
                       long long count, Less less) {
  std::vector<long long> order(static_cast<size_t>(count));
  for (long long i = 0; i < count; i++)
    order[static_cast<size_t>(i)] = first + i;
  std::stable_sort(order.begin(), order.end(), [&](long long a, long long b) { return less(keys_in[a], keys_in[b]); });
  std::vector<K> keys;
  std::vector<V> values;
  for (long long at : order) {
    keys.push_back(keys_in[at]);
    if (values_in)
      values.push_back(values_in[at]);
  }
  std::copy(keys.begin(), keys.end(), keys_out + first);
  if (values_in)
    std::copy(values.begin(), values.end(), values_out + first);
}
template <class K> struct by_digits {
  bool descending;
  int begin_bit, end_bit;
  bool operator()(const K &a, const K &b) const {
    const auto x = digits(a, begin_bit, end_bit), y = digits(b, begin_bit, end_bit);
    return descending ? y < x : x < y;
  }
};

} // namespace cudasim_detail

// ---- reductions ----

struct DeviceReduce {
  template <class In, class Out, class N, class Operation, class T>
  static cudaError_t Reduce(void *temp, size_t &bytes, In in, Out out, N n, Operation operation, T initial,
                            cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceReduce", temp, bytes, stream, [=](void) {
      *out = cudasim_detail::reduced(in, 0, static_cast<long long>(n), operation, initial);
    });
  }
  template <class In, class Out, class N>
  static cudaError_t Sum(void *temp, size_t &bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    return Reduce(temp, bytes, in, out, n, ::cub::Sum(), cudasim_detail::value_of<Out>{}, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Min(void *temp, size_t &bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    using T = cudasim_detail::value_of<In>;
    return Reduce(temp, bytes, in, out, n, ::cub::Min(), std::numeric_limits<T>::max(), stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Max(void *temp, size_t &bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    using T = cudasim_detail::value_of<In>;
    return Reduce(temp, bytes, in, out, n, ::cub::Max(), std::numeric_limits<T>::lowest(), stream);
  }
  template <class In, class K, class V, class N>
  static cudaError_t ArgMin(void *temp, size_t &bytes, In in, KeyValuePair<K, V> *out, N n,
                            cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceReduce::ArgMin", temp, bytes, stream, [=](void) {
      *out = cudasim_detail::arg_reduced(in, 0, static_cast<long long>(n), ::cub::ArgMin(),
                                         KeyValuePair<K, V>{K(1), std::numeric_limits<V>::max()});
    });
  }
  template <class In, class K, class V, class N>
  static cudaError_t ArgMax(void *temp, size_t &bytes, In in, KeyValuePair<K, V> *out, N n,
                            cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceReduce::ArgMax", temp, bytes, stream, [=](void) {
      *out = cudasim_detail::arg_reduced(in, 0, static_cast<long long>(n), ::cub::ArgMax(),
                                         KeyValuePair<K, V>{K(1), std::numeric_limits<V>::lowest()});
    });
  }
  template <class In, class Out, class N, class Operation, class Transform, class T>
  static cudaError_t TransformReduce(void *temp, size_t &bytes, In in, Out out, N n, Operation operation,
                                     Transform transform, T initial, cudaStream_t stream = nullptr) {
    return Reduce(temp, bytes, TransformInputIterator<T, Transform, In>(in, transform), out, n, operation, initial,
                  stream);
  }
  template <class Keys, class Unique, class Values, class Sums, class Runs, class Operation, class N>
  static cudaError_t ReduceByKey(void *temp, size_t &bytes, Keys keys, Unique unique, Values values, Sums sums,
                                 Runs runs, Operation operation, N n, cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceReduce::ReduceByKey", temp, bytes, stream, [=](void) {
      long long run = 0;
      for (long long i = 0, next; i < static_cast<long long>(n); i = next, run++) {
        for (next = i + 1; next < static_cast<long long>(n) && keys[next] == keys[i];)
          next++;
        auto combining = operation;
        const auto sum = cudasim_detail::combine(values, i, next - i, combining);
        unique[run] = keys[i];
        sums[run] = sum;
      }
      *runs = static_cast<cudasim_detail::value_of<Runs>>(run);
    });
  }
};

struct DeviceSegmentedReduce {
  template <class In, class Out, class Begins, class Ends, class Operation, class T>
  static cudaError_t Reduce(void *temp, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                            Operation operation, T initial, cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceSegmentedReduce", temp, bytes, stream, [=](void) {
      for (int s = 0; s < segments; s++)
        out[s] = cudasim_detail::reduced(in, static_cast<long long>(begins[s]),
                                         static_cast<long long>(ends[s]) - static_cast<long long>(begins[s]), operation,
                                         initial);
    });
  }
  template <class In, class Out, class Begins, class Ends>
  static cudaError_t Sum(void *temp, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                         cudaStream_t stream = nullptr) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, ::cub::Sum(), cudasim_detail::value_of<Out>{}, stream);
  }
  template <class In, class Out, class Begins, class Ends>
  static cudaError_t Min(void *temp, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                         cudaStream_t stream = nullptr) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, ::cub::Min(),
                  std::numeric_limits<cudasim_detail::value_of<In>>::max(), stream);
  }
  template <class In, class Out, class Begins, class Ends>
  static cudaError_t Max(void *temp, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                         cudaStream_t stream = nullptr) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, ::cub::Max(),
                  std::numeric_limits<cudasim_detail::value_of<In>>::lowest(), stream);
  }
};

// ---- scans ----

struct DeviceScan {
  template <class In, class Out, class Operation, class T, class N>
  static cudaError_t ExclusiveScan(void *temp, size_t &bytes, In in, Out out, Operation operation, T initial, N n,
                                   cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceScan", temp, bytes, stream, [=](void) {
      T all = initial;
      for (long long i = 0; i < static_cast<long long>(n); i++) {
        const T next = static_cast<T>(operation(all, static_cast<T>(in[i]))); // before out[i], which may be in[i]
        out[i] = all;
        all = next;
      }
    });
  }
  template <class In, class Out, class Operation, class N>
  static cudaError_t InclusiveScan(void *temp, size_t &bytes, In in, Out out, Operation operation, N n,
                                   cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceScan", temp, bytes, stream, [=](void) {
      using T = cudasim_detail::value_of<In>;
      if (static_cast<long long>(n) == 0)
        return;
      T all = in[0];
      out[0] = all;
      for (long long i = 1; i < static_cast<long long>(n); i++)
        out[i] = all = static_cast<T>(operation(all, static_cast<T>(in[i])));
    });
  }
  template <class In, class Out, class N>
  static cudaError_t ExclusiveSum(void *temp, size_t &bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    return ExclusiveScan(temp, bytes, in, out, Sum(), cudasim_detail::value_of<In>{}, n, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t InclusiveSum(void *temp, size_t &bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    return InclusiveScan(temp, bytes, in, out, Sum(), n, stream);
  }
  template <class Data, class N, class = std::enable_if_t<std::is_integral_v<N>>>
  static cudaError_t ExclusiveSum(void *temp, size_t &bytes, Data data, N n, cudaStream_t stream = nullptr) {
    return ExclusiveSum(temp, bytes, data, data, n, stream);
  }
  template <class Data, class N, class = std::enable_if_t<std::is_integral_v<N>>>
  static cudaError_t InclusiveSum(void *temp, size_t &bytes, Data data, N n, cudaStream_t stream = nullptr) {
    return InclusiveSum(temp, bytes, data, data, n, stream);
  }
  template <class Keys, class In, class Out, class N>
  static cudaError_t InclusiveSumByKey(void *temp, size_t &bytes, Keys keys, In in, Out out, N n) {
    return cudasim_detail::whole_device("cub::DeviceScan", temp, bytes, nullptr, [=](void) {
      cudasim_detail::value_of<In> all{};
      for (long long i = 0; i < static_cast<long long>(n); i++)
        out[i] = all = i > 0 && keys[i] == keys[i - 1] ? all + in[i] : in[i];
    });
  }
};

// ---- selections ----

struct DeviceSelect {
  template <class In, class Flags, class Out, class Count, class N>
  static cudaError_t Flagged(void *temp, size_t &bytes, In in, Flags flags, Out out, Count count, N n,
                             cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceSelect::Flagged", temp, bytes, stream, [=](void) {
      long long selected = 0;
      for (long long i = 0; i < static_cast<long long>(n); i++)
        if (flags[i])
          out[selected++] = in[i];
      *count = static_cast<cudasim_detail::value_of<Count>>(selected);
    });
  }
  template <class In, class Out, class Count, class N, class Predicate>
  static cudaError_t If(void *temp, size_t &bytes, In in, Out out, Count count, N n, Predicate predicate,
                        cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceSelect::If", temp, bytes, stream, [=](void) {
      long long selected = 0;
      auto chosen = predicate;
      for (long long i = 0; i < static_cast<long long>(n); i++)
        if (chosen(in[i]))
          out[selected++] = in[i];
      *count = static_cast<cudasim_detail::value_of<Count>>(selected);
    });
  }
  template <class In, class Out, class Count, class N>
  static cudaError_t Unique(void *temp, size_t &bytes, In in, Out out, Count count, N n,
                            cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceSelect::Unique", temp, bytes, stream, [=](void) {
      long long selected = 0;
      for (long long i = 0; i < static_cast<long long>(n); i++)
        if (i == 0 || !(in[i] == in[i - 1]))
          out[selected++] = in[i];
      *count = static_cast<cudasim_detail::value_of<Count>>(selected);
    });
  }
};

// The selected ones first, in their order; the others behind them, in the opposite one.
struct DevicePartition {
  template <class In, class Out, class Count, class N, class Predicate>
  static cudaError_t If(void *temp, size_t &bytes, In in, Out out, Count count, N n, Predicate predicate,
                        cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DevicePartition::If", temp, bytes, stream, [=](void) {
      long long selected = 0, rest = static_cast<long long>(n);
      auto chosen = predicate;
      for (long long i = 0; i < static_cast<long long>(n); i++)
        out[chosen(in[i]) ? selected++ : --rest] = in[i];
      *count = static_cast<cudasim_detail::value_of<Count>>(selected);
    });
  }
  template <class In, class Flags, class Out, class Count, class N>
  static cudaError_t Flagged(void *temp, size_t &bytes, In in, Flags flags, Out out, Count count, N n,
                             cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DevicePartition::Flagged", temp, bytes, stream, [=](void) {
      long long selected = 0, rest = static_cast<long long>(n);
      for (long long i = 0; i < static_cast<long long>(n); i++)
        out[flags[i] ? selected++ : --rest] = in[i];
      *count = static_cast<cudasim_detail::value_of<Count>>(selected);
    });
  }
};

struct DeviceRunLengthEncode {
  template <class In, class Unique, class Lengths, class Runs, class N>
  static cudaError_t Encode(void *temp, size_t &bytes, In in, Unique unique, Lengths lengths, Runs runs, N n,
                            cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceRunLengthEncode", temp, bytes, stream, [=](void) {
      long long run = 0;
      for (long long i = 0, next; i < static_cast<long long>(n); i = next, run++) {
        for (next = i + 1; next < static_cast<long long>(n) && in[next] == in[i];)
          next++;
        unique[run] = in[i];
        lengths[run] = static_cast<cudasim_detail::value_of<Lengths>>(next - i);
      }
      *runs = static_cast<cudasim_detail::value_of<Runs>>(run);
    });
  }
};

struct DeviceHistogram {
  template <class In, class Counter, class Level, class N>
  static cudaError_t HistogramEven(void *temp, size_t &bytes, In in, Counter *histogram, int levels, Level lower,
                                   Level upper, N n, cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceHistogram", temp, bytes, stream, [=](void) {
      const int bins = levels - 1;
      for (int bin = 0; bin < bins; bin++)
        histogram[bin] = 0;
      for (long long i = 0; i < static_cast<long long>(n); i++) {
        const auto sample = in[i];
        if (sample < lower || !(sample < upper))
          continue;
        if constexpr (std::is_integral_v<Level>)
          histogram[static_cast<unsigned long long>(sample - lower) * static_cast<unsigned long long>(bins) /
                    static_cast<unsigned long long>(upper - lower)]++;
        else // the product of the largest samples may round to `bins`
          histogram[std::min(static_cast<int>((sample - lower) * (static_cast<Level>(bins) / (upper - lower))),
                             bins - 1)]++;
      }
    });
  }
  template <class In, class Counter, class Level, class N>
  static cudaError_t HistogramRange(void *temp, size_t &bytes, In in, Counter *histogram, int levels,
                                    const Level *level, N n, cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceHistogram", temp, bytes, stream, [=](void) {
      for (int bin = 0; bin < levels - 1; bin++)
        histogram[bin] = 0;
      for (long long i = 0; i < static_cast<long long>(n); i++) {
        const Level *above = std::upper_bound(level, level + levels, static_cast<Level>(in[i]));
        if (above != level && above != level + levels)
          histogram[above - level - 1]++;
      }
    });
  }
};

// ---- sorting ----

struct DeviceRadixSort {
private:
  template <class K, class V, class N>
  static cudaError_t sort(void *temp, size_t &bytes, const K *keys_in, K *keys_out, const V *values_in, V *values_out,
                          N n, bool descending, int begin_bit, int end_bit, cudaStream_t stream) {
    return cudasim_detail::whole_device("cub::DeviceRadixSort", temp, bytes, stream, [=](void) {
      cudasim_detail::sort_range(keys_in, keys_out, values_in, values_out, 0, static_cast<long long>(n),
                                 cudasim_detail::by_digits<K>{descending, begin_bit, end_bit});
    });
  }
  template <class T> static void swap(void *temp, DoubleBuffer<T> &buffer) {
    if (temp)
      buffer.selector ^= 1;
  }

public:
#define CUDASIM_SORTS(suffix, descending)                                                                              \
  template <class K, class N>                                                                                          \
  static cudaError_t SortKeys##suffix(void *temp, size_t &bytes, const K *in, K *out, N n, int begin_bit = 0,          \
                                      int end_bit = 8 * sizeof(K), cudaStream_t stream = nullptr) {                    \
    return sort(temp, bytes, in, out, (const char *)nullptr, (char *)nullptr, n, descending, begin_bit, end_bit,       \
                stream);                                                                                               \
  }                                                                                                                    \
  template <class K, class N>                                                                                          \
  static cudaError_t SortKeys##suffix(void *temp, size_t &bytes, DoubleBuffer<K> &keys, N n, int begin_bit = 0,        \
                                      int end_bit = 8 * sizeof(K), cudaStream_t stream = nullptr) {                    \
    const K *in = keys.Current();                                                                                      \
    K *out = keys.Alternate();                                                                                         \
    swap(temp, keys);                                                                                                  \
    return SortKeys##suffix(temp, bytes, in, out, n, begin_bit, end_bit, stream);                                      \
  }                                                                                                                    \
  template <class K, class V, class N>                                                                                 \
  static cudaError_t SortPairs##suffix(void *temp, size_t &bytes, const K *in, K *out, const V *values_in,             \
                                       V *values_out, N n, int begin_bit = 0, int end_bit = 8 * sizeof(K),             \
                                       cudaStream_t stream = nullptr) {                                                \
    return sort(temp, bytes, in, out, values_in, values_out, n, descending, begin_bit, end_bit, stream);               \
  }                                                                                                                    \
  template <class K, class V, class N>                                                                                 \
  static cudaError_t SortPairs##suffix(void *temp, size_t &bytes, DoubleBuffer<K> &keys, DoubleBuffer<V> &values, N n, \
                                       int begin_bit = 0, int end_bit = 8 * sizeof(K),                                 \
                                       cudaStream_t stream = nullptr) {                                                \
    const K *in = keys.Current();                                                                                      \
    K *out = keys.Alternate();                                                                                         \
    const V *values_in = values.Current();                                                                             \
    V *values_out = values.Alternate();                                                                                \
    swap(temp, keys);                                                                                                  \
    swap(temp, values);                                                                                                \
    return SortPairs##suffix(temp, bytes, in, out, values_in, values_out, n, begin_bit, end_bit, stream);              \
  }
  CUDASIM_SORTS(, false)
  CUDASIM_SORTS(Descending, true)
#undef CUDASIM_SORTS
};

struct DeviceSegmentedRadixSort {
private:
  template <class K, class V, class Begins, class Ends>
  static cudaError_t sort(void *temp, size_t &bytes, const K *in, K *out, const V *values_in, V *values_out,
                          int segments, Begins begins, Ends ends, bool descending, int begin_bit, int end_bit,
                          cudaStream_t stream) {
    return cudasim_detail::whole_device("cub::DeviceSegmentedSort", temp, bytes, stream, [=](void) {
      for (int s = 0; s < segments; s++)
        if (static_cast<long long>(ends[s]) > static_cast<long long>(begins[s]))
          cudasim_detail::sort_range(in, out, values_in, values_out, static_cast<long long>(begins[s]),
                                     static_cast<long long>(ends[s]) - static_cast<long long>(begins[s]),
                                     cudasim_detail::by_digits<K>{descending, begin_bit, end_bit});
    });
  }

public:
#define CUDASIM_SORTS(suffix, descending)                                                                              \
  template <class K, class N, class Begins, class Ends>                                                                \
  static cudaError_t SortKeys##suffix(void *temp, size_t &bytes, const K *in, K *out, N, int segments, Begins begins,  \
                                      Ends ends, int begin_bit = 0, int end_bit = 8 * sizeof(K),                       \
                                      cudaStream_t stream = nullptr) {                                                 \
    return sort(temp, bytes, in, out, (const char *)nullptr, (char *)nullptr, segments, begins, ends, descending,      \
                begin_bit, end_bit, stream);                                                                           \
  }                                                                                                                    \
  template <class K, class V, class N, class Begins, class Ends>                                                       \
  static cudaError_t SortPairs##suffix(void *temp, size_t &bytes, const K *in, K *out, const V *values_in,             \
                                       V *values_out, N, int segments, Begins begins, Ends ends, int begin_bit = 0,    \
                                       int end_bit = 8 * sizeof(K), cudaStream_t stream = nullptr) {                   \
    return sort(temp, bytes, in, out, values_in, values_out, segments, begins, ends, descending, begin_bit, end_bit,   \
                stream);                                                                                               \
  }
  CUDASIM_SORTS(, false)
  CUDASIM_SORTS(Descending, true)
#undef CUDASIM_SORTS
};

struct DeviceMergeSort {
  template <class K, class N, class Less>
  static cudaError_t SortKeys(void *temp, size_t &bytes, K *keys, N n, Less less, cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceMergeSort", temp, bytes, stream, [=](void) {
      cudasim_detail::sort_range(keys, keys, (const char *)nullptr, (char *)nullptr, 0, static_cast<long long>(n),
                                 less);
    });
  }
  template <class K, class V, class N, class Less>
  static cudaError_t SortPairs(void *temp, size_t &bytes, K *keys, V *values, N n, Less less,
                               cudaStream_t stream = nullptr) {
    return cudasim_detail::whole_device("cub::DeviceMergeSort", temp, bytes, stream, [=](void) {
      cudasim_detail::sort_range(keys, keys, values, values, 0, static_cast<long long>(n), less);
    });
  }
  template <class K, class N, class Less>
  static cudaError_t StableSortKeys(void *temp, size_t &bytes, K *keys, N n, Less less, cudaStream_t stream = nullptr) {
    return SortKeys(temp, bytes, keys, n, less, stream);
  }
};

} // namespace cub

#endif
