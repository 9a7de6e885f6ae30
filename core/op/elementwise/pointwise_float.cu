// SPDX-License-Identifier: MIT
// Functions on CUDA: exp, log, sqrt, tanh, sigmoid, gelu, and the fused backward kernels.
#include "op/elementwise/pointwise.cuh"
#include "op/elementwise/pointwise_math.h"

// ---- functions of one argument -------------------------------------------------------------------------------------------

enum Function { EXP, LOG, SQRT, TANH, SIGMOID, GELU };

// The operation is a template argument: these keep many registers, and a kernel of all of them would keep the most.
template <int OPERATION, class X> struct FyFunction;
#define FUNCTION_(S, T, OPERATION, OP)                                                                                 \
  template <> struct FyFunction<OPERATION, T> {                                                                        \
    __device__ __forceinline__ T operator()(T a) const {                                                               \
      return fy_##OP##_##S(a);                                                                                         \
    }                                                                                                                  \
  };
#define FUNCTION(OPERATION, OP)                                                                                        \
  FUNCTION_(f32, float, OPERATION, OP)                                                                                 \
  FUNCTION_(f64, double, OPERATION, OP)                                                                                \
  extern "C" int fy_cuda_##OP(FyLaunch *l) {                                                                           \
    FY_SWITCH_FLOATING(l->out[0]->dtype, T, {                                                                          \
      const FyFunction<OPERATION, typename FyMath<T>::type> f = {};                                                    \
      return fy_launch_unary<T, T>(l, f);                                                                              \
    });                                                                                                                \
  }
FUNCTION(EXP, exp)
FUNCTION(LOG, log)
FUNCTION(SQRT, sqrt)
FUNCTION(TANH, tanh)
FUNCTION(SIGMOID, sigmoid)
FUNCTION(GELU, gelu)

// ---- backward ------------------------------------------------------------------------------------------------------------

enum Backward { RELU_BACKWARD, TANH_BACKWARD, SIGMOID_BACKWARD };

template <class X> struct FyBackwardOf;
template <class X> struct FyGeluBackward;
#define BACKWARD(S, T, _)                                                                                              \
  template <> struct FyBackwardOf<T> {                                                                                 \
    int operation;                                                                                                     \
    __device__ __forceinline__ T operator()(T grad, T out) const {                                                     \
      switch (operation) {                                                                                             \
      case RELU_BACKWARD:                                                                                              \
        return fy_relu_backward_##S(grad, out);                                                                        \
      case TANH_BACKWARD:                                                                                              \
        return fy_tanh_backward_##S(grad, out);                                                                        \
      default:                                                                                                         \
        return fy_sigmoid_backward_##S(grad, out);                                                                     \
      }                                                                                                                \
    }                                                                                                                  \
  };                                                                                                                   \
  template <> struct FyGeluBackward<T> {                                                                               \
    __device__ __forceinline__ T operator()(T grad, T x) const {                                                       \
      return fy_gelu_backward_##S(grad, x);                                                                            \
    }                                                                                                                  \
  };
FY_MATH_FLOATS(BACKWARD, )

static int backward(FyLaunch *l, int operation) {
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, {
    const FyBackwardOf<typename FyMath<T>::type> f = {operation};
    return fy_launch_binary<T, T>(l, f);
  });
}

extern "C" int fy_cuda_relu_backward(FyLaunch *l) {
  return backward(l, RELU_BACKWARD);
}
extern "C" int fy_cuda_tanh_backward(FyLaunch *l) {
  return backward(l, TANH_BACKWARD);
}
extern "C" int fy_cuda_sigmoid_backward(FyLaunch *l) {
  return backward(l, SIGMOID_BACKWARD);
}
extern "C" int fy_cuda_gelu_backward(FyLaunch *l) {
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, {
    const FyGeluBackward<typename FyMath<T>::type> f = {};
    return fy_launch_binary<T, T>(l, f);
  });
}
