// SPDX-License-Identifier: MIT
// Tensor cores as programs use them: nvcuda::wmma. A lane holds every 32nd element of a matrix; products are exact, sums are in
// float (double, int), so results are a GPU's but for the order of its sums. Which element is where is not a GPU's either.
#ifndef CUDASIM_MMA_H
#define CUDASIM_MMA_H

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

// Not inlined: a kernel of fifty such calls, whose loops the compiler would unroll, takes minutes to compile.
#define CUDASIM_APART __attribute__((noinline))
#define CUDASIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32;
}

namespace cudasim_detail {

template <class T> struct storage { using type = T; };
template <> struct storage<precision::tf32> { using type = float; };

// What a product of two Ts is, and what they are added in.
template <class T> struct sum_of { using type = float; };
template <> struct sum_of<double> { using type = double; };
template <> struct sum_of<signed char> { using type = int; };
template <> struct sum_of<unsigned char> { using type = int; };

template <class Use, int m, int n, int k> struct shape;
template <int m, int n, int k> struct shape<matrix_a, m, n, k> { static constexpr int rows = m, columns = k; };
template <int m, int n, int k> struct shape<matrix_b, m, n, k> { static constexpr int rows = k, columns = n; };
template <int m, int n, int k> struct shape<accumulator, m, n, k> { static constexpr int rows = m, columns = n; };

// The matrices that a tensor core multiplies, of numbers T: (m, k) times (k, n). All but those of less than a byte.
template <class T, int m, int n, int k> constexpr bool are_factors() {
  constexpr bool is_wide = m * n == 256 && m >= 8 && n >= 8 && k == 16; // 16 x 16, 32 x 8, 8 x 32
  constexpr bool is_byte = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;
  if constexpr (std::is_same_v<T, precision::tf32>)
    return m == 16 && n == 16 && k == 8;
  else if constexpr (std::is_same_v<T, double>)
    return m == 8 && n == 8 && k == 4;
  else
    return is_wide && (is_byte || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>);
}
// And their sums, which are matrices (m, n) of numbers T.
template <class T, int m, int n, int k> constexpr bool are_sums() {
  if constexpr (std::is_same_v<T, float>)
    return are_factors<__half, m, n, k>() || are_factors<precision::tf32, m, n, k>();
  else if constexpr (std::is_same_v<T, int>)
    return are_factors<signed char, m, n, k>();
  else
    return (std::is_same_v<T, __half> || std::is_same_v<T, double>)&&are_factors<T, m, n, k>();
}
template <class Use, int m, int n, int k, class T, class Layout> constexpr bool is_fragment() {
  if constexpr (std::is_same_v<Use, accumulator>)
    return std::is_void_v<Layout> && are_sums<T, m, n, k>();
  else
    return (std::is_same_v<Layout, row_major> || std::is_same_v<Layout, col_major>)&&are_factors<T, m, n, k>();
}
// Products of half may be added in half, too.
template <class A, class B, class C, class D> constexpr bool multiply() {
  using Sum = typename sum_of<A>::type;
  constexpr bool c = std::is_same_v<C, Sum>, d = std::is_same_v<D, Sum>;
  if constexpr (std::is_same_v<A, __half>)
    return std::is_same_v<B, __half> && (c || std::is_same_v<C, __half>)&&(d || std::is_same_v<D, __half>);
  else
    return std::is_same_v<A, B> && c && d;
}

template <class Sum, class T> inline Sum wide(T value) {
  return static_cast<Sum>(static_cast<std::conditional_t<std::is_same_v<Sum, float>, float, T>>(value));
}
template <class T, class Sum> inline T narrow(Sum value) {
  return T(value);
}
// A tf32 has ten bits behind the point; a tensor core does not look at the others.
inline float of_tf32(float value) {
  return __uint_as_float(__float_as_uint(value) & 0xffffe000u);
}

inline void all_lanes(const char *file, int line) {
  __syncwarp(0xffffffffu, file, line);
}

} // namespace cudasim_detail

template <class Use, int m, int n, int k, class T, class Layout = void> class fragment {
  static_assert(cudasim_detail::is_fragment<Use, m, n, k, T, Layout>(),
                "CUDA has no wmma::fragment with this combination of use, shape, type and layout");

public:
  using element_type = T;
  using storage_element_type = typename cudasim_detail::storage<T>::type;
  static constexpr int cudasim_rows = cudasim_detail::shape<Use, m, n, k>::rows;
  static constexpr int cudasim_columns = cudasim_detail::shape<Use, m, n, k>::columns;
  static constexpr int num_elements = cudasim_rows * cudasim_columns / 32;
  static constexpr int num_storage_elements = num_elements;
  storage_element_type x[num_elements];
};

template <class Use, int m, int n, int k, class T, class Layout, class V>
inline void fill_fragment(fragment<Use, m, n, k, T, Layout> &f, const V &value) {
  for (auto &x : f.x)
    x = static_cast<typename fragment<Use, m, n, k, T, Layout>::storage_element_type>(value);
}

namespace cudasim_detail {

template <class F, class Memory> inline void load(F &f, const Memory *from, unsigned int stride, bool rows) {
  for (int i = 0; i < F::num_elements; i++) {
    const unsigned int at = static_cast<unsigned int>(32 * i + ::cudasim::lane());
    const unsigned int r = at / F::cudasim_columns, c = at % F::cudasim_columns;
    f.x[i] = from[rows ? r * stride + c : c * stride + r];
  }
}
template <class F, class Memory> inline void store(Memory *to, const F &f, unsigned int stride, bool rows) {
  for (int i = 0; i < F::num_elements; i++) {
    const unsigned int at = static_cast<unsigned int>(32 * i + ::cudasim::lane());
    const unsigned int r = at / F::cudasim_columns, c = at % F::cudasim_columns;
    to[rows ? r * stride + c : c * stride + r] = f.x[i];
  }
}

// What each lane shows the others while all of them multiply.
template <class A, class B> struct factors {
  const A *a;
  const B *b;
};

} // namespace cudasim_detail

template <class Use, int m, int n, int k, class T, class Layout, class Memory>
CUDASIM_APART inline void load_matrix_sync(fragment<Use, m, n, k, T, Layout> &f, const Memory *from,
                                           unsigned int stride, CUDASIM_HERE) {
  cudasim_detail::all_lanes(file, line);
  cudasim_detail::load(f, from, stride, std::is_same_v<Layout, row_major>);
}
template <int m, int n, int k, class T, class Memory>
CUDASIM_APART inline void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, const Memory *from,
                                           unsigned int stride, layout_t layout, CUDASIM_HERE) {
  cudasim_detail::all_lanes(file, line);
  cudasim_detail::load(f, from, stride, layout == mem_row_major);
}
template <int m, int n, int k, class T, class Memory>
CUDASIM_APART inline void store_matrix_sync(Memory *to, const fragment<accumulator, m, n, k, T> &f, unsigned int stride,
                                            layout_t layout, CUDASIM_HERE) {
  cudasim_detail::all_lanes(file, line);
  cudasim_detail::store(to, f, stride, layout == mem_row_major);
  cudasim_detail::all_lanes(file, line);
}

// d = a b + c.
template <int m, int n, int k, class A, class LayoutA, class B, class LayoutB, class C, class D>
CUDASIM_APART inline void mma_sync(fragment<accumulator, m, n, k, D> &d,
                                   const fragment<matrix_a, m, n, k, A, LayoutA> &a,
                                   const fragment<matrix_b, m, n, k, B, LayoutB> &b,
                                   const fragment<accumulator, m, n, k, C> &c, bool = false, CUDASIM_HERE) {
  static_assert(cudasim_detail::multiply<A, B, C, D>(), "CUDA has no wmma::mma_sync for fragments of these types");
  using Sum = typename cudasim_detail::sum_of<A>::type;
  using Shown = cudasim_detail::factors<std::decay_t<decltype(a)>, std::decay_t<decltype(b)>>;
  const Shown mine = {&a, &b};
  const Shown *shown[32];
  unsigned int lanes;
  const uint64_t *told = cudasim_warp(0xffffffffu, reinterpret_cast<uint64_t>(&mine), &lanes, file, line);
  for (int lane = 0; lane < 32; lane++)
    shown[lane] = reinterpret_cast<const Shown *>(told[lane]);
  const int self = ::cudasim::lane();
  Sum sums[m * n / 32];
  for (int i = 0; i < m * n / 32; i++) {
    const int row = (32 * i + self) / n, column = (32 * i + self) % n;
    Sum sum = cudasim_detail::wide<Sum>(c.x[i]);
    for (int j = 0; j < k; j++) {
      const int at = row * k + j, bt = j * n + column;
      Sum p = cudasim_detail::wide<Sum>(shown[at % 32]->a->x[at / 32]),
          q = cudasim_detail::wide<Sum>(shown[bt % 32]->b->x[bt / 32]);
      if constexpr (std::is_same_v<A, precision::tf32>) {
        p = cudasim_detail::of_tf32(p);
        q = cudasim_detail::of_tf32(q);
      }
      sum += p * q;
    }
    sums[i] = sum;
  }
  cudasim_detail::all_lanes(file, line); // nobody looks at the others' fragments any more
  for (int i = 0; i < m * n / 32; i++)
    d.x[i] = cudasim_detail::narrow<D>(sums[i]);
}

// To the nearest, ties away from zero.
inline float __float_to_tf32(float value) {
  return isfinite(value) ? __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u) : value;
}

} // namespace wmma
} // namespace nvcuda

#undef CUDASIM_HERE
#undef CUDASIM_APART

#endif
