// SPDX-License-Identifier: MIT
// The table of all ops, by id.
#include "op/op.h"

const FyOp *const fy_ops[FY_OP_COUNT] = {
#define FY_OP(name) &fy_op_##name,
#define FY_VIEW(name) &fy_op_##name,
#include "op/ops.def"
#undef FY_OP
#undef FY_VIEW
};
