// SPDX-License-Identifier: MIT
// The arithmetic of NCCL's reductions, and the names of what they are given.
#include <stdio.h>

#include "cudasim_half.h"
#include "sim/nccl/nccl_impl.h"

size_t sim_nccl_bytes(int type) {
  static const size_t bytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < ncclNumTypes ? bytes[type] : 0;
}

// Rank by rank, so that every process comes to the same bits.
#define COMBINE(name, type, sum_type, load, store)                                                                     \
  static sum_type name##_two(sum_type a, sum_type b, int op) {                                                         \
    switch (op) {                                                                                                      \
    case ncclProd:                                                                                                     \
      return (sum_type)(a * b);                                                                                        \
    case ncclMax:                                                                                                      \
      return b > a || a != a ? b : a; /* a NaN is passed over, as by fmax */                                           \
    case ncclMin:                                                                                                      \
      return b < a || a != a ? b : a;                                                                                  \
    default:                                                                                                           \
      return (sum_type)(a + b);                                                                                        \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name(int op, const void *const *parts, int ranks, void *out, size_t count) {                             \
    for (size_t i = 0; i < count; i++) {                                                                               \
      sum_type sum = load(((const type *)parts[0])[i]);                                                                \
      for (int r = 1; r < ranks; r++)                                                                                  \
        sum = name##_two(sum, load(((const type *)parts[r])[i]), op);                                                  \
      if (op == ncclAvg)                                                                                               \
        sum = (sum_type)(sum / (sum_type)ranks);                                                                       \
      ((type *)out)[i] = store(sum);                                                                                   \
    }                                                                                                                  \
  }

#define AS_IT_IS(value) (value)
COMBINE(int8, signed char, signed char, AS_IT_IS, AS_IT_IS)
COMBINE(uint8, unsigned char, unsigned char, AS_IT_IS, AS_IT_IS)
COMBINE(int32, int32_t, int32_t, AS_IT_IS, AS_IT_IS)
COMBINE(uint32, uint32_t, uint32_t, AS_IT_IS, AS_IT_IS)
COMBINE(int64, int64_t, int64_t, AS_IT_IS, AS_IT_IS)
COMBINE(uint64, uint64_t, uint64_t, AS_IT_IS, AS_IT_IS)
COMBINE(half, uint16_t, float, cudasim_half_to_float, cudasim_float_to_half)
COMBINE(float32, float, float, AS_IT_IS, AS_IT_IS)
COMBINE(float64, double, double, AS_IT_IS, AS_IT_IS)
COMBINE(bfloat16, uint16_t, float, cudasim_bfloat16_to_float, cudasim_float_to_bfloat16)

void sim_nccl_combine(int type, int op, const void *const *parts, int ranks, void *out, size_t count) {
  static void (*const combine[ncclNumTypes])(int, const void *const *, int, void *, size_t) = {
      int8, uint8, int32, uint32, int64, uint64, half, float32, float64, bfloat16};
  combine[type](op, parts, ranks, out, count);
}

// ---- names ----

const char *sim_nccl_function(int kind) {
  static const char *const names[] = {"ncclAllReduce",     "ncclReduce", "ncclBroadcast", "ncclAllGather",
                                      "ncclReduceScatter", "ncclSend",   "ncclRecv"};
  return names[kind];
}

void sim_nccl_describe(const struct sim_nccl_call *call, char *text, size_t size) {
  static const char *const types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                      "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  static const char *const ops[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"};
  char more[32] = "";
  if (call->kind == SIM_ALL_REDUCE || call->kind == SIM_REDUCE || call->kind == SIM_REDUCE_SCATTER)
    snprintf(more, sizeof more, ", %s", ops[call->op]);
  if (call->kind == SIM_REDUCE || call->kind == SIM_BROADCAST)
    snprintf(more + (call->kind == SIM_REDUCE ? 9 : 0), 20, ", root %d", call->root);
  snprintf(text, size, "%s of %zu %s%s", sim_nccl_function(call->kind), call->count, types[call->type], more);
}
