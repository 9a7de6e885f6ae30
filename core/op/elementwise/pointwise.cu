// SPDX-License-Identifier: MIT
// Arithmetic on CUDA: add, sub, mul, div, pow, neg, abs, relu, clamp.
#include "op/elementwise/pointwise.cuh"
#include "op/elementwise/pointwise_math.h"

// ---- add, sub, mul, div --------------------------------------------------------------------------------------------------
// Bound by memory, so that one kernel per dtype with the operation as an argument is as fast as four, and builds faster.

enum Arithmetic { ADD, SUB, MUL, DIV };

template <class X> struct FyArithmetic;
#define ARITHMETIC(S, T, DIVIDE)                                                                                       \
  template <> struct FyArithmetic<T> {                                                                                 \
    int operation;                                                                                                     \
    __device__ __forceinline__ T operator()(T a, T b) const {                                                          \
      switch (operation) {                                                                                             \
      case ADD:                                                                                                        \
        return fy_add_##S(a, b);                                                                                       \
      case SUB:                                                                                                        \
        return fy_sub_##S(a, b);                                                                                       \
      case MUL:                                                                                                        \
        return fy_mul_##S(a, b);                                                                                       \
      default:                                                                                                         \
        return DIVIDE;                                                                                                 \
      }                                                                                                                \
    }                                                                                                                  \
  };
FY_MATH_FLOATS(ARITHMETIC, a / b)
FY_MATH_INTEGERS(ARITHMETIC, a) // the dispatcher divides in floating point

template <> struct FyArithmetic<bool> {
  int operation;
  __device__ __forceinline__ bool operator()(bool a, bool b) const {
    return operation == ADD ? fy_add_b8(a, b) : fy_mul_b8(a, b);
  }
};

static int arithmetic(FyLaunch *l, int operation) {
  FY_SWITCH_ALL(l->out[0]->dtype, T, {
    const FyArithmetic<typename FyMath<T>::type> f = {operation};
    return fy_launch_binary<T, T>(l, f);
  });
}

extern "C" int fy_cuda_add(FyLaunch *l) {
  return arithmetic(l, ADD);
}
extern "C" int fy_cuda_sub(FyLaunch *l) {
  return arithmetic(l, SUB);
}
extern "C" int fy_cuda_mul(FyLaunch *l) {
  return arithmetic(l, MUL);
}
extern "C" int fy_cuda_div(FyLaunch *l) {
  return arithmetic(l, DIV);
}

// ---- pow -----------------------------------------------------------------------------------------------------------------

// With a number as the exponent, roots are sqrt's: of -infinity NaN, where pow has +infinity. Nothing but a number is tried
// for it: of an exponent that is a tensor PyTorch asks pow.
template <class X> struct FyPower;
#define POWER(S, T, ROOTS)                                                                                             \
  template <> struct FyPower<T> {                                                                                      \
    bool number;                                                                                                       \
    __device__ __forceinline__ T operator()(T a, T b) const {                                                          \
      if (number)                                                                                                      \
        ROOTS(S, a, b)                                                                                                 \
      return b == (T)2 ? fy_mul_##S(a, a) : b == (T)3 ? fy_mul_##S(fy_mul_##S(a, a), a) : fy_pow_##S(a, b);            \
    }                                                                                                                  \
  };
#define ROOTS(S, a, b)                                                                                                 \
  {                                                                                                                    \
    if (b == 0.5f)                                                                                                     \
      return fy_sqrt_##S(a);                                                                                           \
    if (b == -0.5f)                                                                                                    \
      return 1 / fy_sqrt_##S(a);                                                                                       \
  }
#define NO_ROOTS(S, a, b)                                                                                              \
  {}
FY_MATH_FLOATS(POWER, ROOTS)
FY_MATH_INTEGERS(POWER, NO_ROOTS)

extern "C" int fy_cuda_pow(FyLaunch *l) {
  FY_SWITCH_NUMBER(l->out[0]->dtype, T, {
    const FyPower<typename FyMath<T>::type> f = {l->n_in == 1};
    return fy_launch_binary<T, T>(l, f);
  });
}

// ---- neg, abs, relu, clamp: again one kernel per dtype -------------------------------------------------------------------

enum Simple { NEG, ABS, RELU, CLAMP };

template <class X> struct FySimple;
#define SIMPLE(S, T, _)                                                                                                \
  template <> struct FySimple<T> {                                                                                     \
    int operation;                                                                                                     \
    T low, high;                                                                                                       \
    __device__ __forceinline__ T operator()(T a) const {                                                               \
      switch (operation) {                                                                                             \
      case NEG:                                                                                                        \
        return fy_neg_##S(a);                                                                                          \
      case ABS:                                                                                                        \
        return fy_abs_##S(a);                                                                                          \
      case RELU:                                                                                                       \
        return fy_relu_##S(a);                                                                                         \
      default:                                                                                                         \
        return fy_clamp_##S(a, low, high);                                                                             \
      }                                                                                                                \
    }                                                                                                                  \
  };
FY_MATH_NUMBERS(SIMPLE, )

template <class X> static X bound(int dtype, double number) {
  const bool integer = dtype == FY_INT64 || dtype == FY_INT32 || dtype == FY_UINT8;
  return integer ? (X)fy_integer_bound(dtype, number) : (X)number;
}

static int simple(FyLaunch *l, int operation) {
  FyPointwise p = {};
  if (operation == CLAMP)
    p = *(const FyPointwise *)l->params;
  const int dtype = l->out[0]->dtype;
  FY_SWITCH_NUMBER(dtype, T, {
    typedef typename FyMath<T>::type X;
    const FySimple<X> f = {operation, bound<X>(dtype, p.a), bound<X>(dtype, p.b)};
    return fy_launch_unary<T, T>(l, f);
  });
}

extern "C" int fy_cuda_neg(FyLaunch *l) {
  return simple(l, NEG);
}
extern "C" int fy_cuda_abs(FyLaunch *l) {
  return simple(l, ABS);
}
extern "C" int fy_cuda_relu(FyLaunch *l) {
  return simple(l, RELU);
}
extern "C" int fy_cuda_clamp(FyLaunch *l) {
  return simple(l, CLAMP);
}
