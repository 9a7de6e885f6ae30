// SPDX-License-Identifier: MIT
// cub: what its collectives share, its types, operations and iterators. In the place of CCCL's cub, whose device code is PTX.
#ifndef CUDASIM_CUB_H
#define CUDASIM_CUB_H

#include <chrono> // which NVIDIA's brings along
#include <iterator>
#include <limits>
#include <stdio.h>
#include <type_traits>
#include <utility>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

#define CUB_VERSION 300000
#define CUB_MAJOR_VERSION 3
#define CUB_MINOR_VERSION 0
#define CUB_SUBMINOR_VERSION 0
#define CUB_RUNTIME_FUNCTION
#define CUB_IS_HOST_CODE 1
#define CUB_PTX_ARCH 900
#define CUB_LOG_WARP_THREADS(arch) 5
#define CUB_WARP_THREADS(arch) 32
#define CUB_PTX_WARP_THREADS 32
#define CUB_PTX_LOG_WARP_THREADS 5
#define CUB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CUB_MAX(a, b) ((a) > (b) ? (a) : (b))
#define CUB_QUOTIENT_CEILING(a, b) (((a) + (b)-1) / (b))
#define CUB_ROUND_UP_NEAREST(a, b) ((((a) + (b)-1) / (b)) * (b))
#define CUB_NAMESPACE_BEGIN namespace cub {
#define CUB_NAMESPACE_END }
#define CubDebug(e) ::cub::Debug((cudaError_t)(e), __FILE__, __LINE__)
#define CubDebugExit(e)                                                                                                \
  do {                                                                                                                 \
    if (CubDebug(e))                                                                                                   \
      exit(1);                                                                                                         \
  } while (0)

namespace cub {

static inline cudaError_t Debug(cudaError_t error, const char *file, int line) {
  cudaGetLastError();
  if (error)
    fprintf(stderr, "CUDA error %d [%s, %d]: %s\n", (int)error, file, line, cudaGetErrorString(error));
  return error;
}

// ---- types ----

struct NullType {
  bool operator==(const NullType &) const {
    return true;
  }
  bool operator!=(const NullType &) const {
    return false;
  }
};
template <int N> struct Int2Type {
  enum { VALUE = N };
};
template <class K, class V> struct KeyValuePair {
  using Key = K;
  using Value = V;
  K key;
  V value;
  KeyValuePair(void) = default;
  KeyValuePair(K k, V v) : key(k), value(v) {
  }
  bool operator==(const KeyValuePair &other) const {
    return key == other.key && value == other.value;
  }
  bool operator!=(const KeyValuePair &other) const {
    return !(*this == other);
  }
};
template <class T> struct DoubleBuffer {
  T *d_buffers[2];
  int selector;
  DoubleBuffer(void) : d_buffers{nullptr, nullptr}, selector(0) {
  }
  DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate}, selector(0) {
  }
  T *Current(void) {
    return d_buffers[selector];
  }
  T *Alternate(void) {
    return d_buffers[selector ^ 1];
  }
};
// Memory that is not constructed, for unions and shared variables.
template <class T> struct Uninitialized {
  alignas(T) char storage[sizeof(T)];
  T &Alias(void) {
    return reinterpret_cast<T &>(storage);
  }
};
enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };

namespace cudasim_detail {
template <size_t Bytes>
using bits_of = std::conditional_t<
    Bytes == 1, unsigned char,
    std::conditional_t<Bytes == 2, unsigned short, std::conditional_t<Bytes == 4, unsigned int, unsigned long long>>>;
template <class T>
inline constexpr bool is_real =
    std::is_floating_point_v<T> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
} // namespace cudasim_detail

// The bits of a number such that they compare as it does.
template <class T> struct Traits {
  using UnsignedBits = cudasim_detail::bits_of<sizeof(T)>;
  static constexpr bool PRIMITIVE = std::is_arithmetic_v<T> || cudasim_detail::is_real<T>;
  static constexpr Category CATEGORY = cudasim_detail::is_real<T> ? FLOATING_POINT
                                       : !std::is_integral_v<T>   ? NOT_A_NUMBER
                                       : std::is_signed_v<T>      ? SIGNED_INTEGER
                                                                  : UNSIGNED_INTEGER;
  static constexpr UnsignedBits HIGH_BIT = (UnsignedBits)((UnsignedBits)1 << (8 * sizeof(T) - 1));
  static UnsignedBits TwiddleIn(UnsignedBits key) {
    if constexpr (cudasim_detail::is_real<T>)
      return (UnsignedBits)(key ^ (key & HIGH_BIT ? (UnsignedBits)-1 : HIGH_BIT));
    else
      return std::is_signed_v<T> ? (UnsignedBits)(key ^ HIGH_BIT) : key;
  }
  static UnsignedBits TwiddleOut(UnsignedBits key) {
    if constexpr (cudasim_detail::is_real<T>)
      return (UnsignedBits)(key ^ (key & HIGH_BIT ? HIGH_BIT : (UnsignedBits)-1));
    else
      return std::is_signed_v<T> ? (UnsignedBits)(key ^ HIGH_BIT) : key;
  }
  static T Max(void) {
    return std::numeric_limits<T>::max();
  }
  static T Lowest(void) {
    return std::numeric_limits<T>::lowest();
  }
};
template <class T> using NumericTraits = Traits<T>;

// ---- operations ----

struct Sum {
  template <class T, class U> auto operator()(const T &a, const U &b) const {
    return a + b;
  }
};
struct Difference {
  template <class T, class U> auto operator()(const T &a, const U &b) const {
    return a - b;
  }
};
struct Division {
  template <class T, class U> auto operator()(const T &a, const U &b) const {
    return a / b;
  }
};
struct Max {
  template <class T, class U> std::common_type_t<T, U> operator()(const T &a, const U &b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T, class U> std::common_type_t<T, U> operator()(const T &a, const U &b) const {
    return b < a ? b : a;
  }
};
struct Equality {
  template <class T, class U> bool operator()(const T &a, const U &b) const {
    return a == b;
  }
};
struct Inequality {
  template <class T, class U> bool operator()(const T &a, const U &b) const {
    return a != b;
  }
};
template <class Equal> struct InequalityWrapper {
  Equal op;
  explicit InequalityWrapper(Equal equal) : op(equal) {
  }
  template <class T> bool operator()(const T &a, const T &b) {
    return !op(a, b);
  }
};
// Of equal values the one with the smaller key.
struct ArgMax {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const {
    return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
template <class T> struct CastOp {
  template <class U> T operator()(const U &value) const {
    return static_cast<T>(value);
  }
};

// ---- places ----

static inline unsigned int LaneId(void) {
  return static_cast<unsigned int>(::cudasim::lane());
}
static inline unsigned int WarpId(void) {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32u;
}
static inline int RowMajorTid(int x, int y, int) {
  return static_cast<int>((threadIdx.z * static_cast<unsigned int>(y) + threadIdx.y) * static_cast<unsigned int>(x) +
                          threadIdx.x);
}
template <class T, class U> constexpr auto DivideAndRoundUp(T a, U b) {
  return (a + b - 1) / b;
}

// ---- iterators ----

namespace cudasim_detail {
// Reads at(position); Self has `at`.
template <class Self, class T, class Distance> struct reader {
  using self_type = Self;
  using difference_type = Distance;
  using value_type = T;
  using pointer = T *;
  using reference = T;
  using iterator_category = std::random_access_iterator_tag;
  Distance position = 0;

  const Self &self(void) const {
    return static_cast<const Self &>(*this);
  }
  T operator*(void) const {
    return self().at(position);
  }
  T operator[](Distance n) const {
    return self().at(position + n);
  }
  Self &operator++(void) {
    return position++, static_cast<Self &>(*this);
  }
  Self operator++(int) {
    Self before = self();
    position++;
    return before;
  }
  Self &operator+=(Distance n) {
    return position += n, static_cast<Self &>(*this);
  }
  Self operator+(Distance n) const {
    Self moved = self();
    moved.position += n;
    return moved;
  }
  Self operator-(Distance n) const {
    return *this + -n;
  }
  Distance operator-(const Self &other) const {
    return position - other.position;
  }
  bool operator==(const Self &other) const {
    return position == other.position;
  }
  bool operator!=(const Self &other) const {
    return position != other.position;
  }
};
} // namespace cudasim_detail

template <class T, class Distance = ptrdiff_t>
struct CountingInputIterator : cudasim_detail::reader<CountingInputIterator<T, Distance>, T, Distance> {
  T first;
  explicit CountingInputIterator(const T &value) : first(value) {
  }
  T at(Distance n) const {
    return static_cast<T>(first + static_cast<T>(n));
  }
};
template <class T, class Distance = ptrdiff_t>
struct ConstantInputIterator : cudasim_detail::reader<ConstantInputIterator<T, Distance>, T, Distance> {
  T value;
  explicit ConstantInputIterator(const T &v) : value(v) {
  }
  T at(Distance) const {
    return value;
  }
};
template <class T, class Function, class Input, class Distance = ptrdiff_t>
struct TransformInputIterator
    : cudasim_detail::reader<TransformInputIterator<T, Function, Input, Distance>, T, Distance> {
  Input input;
  Function function;
  TransformInputIterator(Input in, Function f) : input(in), function(f) {
  }
  T at(Distance n) const {
    return const_cast<Function &>(function)(input[n]);
  }
};
template <class Input, class Distance = ptrdiff_t,
          class Value = std::remove_cv_t<std::remove_reference_t<decltype(*std::declval<Input>())>>>
struct ArgIndexInputIterator
    : cudasim_detail::reader<ArgIndexInputIterator<Input, Distance, Value>, KeyValuePair<Distance, Value>, Distance> {
  Input input;
  explicit ArgIndexInputIterator(Input in, Distance n = 0) : input(in) {
    this->position = n;
  }
  KeyValuePair<Distance, Value> at(Distance n) const {
    return {n, static_cast<Value>(input[n])};
  }
};

enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <CacheLoadModifier Modifier, class T, class Distance = ptrdiff_t>
struct CacheModifiedInputIterator
    : cudasim_detail::reader<CacheModifiedInputIterator<Modifier, T, Distance>, T, Distance> {
  const T *input;
  CacheModifiedInputIterator(const T *in) : input(in) {
  }
  T at(Distance n) const {
    return input[n];
  }
};
template <CacheLoadModifier = LOAD_DEFAULT, class Iterator> inline auto ThreadLoad(Iterator from) {
  return *from;
}
template <CacheStoreModifier = STORE_DEFAULT, class Iterator, class T> inline void ThreadStore(Iterator to, T value) {
  *to = value;
}

// An allocator whose caching nobody sees.
struct CachingDeviceAllocator {
  CachingDeviceAllocator(void) = default;
  explicit CachingDeviceAllocator(bool, bool = false) {
  }
  CachingDeviceAllocator(unsigned int, unsigned int = 1, unsigned int = ~0u, size_t = ~(size_t)0, bool = false) {
  }
  cudaError_t DeviceAllocate(void **pointer, size_t bytes, cudaStream_t = nullptr) {
    return cudaMalloc(pointer, bytes);
  }
  cudaError_t DeviceFree(void *pointer) {
    return cudaFree(pointer);
  }
  cudaError_t FreeAllCached(void) {
    return cudaSuccess;
  }
};

namespace cudasim_detail {

// In halves, so that the sum of many numbers is as exact as a tree of threads has it.
template <class Iterator, class Operation>
inline auto combine(Iterator items, long long first, long long count, Operation &operation) {
  using T = std::remove_cv_t<std::remove_reference_t<decltype(items[first])>>;
  T result = items[first];
  if (count <= 32) {
    for (long long i = 1; i < count; i++)
      result = operation(result, static_cast<T>(items[first + i]));
    return result;
  }
  result = combine(items, first, count / 2, operation);
  return static_cast<T>(operation(result, combine(items, first + count / 2, count - count / 2, operation)));
}

// The bits of a key between two positions, in an order that compares as unsigned numbers do.
template <class K> inline unsigned long long digits(const K &key, int begin_bit, int end_bit) {
  typename Traits<K>::UnsignedBits bits;
  static_assert(sizeof bits == sizeof(K), "keys of 1, 2, 4 or 8 bytes");
  __builtin_memcpy(&bits, &key, sizeof bits);
  if constexpr (is_real<K>) // -0 sorts as 0
    bits = bits == Traits<K>::HIGH_BIT ? 0 : bits;
  const unsigned long long twiddled = Traits<K>::TwiddleIn(bits);
  const int width = end_bit - begin_bit;
  return twiddled >> begin_bit & (width >= 64 ? ~0ull : (1ull << width) - 1);
}

} // namespace cudasim_detail

} // namespace cub

#endif
