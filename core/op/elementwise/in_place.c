// The public in-place forms of the pointwise ops.
#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise.h"

#define IN_PLACE_UNARY(OP)                                                                                             \
  FyTensor *fy_##OP##_(FyTensor *a) {                                                                                  \
    return fy_run_in_place(&fy_op_##OP, NULL, FY_INPUTS(a));                                                           \
  }
#define IN_PLACE_BINARY(OP)                                                                                            \
  FyTensor *fy_##OP##_(FyTensor *a, FyTensor *b) {                                                                     \
    return fy_run_in_place(&fy_op_##OP, &(FyPointwise){0}, FY_INPUTS(a, b));                                           \
  }
#define IN_PLACE_NUMBER(OP)                                                                                            \
  FyTensor *fy_##OP##_scalar_(FyTensor *a, double b) {                                                                 \
    return fy_run_in_place(&fy_op_##OP, &(FyPointwise){.a = b}, FY_INPUTS(a));                                         \
  }

IN_PLACE_BINARY(add)
IN_PLACE_BINARY(sub)
IN_PLACE_BINARY(mul)
IN_PLACE_BINARY(div)
IN_PLACE_NUMBER(add)
IN_PLACE_NUMBER(sub)
IN_PLACE_NUMBER(mul)
IN_PLACE_NUMBER(div)
IN_PLACE_NUMBER(pow)
IN_PLACE_UNARY(neg)
IN_PLACE_UNARY(exp)
IN_PLACE_UNARY(log)
IN_PLACE_UNARY(sqrt)
IN_PLACE_UNARY(tanh)
IN_PLACE_UNARY(sigmoid)
IN_PLACE_UNARY(relu)

FyTensor *fy_clamp_(FyTensor *a, double min, double max) {
  return fy_run_in_place(&fy_op_clamp, &(FyPointwise){.a = min, .b = max}, FY_INPUTS(a));
}
